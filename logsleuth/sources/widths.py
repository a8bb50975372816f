"""How wide was the terminal in which a text was broken? What the lengths of its lines tell, for it and against it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from logsleuth.model.masking import masked
from logsleuth.sources.framed import Line
from logsleuth.sources.prefixes import read_prefix

#: No terminal is narrower, and no message that matters is shorter.
NARROWEST = 40
WIDEST = 400
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


@dataclass(frozen=True, slots=True)
class Break:
    """How lines were broken: at a width, within words or (``words``) between them.

    ``change``: how much longer a full line may have become since.
    """

    width: int
    words: bool
    change: int = 0


def how_broken(lines: Sequence[Line]) -> Break | None:
    """How wide the terminal was and where it broke; ``None`` where the lines do not say."""
    counts = Counter(line.width for line in lines)
    best: tuple[int, int, Break] | None = None
    longer = 0
    for width in sorted(counts, reverse=True):
        if longer > len(lines) // ONE_CHANGED_IN or width < NARROWEST:
            break
        if width <= WIDEST and counts[width] >= FEWEST_FULL:
            unlike = longer > len(lines) // ONE_LONGER_IN
            fewest = FEWEST_FULL_OF_CHANGED if unlike else FEWEST_FULL
            how = Break(width, words=False, change=LONGEST_CHANGE if longer else 0)
            if not unlike or _stands_out(counts, width):
                kinds = _evidence(lines, how)
                if kinds >= fewest and (best is None or (counts[width], kinds) > best[:2]):
                    best = counts[width], kinds, how
        longer += counts[width]
    widest = max(counts)
    between = _evidence(lines, Break(widest, words=True)) if NARROWEST <= widest <= WIDEST else 0
    # Where words were kept whole, some lines are as wide as the terminal by chance.
    if between >= FEWEST_FULL_OF_WORDS and (best is None or between > 2 * best[1]):
        return Break(widest, words=True)
    return best[2] if best is not None else None


def _stands_out(counts: Counter[int], width: int) -> bool:
    near = max(counts[other] for other in range(width - 12, width + 13) if abs(other - width) > 1)
    return counts[width] >= STANDS_OUT * near and max(counts) <= width + LONGEST_CHANGE


def _evidence(lines: Sequence[Line], how: Break) -> int:
    """How many different lines were broken so; 0 where too many others were not."""
    fewest = FEWEST_FULL_OF_WORDS if how.words else FEWEST_FULL
    pairs = [
        (line, after)
        for line, after in itertools.pairwise(lines)
        if (line.width >= how.width * LONG if how.words else line.width == how.width) and line.text
    ]
    broken = [pair for pair in pairs if is_broken(*pair, how)]
    if len(broken) < fewest:
        return 0
    going_on = {
        kind
        for line, after in broken
        if not begins_own(after.text) and (kind := masked(line.text)) != masked(after.text)
    }
    if len(going_on) < fewest:
        return 0
    goes_on = ends = 0
    for line, after in pairs:
        is_own = begins_own(after.text)
        if is_broken(line, after, how) and not is_own:
            goes_on += 1
        else:
            # Between words, a line that ends before another message, or before an indent, says nothing.
            ends += not how.words or not (is_own or after.text[:1].isspace() or not after.text)
    return len(going_on) if goes_on >= MOST_GO_ON * (goes_on + ends) else 0


def begins_own(text: str, own: Collection[str] | None = None) -> bool:
    """Whether a line begins a message of its own. A weak prefix counts if it is among ``own``, where that is given."""
    if text.startswith(_BEGINNINGS):
        return True
    prefixed = read_prefix(text)
    if prefixed.stamp is not None or any(x is not None for x in (prefixed.origin.rank, prefixed.origin.role)):
        return True
    return bool(prefixed.key) and (own is None or prefixed.key in own)


def own_keys(lines: Sequence[Line], width: int) -> frozenset[str]:
    """The prefixes of lines that surely begin a message: those that do not follow a full line."""
    starts = [after for line, after in itertools.pairwise(lines) if line.width < width * LONG]
    return frozenset(key for line in (*lines[:1], *starts) if (key := read_prefix(line.text).key))


def is_broken(line: Line, after: Line, how: Break) -> bool:
    """Whether the widths allow that ``line`` goes on in ``after``."""
    if not after.text.strip() or _is_of_table(line.text) or line.text[:ALIKE] == after.text[:ALIKE]:
        return False
    if how.words:
        fitted = line.width + 1 + len(after.text.split(maxsplit=1)[0]) <= how.width
        return not fitted and line.width >= how.width * LONG and not after.text[0].isspace()
    return how.width <= line.width <= how.width + how.change or (
        line.width == how.width - 1 and not after.text[0].isspace()
    )


def _is_of_table(text: str) -> bool:
    return text[-1] in _TABLE_ENDS and (text.lstrip()[:1] in _TABLE_ENDS or text[-2:-1] == text[-1])
