"""The heartbeat monitor killed processes because the watchdog thread was blocked; no collective timed out.

Concludes: watchdog-stuck-unexplained, blaming nobody: the monitor names an arbitrary group.
Evidence: ``watchdog got stuck for N seconds`` or ``Heartbeat monitor timed out`` without a collective timeout before
it.
Mistaken for: collective-timeout-unexplained (a rank that only got a dump signal is killed by the same monitor 480 or
600 s later).
Example: training had ended, the teardown of the process groups hung, and the monitor fired after 480 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence, ranks_text
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CollectiveTimeout, DumpSignal, WatchdogStuck
from logsleuth.model.job import JobView

CAUSE = "watchdog-stuck-unexplained"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    stuck = list(job.of(WatchdogStuck))
    if not stuck:
        yield Passed(CAUSE, "the heartbeat monitor did not fire")
        return
    if any(True for _ in job.of(CollectiveTimeout)) or any(f.stage == "received" for _, f in job.of(DumpSignal)):
        yield Passed(CAUSE, "a collective timed out; the monitor's kill follows from it")
        return
    ranks = ranks_text(job.rank(event) for event, _ in stuck)
    seconds = next((fact.stuck_s for _, fact in stuck if fact.stuck_s), None)
    said = f" for {seconds} s" if seconds else ""
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            stuck[0][0], f"the watchdog thread was blocked{said}", [(e, "on this rank too") for e, _ in stuck[1:]]
        ),
        summary=f"The watchdog thread{f' of {ranks}' if ranks else ''} was blocked{said} in a CUDA or NCCL call, "
        "or by the interpreter lock; no collective timed out, and the logs do not say what blocked it.",
        facts={"stuck_s": seconds},
    )
