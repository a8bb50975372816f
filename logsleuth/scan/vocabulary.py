"""The words of the messages that the catalog knows: they tell whether a line was broken within a word."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from logsleuth.catalog.spec import PatternSpec

_WORD = re.compile(r"[A-Za-z_]+")
_LETTERS = string.ascii_letters + "_"
_FIRST = re.compile(r"[A-Za-z_]*")


class Vocabulary:
    """Worked out when it is first asked: most logs were never broken."""

    def __init__(self, patterns: Iterable[PatternSpec]) -> None:
        self._patterns = tuple(patterns)
        self._words: frozenset[str] | None = None

    def joint(self, left: str, right: str) -> str:
        """What stood between two pieces of a line: a blank that was lost at the edge, or nothing."""
        before, after = _last_word(left), _first_word(right)
        if before and after:
            words = self.words()
            return " " if before + after not in words and (before in words or after in words) else ""
        if left[-1:] in ",;:)]" and (after or right[:1] in "([["):
            return " "
        return " " if (left[-1:].isdigit() and after) or (before and right[:1].isdigit()) else ""

    def is_one_word(self, left: str, right: str) -> bool:
        """Whether a word of the catalog's was broken in two that are none."""
        before, after = _last_word(left), _first_word(right)
        words = self.words()
        return bool(before and after) and before + after in words and not {before, after} <= words

    def words(self) -> frozenset[str]:
        """Every word of every sample."""
        if self._words is None:
            texts = (sample.text for pattern in self._patterns for sample in pattern.samples)
            self._words = frozenset(word for text in texts for word in _WORD.findall(text))
        return self._words


def _last_word(text: str) -> str:
    return text[len(text.rstrip(_LETTERS)) :]


def _first_word(text: str) -> str:
    match = _FIRST.match(text)
    return match[0] if match else ""
