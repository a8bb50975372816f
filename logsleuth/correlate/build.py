"""SourceScans -> JobView."""

from __future__ import annotations

from collections.abc import Sequence

from logsleuth.correlate.attempts import split
from logsleuth.correlate.clocks import aligned
from logsleuth.correlate.coverage import build_coverage
from logsleuth.correlate.ends import with_ends
from logsleuth.correlate.environment import build_environment
from logsleuth.correlate.identity import identify, last_lines
from logsleuth.correlate.ledger import build_groups
from logsleuth.model.events import Event, NcclWarn
from logsleuth.model.job import Attempt, JobView, ordered
from logsleuth.model.scan import SourceScan


def correlate(
    scans: Sequence[SourceScan], *, hung: bool = False, attempt: int | None = None, world_size: int | None = None
) -> JobView:
    """Everything the sources say, as one job. The order of ``scans`` does not matter.

    ``hung``: the user says that the job hangs. ``attempt``: the attempt to look at. ``world_size``: the user's word.
    """
    scans, clock_notes = aligned(sorted(scans, key=lambda scan: scan.source.name))
    every = without_generic([event for scan in scans for event in scan.events])
    chosen = split(every, attempt)
    files = [(scan.source.id, scan.source.name, scan.source.origin) for scan in scans]
    heard = [tail.origin for scan in scans for tail in scan.digest.tails]
    identities = identify(chosen.events, files, heard, every)
    processes = with_ends(identities.processes, chosen.events, identities.clues)
    coverage = build_coverage(chosen.events, processes, world_size)
    return JobView(
        events=ordered(chosen.events),
        processes=processes,
        groups=build_groups(processes, coverage.world_size),
        environment=build_environment(every),
        coverage=coverage,
        attempts=chosen.attempts,
        scans=tuple(scans),
        process_of=identities.process_of,
        last_lines=last_lines(scans, identities.clues),
        hung=hung,
        yearless=any(e.time is not None and e.time.has_date and not e.time.has_year for e in chosen.events),
        notes=(*identities.notes, *clock_notes, *_attempt_note(chosen.attempts, attempt)),
    )


def without_generic(events: Sequence[Event]) -> list[Event]:
    """A NCCL warning with a pattern of its own is not also told as "some warning", nor an error that NCCL ignored."""
    harmless = {e.locator.place for e in events if e.role == "benign" and e.kind == "note"}
    events = [e for e in events if e.kind != "cuda-error" or e.locator.place not in harmless]
    specific = {e.locator.place for e in events if not (isinstance(e.fact, NcclWarn) and e.fact.what == "other")}
    return [
        e
        for e in events
        if not (isinstance(e.fact, NcclWarn) and e.fact.what == "other") or e.locator.place not in specific
    ]


def _attempt_note(attempts: Sequence[Attempt], wanted: int | None) -> list[str]:
    """What the user asked for and did not get."""
    shown = next((a.index for a in attempts if a.focus), None)
    if wanted is None or shown is None or shown == wanted:
        return []
    return [f"attempt {wanted} is not in these logs; this is attempt {shown}"]
