"""Lines that a terminal, tmux or a collector broke: the pieces joined again, as candidates for a pattern.

[rank2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught
collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from logsleuth.scan.lines import Piece, next_line, previous_line
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import Prefixed, read_prefix, split_segments

#: Lines after the hit that may belong to the message.
LINES_AFTER = 3


@dataclass(frozen=True, slots=True)
class Joined:
    """``text`` to try; ``head`` are the prefixes of the line before, where the message begins there."""

    text: str
    head: Prefixed | None


def joined(window: Window, piece: Piece, text: str, *, with_previous: bool) -> Iterator[Joined]:
    """``text`` (of ``piece``) with the lines after it, then with the one before; without and with a blank in between.

    A word may be broken in the middle, so the form without a blank comes first.
    """
    after: list[str] = []
    line = piece
    for _ in range(LINES_AFTER):
        following = next_line(window.data, line.end)
        if following is None:
            break
        line = following
        after.append(read_prefix(line.text).text.strip())
    yield from _combinations([text.rstrip()], after, None)
    before = previous_line(window.data, piece.start) if with_previous else None
    if before is not None:
        lead = split_segments(before.text)[-1][1].rstrip()
        yield from _combinations([lead, read_prefix(text).text.strip()], ["", *after], read_prefix(lead))


def _combinations(base: list[str], after: list[str], head: Prefixed | None) -> Iterator[Joined]:
    for count in range(1, len(after) + 1):
        parts = [*base, *(part for part in after[:count] if part)]
        for blank in ("", " "):
            yield Joined(blank.join(parts), head)
