"""The letters that every match of a regular expression holds: without them a text need not be tried.

    (?x) \\[Rank\\s*(?P<rank>\\d+)\\]\\s* Some\\s+NCCL\\s+(?:calls|works)  ->  "[Rank", "]SomeNCCL", "calls" or "works"

White space is left out, as the text is looked at without: how a message was broken into lines is not known. What this
reader of regular expressions does not know makes it give up, and then nothing is required.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

_QUANTIFIER = re.compile(r"(?P<sign>[?*+])[?+]?|\{(?P<least>\d*)(?:,\d*)?\}[?+]?")
_GROUP = re.compile(r"\?(?::|P?<[A-Za-z_]\w*>|>)")
_LOOK_AROUND = re.compile(r"\?<?[=!]")
_SET = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\[]|\[(?![:.=]))*\]", re.DOTALL)
#: Escapes that stand for one character of several, or for a place between characters.
_OTHERS = frozenset("dDwWSbBAZG")
_BLANKS = frozenset("snrtfv")
#: A letter, or one of several runs of letters; between two runs there may be anything.
_Item = str | tuple[str, ...]
_GAP: _Item = ()


class _UnknownError(Exception):
    """The expression holds what is not known here."""


@functools.cache
def required(expression: str) -> tuple[tuple[str, ...], ...]:
    """Runs of letters without white space: one of each tuple is in every match from which white space was removed."""
    try:
        return tuple(dict.fromkeys(_runs(_Reader(expression).items())))
    except _UnknownError:
        return ()


def may_match(expression: str, parts: Sequence[str]) -> bool:
    """Whether ``parts``, joined with or without blanks, or some of them from the first on, can hold a match."""
    every = required(expression)
    if not every:
        return True
    letters = "".join("".join(parts).split())
    return all(any(run in letters for run in runs) for runs in every)


def _runs(items: Iterable[_Item]) -> Iterator[tuple[str, ...]]:
    for letters, some in itertools.groupby(items, lambda item: isinstance(item, str)):
        if letters:
            yield ("".join(map(str, some)),)
        else:
            yield from (tuple(item) for item in some if item)


def _one_of(branches: Iterable[Iterable[_Item]]) -> _Item:
    """What one of several branches needs: of each the longest run."""
    chosen: list[str] = []
    for branch in branches:
        best = max(_runs(branch), key=lambda runs: min(map(len, runs)), default=())
        if not best:
            return _GAP
        chosen += best
    return tuple(dict.fromkeys(chosen))


class _Reader:
    """Reads an expression from left to right into letters and gaps."""

    def __init__(self, expression: str) -> None:
        self._verbose = expression.startswith("(?x)")
        self._text = expression
        self._at = 4 if self._verbose else 0

    def items(self) -> list[_Item]:
        """All of the expression."""
        items = self._branches()
        if self._at < len(self._text):
            raise _UnknownError
        return items

    def _branches(self) -> list[_Item]:
        """Up to the group's end."""
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else [_one_of(branches)]

    def _sequence(self) -> list[_Item]:
        found: list[_Item] = []
        while (letter := self._peek()) and letter not in "|)":
            item = self._item(letter)
            if item is None:
                self._quantifier()  # of white space: none is as good as some
                continue
            match self._quantifier():
                case None:
                    found += item
                case 0:
                    found.append(_GAP)
                case _:
                    found += [_GAP, *item, _GAP] if len(item) != 1 else [*item, _GAP]
        return found

    def _item(self, letter: str) -> list[_Item] | None:
        """The letters of the next item; ``None`` for white space."""
        if letter == "(":
            return self._group()
        if letter == "[":
            return self._set()
        self._at += 1
        if letter == "\\":
            return self._escape()
        if letter in "?*+{":
            raise _UnknownError
        if letter in ".^$":
            return [_GAP]
        return None if letter.isspace() else [letter]

    def _group(self) -> list[_Item]:
        self._at += 1
        look_around = _LOOK_AROUND.match(self._text, self._at)
        if look_around is None and self._peek() == "?":
            opened = _GROUP.match(self._text, self._at)
            if opened is None:
                raise _UnknownError
            self._at = opened.end()
        elif look_around is not None:
            self._at = look_around.end()
        inside = self._branches()
        if self._peek() != ")":
            raise _UnknownError
        self._at += 1
        return inside if look_around is None else [_GAP]

    def _set(self) -> list[_Item]:
        match = _SET.match(self._text, self._at)
        if match is None:
            raise _UnknownError
        self._at = match.end()
        return [_GAP]

    def _escape(self) -> list[_Item] | None:
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        if letter in _BLANKS or letter.isspace():
            return None
        if letter in _OTHERS:
            return [_GAP]
        if not letter or letter.isalnum():
            raise _UnknownError
        return [letter]

    def _quantifier(self) -> int | None:
        """How often the item before is there at least; ``None`` where no quantifier follows."""
        self._peek()
        match = _QUANTIFIER.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return int(match["sign"] == "+") if match["sign"] else int(match["least"] or 0)

    def _peek(self) -> str:
        """The next letter that counts."""
        while self._verbose and self._at < len(self._text):
            letter = self._text[self._at]
            if letter == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif not letter.isspace():
                break
            else:
                self._at += 1
        return self._text[self._at : self._at + 1]
