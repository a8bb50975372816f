"""Two answers that need no analyzer, for comparison: they accuse a rank and name no cause."""

from __future__ import annotations

import re
from collections.abc import Callable

from lab.logs import Logs, rank_of_line, rank_of_path

_ALARM = re.compile(r"error|exception|timeout", re.IGNORECASE)


def torchrun_root_cause(logs: Logs) -> list[int]:
    """The rank in the first "Root Cause (first observed failure)" of torchrun's own table."""
    return [row.rank for row in logs.table() if row.first][:1]


def first_alarming_line(logs: Logs) -> list[int]:
    """The rank of the first line that speaks of an error, an exception or a timeout, if the line has a rank."""
    for path, text in logs.files.items():
        for line in text.splitlines():
            if _ALARM.search(line):
                tagged = rank_of_line(line)
                rank = rank_of_path(path) if tagged is None else tagged
                return [] if rank is None else [rank]
    return []


BASELINES: dict[str, Callable[[Logs], list[int]]] = {
    "torchrun's “Root Cause”": torchrun_root_cause,
    "first line with error, exception or timeout": first_alarming_line,
}
