"""Exit codes of all commands, and when a verdict makes a command fail."""

from __future__ import annotations

from enum import IntEnum

#: Verdicts that ``--fail-on`` takes.
FAIL_ON = ("failure", "inconclusive")


class Exit(IntEnum):
    """A diagnosis is data: a job's failure does not make the command fail unless ``--fail-on`` asks for it."""

    FOUND = 1
    USAGE = 2
    NO_INPUT = 3
    INTERNAL = 70
    INTERRUPTED = 130


def fails(verdict: str, fail_on: str | None) -> bool:
    """Whether the command is to exit with ``FOUND``; ``inconclusive`` also fails on a failure."""
    return fail_on is not None and verdict in ("failure", fail_on)
