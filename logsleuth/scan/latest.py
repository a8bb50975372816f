"""Patterns that print all the time, such as progress: the first and the last events of each origin are kept."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from logsleuth.model.events import Event
from logsleuth.model.origin import Origin
from logsleuth.scan.lines import span_at

#: Per window, the last hits of such a pattern that are read.
LATEST_PER_WINDOW = 256
#: Of those of one origin, the last ones that become events; the first one does as well.
LATEST_KEPT = 2


def lines_of(data: bytes, offsets: Iterable[int]) -> list[tuple[int, int]]:
    """The lines that hold ``offsets``, which are in order, each line once."""
    spans: list[tuple[int, int]] = []
    for at in offsets:
        if not spans or at >= spans[-1][1]:
            spans.append(span_at(data, at))
    return spans


def without_the_middle(events: Sequence[Event], latest: Container[str]) -> list[Event]:
    """Of the events of the patterns ``latest`` keep the first and the last two of each origin."""
    groups: dict[tuple[str, Origin], list[int]] = {}
    for number, event in enumerate(events):
        if event.pattern in latest:
            groups.setdefault((event.pattern, event.origin), []).append(number)
    dropped = {number for numbers in groups.values() for number in numbers[1:-LATEST_KEPT]}
    return [event for number, event in enumerate(events) if number not in dropped]
