"""Lines that an editor, a terminal or a collector broke: the pieces joined again, as candidates for a pattern.

    [rank2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught
    collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, ...

A text that a terminal broke as a whole is made whole before (``sources/reflow.py``); here are single messages, and
texts whose lines have no common width.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from logsleuth.scan.lines import FILE_HEADER, Piece, next_line, previous_line
from logsleuth.scan.vocabulary import Vocabulary
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import Prefixed, read_prefix, split_segments

#: Lines after the hit that may belong to the message, whatever their length ..
LINES_AFTER = 3
#: .. and as long as each is nearly as long as the longest one: a message of 900 characters at 80 columns.
FULL_LINES_AFTER = 12
#: How many lines are tried together.
_STEPS = (1, 2, 3, 4, 6, 8, 10, 12)
#: Lines before the hit: the prefixes alone may fill the first one.
LINES_BEFORE = 3
#: Of the longest piece, the length that a full one has.
NEARLY_FULL = 0.75
#: A message that a terminal wrapped fills its line; shorter lines are not joined ..
SHORTEST_WRAPPED = 40
#: .. but where they may be the end of one that fills the line before.
SHORTEST_BEFORE_THE_END = 70


@dataclass(frozen=True, slots=True)
class Joined:
    """``text`` to try; the hit's own part is ``text[own_start:own_end]``, and only a match that touches it counts.

    ``head`` are the prefixes of the line in which the message begins, where that is one before the hit.
    """

    text: str
    own_start: int
    own_end: int
    head: Prefixed | None


def could_be_wrapped(window: Window, piece: Piece, text: str) -> bool:
    """Whether ``text`` (of ``piece``) is long enough to go on, or stands behind a line that is."""
    if len(text) >= SHORTEST_WRAPPED:
        return True
    before = previous_line(window.data, piece.start)
    return before is not None and len(before.text.rstrip()) >= SHORTEST_BEFORE_THE_END


def joined(
    window: Window,
    piece: Piece,
    text: str,
    vocabulary: Vocabulary,
    *,
    with_previous: bool,
    may_match: Callable[[Sequence[str]], bool],
) -> Iterator[Joined]:
    """``text`` (of ``piece``) with the lines after it, then with those before.

    A word may be broken in the middle, so the form without a blank comes first; then with blanks, then as the words
    tell. A line that begins a message of its own (a rank or logger prefix of another origin)
    is not joined. ``may_match`` tells of parts whether it is worth while to join them, or the first ones of them.
    """
    prefixed = read_prefix(text)
    key, own = prefixed.key, text.rstrip()
    after = _after(window, piece, len(text), key)
    if after and may_match((own, *after)):
        yield from _combinations([], own, after, None, vocabulary)
    if not with_previous:
        return
    lead: list[str] = []
    line = piece
    own = prefixed.text.strip()
    for _ in range(LINES_BEFORE):
        before = previous_line(window.data, line.start)
        if before is None or not before.text.strip() or before.text.startswith(FILE_HEADER):
            return
        line = before
        part = split_segments(before.text)[-1][1].rstrip()
        head = read_prefix(part)
        if key not in ("", head.key):
            return
        lead = [part, *(read_prefix(other).text if key else other for other in lead)]
        if may_match((*lead, own, *after)):
            yield from _combinations(lead, own, ["", *after], head, vocabulary)
        if len(part) < SHORTEST_WRAPPED or (head.key and head.key != key):
            return


def _after(window: Window, piece: Piece, width: int, key: str) -> list[str]:
    """The following lines that may belong to the message, peeled."""
    after: list[str] = []
    line = piece
    for number in range(FULL_LINES_AFTER):
        following = next_line(window.data, line.end)
        if following is None or following.text.startswith(FILE_HEADER):
            break
        prefixed = read_prefix(following.text)
        # A launcher's part of the prefix alone may be repeated on each line: the quote marks of a mail, a tee's label.
        begins_own = not prefixed.key and len(prefixed.text) < len(following.text)
        if begins_own or not key.startswith(prefixed.key) or (number >= LINES_AFTER and not prefixed.text.strip()):
            break
        line = following
        after.append(prefixed.text.strip())
        length = len(following.text.rstrip())
        width = max(width, length)
        if number + 1 >= LINES_AFTER and length < NEARLY_FULL * width:
            break
    return after


def _combinations(
    lead: Sequence[str], own: str, after: Sequence[str], head: Prefixed | None, vocabulary: Vocabulary
) -> Iterator[Joined]:
    parts = [*lead, own]
    joints = [vocabulary.joint(left, right) for left, right in itertools.pairwise(parts)]
    letters, before = sum(map(len, lead)), len(lead)
    taken, shown = 0, 0
    for step in (1, *(step + 1 for step in _STEPS)) if lead else _STEPS:
        if step > len(after):
            return
        for part in filter(None, after[taken:step]):
            joints.append(vocabulary.joint(parts[-1], part))
            parts.append(part)
        taken = step
        if len(parts) == shown:
            continue  # more empty lines
        shown = len(parts)
        yield Joined("".join(parts), letters, letters + len(own), head)
        if shown > 1:
            start = letters + before
            yield Joined(" ".join(parts), start, start + len(own), head)
        if "" in joints and " " in joints:
            text = "".join(text for pair in zip(parts, (*joints, ""), strict=True) for text in pair)
            start = letters + sum(map(len, joints[:before]))
            yield Joined(text, start, start + len(own), head)
