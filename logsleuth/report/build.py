"""Diagnosis and JobView -> Report. The only file of the report that knows the model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from logsleuth import __version__
from logsleuth.catalog.spec import Catalog, CauseSpec
from logsleuth.model import diagnosis as model
from logsleuth.model.events import Event, Locator, Stamp
from logsleuth.model.job import JobView
from logsleuth.model.masking import masked
from logsleuth.model.source import Skipped
from logsleuth.report import schema
from logsleuth.report.jobview import build_job
from logsleuth.report.texts import filled, fixes

MOST_TIMELINE = 500
LONGEST_TEXT = 1000
#: A place (source id, start, end) -> (line, end line, before, after).
Lines = Mapping[tuple[str, int, int], tuple[int, int, Sequence[str], Sequence[str]]]


@dataclass(frozen=True, slots=True)
class _Places:
    """What places are called: the names of sources by their id, and the lines that were looked up."""

    names: Mapping[str, str]
    lines: Lines

    def name(self, locator: Locator) -> str:
        return self.names.get(locator.source, locator.source)

    def at(self, locator: Locator) -> tuple[int | None, int | None, Sequence[str], Sequence[str]]:
        """Line, end line, lines before and after; nothing where the place was not found."""
        return self.lines.get((*locator.place, locator.end), (None, None, (), ()))


def story_of(job: JobView) -> list[Event]:
    """The events that matter, in the order of the logs; of more than MOST_TIMELINE, causes and symptoms are kept."""
    strong = [e for e in job.events if e.role in ("cause", "symptom")]
    rest = [
        e for e in job.events if e.kind in ("run-end", "attempt-start", "host-work", "barrier-device", "signal-sent")
    ]
    chosen = {id(e) for e in [*strong, *rest][:MOST_TIMELINE]}
    kept = [e for e in job.events if id(e) in chosen]
    return sorted(kept, key=lambda e: (_order(e), e.locator.place))


def _order(event: Event) -> float:
    return 0.0 if event.time is None or event.time.seconds is None else event.time.seconds


def cited(diagnosis: model.Diagnosis, job: JobView, story: Iterable[Event]) -> list[Locator]:
    """Every place whose line number the report will need; an entry of a structured file has none."""
    places = [e.event.locator for _, finding in diagnosis.all() for e in finding.evidence]
    places += [event.locator for event in story]
    places += [
        Locator(scan.source.id, u.start, u.start + 1, u.sample) for scan in job.scans for u in scan.digest.unknown
    ]
    return [place for place in places if place.entry is None]


def build(
    diagnosis: model.Diagnosis,
    job: JobView,
    story: Iterable[Event],
    catalog: Catalog,
    lines: Lines,
    skipped: Iterable[Skipped] = (),
) -> schema.Report:
    """The report, with ``story`` as its timeline. ``lines`` resolves what ``cited`` asked for; a place that is missing
    in it is cited without a line."""
    names = {scan.source.id: scan.source.name for scan in job.scans}
    places = _Places(names, lines)
    shown = [_diagnosis(role, finding, job, catalog, places) for role, finding in diagnosis.all()]
    return schema.Report(
        tool=schema.Tool(version=__version__),
        verdict=diagnosis.verdict,  # type: ignore[arg-type]
        diagnoses=shown,
        job=build_job(job, names),
        timeline=schema.Timeline(total=len(job.events), shown=[_timeline(event, job, places) for event in story]),
        coverage=_coverage(job),
        unknown=_unknown(job, lines),
        passed=[
            schema.Passed(judgement=p.judgement, reason=p.reason, would_decide=p.would_decide) for p in diagnosis.passed
        ],
        notes=_notes(diagnosis, job, skipped),
    )


def _diagnosis(role: str, finding: model.Finding, job: JobView, catalog: Catalog, places: _Places) -> schema.Diagnosis:
    spec = catalog.causes.get(finding.cause)
    ranks = sorted({c.rank for c in finding.culprits if c.rank is not None})
    hosts = sorted({c.host for c in finding.culprits if c.host is not None})
    facts = {
        **finding.facts,
        "ranks": ", ".join(map(str, ranks)),
        "hosts": ", ".join(hosts),
        "world_size": job.world_size,
    }
    focus = next((a.index for a in job.attempts if a.focus), None)
    return schema.Diagnosis(
        cause=finding.cause,
        role=role,  # type: ignore[arg-type]
        confidence=finding.confidence,  # type: ignore[arg-type]
        severity=spec.severity if spec else "error",  # type: ignore[arg-type]
        owner=spec.owner if spec else "unknown",  # type: ignore[arg-type]
        retry=spec.retry if spec else "unknown",  # type: ignore[arg-type]
        title=spec.title if spec else finding.cause,
        summary=finding.summary or (filled(spec.summary, facts) if spec else finding.cause),
        reason=finding.reason,
        ranks=ranks,
        hosts=hosts,
        culprits=[_culprit(c) for c in finding.culprits],
        suspects=[_culprit(c) for c in finding.suspects],
        attempt=focus,
        fingerprint=_fingerprint(finding),
        evidence=[_evidence(e, job, places) for e in finding.evidence],
        fixes=list(fixes(spec, job, facts))
        if spec and role in ("root-cause", "contributing")
        else _collects(spec, job, facts),
    )


def _collects(spec: CauseSpec | None, job: JobView, facts: Mapping[str, Any]) -> list[schema.Fix]:
    """A hypothesis or fallout only says what to collect or try, and only briefly."""
    return [fix for fix in fixes(spec, job, facts) if fix.kind == "collect"][:1] if spec else []


def _culprit(culprit: model.Culprit) -> schema.Culprit:
    return schema.Culprit(
        rank=culprit.rank,
        local_rank=culprit.local_rank,
        task=culprit.task,
        host=culprit.host,
        pid=culprit.pid,
        device=schema.Device(pci=culprit.pci) if culprit.pci else None,
        known_by=culprit.known_by,
    )


def _evidence(item: model.Evidence, job: JobView, places: _Places) -> schema.Evidence:
    event = item.event
    line, end_line, before, after = places.at(event.locator)
    return schema.Evidence(
        source=places.name(event.locator),
        line=line,
        end_line=end_line,
        locator=event.locator.entry,
        rank=job.rank(event),
        time=event.time.text if event.time else None,
        time_utc=_utc(event.time),
        text=event.locator.text[:LONGEST_TEXT],
        before=list(before),
        after=list(after),
        why=item.why,
        primary=item.primary,
    )


def _utc(stamp: Stamp | None) -> str | None:
    if stamp is None or stamp.seconds is None or not stamp.has_year or stamp.utc_offset_s is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=stamp.seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fingerprint(finding: model.Finding) -> str:
    """Equal for the same failure in another run: the cause and what its primary event says, without numbers or
    places."""
    primary = finding.primary
    text = f"{finding.cause}|{primary.pattern if primary else ''}|{masked(primary.locator.text) if primary else ''}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _timeline(event: Event, job: JobView, places: _Places) -> schema.TimelineEvent:
    line, _, _, _ = places.at(event.locator)
    process = job.process(event)
    return schema.TimelineEvent(
        source=places.name(event.locator),
        line=line,
        rank=process.rank if process else None,
        host=process.host if process else event.origin.host,
        time=event.time.text if event.time else None,
        kind=event.kind,
        role=event.role,
        text=event.locator.text[:300],
        count=event.count,
    )


def _coverage(job: JobView) -> schema.Coverage:
    coverage = job.coverage
    return schema.Coverage(
        world_size=coverage.world_size,
        ranks_seen=list(coverage.ranks_seen),
        ranks_silent=list(coverage.ranks_silent),
        ranks_without_log=list(coverage.ranks_without_log),
        sources=[
            schema.SourceCoverage(
                name=scan.source.name,
                bytes=scan.digest.bytes_read,
                events=len(scan.events),
                rank=scan.source.origin.rank,
                host=scan.source.origin.host,
                rank_known_by=scan.source.origin.how("rank"),
                first=scan.digest.first.text if scan.digest.first else None,
                last=scan.digest.last.text if scan.digest.last else None,
                flags=sorted(scan.digest.flags),
                unknown_kinds=len(scan.digest.unknown),
            )
            for scan in job.scans
        ],
    )


def _unknown(job: JobView, lines: Lines) -> list[schema.UnknownKind]:
    found = [
        schema.UnknownKind(
            masked=u.masked,
            sample=u.sample,
            source=scan.source.name,
            line=lines.get((scan.source.id, u.start, u.start + 1), (None,))[0],
            count=u.count,
        )
        for scan in job.scans
        for u in scan.digest.unknown
    ]
    return sorted(found, key=lambda u: (-u.count, u.source, u.line or 0))[:50]


def _notes(diagnosis: model.Diagnosis, job: JobView, skipped: Iterable[Skipped]) -> list[str]:
    notes = [f"{item.name}: {item.reason}" for item in skipped]
    for scan in job.scans:
        notes += scan.digest.notes
        if "empty" in scan.digest.flags:
            notes.append(f"{scan.source.name}: empty")
        if "shrunk" in scan.digest.flags:
            notes.append(f"{scan.source.name}: became shorter while it was read")
        if "binary" in scan.digest.flags and not scan.events:
            notes.append(f"{scan.source.name}: looks like binary data; nothing was recognised in it")
    unfinished = [scan.source.name for scan in job.scans if "interrupted" in scan.digest.flags]
    if unfinished:
        shown = ", ".join(unfinished[:8]) + (", ..." if len(unfinished) > 8 else "")
        notes.append(f"interrupted: {len(unfinished)} of {len(job.scans)} sources were not read to their end: {shown}")
    missing = job.coverage.ranks_without_log
    if missing:
        shown = ", ".join(map(str, missing[:16])) + (", ..." if len(missing) > 16 else "")
        notes.append(f"no log of {'rank' if len(missing) == 1 else 'ranks'} {shown} of a world of {job.world_size}")
    return [*notes, *job.notes, *diagnosis.notes]
