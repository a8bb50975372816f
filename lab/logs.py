"""Reading collected logs for labelling: which lines belong to which rank, and what torchrun's table says.

This is deliberately simple and shares nothing with the analyzer that it helps to measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_RANK_TAG = re.compile(r"\[rank(\d+)\]:")
_LOCAL_RANK_TAG = re.compile(r"^\[[a-z]+(\d+)\]:")
_LOCAL_RANK_FOLDER = re.compile(r"attempt_\d+/(\d+)/")
_RANK_FILE = re.compile(r"(?:rank|worker)[_-]?0*(\d+)\.\w+$")
_OWN_TAG = re.compile(r"\[rank (\d+)\]")
_TABLE_ROW = re.compile(
    r"rank {6}: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode  : (?P<exitcode>-?\d+) \(pid: (?P<pid>\d+)\)"
)
_FIRST_FAILURE = "Root Cause (first observed failure):"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One process in torchrun's table of failures."""

    rank: int
    exitcode: int
    pid: int
    first: bool


class Logs:
    """The text files of one case, by their path inside the case folder. One node: a local rank is the rank."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(sorted(files.items()))
        self.text = "\n".join(self.files.values())

    def of_rank(self, rank: int) -> str:
        """All lines that say they are of this rank: by a tag, or because their file is the rank's own."""
        lines: list[str] = []
        for path, text in self.files.items():
            owner = rank_of_path(path)
            lines += [line for line in text.splitlines() if (rank_of_line(line) if owner is None else owner) == rank]
        return "\n".join(lines)

    def ranks_showing(self, pattern: str, ranks: Iterable[int]) -> tuple[int, ...]:
        """Those of ``ranks`` whose own lines match ``pattern``."""
        return tuple(rank for rank in ranks if re.search(pattern, self.of_rank(rank)))

    def table(self) -> list[TableRow]:
        """The rows of all tables of failures, in order; ``first`` marks torchrun's "Root Cause" rows."""
        rows: list[TableRow] = []
        for text in self.files.values():
            for part in text.split(" FAILED\n")[1:]:
                root = part.find(_FIRST_FAILURE)
                for match in _TABLE_ROW.finditer(part):
                    rows.append(
                        TableRow(
                            rank=int(match["rank"]),
                            exitcode=int(match["exitcode"]),
                            pid=int(match["pid"]),
                            first=0 <= root < match.start(),
                        )
                    )
        return rows

    def exited_with(self, exitcode: int, ranks: Iterable[int]) -> tuple[int, ...]:
        """Those of ``ranks`` that a table says ended so."""
        rows = self.table()
        return tuple(rank for rank in ranks if any(row.rank == rank and row.exitcode == exitcode for row in rows))


def rank_of_path(path: str) -> int | None:
    """``run_1/attempt_0/3/stderr.log`` and ``rank3.log`` are of rank 3; a console is of nobody."""
    match = _LOCAL_RANK_FOLDER.search(path) or _RANK_FILE.search(path)
    return int(match[1]) if match else None


def rank_of_line(line: str) -> int | None:
    """The rank that a line names as its speaker: ``[rank3]:``, else ``[default3]:``, else the jobs' ``[rank 3]``."""
    match = _RANK_TAG.search(line) or _LOCAL_RANK_TAG.search(line) or _OWN_TAG.search(line)
    return int(match[1]) if match else None
