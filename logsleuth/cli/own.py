"""The catalog with a user's own folders over it, checked before anything runs with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from logsleuth.errors import CatalogError

if TYPE_CHECKING:
    from logsleuth.catalog.spec import Catalog


def catalog_with(folders: Sequence[Path] | None) -> Catalog:
    """Raises CatalogError with every fault of the user's files; what came with LogSleuth is not linted again."""
    from logsleuth.catalog.load import load_catalog

    catalog = load_catalog(folders or ())
    if folders:
        from logsleuth.patterncheck.lint import lint

        faults = lint(catalog, folders)
        if faults:
            raise CatalogError(faults)
    return catalog
