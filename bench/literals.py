"""The literals that LogSleuth looks for, as a pattern file for grep and ripgrep."""

from __future__ import annotations

from pathlib import Path

from logsleuth.catalog.load import load_catalog


def write_literals(path: Path) -> int:
    """One a line into ``path``; how many there are."""
    literals = sorted({a for p in load_catalog().patterns.values() for a in p.anchors if "\n" not in a})
    path.write_text("\n".join(literals) + "\n", encoding="utf-8")
    return len(literals)
