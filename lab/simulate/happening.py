"""What happens after the fault, before it has any wording."""

from __future__ import annotations

from dataclasses import dataclass

from lab.simulate.engine import Work


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that somebody prints.

    ``kind``: timeout, async-error, dump-local, dump-remote, teardown, monitor-kill, watchdog-stuck, store-lost (of a
    rank); died, ended; closing, forced, failed, table, signalled (of a torchrun agent); task-exit, step-cancelled,
    time-limit, node-failure, oom-step (of Slurm); actor-died (of Ray). ``number``: an exit code, the rank that
    signals, or for how many milliseconds a work ran. ``others``: further ranks that are meant.
    """

    kind: str
    at_s: float
    rank: int | None = None
    host: int | None = None
    work: Work | None = None
    number: int | None = None
    others: tuple[int, ...] = ()
    text: str = ""
