"""A paste from a terminal of fixed width, with its lines whole again.

    [rank2]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog ca
    ught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, Nume

Such a text betrays itself: no line is longer than the terminal was wide, and many different lines are exactly that long
and go on in a line without a prefix of its own. Boxes and quotes around the text, and blanks that fill its lines, are
looked through. Words that an editor wrapped at blanks are another matter: nothing tells where they end.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from logsleuth.model.masking import masked
from logsleuth.sources.blocks import Window
from logsleuth.sources.mended import Mend
from logsleuth.sources.prefixes import read_prefix

#: No terminal is narrower, and no message that matters is shorter.
NARROWEST = 40
WIDEST = 400
#: No terminal's memory is larger than this.
LARGEST = 512 * 1024
#: Different lines of that width that go on in the next one.
FEWEST_FULL = 3
#: Of the lines of that width, those that go on.
MOST_GO_ON = 0.7
#: Lines longer than the width, which somebody mended or added by hand, one in so many.
ONE_LONGER_IN = 25
#: Tables and rules are as wide as each other and end with these.
_TABLE_ENDS = frozenset("|+-=*#_~│┃┤╮╯╗╝║─━")
_BORDERS = frozenset("|│┃║")
_LEADS = frozenset(" \t>│┃║")


@dataclass(frozen=True, slots=True)
class _Line:
    """``begin`` and ``end`` without the frame around it, ``newline`` and ``stop`` around the line feed; ``width`` in
    characters."""

    begin: int
    end: int
    newline: int
    stop: int
    width: int
    text: str


def reflowed(window: Window) -> Window | None:
    """``window`` with its lines whole; ``None`` where no terminal broke them. Only short texts are looked at."""
    if not window.final or window.base or window.starts or len(window.data) > LARGEST or not _could_be(window.data):
        return None
    lines = _lines(window.data)
    width = _width(lines)
    if width is None:
        return None
    own = _own_keys(lines, width)
    mend = Mend(window)
    for line, after in zip(lines, (*lines[1:], None), strict=True):
        mend.add(line.begin, line.end)
        joint = _joint(line, after, width, own)
        if joint is None:
            mend.add(line.newline, line.stop)
        elif joint:
            mend.blank()
    return mend.window()


def _could_be(data: bytes) -> bool:
    """A quick look: do several of the longest lines have one length?"""
    lengths = Counter(map(len, data.split(b"\n")))
    longer, allowed = 0, lengths.total() // ONE_LONGER_IN + FEWEST_FULL
    for length in sorted(lengths, reverse=True):
        if longer > allowed or length < NARROWEST:
            return False
        if lengths[length] >= FEWEST_FULL and length <= 3 * WIDEST:
            return True
        longer += lengths[length]
    return False


def _lines(data: bytes) -> list[_Line]:
    """Every line, without the quote marks, the box and the indent that all of them have in common."""
    raw = data.split(b"\n")
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in raw]
    shown = [text for text in texts if text.strip()]
    lead = _common_lead(shown)
    border = _right_border(shown)
    lines: list[_Line] = []
    at = 0
    for number, (line, text) in enumerate(zip(raw, texts, strict=True)):
        newline = at + len(line)
        stop = newline + (1 if number + 1 < len(raw) else 0)
        inner = text.rstrip()
        if border and inner.endswith(border):
            inner = inner[:-1].rstrip()
        width = len(inner)
        end = at + (width if line.isascii() else _byte_length(line, inner))
        begin = min(end, at + len(lead.encode())) if text.startswith(lead) else at
        lines.append(_Line(begin, end, newline, stop, width, inner[len(lead) :] if text.startswith(lead) else inner))
        at = stop
    return lines


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


def _width(lines: Sequence[_Line]) -> int | None:
    """How wide the terminal was; ``None`` where the lines do not say."""
    counts = Counter(line.width for line in lines)
    allowed = len(lines) // ONE_LONGER_IN
    longer = 0
    for width in sorted(counts, reverse=True):
        if longer > allowed or width < NARROWEST:
            return None
        if counts[width] >= FEWEST_FULL and width <= WIDEST and _is_a_terminals(lines, width):
            return width
        longer += counts[width]
    return None


def _is_a_terminals(lines: Sequence[_Line], width: int) -> bool:
    own = _own_keys(lines, width)
    going_on: set[str] = set()
    goes_on = ends = 0
    for line, after in itertools.pairwise(lines):
        if line.width != width or not line.text:
            continue
        if _joint(line, after, width, own) is None:
            ends += 1
        elif (kind := masked(line.text)) != masked(after.text):
            going_on.add(kind)
            goes_on += 1
    return len(going_on) >= FEWEST_FULL and goes_on >= MOST_GO_ON * (goes_on + ends)


def _own_keys(lines: Sequence[_Line], width: int) -> frozenset[str]:
    """The prefixes of lines that surely begin a message: those that do not follow a full line."""
    starts = [after for line, after in itertools.pairwise(lines) if line.width < width - 1]
    return frozenset(key for line in (*lines[:1], *starts) if (key := read_prefix(line.text).key))


def _joint(line: _Line, after: _Line | None, width: int, own: frozenset[str]) -> str | None:
    """What stood between two lines: nothing, or a blank lost at the edge; ``None`` where the first one ends."""
    if after is None or not after.text.strip() or line.width not in (width, width - 1):
        return None
    if not line.text or line.text[-1] in _TABLE_ENDS:
        return None
    blank = line.width < width
    if blank and after.text[0].isspace():
        return None
    prefixed = read_prefix(after.text)
    if prefixed.key and (prefixed.key in own or prefixed.origin.rank is not None or prefixed.stamp is not None):
        return None
    return " " if blank else ""
