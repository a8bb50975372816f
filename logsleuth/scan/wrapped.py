"""Lines that a terminal, tmux or a collector broke: the pieces joined again, as candidates for a pattern.

[rank2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught
collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logsleuth.scan.lines import Piece, next_line, previous_line
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import Prefixed, read_prefix, split_segments

#: Lines after the hit that may belong to the message.
LINES_AFTER = 3


@dataclass(frozen=True, slots=True)
class Joined:
    """``text`` to try; the hit's own part is ``text[own_start:own_end]``, and only a match that touches it counts.

    ``head`` are the prefixes of the line before, where the message begins there.
    """

    text: str
    own_start: int
    own_end: int
    head: Prefixed | None


def joined(window: Window, piece: Piece, text: str, *, with_previous: bool) -> Iterator[Joined]:
    """``text`` (of ``piece``) with the lines after it, then with the one before; without and with a blank in between.

    A word may be broken in the middle, so the form without a blank comes first. A line that begins a message of its own
    (a rank or logger prefix of another origin) is not joined.
    """
    after: list[str] = []
    line = piece
    key = read_prefix(text).key
    for _ in range(LINES_AFTER):
        following = next_line(window.data, line.end)
        if following is None:
            break
        prefixed = read_prefix(following.text)
        if prefixed.key not in ("", key):
            break
        line = following
        after.append(prefixed.text.strip())
    yield from _combinations([], text.rstrip(), after, None)
    before = previous_line(window.data, piece.start) if with_previous else None
    if before is None:
        return
    lead = split_segments(before.text)[-1][1].rstrip()
    head = read_prefix(lead)
    if key in ("", head.key):
        yield from _combinations([lead], read_prefix(text).text.strip(), ["", *after], head)


def _combinations(lead: Sequence[str], own: str, after: Sequence[str], head: Prefixed | None) -> Iterator[Joined]:
    for count in range(1, len(after) + 1):
        tail = [part for part in after[:count] if part]
        for blank in ("", " "):
            start = len(blank.join(lead)) + len(blank) if lead else 0
            yield Joined(blank.join([*lead, own, *tail]), start, start + len(own), head)
