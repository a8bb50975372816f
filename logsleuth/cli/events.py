"""``logsleuth events PATH...``: what the patterns read, without any conclusion, for people and for scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logsleuth.cli.own import catalog_with
from logsleuth.cli.rows import FORMATS, Row, render
from logsleuth.errors import InputError, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from logsleuth.catalog.spec import Catalog
    from logsleuth.model.events import Event, Stamp
    from logsleuth.model.scan import SourceScan
    from logsleuth.model.timeline import ProcessTimeline
    from logsleuth.sources.cite import Citation


def events(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, globs, archives, or -.")],
    format_name: Annotated[str, typer.Option("--format", "-f", help=f"One of {', '.join(FORMATS)}.")] = "table",
    rank: Annotated[
        list[str] | None, typer.Option("--rank", metavar="RANKS", help="Only these global ranks: 3 or 0-3,7.")
    ] = None,
    pattern: Annotated[list[str] | None, typer.Option("--pattern", help="Only what this pattern reads.")] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind: collective-timeout, ...")] = None,
    role: Annotated[list[str] | None, typer.Option("--role", help="cause, symptom, context or benign.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From this printed time on: 2024-03-01 10:00, 10:00.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Up to this printed time.")] = None,
    patterns: Annotated[
        list[Path] | None,
        typer.Option("--patterns", help="Folder of own patterns (repeatable).", exists=True, file_okay=False),
    ] = None,
) -> None:
    """List what the patterns read in the logs, with the rank that printed it. Options that repeat add up.

    --since and --until compare the times as they are printed; events without a time are left out then.
    """
    if format_name not in FORMATS:
        raise UsageError(f"--format {format_name}: not one of {', '.join(FORMATS)}")
    catalog = catalog_with(patterns)
    chosen = _Selection.asked(catalog, rank or [], pattern or [], kind or [], role or [], since, until)
    rows = list(_rows(scanned(paths, catalog), chosen))
    if chosen.timeless:
        typer.echo(f"events left out because they have no time: {chosen.timeless}", err=True)
    _write(render(rows, format_name, _terminal_columns()))


# --- reading ---------------------------------------------------------------------------------------------------------


def scanned(paths: Sequence[str], catalog: Catalog) -> list[SourceScan]:
    """Every source of ``paths``, scanned; what was skipped is told on standard error."""
    from logsleuth.execute.here import scan_here
    from logsleuth.scan.index import build_index
    from logsleuth.sources.discover import discover

    sources, skipped = discover(paths, stdin=sys.stdin.buffer)
    for item in skipped:
        typer.echo(f"{item.name}: {item.reason}", err=True)
    if not sources:
        raise InputError("nothing to read", hint="give files, folders, globs, archives, or - for standard input")
    scans = scan_here(sources, build_index(catalog.patterns.values()))
    for note in (note for scan in scans for note in scan.digest.notes):
        typer.echo(note, err=True)
    if all(scan.digest.flags & {"vanished", "unreadable"} for scan in scans):
        raise InputError("nothing of this could be read", hint="check the paths")
    return scans


def _rows(scans: Sequence[SourceScan], chosen: _Selection) -> Iterator[Row]:
    """The chosen events in the order of the sources, each with its line number."""
    from logsleuth.correlate.identity import identify
    from logsleuth.sources.cite import cite

    every = [event for scan in scans for event in scan.events]
    identities = identify(every, [(scan.source.id, scan.source.name, scan.source.origin) for scan in scans])
    for scan in scans:
        kept = [
            (event, process)
            for event in scan.events
            if chosen.takes(event, process := identities.processes[identities.process_of[id(event)]])
        ]
        lines = cite(scan.source, [(event.locator.start, event.locator.end) for event, _ in kept])
        for event, process in kept:
            yield _row(scan.source.name, event, process, lines.get((event.locator.start, event.locator.end)))


def _row(source: str, event: Event, process: ProcessTimeline, cited: Citation | None) -> Row:
    return Row(
        source=source,
        line=cited.line if cited else None,
        end_line=cited.end_line if cited else None,
        time=event.time.text if event.time else None,
        rank=process.rank,
        rank_known_by=process.known_by,
        local_rank=event.origin.local_rank,
        host=event.origin.host or process.host,
        pid=event.origin.pid,
        kind=event.kind,
        role=event.role,
        pattern=event.pattern,
        count=event.count,
        text=event.locator.text,
        fact=asdict(event.fact),
    )


# --- choosing --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Selection:
    """What the user wants to see; an empty set wants everything. ``timeless`` counts events that have no time."""

    ranks: frozenset[int]
    patterns: frozenset[str]
    kinds: frozenset[str]
    roles: frozenset[str]
    since: Stamp | None
    until: Stamp | None
    timeless: int = 0

    @classmethod
    def asked(
        cls,
        catalog: Catalog,
        ranks: Iterable[str],
        patterns: Iterable[str],
        kinds: Iterable[str],
        roles: Iterable[str],
        since: str | None,
        until: str | None,
    ) -> _Selection:
        from logsleuth.model.events import KINDS, ROLES

        return cls(
            ranks=frozenset(rank for text in ranks for rank in _ranks(text)),
            patterns=_known("--pattern", patterns, catalog.patterns),
            kinds=_known("--kind", kinds, KINDS),
            roles=_known("--role", roles, ROLES),
            since=_bound("--since", since),
            until=_bound("--until", until),
        )

    def takes(self, event: Event, process: ProcessTimeline) -> bool:
        if self.ranks and process.rank not in self.ranks:
            return False
        if self.patterns and event.pattern not in self.patterns:
            return False
        if (self.kinds and event.kind not in self.kinds) or (self.roles and event.role not in self.roles):
            return False
        if self.since is None and self.until is None:
            return True
        order = [_order(event.time, bound) for bound in (self.since, self.until) if bound is not None]
        if None in order:
            self.timeless += 1
            return False
        after = self.since is None or order[0] != -1
        return after and (self.until is None or order[-1] != 1)


def _ranks(text: str) -> tuple[int, ...]:
    from logsleuth.scan.fields import rank_list

    try:
        return rank_list(text)
    except ValueError:
        raise UsageError(f"--rank {text}: expected ranks such as 3 or 0-3,7") from None


def _known(option: str, given: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    import difflib

    names = set(known)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3)
            raise UsageError(f"{option} {name}: not known", hint=f"did you mean {', '.join(near)}?" if near else None)
    return frozenset(given)


def _bound(option: str, text: str | None) -> Stamp | None:
    """``2024-03-01 10:00:00``, ``2024-03-01``, ``10:00``, or a time as any log prints it."""
    from logsleuth.sources.clock import read_stamp

    if text is None:
        return None
    stamp = read_stamp(text) or read_stamp(f"{text} 00:00:00") or read_stamp(f"{text}:00")
    if stamp is None or (stamp.seconds is None and ":" not in stamp.text):
        raise UsageError(f"{option} {text}: no time", hint="such as '2024-03-01 10:00:00', 2024-03-01 or 10:00")
    return stamp


def _order(stamp: Stamp | None, bound: Stamp) -> int | None:
    """-1, 0 or 1 as ``stamp`` is before, at or after ``bound``, by what both of them print; ``None`` without a time.

    Where one of them has no year or no date, only the rest is compared; zones count where both have one.
    """
    if stamp is None:
        return None
    zones = None not in (stamp.utc_offset_s, bound.utc_offset_s)
    left, right = _moment(stamp, zones), _moment(bound, zones)
    if left is None or right is None:
        return None
    if not (stamp.has_date and bound.has_date):
        one, other = left.time().isoformat(), right.time().isoformat()
        return (one > other) - (one < other)
    if not (stamp.has_year and bound.has_year):
        left, right = left.replace(year=1972), right.replace(year=1972)
    return (left > right) - (left < right)


def _moment(stamp: Stamp, in_utc: bool) -> datetime | None:
    from datetime import datetime, timedelta

    if stamp.seconds is not None:
        return datetime(1970, 1, 1) + timedelta(seconds=stamp.seconds + (0 if in_utc else stamp.utc_offset_s or 0))
    digits = stamp.text.strip("[( ").replace(",", ".")
    for form in ("%H:%M:%S.%f", "%H:%M:%S"):
        try:
            return datetime.strptime(digits[:15], form)
        except ValueError:
            continue
    return None


# --- writing ---------------------------------------------------------------------------------------------------------


def _terminal_columns() -> int | None:
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return None


def _write(text: str) -> None:
    """A reader that closes the pipe early is no error."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
