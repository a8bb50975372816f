"""Hosts whose clocks show different time zones: recognised, put on one clock, and told.

Logs print local times without a zone. Two hosts of one job begin and end together; where the logs of one begin and end
a whole number of half hours later than the other's, its clock is set to another zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from logsleuth.model.events import Event, Stamp
from logsleuth.model.scan import SourceScan

#: Zones differ by a multiple of this, and here by an hour at least: a restart after half an hour is no zone.
ZONE_STEP_S = 1800
SMALLEST_S = 3600
LARGEST_S = 26 * 3600
#: How exactly the beginnings and the ends must agree.
TOLERANCE_S = 120


def aligned(scans: Sequence[SourceScan]) -> tuple[list[SourceScan], list[str]]:
    """``scans`` with all times on the clock of most hosts, and a sentence for each host that was put on it."""
    spans = {host: span for host, own in _by_host(scans).items() if (span := _span(own)) is not None}
    if len(spans) < 2:
        return list(scans), []
    shifts = _shifts(spans)
    notes = [
        f"the clock of {host} is {_hours(abs(shift))} {'ahead of' if shift > 0 else 'behind'} the other hosts' (another"
        " time zone); its times are compared as if it were not"
        for host, shift in sorted(shifts.items())
    ]
    moved = [_shifted(scan, shifts.get(_host(scan) or "", 0)) for scan in scans]
    return moved, notes


def _by_host(scans: Iterable[SourceScan]) -> dict[str, list[SourceScan]]:
    found: dict[str, list[SourceScan]] = {}
    for scan in scans:
        if (host := _host(scan)) is not None:
            found.setdefault(host, []).append(scan)
    return found


def _host(scan: SourceScan) -> str | None:
    """The one host that a source speaks for."""
    if scan.source.origin.host is not None:
        return scan.source.origin.host
    hosts = {event.origin.host for event in scan.events} - {None}
    return hosts.pop() if len(hosts) == 1 else None


def _span(scans: Iterable[SourceScan]) -> tuple[float, float] | None:
    """First and last second of a host's own clock; stamps with a zone need no help."""
    firsts = [seconds for scan in scans if (seconds := _local(scan.digest.first)) is not None]
    lasts = [seconds for scan in scans if (seconds := _local(scan.digest.last)) is not None]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def _local(stamp: Stamp | None) -> float | None:
    if stamp is None or not stamp.has_date or stamp.utc_offset_s is not None:
        return None
    return stamp.seconds


def _shifts(spans: dict[str, tuple[float, float]]) -> dict[str, int]:
    """By how much each host's clock is ahead of that of most hosts; those on it are left out."""
    groups: list[tuple[str, dict[str, int]]] = []
    for host in sorted(spans):
        for reference, members in groups:
            shift = _shift(spans[reference], spans[host])
            if shift is not None:
                members[host] = shift
                break
        else:
            groups.append((host, {host: 0}))
    shifts: dict[str, int] = {}
    for _, members in groups:
        usual = max(sorted(set(members.values())), key=list(members.values()).count)
        shifts |= {host: shift - usual for host, shift in members.items() if shift != usual}
    return shifts


def _shift(one: tuple[float, float], other: tuple[float, float]) -> int | None:
    """The difference of two hosts' zones, 0 where they run together; ``None`` where the times do not tell."""
    first, last = other[0] - one[0], other[1] - one[1]
    steps = round((first + last) / 2 / ZONE_STEP_S)
    shift = steps * ZONE_STEP_S
    if any(abs(difference - shift) > TOLERANCE_S for difference in (first, last)):
        return None
    return shift if shift == 0 or SMALLEST_S <= abs(shift) <= LARGEST_S else None


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:g} h"


def _shifted(scan: SourceScan, shift: int) -> SourceScan:
    if not shift:
        return scan
    digest = replace(scan.digest, first=_earlier(scan.digest.first, shift), last=_earlier(scan.digest.last, shift))
    return replace(scan, events=tuple(_moved(event, shift) for event in scan.events), digest=digest)


def _moved(event: Event, shift: int) -> Event:
    return replace(event, time=_earlier(event.time, shift))


def _earlier(stamp: Stamp | None, shift: int) -> Stamp | None:
    if stamp is None or stamp.seconds is None or stamp.utc_offset_s is not None:
        return stamp
    return replace(stamp, seconds=stamp.seconds - shift)
