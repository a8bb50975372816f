"""NCCL or gloo chose a network interface that the other nodes cannot reach.

Concludes: wrong-network-interface, with the hosts that chose it.
Evidence: a virtual, loopback or link-local interface on a job of several nodes, or connections to such an address
that fail.
Mistaken for: peer-unreachable (the address is right, its ports are blocked); on a single node loopback and docker0
are fine.
Example: ``Bootstrap : Using docker0:172.17.0.1`` on one of two nodes, then ``connect to 172.17.0.1 ... timed out``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_events, evidence
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CommInit, Interface, NcclWarn, ProcessMap, StoreError
from logsleuth.model.job import JobView

CAUSE = "wrong-network-interface"
#: Bridges, virtual pairs, tunnels and VPNs: an address there means something on its own host only.
_VIRTUAL = re.compile(
    r"^(lo|docker\d*|virbr\d*|veth\w*|br-\w+|cni\d*|flannel[\w.]*|cali\w+|tailscale\d*|tun\d+|CloudflareWARP|vmnet\d+)$"
)
_LOCAL_ADDRESS = re.compile(r"^(127\.|169\.254\.|fe80:|172\.17\.0\.1\b|::1\b)", re.IGNORECASE)


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    chosen = [(e, f) for e, f in job.of(Interface) if f.use in ("bootstrap", "socket", "gloo") and _local(f)]
    if not chosen:
        yield Passed(CAUSE, "no virtual or link-local interface was chosen", "NCCL's Bootstrap line of every node")
        return
    failed = [e for e, f in job.of(NcclWarn, what="connect-failed")]
    failed += [
        e for e, f in job.of(NcclWarn) if f.peer is not None and _LOCAL_ADDRESS.match(f.peer) and e not in failed
    ]
    stuck = [e for e, _ in job.of(StoreError, what=("wait-timeout", "unique-id"))]
    if any(job.went_on(e) for e, _ in chosen) or not (_several_nodes(job) or failed):
        yield Passed(CAUSE, "one node, or the run went on: the interface does no harm")
        return
    if not failed and not stuck and not job.hung:
        yield Passed(CAUSE, "no connection is known to have failed")
        return
    event, fact = chosen[0]
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            event,
            f"{fact.name or 'the interface'} has the address {fact.address}, which other nodes cannot reach",
            [(e, "a connection failed") for e in [*failed, *stuck]],
        ),
        culprits_of_events(job, [e for e, _ in chosen]),
        summary=f"{(fact.use or 'NCCL').capitalize()} uses {fact.name} ({fact.address}), an address that other nodes "
        "cannot reach.",
        facts={"name": fact.name, "address": fact.address},
    )


def _local(fact: Interface) -> bool:
    return bool(_VIRTUAL.match(fact.name or "") or _LOCAL_ADDRESS.match((fact.address or "").lstrip("[")))


def _several_nodes(job: JobView) -> bool:
    nodes = [f.nnodes for _, f in job.of(CommInit)] + [f.nnodes for _, f in job.of(ProcessMap)]
    return len(job.hosts) > 1 or any(n is not None and n > 1 for n in nodes)
