"""What a healthy program prints between the lines that matter: set-up, progress, host work, harmless warnings."""

from __future__ import annotations

from collections.abc import Iterator

from lab.simulate.lines import Line, Tell
from lab.simulate.scene import Scene
from lab.simulate.torch_words import cpp

#: Steps before the simulated ones whose progress is still printed.
EARLIER_STEPS = 6
BAR_EVERY_S = 20.0
MOST_BARS = 8


def say(
    scene: Scene,
    rank: int,
    at_s: float,
    text: str,
    tells: tuple[Tell, ...] = (),
    stdout: bool = True,
    bar: bool = False,
) -> Line:
    return Line(at_s, text, rank=rank, host=scene.mesh.host_of(rank), tells=tells, stdout=stdout, rewritten=bar)


def opening(scene: Scene) -> Iterator[Line]:
    """The first minute of the job on every rank."""
    mesh, torch = scene.mesh, scene.torch
    for rank in mesh.ranks:
        at_s = 4 + 0.01 * rank
        if scene.job % 4 == 0:
            text = f"initialized rank {rank} / world size {mesh.size}, local rank {mesh.local_rank(rank)}"
            yield say(scene, rank, at_s, text, (Tell("world"),))
        elif rank == 0:
            yield say(scene, rank, at_s, f"loading model on {mesh.size} GPUs (torch {torch.name}, CUDA {torch.cuda})")
        if scene.job % 5 == 1:
            place = f"{scene.site}/torch/utils/checkpoint.py:31"
            yield say(
                scene,
                rank,
                at_s + 1,
                f"{place}: UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
                stdout=False,
            )
            yield say(
                scene,
                rank,
                at_s + 1,
                '  warnings.warn("None of the inputs have requires_grad=True. Gradients will be None")',
                stdout=False,
            )
    if scene.nccl_info is False and scene.job % 2:
        yield say(scene, 0, 6, f"NCCL version {torch.nccl}+cuda{torch.cuda}")


def progress(scene: Scene, until: dict[int, float]) -> Iterator[Line]:
    """Progress lines of the simulated steps and of some before them. ``until``: when a rank's process is gone."""
    for rank in _reporters(scene):
        steps = scene.ranks[rank].steps
        if not steps:
            continue
        first, at_s = steps[0]
        earlier = [
            (step, at_s - scene.shape.step_s * 1.5 * (first - step))
            for step in range(max(0, first - EARLIER_STEPS), first)
        ]
        for step, when_s in [*earlier, *steps]:
            if when_s < until.get(rank, float("inf")):
                yield _report(scene, rank, step, when_s)


def _reporters(scene: Scene) -> list[int]:
    if scene.style == "every-rank":
        return list(scene.mesh.ranks)
    return [scene.mesh.size - 1] if scene.style == "megatron" else [0]


def _report(scene: Scene, rank: int, step: int, at_s: float) -> Line:
    total, loss = scene.total_steps, 2.0 + 1.7 / (1 + step % 97) + (step * 37 % 11) / 100
    pace_s = scene.shape.step_s * 1.5
    told = (Tell("progress", rank, number=step),)
    if scene.style == "bar":
        share = step / total
        filled = int(10 * share)
        done = f"{int(at_s // 60):02d}:{int(at_s % 60):02d}"
        left_s = pace_s * (total - step)
        left = f"{int(left_s // 60):02d}:{int(left_s % 60):02d}"
        bar = f"{int(100 * share):3d}%|{'█' * filled}{' ' * (10 - filled)}|"
        text = f"{bar} {step}/{total} [{done}<{left}, {pace_s:5.2f}s/it]"
        return say(scene, rank, at_s, text, told, stdout=False, bar=True)
    if scene.style == "iter":
        return say(scene, rank, at_s, f"iter {step}: loss {loss:.4f}, time {1000 * pace_s:.2f}ms, mfu 38.12%", told)
    if scene.style == "megatron":
        text = (
            f" iteration {step:8d}/{total:8d} | consumed samples: {step * 256:12d} | elapsed time per iteration (ms): "
            f"{1000 * pace_s:.1f} | learning rate: 1.500E-04 | global batch size:   256 | lm loss: {loss:.6E} | "
            "loss scale: 1.0 | grad norm: 0.912 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        return say(scene, rank, at_s, text, told)
    if scene.style == "metrics":
        epoch = f"'epoch': {step / total:.2f}"
        text = f"{{'loss': {loss:.4f}, 'grad_norm': 0.4{step % 10}, 'learning_rate': 1.9e-05, {epoch}}}"
        return say(scene, rank, at_s, text, told)
    now = scene.clock.on(scene.mesh.host_of(rank), at_s)
    text = f"{now:%Y-%m-%d %H:%M:%S} [rank {rank}] step {step}/{total} loss={loss:.4f}"
    return say(scene, rank, at_s, text, (Tell("progress", rank, number=step, named=True),))


def host_work(scene: Scene, until: dict[int, float]) -> Iterator[Line]:
    """What ranks print while they work on the CPU or on files; ``loader`` prints nothing."""
    for rank, state in scene.ranks.items():
        for what, begin_s, end_s in state.host_works:
            end_s = min(end_s, until.get(rank, float("inf")))
            told = (Tell("host-work", rank, value=what),)
            if what == "checkpoint":
                step = state.steps[-1][0] if state.steps else 0
                yield say(
                    scene,
                    rank,
                    begin_s,
                    f"Saving model checkpoint to /checkpoints/run-{scene.job}/checkpoint-{step}",
                    told,
                )
            elif what in ("preprocess", "evaluate"):
                yield from _bars(scene, rank, what, begin_s, end_s, told)


def _bars(scene: Scene, rank: int, what: str, begin_s: float, end_s: float, told: tuple[Tell, ...]) -> Iterator[Line]:
    every_s = max(BAR_EVERY_S, (end_s - begin_s) / MOST_BARS)
    label, total, unit = ("Map", 9_000_000, "examples/s") if what == "preprocess" else ("Evaluating", 2000, "it/s")
    count = int((end_s - begin_s - 0.5) // every_s)
    for index in range(count + 1):
        passed_s = index * every_s
        share = min(0.97, (0.02 + passed_s) / 4000)
        done = int(total * share)
        filled = int(10 * share)
        clock = f"{int(passed_s // 60):02d}:{int(passed_s % 60):02d}"
        bar = f"{label}: {int(100 * share):3d}%|{'█' * filled}{' ' * (10 - filled)}|"
        text = f"{bar} {done}/{total} [{clock}<59:10, {total / 4000:.2f} {unit}]"
        yield say(scene, rank, begin_s + passed_s, text, told, stdout=False, bar=True)


def closing(scene: Scene, rank: int, at_s: float, finished: bool) -> Iterator[Line]:
    """The end of a rank that leaves the loop; ``finished``: with the words of a program that is through."""
    if finished:
        yield say(scene, rank, at_s, "Training complete.", (Tell("finished", rank),))
    if finished and scene.torch.at_least(2, 6) and scene.mesh.local_rank(rank) == 0 and scene.job % 2:
        start = f"[rank{rank}]:[W{scene.clock.on(0, at_s).month}{scene.clock.on(0, at_s):%d %H:%M:%S}.104928374 "
        text = (
            f"{start}ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not called before "
            "program exit, which can leak resources. For more info, please see "
            "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())"
        )
        yield Line(at_s + 0.8, text, rank=rank, host=scene.mesh.host_of(rank), tagged=True)


def noise(scene: Scene) -> Iterator[Line]:
    """Alarming lines that mean nothing: at the start no IPv6, at the end a store that went before its last clients."""
    torch, host = scene.torch, scene.hosts[0]
    last_s = max(state.now_s for state in scene.ranks.values())
    for rank in scene.mesh.ranks:
        if torch.at_least(1, 11):
            text = f"[c10d] The client socket has failed to connect to [{host}]:29500 "
            reason = "(errno: 97 - Address family not supported by protocol)."
            yield cpp(scene, rank, 5 + 0.01 * rank, "W", "socket.cpp:663", text + reason)
        if rank and torch.at_least(2, 6) and rank % 3 == 1:
            error = (
                "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
            )
            where = f"SocketImpl(fd={70 + rank % 9}, addr=[{scene.host(rank)}]:{41000 + rank}, remote=[{host}]:29500)"
            text = f"[c10d] recvValue failed on {where}: {error}"
            yield cpp(scene, rank, last_s + 2.2, "W", "TCPStore.cpp:125", text)
