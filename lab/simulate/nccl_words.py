"""What NCCL prints: its banner, communicator set-up with NCCL_DEBUG=INFO, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator

from lab.simulate.engine import Work
from lab.simulate.lines import Line, Tell
from lab.simulate.scene import Scene


def nccl(
    scene: Scene, rank: int, at_s: float, level: str, text: str, place: str = "", tells: tuple[Tell, ...] = ()
) -> Line:
    """A line of NCCL on stdout; from 2.26 on warnings carry a time."""
    host = scene.mesh.host_of(rank)
    pid, device = scene.pids[rank], scene.mesh.local_rank(rank)
    start = f"{scene.host(rank).split('.')[0]}:{pid}:{pid + 400 + device} [{device}] "
    if level == "WARN":
        start += f"{place} NCCL WARN "
        if tuple(int(part) for part in scene.torch.nccl.split(".")[:2]) >= (2, 26):
            start = f"[{scene.clock.on(host, at_s):%Y-%m-%d %H:%M:%S}] {start}"
    else:
        start += f"NCCL {level} "
    return Line(at_s, start + text, rank=rank, host=host, tells=tells, stdout=True)


def closed_by_peer(scene: Scene, rank: int, at_s: float, work: Work) -> Iterator[Line]:
    """A socket to a rank of another host was closed."""
    mesh = scene.mesh
    peer = next(p for p in work.call.partners if mesh.host_of(p) != mesh.host_of(rank))
    address = f"{scene.address(mesh.host_of(peer))}<{41000 + scene.pids[peer] % 9000}>"
    text = f"socketProgress: Connection closed by remote peer {address}"
    yield nccl(scene, rank, at_s, "WARN", text, "misc/socket.cc:58", (Tell("remote-error", rank),))


def retries_exhausted(scene: Scene, rank: int, at_s: float, work: Work) -> Iterator[Line]:
    """InfiniBand gave a packet up: status 12, with the peer that did not answer."""
    peer_host = next(h for p in work.call.partners if (h := scene.mesh.host_of(p)) != scene.mesh.host_of(rank))
    direction = "Send" if rank % 2 else "Recv"
    peer = f"{scene.address(peer_host)}<{41000 + scene.pids[rank] % 9000}>"
    host = scene.mesh.host_of(rank)
    device = f"mlx5_{scene.mesh.local_rank(rank) % 8}"
    version = tuple(int(part) for part in scene.torch.nccl.split(".")[:2])
    mine, theirs = f"::ffff:{scene.address(host)}", f"::ffff:{scene.address(peer_host)}"
    told = (Tell("ib", rank),)
    if version < (2, 18):
        text = f"NET/IB : Got completion from peer {peer} with error 12, opcode 0, len 0, vendor err 129"
    elif version < (2, 28):
        text = (
            f"NET/IB: Got completion from peer {peer} with status=12 opcode=0 len=0 vendor err 129 ({direction}) "
            f"localGid {mine} remoteGids{theirs} hca {device}"
        )
    else:
        text = (
            f"NET/IB: Got completion from peer {peer} with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) "
            f"vendor_err=129 {direction} localGid {mine} remoteGids{theirs} hca {device}"
        )
    yield nccl(scene, rank, at_s, "WARN", text, "transport/net_ib.cc:1295", told)


def set_up(scene: Scene, rank: int, at_s: float, complete: bool = True, started: bool = True) -> Iterator[Line]:
    """The default group's communicator comes up (NCCL_DEBUG=INFO)."""
    mesh, torch = scene.mesh, scene.torch
    if rank == 0:
        yield nccl(scene, rank, at_s, "INFO", f"NCCL version {torch.nccl}+cuda{torch.cuda}")
    local = mesh.local_rank(rank)
    interface = f"eth0:{scene.address(mesh.host_of(rank))}<0>"
    yield nccl(scene, rank, at_s, "INFO", f"Bootstrap : Using {interface}")
    plugin = "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."
    yield nccl(scene, rank, at_s + 0.01, "INFO", plugin)
    network = (
        f"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB {interface}" if mesh.per_host >= 4 else "NET/IB : No device found."
    )
    yield nccl(scene, rank, at_s + 0.02, "INFO", network)
    if not started:
        return
    version = tuple(int(part) for part in torch.nccl.split(".")[:2])
    function = "" if version < (2, 19) else "ncclCommInitRank " if version < (2, 27) else "ncclCommInitRankConfig "
    nvml = f" nvmlDev {local}" if version >= (2, 18) else ""
    comm = f" commId 0x{scene.job * 7919 + 4096:x}" if version >= (2, 18) else ""
    body = (
        f"{function}comm 0x55{scene.pids[rank]:x}0 rank {rank} nranks {mesh.size} cudaDev {local}{nvml} "
        f"busId {0x1B + 0x20 * (local % 8):x}000{comm} - Init"
    )
    if version >= (2, 18):
        yield nccl(scene, rank, at_s + 0.05, "INFO", f"{body} START", tells=(Tell("init-start", rank),))
    if not complete:
        return
    neighbour = (rank + 1) % mesh.size
    way = "P2P/CUMEM" if mesh.host_of(neighbour) == mesh.host_of(rank) else "[send] via NET/IB/0"
    link = way if way.startswith("[") else f"via {way}"
    yield nccl(
        scene,
        rank,
        at_s + 0.6,
        "INFO",
        f"Channel 00/0 : {rank}[{local}] -> {neighbour}[{mesh.local_rank(neighbour)}] {link}",
    )
    yield nccl(scene, rank, at_s + 0.9, "INFO", "Connected all rings")
    yield nccl(scene, rank, at_s + 1.0, "INFO", f"{body} COMPLETE", tells=(Tell("init-complete", rank),))
