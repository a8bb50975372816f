"""One failure as each launcher, collector and framework lays it on disk: rank 2 of 4 raises, the others wait for it.

Nothing in the messages names the rank that raised: the layout must tell it.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from cases import compiled_once, shared_catalog

import logsleuth
from logsleuth.report.schema import Report

assert shared_catalog().patterns
RAISED = """\
Traceback (most recent call last):
  File "/opt/train/train.py", line 41, in <module>
    main()
  File "/opt/train/train.py", line 30, in main
    loss = model(batch)
ValueError: bad batch 17
"""
WAITED = (
    "[E ProcessGroupNCCL.cpp:475] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, "
    "OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600044 milliseconds before timing "
    "out.\n"
)
WORKER = "c0ffee" * 9 + "ab"
#: The rank that raised comes first, as its exception does.
RANKS = (2, 0, 1, 3)
Files = dict[str, str]


def log(rank: int, prefix: str = "") -> str:
    text = RAISED if rank == 2 else WAITED.format(rank=rank)
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def files(name: str) -> Files:
    """A file a rank."""
    return {name.format(rank=rank): log(rank) for rank in RANKS}


def console(prefix: str, name: str = "console.log", before: Iterable[str] = ()) -> Files:
    """All ranks in one file, each behind its prefix."""
    lines = [*(f"{line}\n" for line in before), *(log(rank, prefix.format(rank=rank)) for rank in RANKS)]
    return {name: "".join(lines)}


def cri(rank: int) -> str:
    return "".join(f"2026-03-01T10:00:05.123456789Z stderr F {line}\n" for line in log(rank).splitlines())


def docker(rank: int) -> str:
    time = "2026-03-01T10:00:05.123456789Z"
    entries = [{"log": f"[rank{rank}]: {line}\n", "stream": "stderr", "time": time} for line in log(rank).splitlines()]
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)


NAME = "the file's name"
TASK = "task 2 of the launcher"
LOCAL = "local rank, on the only node seen"
PREFIX = "the line's prefix"
TEXT = "the text"
#: id: the files, and how the report says that the rank is known.
LAYOUTS: dict[str, tuple[Files, str]] = {
    "torchrun-log-dir": (files("log/job_x1/attempt_0/{rank}/stderr.log"), LOCAL),
    "torchrun-redirects-and-tee": (
        {**files("log/job_x1/attempt_0/{rank}/stderr.log"), **console("[default{rank}]:")}, LOCAL),
    "torchrun-tee": (console("[default{rank}]:"), LOCAL),
    "torchrun-template-of-roles": (console("[trainer{rank}]:"), LOCAL),
    "deepspeed-each-rank-log": (files("20260301101500_rank{rank}.log"), NAME),
    "deepspeed-pdsh": (console("node-a: [rank{rank}]: "), PREFIX),
    "nemo": (files("nemo_log_globalrank-{rank}_localrank-{rank}.txt"), NAME),
    "open-mpi-output-filename": (files("out/1/rank.{rank}/stderr"), NAME),
    "open-mpi-tag-output": (console("[1,{rank}]<stderr>:"), TASK),
    "open-mpi-5-tag-output": (console("[prterun-node-a-77@1,{rank}]<stderr>: "), TASK),
    "mpich-prepend-rank": (
        console("[{rank}] ", before=[f"[{rank}] step {step}" for step in (1, 2) for rank in (0, 2, 1, 3)]), TASK),
    "pals": (console("nid001234 {rank}: "), TASK),
    "slurm-task-in-the-name": (files("slurm-4711_task{rank}.out"), TASK),
    "slurm-host-and-task-in-the-name": (files("train-4711-node-a_{rank}.err"), TASK),
    "srun-label": (console("{rank}: ", "slurm-4711.out"), TASK),
    "srun-label-padded": (console(" {rank}: ", "slurm-4711.out"), TASK),
    "submitit": (files("48151_{rank}_log.err"), TASK),
    "ray-session": (
        {
            "session_latest/logs/job-driver-x.log": "".join(
                f"(TorchTrainer pid=4000) - (node_id=77aa, ip=10.0.0.2, pid=47{rank}1) world_rank={rank}, "
                f"local_rank={rank}, node_rank=0\n" for rank in range(4)
            ),
            **{f"session_latest/logs/worker-{WORKER}-01000000-47{rank}1.err": log(rank) for rank in RANKS},
        }, "pid 4721"),
    "ray-driver": (
        console("(RayTrainWorker pid=47{rank}1) ", before=[
            f"(TorchTrainer pid=4000) - (node_id=77aa, ip=10.0.0.2, pid=47{rank}1) world_rank={rank}, "
            f"local_rank={rank}, node_rank=0" for rank in range(4)]), "pid 4721"),
    "verl": (console("(WorkerDict[rank={rank}] pid=47{rank}1, ip=10.0.0.2) "), PREFIX),
    "kubernetes-pods": (
        {f"pods/ml_llm-worker-{rank}_0123abcd-77/pytorch/0.log": cri(rank).replace(" F ", f" F [rank{rank}]: ")
         for rank in RANKS}, PREFIX),
    "kubectl-prefix": (console("[pod/llm-worker-{rank}/pytorch] 2026-03-01T10:00:05.1Z [rank{rank}]: "), PREFIX),
    "docker-json": ({"container-json.log": "".join(docker(rank) for rank in RANKS)}, PREFIX),
    "lightning": (console("[rank{rank}]: ", before=[
        f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4" for rank in range(4)]), TEXT),
    "wandb": (
        {"wandb/run-20260301_101500-ab12/files/output.log": log(2, "[rank2]: "), **files("rank{rank}.log")}, NAME),
    "composer": (console("2026-03-01 10:00:05,441: rank{rank}[77][MainThread]: ERROR: train: "), PREFIX),
    "github-run-log": (console("train\tRun training\t2026-03-01T10:00:05.1234567Z [rank{rank}]: ", "run.txt"), PREFIX),
    "files-behind-grep": (console("logs/rank{rank}.log:12:", "grep.txt"), PREFIX),
    "files-behind-tail": (
        {"all.txt": "\n".join(f"==> logs/rank{rank}.log <==\n{log(rank)}" for rank in range(4))}, NAME),
}  # fmt: skip
#: Layouts in which the ranks that wait come before the one that raised: that it did not come is as true.
ALSO = {"files-behind-tail": {"rank-exception", "rank-missing-collective"}}


def write(folder: Path, given: Files) -> None:
    for name, text in given.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def analyzed(*paths: Path, **options: object) -> Report:
    with compiled_once():
        return logsleuth.analyze([str(path) for path in paths], **options)  # type: ignore[arg-type]


def accused(report: Report) -> tuple[str, list[int]]:
    root = report.root_causes[0]
    return root.cause, list(root.ranks)


@pytest.mark.parametrize(("given", "known_by"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout_tells_the_rank(given: Files, known_by: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    write(tmp_path, given)
    report = analyzed(tmp_path)
    cause, ranks = accused(report)
    assert cause in ALSO.get(request.node.callspec.id, {"rank-exception"})
    assert ranks == [2]
    assert report.coverage.ranks_seen == [0, 1, 2, 3]
    (process,) = [process for process in report.job.processes if process.rank == 2]
    assert process.known_by == known_by


def zipped(given: Files) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in given.items():
            archive.writestr(name, text)
    return held.getvalue()


def tarred(given: Files, mode: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in given.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return held.getvalue()


PACKS: dict[str, Callable[[Files], bytes]] = {
    "zip": zipped,
    "tar": lambda given: tarred(given, "w"),
    "tar.gz": lambda given: tarred(given, "w:gz"),
    "tar.bz2": lambda given: tarred(given, "w:bz2"),
    "zip-in-zip": lambda given: _nested(given),
}


def _nested(given: Files) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("node-a.zip", zipped(given))
    return held.getvalue()


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_an_archive_reads_like_its_folder(pack: Callable[[Files], bytes], tmp_path: Path) -> None:
    path = tmp_path / "logs.archive"
    path.write_bytes(pack(files("logs/rank{rank}.log")))
    report = analyzed(path)
    assert accused(report) == ("rank-exception", [2])
    assert report.root_causes[0].evidence[0].source.startswith(f"{path}!")


def test_a_zstd_tar_reads_like_its_folder(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "logs.tar.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(tarred(files("logs/rank{rank}.log"), "w")))
    assert accused(analyzed(path)) == ("rank-exception", [2])


# --- GitHub's archives -----------------------------------------------------------------------------------------------

STAMP = "2026-03-01T10:00:05.1234567Z "
STEP = "\ufeff" + "".join(log(rank, f"{STAMP}[rank{rank}]: ") for rank in RANKS)
SETUP = f"\ufeff{STAMP}Current runner version: '2.320.0'\n"
GITHUB: dict[str, tuple[Files, int]] = {
    "all-steps": ({"0_train.txt": SETUP + STEP, "train/1_Set up job.txt": SETUP, "train/2_Run torchrun.txt": STEP}, 2),
    "steps-missing": ({"0_train.txt": SETUP + STEP, "train/1_Set up job.txt": SETUP, "train/system.txt": "x\n"}, 2),
    "only-the-job": ({"0_train.txt": SETUP + STEP}, 1),
    "name-cut": (
        {
            "0_train on eight machines (node-a, nccl, de.txt": SETUP + STEP,
            "train on eight machines (node-a, nccl, debug)/1_Set up job.txt": SETUP,
            "train on eight machines (node-a, nccl, debug)/2_Run torchrun --nnodes 8 --np.txt": STEP,
        }, 2),
}  # fmt: skip


@pytest.mark.parametrize(("given", "read"), GITHUB.values(), ids=GITHUB)
def test_githubs_archive_is_read_once_and_whole(given: Files, read: int, tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    path.write_bytes(zipped(given))
    report = analyzed(path)
    assert accused(report) == ("rank-exception", [2])
    assert len(report.coverage.sources) == read


# --- what the user adds, and what contradicts ------------------------------------------------------------------------


def test_the_user_names_ranks_and_the_size_of_the_world(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}.log": log(rank) for rank, name in zip(RANKS, "cabd", strict=True)})
    ranks = {str(tmp_path / f"{name}.log"): rank for rank, name in zip(RANKS, "cabd", strict=True)}
    report = analyzed(ranks=ranks, world_size=8)
    assert accused(report) == ("rank-exception", [2])
    assert report.coverage.world_size == 8
    assert report.coverage.ranks_without_log == [4, 5, 6, 7]
    assert {process.known_by for process in report.job.processes if process.rank in range(4)} == {"--rank"}


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        pytest.param({}, "the file's name says rank 5, its lines say rank 2; the lines are believed", id="path"),
        pytest.param({"rank5.log": 7}, "--rank says rank 7, its lines say rank 2; --rank is believed", id="option"),
    ],
)
def test_a_rank_that_contradicts_is_told(
    ranks: dict[str, int], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"rank5.log": log(2, "[rank2]: ")})
    report = analyzed(Path("rank5.log"), ranks=ranks)
    assert f"rank5.log: {words}" in report.notes


def test_a_file_of_several_ranks_contradicts_nobody(tmp_path: Path) -> None:
    write(tmp_path, {"rank0.log": "".join(log(rank, f"[rank{rank}]: ") for rank in RANKS)})
    assert not any("its lines say" in note for note in analyzed(tmp_path).notes)


# --- clocks ----------------------------------------------------------------------------------------------------------


def at(hour: int, minute: int, rank: int, text: str) -> str:
    return "".join(
        f"[rank{rank}]:[E301 {hour:02d}:{minute:02d}:09.912345678 ProcessGroupNCCL.cpp:629] {line}\n"
        for line in text.splitlines()
    )


def two_nodes(shift_h: int, minute: int = 40) -> Files:
    waited = "".join(WAITED.format(rank=rank).replace("[E ProcessGroupNCCL.cpp:475] ", "") for rank in (0,))
    return {
        "node-a/train.log": at(10, 10, 0, "using GPU 0") + at(10, 40, 0, waited),
        "node-b/train.log": at(10 + shift_h, 10, 1, "using GPU 1") + at(10 + shift_h, minute, 1, waited),
    }


def test_another_time_zone_is_recognised_and_told(tmp_path: Path) -> None:
    write(tmp_path, two_nodes(7))
    note = "the clock of node-b is 7 h ahead of the other hosts' (another time zone)"
    assert any(note in said for said in analyzed(tmp_path).notes)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(two_nodes(0), id="one-zone"),
        pytest.param(two_nodes(7, minute=55), id="the-ends-do-not-agree"),
    ],
)
def test_times_that_differ_otherwise_are_no_zone(given: Files, tmp_path: Path) -> None:
    write(tmp_path, given)
    assert not any("time zone" in said for said in analyzed(tmp_path).notes)
