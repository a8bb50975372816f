"""Exit codes of all commands."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """A diagnosis is data: a job's failure does not make the command fail unless ``--fail-on`` asks for it."""

    OK = 0
    FOUND = 1
    USAGE = 2
    NO_INPUT = 3
    INTERNAL = 70
    INTERRUPTED = 130
