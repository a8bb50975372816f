"""Where in a YAML file something stands, for messages of the kind ``path:line: sentence``."""

from __future__ import annotations

from pathlib import Path


def place(path: str, key: str | None = None, item: int | None = None) -> str:
    """``path:line`` of a top-level ``key``, or of its ``item``-th entry (from 1); line 1 where it cannot be found."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{path}:1"
    return f"{path}:{_line(lines, key, item)}"


def _line(lines: list[str], key: str | None, item: int | None) -> int:
    start = next((number for number, line in enumerate(lines, 1) if key and line.startswith(f"{key}:")), None)
    if start is None:
        return 1
    entries: list[int] = []
    indent: str | None = None
    for number, line in enumerate(lines[start:], start + 1):
        if line.strip() and not line.startswith((" ", "#", "-")):
            break  # the next key
        lead = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("- ") and indent in (None, lead):
            indent = lead
            entries.append(number)
    return entries[item - 1] if item is not None and item <= len(entries) else start
