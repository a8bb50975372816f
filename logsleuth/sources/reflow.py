"""A paste from a terminal of fixed width, with its lines whole again.

    [rank2]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog ca
    ught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, Nume

Such a text betrays itself: no line is longer than the terminal was wide, and several different lines are exactly that
long and go on in a line without a prefix of its own. An editor or a mail program breaks between words: then no line
goes on whose next word would have fitted. Boxes and quotes around the text, and blanks that fill its lines, are looked
through.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
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
FEWEST_FULL = 2
#: The same where the breaks are between words, which is weaker evidence.
FEWEST_FULL_OF_WORDS = 5
#: Lines shorter than this share of the width say nothing of it.
LONG = 0.5
#: Of the lines of that width, those that go on.
MOST_GO_ON = 0.7
#: Lines longer than the width, which somebody mended or added by hand, one in so many.
ONE_LONGER_IN = 25
#: Names that somebody replaced in the paste made lines shorter and longer, by so many characters at most. Then the
#: width must stand out: more lines have it than any length near it, so many times.
LONGEST_CHANGE = 60
STANDS_OUT = 2
FEWEST_FULL_OF_CHANGED = 4
ONE_CHANGED_IN = 3
#: Lines that begin with the same letters are two of one kind, and not one line.
ALIKE = 10
#: Tables and rules are as wide as each other; they begin and end with one of these, or end with two.
_TABLE_ENDS = frozenset("|+-=*#_~│┃┤╮╯╗╝║─━")
_BORDERS = frozenset("|│┃║")
#: Frames of which every line is part are taken off also where no line was broken; a table has other lines too.
_FRAMES = frozenset("│┃║")
#: What nobody continues a line with.
_BEGINNINGS = (
    "Traceback (most recent call last)",
    "terminate called",
    "frame #",
    "Exception raised from",
    "Fatal Python error",
    "During handling of",
    "The above exception",
    "WARNING:",
    "ERROR:",
    "INFO:",
)
_LEADS = frozenset(" \t>│┃║")

IsOneWord = Callable[[str, str], bool]


def _never(_left: str, _right: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Line:
    """``begin`` and ``end`` without the frame around it, ``newline`` and ``stop`` around the line feed; ``width`` in
    characters; ``padded``: blanks stood behind the text, more than a frame keeps."""

    begin: int
    end: int
    newline: int
    stop: int
    width: int
    text: str
    padded: bool


@dataclass(frozen=True, slots=True)
class _Break:
    """How lines were broken: at a width, within words or (``words``) between them.

    ``change``: how much longer a full line may have become since.
    """

    width: int
    words: bool
    change: int = 0


def reflowed(window: Window, is_one_word: IsOneWord = _never) -> Window | None:
    """``window`` with its lines whole; ``None`` where no terminal broke them. Only short texts are looked at.

    ``is_one_word`` tells whether two pieces were one word, where the widths say that lines were broken between words.
    """
    if not window.final or window.base or window.starts or len(window.data) > LARGEST or not _could_be(window.data):
        return None
    lines, framed = _lines(window.data)
    how = _how(lines)
    if how is None and not framed:
        return None
    own = _own_keys(lines, how.width) if how is not None else frozenset()
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


def _lines(data: bytes) -> tuple[list[_Line], bool]:
    """Every line, without the quote marks, the box and the indent that all of them have in common; was it a box?"""
    raw = data.split(b"\n")
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in raw]
    shown = [text for text in texts if text.strip()]
    lead = _common_lead(shown)
    border = _right_border(shown)
    inners = [_inner(text, border) for text in texts]
    margin = min((room for (inner, room) in inners if inner), default=0)
    lines: list[_Line] = []
    at = 0
    for number, (line, text) in enumerate(zip(raw, texts, strict=True)):
        newline = at + len(line)
        stop = newline + (1 if number + 1 < len(raw) else 0)
        inner, room = inners[number]
        width = len(inner)
        end = at + (width if line.isascii() else _byte_length(line, inner))
        begin = min(end, at + len(lead.encode())) if text.startswith(lead) else at
        shown_text = inner[len(lead) :] if text.startswith(lead) else inner
        lines.append(_Line(begin, end, newline, stop, width, shown_text, room > margin))
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


def _how(lines: Sequence[_Line]) -> _Break | None:
    """How wide the terminal was and where it broke; ``None`` where the lines do not say."""
    counts = Counter(line.width for line in lines)
    best: tuple[int, int, _Break] | None = None
    longer = 0
    for width in sorted(counts, reverse=True):
        if longer > len(lines) // ONE_CHANGED_IN or width < NARROWEST:
            break
        if width <= WIDEST and counts[width] >= FEWEST_FULL:
            unlike = longer > len(lines) // ONE_LONGER_IN
            fewest = FEWEST_FULL_OF_CHANGED if unlike else FEWEST_FULL
            how = _Break(width, words=False, change=LONGEST_CHANGE if longer else 0)
            if not unlike or _stands_out(counts, width):
                kinds = _evidence(lines, how)
                if kinds >= fewest and (best is None or (counts[width], kinds) > best[:2]):
                    best = counts[width], kinds, how
        longer += counts[width]
    widest = max(counts)
    between = _evidence(lines, _Break(widest, words=True)) if NARROWEST <= widest <= WIDEST else 0
    # Where words were kept whole, some lines are as wide as the terminal by chance.
    if between >= FEWEST_FULL_OF_WORDS and (best is None or between > 2 * best[1]):
        return _Break(widest, words=True)
    return best[2] if best is not None else None


def _stands_out(counts: Counter[int], width: int) -> bool:
    near = max(counts[other] for other in range(width - 12, width + 13) if abs(other - width) > 1)
    return counts[width] >= STANDS_OUT * near and max(counts) <= width + LONGEST_CHANGE


def _evidence(lines: Sequence[_Line], how: _Break) -> int:
    """How many different lines were broken so; 0 where too many others were not."""
    fewest = FEWEST_FULL_OF_WORDS if how.words else FEWEST_FULL
    pairs = [
        (line, after)
        for line, after in itertools.pairwise(lines)
        if (line.width >= how.width * LONG if how.words else line.width == how.width) and line.text
    ]
    broken = [pair for pair in pairs if _is_broken(*pair, how)]
    if len(broken) < fewest:
        return 0
    going_on = {
        kind
        for line, after in broken
        if not _begins_own(after.text) and (kind := masked(line.text)) != masked(after.text)
    }
    if len(going_on) < fewest:
        return 0
    goes_on = ends = 0
    for line, after in pairs:
        begins_own = _begins_own(after.text)
        if _is_broken(line, after, how) and not begins_own:
            goes_on += 1
        else:
            # Between words, a line that ends before another message, or before an indent, says nothing.
            ends += not how.words or not (begins_own or after.text[:1].isspace() or not after.text)
    return len(going_on) if goes_on >= MOST_GO_ON * (goes_on + ends) else 0


def _begins_own(text: str, own: Collection[str] | None = None) -> bool:
    """Whether a line begins a message of its own. A weak prefix counts if it is among ``own``, where that is given."""
    if text.startswith(_BEGINNINGS):
        return True
    prefixed = read_prefix(text)
    if prefixed.stamp is not None or any(x is not None for x in (prefixed.origin.rank, prefixed.origin.role)):
        return True
    return bool(prefixed.key) and (own is None or prefixed.key in own)


def _own_keys(lines: Sequence[_Line], width: int) -> frozenset[str]:
    """The prefixes of lines that surely begin a message: those that do not follow a full line."""
    starts = [after for line, after in itertools.pairwise(lines) if line.width < width * LONG]
    return frozenset(key for line in (*lines[:1], *starts) if (key := read_prefix(line.text).key))


def _is_broken(line: _Line, after: _Line, how: _Break) -> bool:
    """Whether the widths allow that ``line`` goes on in ``after``."""
    if not after.text.strip() or _is_of_table(line.text) or line.text[:ALIKE] == after.text[:ALIKE]:
        return False
    if how.words:
        fitted = line.width + 1 + len(after.text.split(maxsplit=1)[0]) <= how.width
        return not fitted and line.width >= how.width * LONG and not after.text[0].isspace()
    return how.width <= line.width <= how.width + how.change or (
        line.width == how.width - 1 and not after.text[0].isspace()
    )


def _joint(line: _Line, after: _Line | None, how: _Break, own: frozenset[str]) -> str | None:
    """What stood between two lines: nothing, or a blank lost at the edge; ``None`` where the first one ends."""
    if after is None or not line.text or not _is_broken(line, after, how) or _begins_own(after.text, own):
        return None
    return " " if how.words or line.width < how.width or line.padded else ""


def _is_of_table(text: str) -> bool:
    return text[-1] in _TABLE_ENDS and (text.lstrip()[:1] in _TABLE_ENDS or text[-2:-1] == text[-1])
