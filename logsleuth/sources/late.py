"""Regular expressions that are compiled when a text first needs them: a run meets few of the two hundred prefixes and
layouts that are known, and compiling them all took a tenth of its start."""

from __future__ import annotations

import re
from typing import Any, cast


def late(expression: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile``, put off."""
    return cast("re.Pattern[str]", _Late(expression, flags))


class _Late:
    """Has a pattern's attributes once one is asked for; each is looked up once, and found without a detour later."""

    def __init__(self, expression: str, flags: int) -> None:
        self._given = expression, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value
