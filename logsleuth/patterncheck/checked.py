"""The catalog with a user's own folders over it, every file of them checked before anything runs with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from logsleuth.catalog.load import load_partly
from logsleuth.catalog.spec import Catalog
from logsleuth.patterncheck.lint import lint


def checked_catalog(folders: Sequence[Path]) -> tuple[Catalog, list[str]]:
    """What can be used, and every fault of the user's files; what came with LogSleuth is not linted again."""
    catalog, faults = load_partly(folders)
    return catalog, faults + lint(catalog, folders)
