"""A window whose broken lines are whole again, made of pieces of the window as it was read.

Nothing is copied to another place of the source: evidence is cited where it stands, through ``Window.place``.
"""

from __future__ import annotations

from collections.abc import Callable

from logsleuth.sources.blocks import Window

#: A source's window as it was read -> the same with its lines whole.
Mender = Callable[[Window], Window]


class Mend:
    """Collects the pieces of one window in their new order: ranges of its data, and a few letters of our own."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._parts: list[bytes] = []
        self._starts: list[int] = []
        self._places: list[int] = []
        self._length = 0
        self._next = -1
        self._lo: int | None = None
        self._hi: int | None = None

    def add(self, begin: int, end: int) -> None:
        """``data[begin:end]`` of the window as it was read."""
        window = self._window
        if begin >= end:
            return
        if begin != self._next or not self._starts:
            self._starts.append(self._length)
            self._places.append(window.base + begin)
        if self._lo is None and end > window.lo:
            self._lo = self._length + max(0, window.lo - begin)
        if self._hi is None and end > window.hi:
            self._hi = self._length + max(0, window.hi - begin)
        self._parts.append(window.data[begin:end])
        self._length += end - begin
        self._next = end

    def insert(self, letters: bytes) -> None:
        """A blank where an editor broke the line, a colon behind a label."""
        self._parts.append(letters)
        self._length += len(letters)
        self._next = -1

    def window(self) -> Window:
        """The mended window; its region is what was the region."""
        old = self._window
        return Window(
            data=b"".join(self._parts),
            base=old.base,
            lo=self._length if self._lo is None else self._lo,
            hi=self._length if self._hi is None else self._hi,
            final=old.final,
            starts=tuple(self._starts),
            places=tuple(self._places),
        )
