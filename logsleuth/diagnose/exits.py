"""Process ends that mean something: not a clean end, not the launcher's own SIGTERM, not an abort after a watchdog."""

from __future__ import annotations

from logsleuth.model.events import (
    CollectiveTimeout,
    Event,
    NcclError,
    ProcessAborted,
    ProcessExit,
    SignalSent,
    WatchdogStuck,
)
from logsleuth.model.job import JobView

#: exit code -> signal, as torchelastic (negative) and shells (128+n) print it.
_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_FROM_OUTSIDE = frozenset({"SIGTERM", "SIGHUP", "SIGINT"})


def signal_of(fact: ProcessExit) -> str | None:
    """The signal that ended a process, from its name or exit code."""
    if fact.signal is not None:
        return fact.signal
    code = fact.exit_code
    if code is None:
        return None
    if code < 0:
        return _SIGNALS.get(-code)
    return _SIGNALS.get(code - 128) if 128 < code < 160 else None


def deaths(job: JobView) -> list[tuple[Event, ProcessExit]]:
    """Exits that were not clean and that no launcher caused, in the order told; an abort after a watchdog is left
    out."""
    aborted = any(True for _ in job.of(CollectiveTimeout, WatchdogStuck, ProcessAborted, NcclError))
    sent = {fact.pid: event for event, fact in job.of(SignalSent) if fact.pid is not None}
    killed = [e for e, f in job.of(SignalSent) if f.signal == "SIGKILL"]
    found = []
    for event, fact in job.of(ProcessExit):
        signal = signal_of(fact)
        if (
            fact.exit_code == 0
            or signal in _FROM_OUTSIDE
            or (signal is None and fact.exit_code is None and fact.text is None)
        ):
            continue
        if signal == "SIGABRT" and aborted:
            continue
        if fact.pid in sent and (signal is None or sent[fact.pid].fact.signal == signal):  # type: ignore[attr-defined]
            continue
        if signal == "SIGKILL" and killed and fact.pid in {e.fact.pid for e in killed}:  # type: ignore[attr-defined]
            continue
        found.append((event, fact))
    return found


def first_deaths(job: JobView) -> list[tuple[Event, ProcessExit]]:
    """The deaths that the launchers saw first: before a scheduler's or launcher's clean-up in the same source."""
    found = deaths(job)
    cleanup = {
        event.locator.source: event.locator.start
        for event in reversed(job.events)
        if event.kind == "scheduler" or (isinstance(event.fact, SignalSent) and event.fact.by in ("slurm", "mpi"))
    }
    early = [(e, f) for e, f in found if e.locator.start < cleanup.get(e.locator.source, e.locator.start + 1)]
    return early or found
