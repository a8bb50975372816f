"""Several files in one: ``tail -n +1 rank*.log`` and ``head`` print each file's name before its lines.

    ==> rank3.log <==
    [E ProcessGroupNCCL.cpp:828] ...

What the printed path tells of rank and host holds for the lines up to the next name.
"""

from __future__ import annotations

import bisect
import re

from logsleuth.model.masking import masked
from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.model.scan import LastLines
from logsleuth.scan.lines import piece_at
from logsleuth.sources.blocks import Window
from logsleuth.sources.layouts import origin_of_path
from logsleuth.sources.prefixes import read_prefix

_HEADER = re.compile(r"==> (?P<path>\S[^\n]{0,400}?) <==\s*")
#: More names than this are no files.
MOST_SECTIONS = 100_000
LINES_OF_TAIL = 3
_TAIL_BYTES = 4096


class Sections:
    """Where in a source the lines of another file begin, and what that file's name tells."""

    def __init__(self, origin: Origin) -> None:
        origin = UNKNOWN if origin == UNKNOWN else origin
        self._starts: list[int] = [0]
        self._origins: list[Origin] = [origin]
        self._tails: list[LastLines] = []
        self._whole = origin

    def origin_at(self, place: int) -> Origin:
        """What the names of the source and of the printed file tell of a line at ``place`` in the source."""
        if len(self._starts) == 1:
            return self._whole
        return self._origins[bisect.bisect_right(self._starts, place) - 1]

    def header(self, window: Window, at: int) -> None:
        """A header may begin at ``at``; those of a window come in their order, and may come twice."""
        if at and window.data[at - 1 : at] != b"\n":
            return
        match = _HEADER.fullmatch(piece_at(window.data, at).text)
        start = window.place(at)
        again = start <= self._starts[-1] and len(self._starts) > 1
        if match is None or again or len(self._starts) > MOST_SECTIONS:
            return
        self._starts.append(start)
        self._origins.append(origin_of_path(match["path"]).merged(self._whole))
        origin = self._origins[-1]
        if origin is not UNKNOWN:
            self._tails.append(LastLines(origin, _last_lines(window, at)))

    def tails(self) -> tuple[LastLines, ...]:
        """One for each printed file, so that one without any event is known to have been given."""
        return tuple(self._tails)


def _last_lines(window: Window, at: int) -> tuple[str, ...]:
    """The end of the file whose header is at ``at``, as far as this window shows it."""
    begin = window.data.find(b"\n", at) + 1
    if not begin:
        return ()
    end = window.data.find(b"\n==> ", begin - 1)
    end = len(window.data) if end < 0 else end
    lines = window.data[max(begin, end - _TAIL_BYTES) : end].decode("utf-8", "replace").splitlines()
    texts = [text for line in lines if (text := read_prefix(line).text).strip()]
    return tuple(masked(text) for text in texts[-LINES_OF_TAIL:])
