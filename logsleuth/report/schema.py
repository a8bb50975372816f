"""The report contract: the only types that renderers read, and what ``--format json`` prints.

Frozen copies, not a dump of internal types. Unknown is null; every list may be empty. The JSON Schema in
``schemas/`` is made from these types, which are dataclasses so that a run need not load pydantic to build them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from logsleuth.record import named_record

SCHEMA_VERSION = "1.0"

Role = Literal["root-cause", "contributing", "fallout", "hypothesis"]
Confidence = Literal["high", "medium", "low"]
MatchState = Literal["all-joined", "missing-ranks", "op-mismatch", "size-mismatch", "undecided"]


class Item:
    """Base of all report items."""

    __slots__ = ()

    def as_data(self) -> dict[str, Any]:
        """What JSON prints of it: dicts, lists and plain values."""
        return {name: _data(getattr(self, name)) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]


def _data(value: Any) -> Any:
    if isinstance(value, Item):
        return value.as_data()
    if isinstance(value, list):
        return [_data(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


@named_record
class Tool(Item):
    """The program that wrote the report."""

    name: str = "logsleuth"
    version: str


@named_record
class Device(Item):
    """A device; ``index`` is the index within the visible devices, ``pci`` the bus id as printed."""

    kind: Literal["gpu", "nic", "switch"] = "gpu"
    pci: str | None = None
    index: int | None = None


@named_record
class Culprit(Item):
    """A process that is blamed or suspected; ``known_by`` says how it was identified."""

    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    device: Device | None = None
    known_by: str | None = None


@named_record
class Evidence(Item):
    """A cited place. ``line`` and ``end_line`` count from 1; ``locator`` is set instead where the source has no lines.

    ``time`` as printed; ``time_utc`` ISO 8601 where date and zone are known. ``why`` says what it shows.
    """

    source: str
    line: int | None = None
    end_line: int | None = None
    locator: str | None = None
    rank: int | None = None
    time: str | None = None
    time_utc: str | None = None
    text: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    why: str
    primary: bool = False


@named_record
class Step(Item):
    """One step of a fix, with the exact command where there is one."""

    text: str
    command: str | None = None


@named_record
class Fix(Item):
    """``fix`` removes the cause, ``workaround`` avoids it, ``collect`` is what to gather next time."""

    kind: Literal["fix", "workaround", "collect"]
    title: str
    steps: list[Step]
    env: dict[str, str] = field(default_factory=dict)
    applies_to: str | None = None
    risk: str | None = None
    verify: str | None = None
    references: list[str] = field(default_factory=list)


@named_record
class Diagnosis(Item):
    """One conclusion. ``ranks`` and ``hosts`` are the culprits'; empty where the evidence names none."""

    cause: str
    role: Role
    confidence: Confidence
    severity: Literal["critical", "error", "warning", "info"]
    owner: Literal["code", "config", "platform", "network", "hardware", "unknown"]
    retry: Literal["likely", "unlikely", "unknown"]
    title: str
    summary: str
    reason: str | None = None
    ranks: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    culprits: list[Culprit] = field(default_factory=list)
    suspects: list[Culprit] = field(default_factory=list)
    attempt: int | None = None
    fingerprint: str
    evidence: list[Evidence] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)


@named_record
class Attempt(Item):
    """One try of the launcher: ``launch`` and ``index`` count from 0; ``focus``: the one that is diagnosed."""

    launch: int
    index: int
    failed: bool
    focus: bool


@named_record
class World(Item):
    """A world of ranks and how its size is known."""

    size: int | None = None
    known_by: str | None = None


@named_record
class GroupStanding(Item):
    """Where a process stands in one process group; numbers are that group's sequence numbers."""

    group: str
    stuck_seq: int | None = None
    op: str | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    last_enqueued: int | None = None
    last_completed: int | None = None


@named_record
class Process(Item):
    """One process. ``state``: a word for the table of ranks; ``end``: how it ended, in words."""

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    role: str
    actor: str | None = None
    known_by: str | None = None
    state: str
    end: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    last: str | None = None
    groups: list[GroupStanding] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


@named_record
class ProcessGroup(Item):
    """A process group as the logs show it; ``ranks`` are those seen in it."""

    name: str
    guid: str | None = None
    desc: str | None = None
    size: int | None = None
    ranks: list[int] = field(default_factory=list)


@named_record
class Collective(Item):
    """A work that timed out. ``state``: ``all-joined``, ``missing-ranks``, ``op-mismatch``, ``size-mismatch``,
    ``undecided``."""

    group: str
    seq: int | None = None
    ops: list[str] = field(default_factory=list)
    numel: list[int] = field(default_factory=list)
    timeout_ms: int | None = None
    ran_ms: int | None = None
    ranks_waiting: list[int] = field(default_factory=list)
    ranks_absent: list[int] = field(default_factory=list)
    state: MatchState


@named_record
class Environment(Item):
    """Versions and settings found in the text, as printed; ``values`` holds everything, the named fields the common
    ones."""

    torch: str | None = None
    nccl: str | None = None
    driver: str | None = None
    cuda: str | None = None
    kernel: str | None = None
    gpus: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


@named_record
class Job(Item):
    """The job as the logs show it."""

    launches: int
    attempts: list[Attempt] = field(default_factory=list)
    worlds: list[World] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    process_groups: list[ProcessGroup] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    environment: Environment


@named_record
class TimelineEvent(Item):
    """One event that matters."""

    source: str
    line: int | None = None
    rank: int | None = None
    host: str | None = None
    time: str | None = None
    kind: str
    role: str
    text: str
    count: int = 1


@named_record
class Timeline(Item):
    """``shown`` of ``total`` events: those that matter, in order, at most 500."""

    total: int
    shown: list[TimelineEvent] = field(default_factory=list)


@named_record
class SourceCoverage(Item):
    """One source: what was learnt from its path (``origin``), what was read, and flags such as ``truncated``."""

    name: str
    bytes: int
    events: int
    rank: int | None = None
    host: str | None = None
    rank_known_by: str | None = None
    first: str | None = None
    last: str | None = None
    flags: list[str] = field(default_factory=list)
    unknown_kinds: int = 0


@named_record
class Coverage(Item):
    """Which ranks were seen, which were silent, which have no log."""

    world_size: int | None = None
    ranks_seen: list[int] = field(default_factory=list)
    ranks_silent: list[int] = field(default_factory=list)
    ranks_without_log: list[int] = field(default_factory=list)
    sources: list[SourceCoverage] = field(default_factory=list)


@named_record
class UnknownKind(Item):
    """A kind of error-like line that no pattern reads: masked, with one sample and its place."""

    masked: str
    sample: str
    source: str
    line: int | None = None
    count: int


@named_record
class Passed(Item):
    """Why a judgement did not fire, and what would have decided."""

    judgement: str
    reason: str
    would_decide: str | None = None


@named_record
class Report(Item):
    """The whole answer. ``diagnoses`` are ordered: the most important first."""

    schema_version: str = SCHEMA_VERSION
    tool: Tool
    verdict: Literal["failure", "no-failure", "inconclusive"]
    diagnoses: list[Diagnosis] = field(default_factory=list)
    job: Job
    timeline: Timeline
    coverage: Coverage
    unknown: list[UnknownKind] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def root_causes(self) -> list[Diagnosis]:
        """The diagnoses that are root causes."""
        return [d for d in self.diagnoses if d.role == "root-cause"]
