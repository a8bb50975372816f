"""A connection to a peer broke, and nothing in these logs says why the peer went away.

Concludes: peer-lost-unexplained, with the peer where a message names its rank.
Evidence: ``Connection closed by peer``, ncclRemoteError, ``Connection closed by localRank N``, transfers that were
flushed, and no first failure.
Mistaken for: a network fault; the reporting rank is a victim. It yields to everything that ends a process.
Example: three ranks of one node print ``[Service thread] Connection closed by localRank 0``.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_ranks, evidence, ranks_text
from logsleuth.diagnose.exits import one_node
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CommInit, Event, MonitoredBarrier, NcclError, NcclWarn, PeerLost, RunEnd
from logsleuth.model.job import JobView

CAUSE = "peer-lost-unexplained"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    lost: list[Event] = [e for e, _ in job.of(PeerLost)]
    lost += [e for e, _ in job.of(NcclWarn, what="peer-closed")]
    lost += [e for e, f in job.of(NcclError) if f.result == "ncclRemoteError" and not f.aborted]
    lost += [e for e, _ in job.of(MonitoredBarrier, statement="victim")]
    lost += [e for e, _ in job.of(NcclWarn, what="ib-completion") if e.role == "symptom"]
    lost = [e for e in lost if (e.role != "benign" or _abrupt(job)) and not job.went_on(e)]
    if not lost:
        yield Passed(CAUSE, "no lost connection was reported")
        return
    ranks = _named(job)
    who = ranks_text(ranks) or "a peer"
    peer = next((f.peer for _, f in job.of(PeerLost) if f.peer), None)
    at = f" at {peer}" if peer and not ranks else ""
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(lost[0], f"lost its connection to {who}", [(e, "as well") for e in lost[1:]]),
        culprits_of_ranks(job, ranks, "the survivors name it"),
        summary=f"The connection to {who}{at} was lost; why it went away is not in these logs.",
        facts={"peer": peer},
    )


def _abrupt(job: JobView) -> bool:
    """Whether nothing shows an orderly end, so that lines which a normal shutdown also prints mean a loss."""
    ended = any(True for _ in job.of(RunEnd)) or any(True for _ in job.of(CommInit, stage=("destroy", "abort")))
    return not ended


def _named(job: JobView) -> list[int]:
    """The peer's global rank, where all messages that name one agree."""
    named: set[int] = set()
    for _, fact in job.of(PeerLost):
        if fact.peer_rank is not None:
            named.add(fact.peer_rank)
        elif fact.local_rank is not None and one_node(job):
            named.add(fact.local_rank)
    return sorted(named) if len(named) == 1 else []
