"""The store or the rendezvous belongs to an earlier attempt, or to another job.

Concludes: stale-rendezvous-state, without culprits.
Evidence: more workers joined than the world has; or a rendezvous that is closed already, where nothing else failed.
Mistaken for: rendezvous-timeout (fewer joined than expected); fallout of a launcher that was stopped on another node,
which closes the rendezvous for all.
Example: ``store based barrier ... (world_size=4, num_workers_joined=7, ...)`` after a pod was restarted.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Event, PythonException, Rendezvous, StoreError
from logsleuth.model.job import JobView

CAUSE = "stale-rendezvous-state"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    counts = [(e, f.joined, f.expected) for e, f in job.of(Rendezvous)]
    counts += [(e, f.joined, f.expected) for e, f in job.of(StoreError)]
    crowded = [
        (e, joined, expected)
        for e, joined, expected in counts
        if joined is not None and expected is not None and joined > expected and not job.went_on(e)
    ]
    if crowded:
        event, joined, expected = crowded[0]
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(
                event,
                f"{joined} workers joined a world of {expected}",
                [(e, "too many joined here as well") for e, *_ in crowded[1:]],
            ),
            summary=f"The store counts {joined} workers and waits for {expected}: it still holds those of an earlier "
            "attempt, or two launches share it.",
            facts={"joined": joined, "expected": expected},
        )
        return
    closed = [e for e, _ in job.of(Rendezvous, what="closed") if e.role == "symptom" and not job.went_on(e)]
    if not closed or any(_other_failure(e) for e in job.events):
        yield Passed(CAUSE, "no more workers joined than expected, and a closed rendezvous is no beginning here")
        return
    yield Finding(
        CAUSE,
        CAUSE,
        "low",
        evidence(closed[0], "the rendezvous was closed before this node could join", [(e, "closed") for e in closed]),
        summary="The rendezvous was closed before this node could join: by an earlier run of the same id, or by a "
        "launcher on another node, whose log is not here.",
    )


def _other_failure(event: Event) -> bool:
    """Whether the event tells of a failure that is not about the rendezvous."""
    if event.role not in ("cause", "symptom") or isinstance(event.fact, Rendezvous):
        return False
    return not (isinstance(event.fact, PythonException) and "Rendezvous" in (event.fact.type or ""))
