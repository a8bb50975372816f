"""NCCL or gloo chose a network interface that the other nodes cannot reach.

Concludes: wrong-network-interface, with the hosts that chose it.
Evidence: a virtual, loopback or link-local interface on a job of several nodes, or a connection that fails to an
address of Docker's or libvirt's bridge, of loopback or link-local, where the job need not fit one node.
Mistaken for: peer-unreachable (the address is right, its ports are blocked); on a single node loopback and docker0
are fine.
Example: ``Bootstrap : Using docker0:172.17.0.1`` on one of two nodes, then ``connect to 172.17.0.1 ... timed out``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_events, evidence
from logsleuth.diagnose.exceptions import program_exceptions
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CommInit, Interface, NcclWarn, PeerLost, ProcessMap, StoreError
from logsleuth.model.job import JobView

CAUSE = "wrong-network-interface"
#: Bridges, virtual pairs, tunnels and VPNs: an address there means something on its own host only.
_VIRTUAL = re.compile(
    r"^(lo|docker\d*|virbr\d*|veth\w*|br-\w+|cni\d*|flannel[\w.]*|cali\w+|tailscale\d*|tun\d+|CloudflareWARP|vmnet\d+)$"
)
_LOCAL_ADDRESS = re.compile(r"^(127\.|169\.254\.|fe80:|172\.17\.0\.1\b|192\.168\.122\.1\b|::1\b)", re.IGNORECASE)
#: Networks whose addresses mean something on their own host only, whichever host it is.
_HOST_NETWORKS = tuple(
    (ip_network(network), name)
    for network, name in (
        ("172.17.0.0/16", "of Docker's bridge"),
        ("192.168.122.0/24", "of libvirt's bridge"),
        ("127.0.0.0/8", "of loopback"),
        ("169.254.0.0/16", "of the link-local range"),
        ("::1/128", "of loopback"),
        ("fe80::/10", "of the link-local range"),
    )
)
#: ``10.0.0.9<41233>``, ``[127.0.1.1]:7391``, ``fe80::1%eth0<4000>``
_ADDRESS = re.compile(r"\[?(?P<address>[0-9a-fA-F.:]{3,45}?)(?:%\w+)?(?:[\]<]|$)")
#: gloo's words for a connection that was never made; one that was closed or reset had been made.
_NOT_CONNECTED = re.compile(r"(?i)connect(?:ing\b|\s+to\b|FullMesh)|SO_ERROR|refused|no route|unreachable")
#: A world of this size may fit one node.
_LARGEST_NODE = 8


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    chosen = [(e, f) for e, f in job.of(Interface) if f.use in ("bootstrap", "socket", "gloo") and _local(f)]
    if not chosen:
        yield from _by_address(job, catalog)
        return
    failed = [e for e, f in job.of(NcclWarn, what="connect-failed")]
    failed += [e for e, f in job.of(NcclWarn) if _place(f.peer) and e not in failed]
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


def _by_address(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    """From the addresses alone that could not be connected to, where no log says which interface was chosen."""
    refused = [(e, f.peer, f.call) for e, f in job.of(NcclWarn, what="connect-failed") if e.role == "cause"]
    refused += [(e, f.peer, "gloo") for e, f in job.of(PeerLost, by="gloo") if _NOT_CONNECTED.search(f.text or "")]
    failed = [(e, peer, by, place) for e, peer, by in refused if (place := _place(peer)) and not job.went_on(e)]
    if not failed:
        yield Passed(CAUSE, "no virtual or link-local interface was chosen", "NCCL's Bootstrap line of every node")
    elif any(job.precedes(raised, failed[0][0]) for raised, _ in program_exceptions(job, catalog)):
        yield Passed(CAUSE, "a process had failed before, and its port with it")
    elif _fits_one_node(job):
        yield Passed(CAUSE, "the job fits one node, where such an address is fine")
    else:
        event, peer, by, place = failed[0]
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(
                event,
                f"a peer gave the address {peer}, which is one {place} and means nothing to other hosts",
                [(e, "a connection to such an address failed") for e, *_ in failed[1:]],
            ),
            summary=f"{'Gloo' if by == 'gloo' else 'NCCL'} could not connect to {peer}: the address is one {place}, "
            "which other hosts cannot reach.",
            facts={"address": peer},
        )


def _place(peer: str | None) -> str | None:
    """What kind of address ``peer`` is, if it is one that only its own host knows."""
    match = _ADDRESS.match(peer or "")
    try:
        address = ip_address(match["address"]) if match else None
    except ValueError:
        return None
    return next((name for network, name in _HOST_NETWORKS if address is not None and address in network), None)


def _fits_one_node(job: JobView) -> bool:
    size = job.world_size
    return size is not None and size <= _LARGEST_NODE and not _several_nodes(job)


def _local(fact: Interface) -> bool:
    return bool(_VIRTUAL.match(fact.name or "") or _LOCAL_ADDRESS.match((fact.address or "").lstrip("[")))


def _several_nodes(job: JobView) -> bool:
    nodes = [f.nnodes for _, f in job.of(CommInit)] + [f.nnodes for _, f in job.of(ProcessMap)]
    return len(job.hosts) > 1 or any(n is not None and n > 1 for n in nodes)
