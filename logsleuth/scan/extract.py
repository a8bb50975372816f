"""One pattern on one piece of text -> a fact and what the text says of its origin."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass

import regex

from logsleuth.catalog.load import builtin_folder
from logsleuth.catalog.spec import PatternSpec
from logsleuth.model.events import Fact
from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.scan.fields import fact_from, signal_name

#: Named groups that speak of the printing process and not of the fact: ``o_rank``, ``o_pid``, ...
ORIGIN_GROUPS = {"o_rank": int, "o_local_rank": int, "o_task": int, "o_pid": int, "o_host": str, "o_actor": str}
#: No message is longer; a regex never sees more.
LONGEST_TEXT = 16 * 1024
#: Seconds that one regex may take on one text; ours need microseconds (lint proves it), a user's may not.
REGEX_TIMEOUT_S = 2.0
#: Ours are not timed on a shorter text: to start the clock takes longer than most of them need.
LONGEST_UNTIMED = 2048

#: A ``^`` that is neither escaped nor the negation of a set.
_BEGINNING = re.compile(r"(?<![\\\[])\^")


@dataclass(frozen=True, slots=True)
class Extract:
    """A fact read from a text, and the span of the match in it."""

    fact: Fact
    origin: Origin
    start: int
    end: int


def extract(pattern: PatternSpec, text: str) -> Extract | None:
    """What ``pattern`` reads in ``text`` (one line, a joined line, or a block), or ``None``."""
    return next(iter(extract_all(pattern, text, most=1)), None)


def extract_all(pattern: PatternSpec, text: str, most: int = 64) -> list[Extract]:
    """Every match of ``pattern`` in ``text``, up to ``most``: interleaved ranks can put several into one line."""
    if pattern.regex is None:
        return []
    found: list[Extract] = []
    untimed = len(text) <= LONGEST_UNTIMED and _is_ours(pattern.path)
    try:
        for match in compiled(pattern.regex).finditer(
            text[:LONGEST_TEXT], timeout=None if untimed else REGEX_TIMEOUT_S
        ):
            groups = match.groupdict()
            fact = fact_from(pattern.event, groups, pattern.fields)
            if fact is not None:
                found.append(Extract(fact, _origin_of(groups), match.start(), match.end()))
            if len(found) >= most:
                break
    except TimeoutError:
        return found
    return found


@functools.cache
def _is_ours(path: str) -> bool:
    """Whether a pattern's file is one of the built-in catalog's."""
    return path.startswith(f"{builtin_folder()}{os.sep}")


@functools.cache
def looks_at_the_beginning(expression: str) -> bool:
    """Whether a regular expression asks where its text begins (``^``), so that a prefix in front of it matters."""
    return _BEGINNING.search(expression) is not None


@functools.cache
def tells_origin(expression: str | None) -> bool:
    """Whether a pattern may read who prints; a parser may, for all that is known."""
    return expression is None or not ORIGIN_GROUPS.keys().isdisjoint(compiled(expression).groupindex)


@functools.cache
def compiled(expression: str) -> regex.Pattern[str]:
    """Compiled on first use: a run needs a few of the patterns."""
    return regex.compile(expression)


def _origin_of(groups: dict[str, str | None]) -> Origin:
    if ORIGIN_GROUPS.keys().isdisjoint(groups):
        return UNKNOWN
    values = {
        name.removeprefix("o_"): convert(text)
        for name, convert in ORIGIN_GROUPS.items()
        if (text := groups.get(name)) is not None
    }
    return Origin.known("text", **values) if values else UNKNOWN


__all__ = ["Extract", "compiled", "extract", "extract_all", "signal_name"]
