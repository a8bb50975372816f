"""The report contract: the only types that renderers read, and what ``--format json`` prints.

Frozen copies, not a dump of internal types. Unknown is null; every list may be empty. The JSON Schema in
``schemas/`` is made from these models.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.0"

Role = Literal["root-cause", "contributing", "fallout", "hypothesis"]
Confidence = Literal["high", "medium", "low"]
MatchState = Literal["all-joined", "missing-ranks", "op-mismatch", "size-mismatch", "undecided"]


class Item(BaseModel):
    """Base of all report items: closed and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(Item):
    """The program that wrote the report."""

    name: str = "logsleuth"
    version: str


class Device(Item):
    """A device; ``index`` is the index within the visible devices, ``pci`` the bus id as printed."""

    kind: Literal["gpu", "nic", "switch"] = "gpu"
    pci: str | None = None
    index: int | None = None


class Culprit(Item):
    """A process that is blamed or suspected; ``known_by`` says how it was identified."""

    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    device: Device | None = None
    known_by: str | None = None


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
    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    why: str
    primary: bool = False


class Step(Item):
    """One step of a fix, with the exact command where there is one."""

    text: str
    command: str | None = None


class Fix(Item):
    """``fix`` removes the cause, ``workaround`` avoids it, ``collect`` is what to gather next time."""

    kind: Literal["fix", "workaround", "collect"]
    title: str
    steps: list[Step]
    env: dict[str, str] = Field(default_factory=dict)
    applies_to: str | None = None
    risk: str | None = None
    verify: str | None = None
    references: list[str] = Field(default_factory=list)


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
    ranks: list[int] = Field(default_factory=list)
    hosts: list[str] = Field(default_factory=list)
    culprits: list[Culprit] = Field(default_factory=list)
    suspects: list[Culprit] = Field(default_factory=list)
    attempt: int | None = None
    fingerprint: str
    evidence: list[Evidence] = Field(default_factory=list)
    fixes: list[Fix] = Field(default_factory=list)


class Attempt(Item):
    """One try of the launcher: ``launch`` and ``index`` count from 0; ``focus``: the one that is diagnosed."""

    launch: int
    index: int
    failed: bool
    focus: bool


class World(Item):
    """A world of ranks and how its size is known."""

    size: int | None = None
    known_by: str | None = None


class GroupStanding(Item):
    """Where a process stands in one process group; numbers are that group's sequence numbers."""

    group: str
    stuck_seq: int | None = None
    op: str | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    last_enqueued: int | None = None
    last_completed: int | None = None


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
    groups: list[GroupStanding] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)


class ProcessGroup(Item):
    """A process group as the logs show it; ``ranks`` are those seen in it."""

    name: str
    guid: str | None = None
    desc: str | None = None
    size: int | None = None
    ranks: list[int] = Field(default_factory=list)


class Collective(Item):
    """A work that timed out. ``state``: ``all-joined``, ``missing-ranks``, ``op-mismatch``, ``size-mismatch``,
    ``undecided``."""

    group: str
    seq: int | None = None
    ops: list[str] = Field(default_factory=list)
    numel: list[int] = Field(default_factory=list)
    timeout_ms: int | None = None
    ran_ms: int | None = None
    ranks_waiting: list[int] = Field(default_factory=list)
    ranks_absent: list[int] = Field(default_factory=list)
    state: MatchState


class Environment(Item):
    """Versions and settings found in the text, as printed; ``values`` holds everything, the named fields the common
    ones."""

    torch: str | None = None
    nccl: str | None = None
    driver: str | None = None
    cuda: str | None = None
    kernel: str | None = None
    gpus: list[str] = Field(default_factory=list)
    values: dict[str, list[str]] = Field(default_factory=dict)
    settings: dict[str, str] = Field(default_factory=dict)


class Job(Item):
    """The job as the logs show it."""

    launches: int
    attempts: list[Attempt] = Field(default_factory=list)
    worlds: list[World] = Field(default_factory=list)
    processes: list[Process] = Field(default_factory=list)
    process_groups: list[ProcessGroup] = Field(default_factory=list)
    collectives: list[Collective] = Field(default_factory=list)
    environment: Environment


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


class Timeline(Item):
    """``shown`` of ``total`` events: those that matter, in order, at most 500."""

    total: int
    shown: list[TimelineEvent] = Field(default_factory=list)


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
    flags: list[str] = Field(default_factory=list)
    unknown_kinds: int = 0


class Coverage(Item):
    """Which ranks were seen, which were silent, which have no log."""

    world_size: int | None = None
    ranks_seen: list[int] = Field(default_factory=list)
    ranks_silent: list[int] = Field(default_factory=list)
    ranks_without_log: list[int] = Field(default_factory=list)
    sources: list[SourceCoverage] = Field(default_factory=list)


class UnknownKind(Item):
    """A kind of error-like line that no pattern reads: masked, with one sample and its place."""

    masked: str
    sample: str
    source: str
    line: int | None = None
    count: int


class Passed(Item):
    """Why a judgement did not fire, and what would have decided."""

    judgement: str
    reason: str
    would_decide: str | None = None


class Report(Item):
    """The whole answer. ``diagnoses`` are ordered: the most important first."""

    schema_version: str = SCHEMA_VERSION
    tool: Tool
    verdict: Literal["failure", "no-failure", "inconclusive"]
    diagnoses: list[Diagnosis] = Field(default_factory=list)
    job: Job
    timeline: Timeline
    coverage: Coverage
    unknown: list[UnknownKind] = Field(default_factory=list)
    passed: list[Passed] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)

    @property
    def root_causes(self) -> list[Diagnosis]:
        """The diagnoses that are root causes."""
        return [d for d in self.diagnoses if d.role == "root-cause"]
