"""Faults outside of the programs: GPUs, links, nodes, schedulers, and communicators that never come up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lab.simulate.engine import Breaks
from lab.simulate.faults import FAULTS, Draft, _at_end, _kernel, elsewhere
from lab.simulate.lines import Line, Tell
from lab.simulate.nccl_words import nccl, set_up
from lab.simulate.program import Collective, Leave
from lab.simulate.python_words import cuda_error, dist_error
from lab.simulate.scene import Scene
from lab.simulate.system_words import XIDS, xid


def gpu_stops(draft: Draft) -> None:
    """A GPU stops working and nothing says so."""
    rank = draft.rank()
    draft.breaks = Breaks(dead_gpus={rank: draft.step_s() + 0.3 * draft.shape.step_s})


def xid_fault(kind: str) -> Callable[[Draft], None]:
    """A GPU fault that the kernel log reports; some kinds tell the process, with the others it just hangs."""

    def act(draft: Draft) -> None:
        rank = draft.rank()
        text = XIDS[kind][3]
        at_s = draft.step_s() + 0.3 * draft.shape.step_s
        if text is None:
            draft.breaks = Breaks(dead_gpus={rank: at_s})
        else:
            draft.insert(rank, draft.step_range(rank)[0], Leave("raised"))
            draft.extra.append(_at_end(rank, lambda s, r, t: cuda_error(s, r, t, text, f"cuda-{kind}")))
        _kernel(draft, lambda scene: xid(scene, rank, at_s, kind))

    return act


def link_fails(draft: Draft) -> None:
    """InfiniBand between two hosts fails: what crosses it gives up after its retries."""
    at_s = draft.step_s()
    crossing = [g for g in draft.mesh.groups if len({draft.mesh.host_of(r) for r in g.members}) > 1]
    draft.breaks = Breaks(dead_groups={group.number: at_s for group in crossing})
    ranks = sorted({rank for group in crossing for rank in group.members})
    affected = [rank for rank in ranks if draft.rng.random() < 0.7] or ranks[:2]
    draft.set(link_errors={rank: at_s + draft.rng.uniform(20, 24) for rank in affected})


def stuck_first(draft: Draft) -> None:
    """The very first collectives never complete although everybody is in."""
    draft.breaks = Breaks(dead_groups={group.number: 0.0 for group in draft.mesh.groups})


def stuck_later(draft: Draft) -> None:
    """A collective in the middle of the run never completes although everybody is in."""
    group = draft.rng.choice(draft.mesh.groups if draft.mesh.kind != "fsdp" else draft.mesh.groups[1:])
    draft.breaks = Breaks(dead_groups={group.number: draft.step_s()})


def crossed_transfers(draft: Draft) -> None:
    """Two neighbouring stages both receive before they send."""
    mesh = draft.mesh
    for lane in [group for group in mesh.groups if group.kind == "pp"]:
        first, second = lane.members[:2]
        for rank in (first, second):
            begin, _ = draft.step_range(rank)
            pair = (second, first) if rank == first else (first, second)
            numel = draft.shape.numels[0]
            draft.insert(rank, begin, Collective(lane, "RECV", numel, numel, pair))


def stopped(draft: Draft) -> None:
    """Somebody stops the launcher from outside while all is well."""
    draft.set(sigterm_s=draft.undisturbed_s[-1] + 0.4 * draft.shape.step_s)


def time_limit(draft: Draft) -> None:
    """Slurm's limit ends a job in which all is well."""
    draft.set(time_limit_s=draft.undisturbed_s[-1] + 0.4 * draft.shape.step_s)


def hang_then_limit(draft: Draft) -> None:
    """A rank stays away; the others are taken down by their watchdogs; it lives on until the limit."""
    elsewhere(draft)
    draft.set(time_limit_s=draft.step_s() + draft.around.timeout_s + 3000, kills_on_bad_exit=False)


def node_lost(draft: Draft) -> None:
    """A whole host is gone."""
    host = draft.rng.choice(list(draft.mesh.hosts)[1:])
    draft.culprits = tuple(draft.mesh.on_host(host))
    at_s = draft.step_s()
    draft.breaks = Breaks(dead_gpus=dict.fromkeys(draft.culprits, at_s))
    draft.set(node_lost=(host, at_s), notices_peers=draft.rng.random() < 0.3)


def silent_hang(draft: Draft) -> None:
    """Progress stops; the log was taken before anybody's timeout. The user says that it hangs."""
    FAULTS[draft.rng.choice(["late-checkpoint", "elsewhere", "late-preprocess"])](draft)
    draft.details["until_s"] = draft.step_s() + 0.6 * draft.around.timeout_s
    draft.set(timeout_s=1e9)
    draft.args = ("--hung",)


def unreachable(draft: Draft, address: str | None = None) -> None:
    """NCCL cannot connect the hosts: everybody fails while the communicator is set up."""
    for rank in draft.mesh.ranks:
        draft.programs[rank] = [Leave("raised")]
    near = [rank for rank in draft.mesh.ranks if draft.mesh.local_rank(rank) in (0, draft.mesh.per_host - 1)]
    draft.extra.append(lambda scene: _connect_errors(scene, near, address))


def wrong_interface(draft: Draft) -> None:
    """One host offers the address of its docker bridge."""
    unreachable(draft, "172.17.0.1")


def never_set_up(draft: Draft) -> None:
    """A rank never comes to the first communicator; the others wait for it in the store."""
    draft.culprits = (0,)
    for rank in draft.mesh.ranks:
        draft.programs[rank] = [Leave("elsewhere" if rank == 0 else "raised")]
    timeout_ms = int(draft.around.timeout_s * 1000)
    error = (
        f"wait timeout after {timeout_ms}ms, keys: /default_pg/0//cuda//0"
        if draft.torch.at_least(2, 5)
        else "Socket Timeout"
    )

    kind = "torch.distributed.DistBackendError" if draft.torch.at_least(2, 1) else "RuntimeError"

    def words(scene: Scene) -> Iterator[Line]:
        for rank in list(scene.mesh.ranks)[1:]:
            text = (
                f"{kind}: [{rank}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
                f"key-value store by key '0', but "
                f"store->get('0') got error: {error}"
            )
            yield from dist_error(scene, rank, _begin_s(scene, rank), [text], "init-timeout")

    draft.extra.append(words)


def _begin_s(scene: Scene, rank: int) -> float:
    left = scene.ranks[rank].left
    return left[1] if left is not None else 0.0


def _connect_errors(scene: Scene, near: list[int], address: str | None) -> Iterator[Line]:
    torch = scene.torch
    for rank in scene.mesh.ranks:
        at_s = _begin_s(scene, rank)
        yield from set_up(scene, rank, at_s - 70, complete=False, started=torch.at_least(2, 1))
        peer_host = (scene.mesh.host_of(rank) + 1) % len(scene.mesh.hosts)
        peer = f"{address or scene.address(peer_host)}<{43000 + rank}>"
        reason = "Connection refused" if address else "No route to host"
        last = f"socketStartConnect: Connect to {peer} failed : {reason}"
        if rank in near:
            yield nccl(scene, rank, at_s - 0.02, "WARN", last, "misc/socket.cc:484", (Tell("connect", rank),))
        source = "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268"
        name = "torch.distributed.DistBackendError" if torch.at_least(2, 1) else "RuntimeError"
        texts = [
            f"{name}: NCCL error in: {source}, unhandled system error (run with NCCL_DEBUG=INFO for details), "
            f"NCCL version "
            f"{torch.nccl}",
            "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ",
        ]
        if torch.at_least(1, 13) and rank in near:
            texts += ["Last error:", last]
        yield from dist_error(scene, rank, at_s, texts, "nccl-system-error")


def rerouted(draft: Draft, group_kind: str) -> None:
    """A chain: a rank stays away before a collective of this kind of group; other groups wait for its partners."""
    rank = draft.rank()
    begin, end = draft.step_range(rank)
    calls = [
        i
        for i in range(begin, end)
        if isinstance(it := draft.programs[rank][i], Collective) and it.group.kind == group_kind
    ]
    draft.insert(rank, calls[0] if calls else begin, Leave("elsewhere"))


BROKEN: dict[str, Callable[[Draft], None]] = {
    "gpu-stops": gpu_stops,
    **{f"xid-{kind}": xid_fault(kind) for kind in XIDS},
    "ib-error": link_fails,
    "stuck-first": stuck_first,
    "stuck-later": stuck_later,
    "p2p-order": crossed_transfers,
    "sigterm": stopped,
    "time-limit": time_limit,
    "hang-then-limit": hang_then_limit,
    "node-lost": node_lost,
    "unreachable": unreachable,
    "wrong-interface": wrong_interface,
    "init-missing": never_set_up,
    "silent-hang": silent_hang,
    "skips-dp": lambda draft: rerouted(draft, "dp"),
    "skips-tp": lambda draft: rerouted(draft, "tp"),
}
