"""The command lines and environments of a run: torchrun in its layouts, or one plain process for each rank."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lab.interpreter import Interpreter
from lab.processes import MARK_VARIABLE
from lab.spec import Layout, Run

RANK_FILES = ("rank{rank}.log", "worker-{rank}.log", "train_rank{rank:05d}.out")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The folders of one run: the user's program, its temporary files, its home, and what it printed."""

    root: pathlib.Path
    mark: str
    port: int

    @property
    def train(self) -> pathlib.Path:
        return self.root / "train"

    @property
    def output(self) -> pathlib.Path:
        return self.root / "output"

    @property
    def log_dir(self) -> pathlib.Path:
        return self.train / "logs"

    @property
    def meeting_point(self) -> pathlib.Path:
        return self.root / "meeting-point"

    def make(self) -> None:
        for name in ("train", "tmp", "home", "output", "meeting-point"):
            (self.root / name).mkdir()


@dataclass(frozen=True, slots=True)
class Process:
    """One process to start, and the file that gets its output (both streams)."""

    argv: tuple[str, ...]
    env: dict[str, str]
    output: str


def job_settings(run: Run) -> str:
    """The job's settings as the JSON that lab/jobs/trainer.py reads."""
    values: dict[str, Any] = {"injections": [asdict(injection) for injection in run.injections]}
    values.update(run.settings)
    values["options"] = dict(run.options)
    if run.layout is Layout.SPAWN:
        values["spawn"] = run.world_size
    return json.dumps(values)


def environment(run: Run, sandbox: Sandbox) -> dict[str, str]:
    """A small environment: nothing of the caller's but the search path."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(sandbox.root / "home"),
        "TMPDIR": str(sandbox.root / "tmp"),
        "PWD": str(sandbox.train),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LAB_SETTINGS": job_settings(run),
        "LAB_MEETING_POINT": str(sandbox.meeting_point),
        MARK_VARIABLE: sandbox.mark,
        **_filled(run.env, sandbox),
    }


def processes(run: Run, sandbox: Sandbox, interpreter: Interpreter) -> list[Process]:
    """What to start for this run, in this order."""
    env = environment(run, sandbox)
    if run.layout is Layout.PER_RANK:
        return _plain(run, sandbox, interpreter, env)
    if run.layout is Layout.SPAWN:
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(sandbox.port), "OMP_NUM_THREADS": "1"}
        return [Process(_mounted(run, (interpreter.python, run.script), sandbox), env, "job.log")]
    if run.layout is Layout.TWO_NODES:
        return [
            Process(_torchrun(run, sandbox, interpreter, node), env, f"node-{'ab'[node]}.log")
            for node in run.nodes or (0, 1)
        ]
    return [Process(_torchrun(run, sandbox, interpreter, None), env, "job.log")]


def _torchrun(run: Run, sandbox: Sandbox, interpreter: Interpreter, node: int | None) -> tuple[str, ...]:
    where: tuple[str, ...] = ("--standalone", "--nproc-per-node", str(run.world_size))
    if node is not None:
        where = ("--nnodes", "2", "--nproc-per-node", str(run.world_size // 2))
        if "--rdzv-backend" not in run.torchrun:
            where += ("--node-rank", str(node), "--master-addr", "localhost", "--master-port", str(sandbox.port))
    elif "--master-port" in run.torchrun or "--rdzv-backend" in run.torchrun:
        where = where[1:]
    kept: tuple[str, ...] = ()
    if run.layout is Layout.TEE:
        kept = ("--tee", "3")
    elif run.layout in (Layout.LOG_DIR, Layout.AGENT_ONLY):
        kept = ("--log-dir", str(sandbox.log_dir), "--redirects", "3")
    further = tuple(argument.format(port=sandbox.port) for argument in run.torchrun)
    return _mounted(run, (interpreter.torchrun, *where, *further, *kept, run.script), sandbox)


def _plain(run: Run, sandbox: Sandbox, interpreter: Interpreter, env: dict[str, str]) -> list[Process]:
    name = RANK_FILES[sum(map(ord, run.id)) % len(RANK_FILES)]
    own = [_filled(extra, sandbox) for extra in run.rank_env] or [{} for _ in range(run.world_size)]
    ranks = [extra.get("RANK", str(index)) for index, extra in enumerate(own)]
    if len(set(ranks)) < len(ranks):  # two processes with one rank: their files are named by task
        name, ranks = "task-{rank}.log", [str(index) for index in range(len(own))]
    started = []
    for index, extra in enumerate(own):
        rank_env = env | {
            "RANK": str(index),
            "LOCAL_RANK": str(index),
            "WORLD_SIZE": str(run.world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(sandbox.port),
            "OMP_NUM_THREADS": "1",
        }
        rank_env.update(extra)
        rank_env = {key: value for key, value in rank_env.items() if value}
        argv = _mounted(run, (interpreter.python, run.script), sandbox)
        started.append(Process(argv, rank_env, name.format(rank=int(ranks[index]))))
    return started


def _mounted(run: Run, argv: tuple[str, ...], sandbox: Sandbox) -> tuple[str, ...]:
    """The command behind small file systems of its own, where the run wants some to be full."""
    if not run.private_mounts:
        return argv
    mounts = [(path.format(train=sandbox.train), size) for path, size in run.private_mounts]
    steps = [f"mkdir -p {path} && mount -t tmpfs -o size={size} tmpfs {path}" for path, size in mounts]
    return ("unshare", "--mount", "sh", "-c", " && ".join([*steps, 'exec "$@"']), "sh", *argv)


def _filled(values: Mapping[str, str], sandbox: Sandbox) -> dict[str, str]:
    return {key: value.format(port=sandbox.port, train=sandbox.train) for key, value in values.items()}
