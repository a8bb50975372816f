"""One process: who it is, what it printed, where it stood in each process group, how it ended."""

from __future__ import annotations

from dataclasses import field

from logsleuth.model.events import CollectiveTimeout, Event
from logsleuth.record import record


@record
class GroupState:
    """Where one process stands in one process group; numbers are sequence numbers, ``None`` where not printed.

    ``stuck_seq``/``stuck_op``: the work it timed out on. ``timeout`` is the event that says so, ``status`` the
    one with the counters. ``began_s``: when that work was created (log time minus ran-for), in seconds of the log's
    clock.
    """

    process: str
    rank: int | None
    group_rank: int | None = None
    stuck_seq: int | None = None
    stuck_op: str | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None
    timeout: Event | None = None
    status: Event | None = None
    began_s: float | None = None

    @property
    def timed_out(self) -> bool:
        """Whether this process itself reported a timeout in this group."""
        return self.timeout is not None or (self.status is not None and self.stuck_seq is not None)

    def behind(self, seq: int) -> bool:
        """Whether its own counters end below the work ``seq``: it never came there, and waits in none itself."""
        return self.last_enqueued is not None and self.last_enqueued < seq and not self.timed_out

    @property
    def evidence(self) -> Event | None:
        """The event that shows this state best."""
        return self.timeout or self.status


@record
class ProcessGroup:
    """A process group as the logs show it. ``key`` joins it over ranks: the GUID, else ``unnamed``.

    ``guid`` and ``desc`` as printed; ``members`` are global ranks where a dump lists them; ``size`` where something
    tells it. ``unnamed``: old torch versions print no group, so works of several groups may be mixed. ``ambiguous``:
    two processes claim the same group rank, so several groups hide behind one name.
    """

    key: str
    guid: str | None
    desc: str | None
    states: tuple[GroupState, ...]
    size: int | None = None
    members: tuple[int, ...] = ()
    unnamed: bool = False
    ambiguous: bool = False

    @property
    def is_world(self) -> bool:
        """The default group, whose group ranks are global ranks."""
        return self.desc in ("default_pg",) or self.guid == "0" or self.unnamed

    @property
    def label(self) -> str:
        """For people: ``default_pg``, ``PG 37``, ``the process group``."""
        if self.desc:
            return self.desc
        return f"PG {self.guid}" if self.guid is not None else "the process group"

    def stuck(self) -> tuple[GroupState, ...]:
        """The states of those who timed out in this group."""
        return tuple(state for state in self.states if state.timed_out)


@record
class ProcessEnd:
    """How a process ended: ``exit_code``, ``signal``; ``clean`` where a good end was seen. ``event`` says so."""

    exit_code: int | None = None
    signal: str | None = None
    clean: bool = False
    event: Event | None = None


@record
class ProcessTimeline:
    """Identity is the process (``key``); rank is an attribute: an RLHF job holds two worlds, an agent has no rank.

    ``known_by`` tells how the rank was learnt. ``own_source``: a source holds this process's lines alone; ``streams``:
    which streams such sources hold, as far as their names tell (``stdout``, ``stderr``).
    """

    key: str
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    attempt: int | None = None
    role: str = "worker"
    actor: str | None = None
    known_by: str | None = None
    own_source: bool = False
    streams: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()
    events: tuple[Event, ...] = field(default=(), repr=False)
    end: ProcessEnd = ProcessEnd()

    def timeouts(self) -> list[CollectiveTimeout]:
        """The distinct timeouts that this process reported."""
        return list(dict.fromkeys(e.fact for e in self.events if isinstance(e.fact, CollectiveTimeout)))
