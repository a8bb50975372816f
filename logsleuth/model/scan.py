"""What scanning one source yields: its events and a digest of everything else."""

from __future__ import annotations

from dataclasses import field

from logsleuth.model.events import Event, Stamp
from logsleuth.model.origin import Origin
from logsleuth.model.source import Source
from logsleuth.record import record


@record
class UnknownLine:
    """A kind of error-like line that no pattern read: masked text, one sample with its place, how often."""

    masked: str
    sample: str
    start: int
    count: int


@record
class LastLines:
    """The end of what one origin printed, masked for numbers, paths and hex, oldest first."""

    origin: Origin
    lines: tuple[str, ...]


@record
class Digest:
    """What is known of a source beyond its events: silence, an early end, "the run went on".

    ``bytes_read``; ``first`` and ``last`` stamps; ``tails`` per origin; ``unknown`` at most 50 kinds of lines;
    ``flags``: ``truncated`` (ended mid-line), ``shrunk``, ``vanished``, ``sampled``, ``ranks-hidden``, ``binary``,
    ``empty``, ``unreadable``, ``interrupted`` (the user did not wait for the rest).
    """

    bytes_read: int = 0
    first: Stamp | None = None
    last: Stamp | None = None
    tails: tuple[LastLines, ...] = ()
    unknown: tuple[UnknownLine, ...] = ()
    flags: frozenset[str] = field(default_factory=frozenset)
    notes: tuple[str, ...] = ()


@record
class SourceScan:
    """All that later stages get from a source. ``events`` are in the order of the source."""

    source: Source
    events: tuple[Event, ...]
    digest: Digest
