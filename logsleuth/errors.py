"""What can go wrong, as a tree:

LogSleuthError          a sentence for the user and a hint what to do
|- InputError           nothing readable was given (exit 3)
|- CatalogError         a pattern or cause file is wrong (exit 2); lists every fault with path and line
`- UsageError           options that do not fit together (exit 2)
"""

from __future__ import annotations

from collections.abc import Sequence


class LogSleuthError(Exception):
    """Base of all errors that are told to the user as a sentence; ``hint`` says what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(LogSleuthError):
    """No readable input."""


class UsageError(LogSleuthError):
    """Options that do not fit together."""


class CatalogError(LogSleuthError):
    """Faulty pattern or cause files; ``faults`` holds one ``path:line: sentence`` each."""

    def __init__(self, faults: Sequence[str], hint: str | None = None) -> None:
        super().__init__("\n".join(faults), hint)
        self.faults = tuple(faults)
