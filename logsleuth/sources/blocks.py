"""Bytes of a source as overlapping windows, each with a region of whole lines to scan.

Never mmap: a file that is truncated while read would kill the process, and pipes and archives could not share it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

#: Bytes read at a time. Hyperscan's speed is flat from 1 MiB on.
BLOCK = 2 * 1024 * 1024
#: Bytes kept before and after the region, so that messages of several lines and wrapped lines can be read whole.
MARGIN = 64 * 1024
#: A line longer than this is cut.
LONGEST_LINE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Window:
    """``data[lo:hi]`` is to be scanned: it begins and ends at line ends. The rest of ``data`` is context.

    ``base`` is the absolute offset of ``data[0]`` in the source. ``final``: nothing follows. Where broken lines were
    mended, ``data`` is made of pieces of the source: the piece at ``starts[i]`` comes from ``places[i]``.
    """

    data: bytes
    base: int
    lo: int
    hi: int
    final: bool
    starts: tuple[int, ...] = ()
    places: tuple[int, ...] = ()

    def place(self, at: int) -> int:
        """The absolute offset in the source of what is at ``at`` in ``data``."""
        if not self.starts:
            return self.base + at
        number = max(0, bisect.bisect_right(self.starts, at) - 1)
        return self.places[number] + at - self.starts[number]

    def place_of_end(self, at: int) -> int:
        """The same for the end of something: behind its last byte, wherever what follows was moved from."""
        return self.place(at - 1) + 1 if self.starts and at > 0 else self.place(at)


def windows(stream: BinaryIO, block: int = BLOCK, margin: int = MARGIN) -> Iterator[Window]:
    """The whole of ``stream`` as windows whose regions join without gap or overlap. An empty stream yields none."""
    data, base, lo = b"", 0, 0
    while True:
        chunk = stream.read(block)
        final = not chunk
        keep = max(0, lo - margin)
        data, base, lo = data[keep:] + chunk, base + keep, lo - keep
        if not final and not base and len(data) < block:
            continue  # a short source is one window
        hi = len(data) if final else _last_line_end(data, lo, margin)
        if hi > lo:
            yield Window(data, base, lo, hi, final)
            lo = hi
        if final:
            return


def _last_line_end(data: bytes, lo: int, margin: int) -> int:
    """The last line end that leaves ``margin`` bytes of look-ahead; ``lo`` if there is none yet."""
    limit = len(data) - margin
    if limit <= lo:
        return lo
    end = data.rfind(b"\n", lo, limit) + 1
    if end > lo:
        return end
    return limit if limit - lo > LONGEST_LINE else lo
