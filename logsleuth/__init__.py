"""LogSleuth: rank logs in, the rank that broke the job and the fix out.

import logsleuth

report = logsleuth.analyze(["logs/"])
for cause in report.root_causes:
    print(cause.summary, cause.ranks)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

    from logsleuth.catalog.spec import Catalog
    from logsleuth.execute.interruption import Interruption
    from logsleuth.report.schema import Report

__version__ = "0.1.0"
__all__ = ["__version__", "analyze"]


def analyze(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    ranks: Mapping[str, int] | None = None,
    world_size: int | None = None,
    attempt: int | None = None,
    hung: bool = False,
    patterns: Sequence[Path] = (),
    on_source: Callable[[str, int], Any] | None = None,
    interruption: Interruption | None = None,
) -> Report:
    """Read ``paths`` (files, folders, globs, archives, ``-`` for ``stdin``) and say what broke the job.

    ``ranks`` maps a path to its global rank. ``world_size`` is the number of ranks where the logs do not tell.
    ``attempt`` picks a restart. ``hung``: the job hangs and no error line is to be expected. ``patterns``: folders
    of own patterns and causes. ``on_source(name, bytes)`` is called as each source has been read.
    ``interruption``: Ctrl-C while logs are read ends the reading, and the answer is that of what was read.

    Raises InputError where nothing readable was given, CatalogError for faulty pattern files.
    """
    from logsleuth.catalog.load import load_catalog
    from logsleuth.correlate.build import correlate
    from logsleuth.diagnose.run import diagnose
    from logsleuth.errors import InputError
    from logsleuth.execute.here import scan_here
    from logsleuth.execute.interruption import cut_off
    from logsleuth.report.build import build, cited, story_of
    from logsleuth.scan.index import build_index
    from logsleuth.sources.cite import cite
    from logsleuth.sources.discover import STDIN_NAME, discover

    catalog = _checked(patterns) if patterns else load_catalog(samples=False)
    if interruption is not None:
        stdin = interruption.listening(stdin if stdin is not None else sys.stdin.buffer)
    sources, skipped = discover(paths, stdin=stdin, ranks=ranks)
    stdin_goes_on = interruption is not None and interruption.asked
    if not sources:
        said = "; ".join(f"{item.name}: {item.reason}" for item in skipped) or "no log files given"
        raise InputError(said, hint="give files, folders, globs, archives, or - for standard input")

    def told(scan: Any) -> None:
        if on_source is not None:
            on_source(scan.source.name, scan.digest.bytes_read)

    scans = scan_here(sources, build_index(catalog.patterns.values()), told, interruption)
    if stdin_goes_on:
        scans = [cut_off(scan) if scan.source.name == STDIN_NAME else scan for scan in scans]
    if all(scan.digest.flags & {"vanished", "unreadable"} for scan in scans):
        raise InputError("; ".join(note for scan in scans for note in scan.digest.notes), hint="check the paths")
    job = correlate(scans, hung=hung, attempt=attempt, world_size=world_size)
    diagnosis = diagnose(job, catalog)
    story = story_of(job)
    by_id = {scan.source.id: scan.source for scan in scans}
    spans: dict[str, set[tuple[int, int]]] = {}
    for place in cited(diagnosis, job, story):
        spans.setdefault(place.source, set()).add((place.start, place.end))
    lines = {
        (source, *span): (c.line, c.end_line, c.before, c.after)
        for source, wanted in spans.items()
        for span, c in cite(by_id[source], wanted).items()
    }
    return build(diagnosis, job, story, catalog, lines, skipped)


def _checked(folders: Sequence[Path]) -> Catalog:
    """The catalog with the user's folders over it. Raises CatalogError with every fault of theirs."""
    from logsleuth.errors import CatalogError
    from logsleuth.patterncheck.checked import checked_catalog

    catalog, faults = checked_catalog(folders)
    if faults:
        raise CatalogError(faults)
    return catalog
