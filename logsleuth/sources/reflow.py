"""A paste from a terminal of fixed width, with its lines whole again.

    [rank2]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog ca
    ught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, Nume

Such a text betrays itself: no line is longer than the terminal was wide, and several different lines are exactly that
long and go on in a line without a prefix of its own. An editor or a mail program breaks between words: then no line
goes on whose next word would have fitted. Boxes and quotes around the text, and blanks that fill its lines, are looked
through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from logsleuth.sources.blocks import Window
from logsleuth.sources.framed import Line, lines_of
from logsleuth.sources.mended import Mend
from logsleuth.sources.widths import (
    FEWEST_FULL,
    NARROWEST,
    ONE_LONGER_IN,
    WIDEST,
    Break,
    begins_own,
    how_broken,
    is_broken,
    own_keys,
)

#: No terminal's memory is larger than this.
LARGEST = 512 * 1024
IsOneWord = Callable[[str, str], bool]


def _never(_left: str, _right: str) -> bool:
    return False


def reflowed(window: Window, is_one_word: IsOneWord = _never) -> Window | None:
    """``window`` with its lines whole; ``None`` where no terminal broke them. Only short texts are looked at.

    ``is_one_word`` tells whether two pieces were one word, where the widths say that lines were broken between words.
    """
    if not window.final or window.base or window.starts or len(window.data) > LARGEST or not _could_be(window.data):
        return None
    lines, framed = lines_of(window.data)
    how = how_broken(lines)
    if how is None and not framed:
        return None
    own = own_keys(lines, how.width) if how is not None else frozenset()
    mend = Mend(window)
    for line, after in zip(lines, (*lines[1:], None), strict=True):
        mend.add(line.begin, line.end)
        joint = _joint(line, after, how, own) if how is not None else None
        if joint is None:
            mend.add(line.newline, line.stop)
        elif joint and not (how is not None and how.words and after and is_one_word(line.text, after.text)):
            mend.insert(b" ")
    return mend.window()


def _could_be(data: bytes) -> bool:
    """A quick look: are several lines nearly as long as the longest ones?"""
    lengths = Counter(map(len, data.split(b"\n")))
    longer, allowed = 0, lengths.total() // ONE_LONGER_IN + FEWEST_FULL
    for length in sorted(lengths, reverse=True):
        if longer > allowed or length < NARROWEST:
            return False
        near = sum(lengths[length - less] for less in range(12))
        if near >= FEWEST_FULL and length <= 3 * WIDEST:
            return True
        longer += lengths[length]
    return False


def _joint(line: Line, after: Line | None, how: Break, own: frozenset[str]) -> str | None:
    """What stood between two lines: nothing, or a blank lost at the edge; ``None`` where the first one ends."""
    if after is None or not line.text or not is_broken(line, after, how) or begins_own(after.text, own):
        return None
    return " " if how.words or line.width < how.width or line.padded else ""
