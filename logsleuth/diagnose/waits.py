"""Who waits for whom, over the groups that share ranks: chains to their end, and circles.

A rank that did not come to one work because it waits in another one makes those who wait for it wait for that other
work as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logsleuth.diagnose.stuck import StuckWork


@dataclass(frozen=True, slots=True)
class Wait:
    """The waiters of ``work`` wait for ``ranks``, which wait in ``other``."""

    work: StuckWork
    ranks: tuple[int, ...]
    other: StuckWork


def waits(works: Sequence[StuckWork]) -> tuple[Wait, ...]:
    """Every wait of one work's ranks for ranks that are stuck in another work."""
    stuck_in: dict[int, list[StuckWork]] = {}
    for work in works:
        for waiter in work.waiters:
            if waiter.rank is not None:
                stuck_in.setdefault(waiter.rank, []).append(work)
    found = []
    for work in works:
        others: dict[str, tuple[StuckWork, list[int]]] = {}
        for rank in work.elsewhere:
            for other in stuck_in.get(rank, ()):
                if other is not work:
                    others.setdefault(other.group.key, (other, []))[1].append(rank)
        found += [Wait(work, tuple(ranks), other) for other, ranks in others.values()]
    return tuple(found)


def circle(works: Sequence[StuckWork]) -> tuple[Wait, ...]:
    """The shortest circle of waits through the first work that is in one; empty if every chain comes to an end."""
    onward: dict[str, list[Wait]] = {}
    for wait in waits(works):
        onward.setdefault(wait.work.group.key, []).append(wait)
    for start in onward:
        paths: list[tuple[Wait, ...]] = [(wait,) for wait in onward[start]]
        seen: set[str] = set()
        while paths:
            path = paths.pop(0)
            at = path[-1].other.group.key
            if at == start:
                return path
            if at not in seen:
                seen.add(at)
                paths += [(*path, wait) for wait in onward.get(at, ())]
    return ()


def followers(works: Sequence[StuckWork], work: StuckWork) -> tuple[Wait, ...]:
    """The waits that end in ``work``, directly or through others."""
    every = waits(works)
    found: list[Wait] = []
    ends = {work.group.key}
    grown = True
    while grown:
        new = [wait for wait in every if wait.other.group.key in ends and wait not in found and wait.work is not work]
        found += new
        ends |= {wait.work.group.key for wait in new}
        grown = bool(new)
    return tuple(found)
