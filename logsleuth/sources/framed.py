"""The lines of a paste without the box, the quote marks and the indent that all of them have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_BORDERS = frozenset("|│┃║")
#: Frames of which every line is part are taken off also where no line was broken; a table has other lines too.
_FRAMES = frozenset("│┃║")
_LEADS = frozenset(" \t>│┃║")


@dataclass(frozen=True, slots=True)
class Line:
    """``begin`` and ``end`` without the frame around it, ``newline`` and ``stop`` around the line feed; ``width`` in
    characters; ``padded``: blanks stood behind the text, more than a frame keeps."""

    begin: int
    end: int
    newline: int
    stop: int
    width: int
    text: str
    padded: bool


def lines_of(data: bytes) -> tuple[list[Line], bool]:
    """Every line, without the quote marks, the box and the indent that all of them have in common; was it a box?"""
    raw = data.split(b"\n")
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in raw]
    shown = [text for text in texts if text.strip()]
    lead = _common_lead(shown)
    border = _right_border(shown)
    inners = [_inner(text, border) for text in texts]
    margin = min((room for (inner, room) in inners if inner), default=0)
    lines: list[Line] = []
    at = 0
    for number, (line, text) in enumerate(zip(raw, texts, strict=True)):
        newline = at + len(line)
        stop = newline + (1 if number + 1 < len(raw) else 0)
        inner, room = inners[number]
        width = len(inner)
        end = at + (width if line.isascii() else _byte_length(line, inner))
        begin = min(end, at + len(lead.encode())) if text.startswith(lead) else at
        shown_text = inner[len(lead) :] if text.startswith(lead) else inner
        lines.append(Line(begin, end, newline, stop, width, shown_text, room > margin))
        at = stop
    return lines, len(shown) > 4 and (border in _FRAMES or any(char in _FRAMES for char in lead))


def _inner(text: str, border: str) -> tuple[str, int]:
    """``text`` without the frame at its end and the blanks before, and how many blanks these are."""
    unframed = text.rstrip()
    unframed = unframed[:-1] if border and unframed.endswith(border) else text
    inner = unframed.rstrip()
    return inner, len(unframed) - len(inner)


def _byte_length(line: bytes, text: str) -> int:
    """The bytes of ``line`` that make the characters of ``text``, its beginning."""
    encoded = text.encode()
    if line.startswith(encoded):
        return len(encoded)
    return len(line.rstrip())


def _common_lead(texts: Sequence[str]) -> str:
    """The quote marks and blanks that every line begins with."""
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    count = 0
    while count < min(len(first), len(last)) and first[count] == last[count] and first[count] in _LEADS:
        count += 1
    return first[:count]


def _right_border(texts: Sequence[str]) -> str:
    """The edge of a box or of a pane at the end of nearly every line."""
    ends = Counter(text.rstrip()[-1] for text in texts)
    if not ends:
        return ""
    char, count = ends.most_common(1)[0]
    return char if char in _BORDERS and count > 0.8 * len(texts) else ""
