"""The catalog of a command: the built-in one, or with a user's own folders over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from logsleuth.errors import CatalogError

if TYPE_CHECKING:
    from logsleuth.catalog.spec import Catalog


def catalog_with(folders: Sequence[Path] | None) -> Catalog:
    """Raises CatalogError with every fault of the user's files."""
    if not folders:
        from logsleuth.catalog.load import load_catalog

        return load_catalog()
    from logsleuth.patterncheck.checked import checked_catalog

    catalog, faults = checked_catalog(folders)
    if faults:
        raise CatalogError(faults)
    return catalog
