"""Events as rows, and rows as a table, CSV or JSON: the output of ``logsleuth events``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from logsleuth.record import record

FORMATS = ("table", "json", "jsonl", "csv")
#: The columns of the table and of CSV; JSON has more.
COLUMNS = ("place", "time", "rank", "host", "kind", "role", "pattern", "text")
_RIGHT = {"rank"}
NARROWEST_TEXT = 40
#: On a terminal the end of a longer path is shown.
LONGEST_PLACE = 40


@record
class Row:
    """One event with its line and the process that printed it. ``fact`` holds the fields of its kind."""

    source: str
    line: int | None
    end_line: int | None
    time: str | None
    rank: int | None
    rank_known_by: str | None
    local_rank: int | None
    host: str | None
    pid: int | None
    kind: str
    role: str
    pattern: str
    count: int
    text: str
    fact: Mapping[str, Any]

    @property
    def place(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


def render(rows: Sequence[Row], format_name: str, width: int | None = None) -> str:
    """``rows`` in one of FORMATS. A table is cut at ``width`` columns; ``None`` leaves its text whole."""
    return _table(rows, width) if format_name == "table" else _RENDER[format_name](rows)


def _json(rows: Iterable[Row]) -> str:
    """An array with one event a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows) + "\n]\n"


def _jsonl(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row, " ".join(row.text.split("\n"))) for row in rows)
    return out.getvalue()


def _table(rows: Sequence[Row], width: int | None) -> str:
    """Columns in line; the text without its prefixes, cut at ``width``, and whole where that is ``None``."""
    from logsleuth.sources.prefixes import read_prefix

    cells = [COLUMNS, *(_cells(row, _printable(read_prefix(row.text).text), width is not None) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS) - 1)]
    left = None if width is None else max(NARROWEST_TEXT, width - sum(widths) - 2 * len(widths))
    lines = []
    for line in cells:
        head = (
            text.rjust(size) if name in _RIGHT else text.ljust(size)
            for name, text, size in zip(COLUMNS, line, widths, strict=False)
        )
        text = line[-1] if left is None or len(line[-1]) <= left else line[-1][: left - 1] + "…"
        lines.append("  ".join((*head, text)).rstrip())
    return "\n".join(lines) + "\n"


def _cells(row: Row, text: str, short: bool = False) -> tuple[str, ...]:
    place = _shortened(row.place) if short else row.place
    said = (place, row.time, row.rank, row.host, row.kind, row.role, row.pattern)
    return (*("" if value is None else str(value) for value in said), text)


def _shortened(place: str) -> str:
    """At most the end of a long path: ``…/attempt_0/3/stderr.log:12``."""
    return place if len(place) <= LONGEST_PLACE else f"…{place[1 - LONGEST_PLACE :]}"


def _printable(text: str) -> str:
    """One line without anything that a terminal would obey."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


_RENDER: Mapping[str, Callable[[Iterable[Row]], str]] = {"json": _json, "jsonl": _jsonl, "csv": _csv}
