"""Starts the processes of one run, plays the outside world (signals, a busy port, a user who gives up), waits."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lab.command import Process, Sandbox, processes
from lab.interpreter import Interpreter
from lab.processes import end_marked
from lab.spec import Layout, Run

JOBS = pathlib.Path(__file__).parent / "jobs"
# A plain launcher ends the other ranks some time after the first failed, as srun --kill-on-bad-exit does.
GRACE_S = 9.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended: the exit codes of what was started, and whether the lab had to end it."""

    command: str
    returncodes: tuple[int, ...]
    past_limit: bool


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def launch(run: Run, sandbox: Sandbox, interpreter: Interpreter) -> Outcome:
    """Runs the job to its end, or to ``run.limit_s``; nothing of it is alive afterwards."""
    sandbox.make()
    shutil.copy(JOBS / "trainer.py", sandbox.train)
    shutil.copy(JOBS / f"{run.job}.py", sandbox.train / run.script)
    planned = processes(run, sandbox, interpreter)
    try:
        with _busy_port(sandbox.port if run.busy_port else None):
            past_limit, codes = _play(run, sandbox, planned)
    finally:
        end_marked(sandbox.mark)
    return Outcome(" & ".join(dict.fromkeys(_shown(it) for it in planned)), codes, past_limit)


def _play(run: Run, sandbox: Sandbox, planned: list[Process]) -> tuple[bool, tuple[int, ...]]:
    started = []
    for it in planned:
        with (sandbox.output / it.output).open("wb") as output:
            started.append(
                subprocess.Popen(
                    it.argv,
                    env=it.env,
                    cwd=sandbox.train,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
    begin = time.monotonic()
    signal_sent = run.signal is None
    first_failure: float | None = None
    while any(process.poll() is None for process in started):
        time.sleep(POLL_S)
        now = time.monotonic()
        if not signal_sent and run.signal and _shows(sandbox.output, sandbox.log_dir, run.signal.after):
            started[run.signal.node].send_signal(signal.Signals[run.signal.name])
            signal_sent = True
        if first_failure is None and any(process.poll() not in (None, 0) for process in started):
            first_failure = now
        if run.layout is Layout.PER_RANK and first_failure is not None and now - first_failure > GRACE_S:
            end_marked(sandbox.mark, polite_s=3.0)
        if run.give_up_s is not None and now - begin > run.give_up_s:
            end_marked(sandbox.mark)
        if now - begin > run.limit_s:
            return True, tuple(process.poll() or 0 for process in started)
    return False, tuple(process.returncode for process in started)


def _shows(output: pathlib.Path, log_dir: pathlib.Path, pattern: str) -> bool:
    files = [*output.iterdir(), *log_dir.rglob("*.log")]
    return any(re.search(pattern, file.read_text(errors="replace")) for file in files)


@contextlib.contextmanager
def _busy_port(port: int | None) -> Iterator[None]:
    """Somebody else listens on the port meanwhile."""
    if port is None:
        yield
        return
    with socket.socket() as other:
        other.bind(("0.0.0.0", port))
        other.listen()
        yield


def _shown(process: Process) -> str:
    """The command as a user would have typed it: without the lab's own wrapping."""
    argv = list(process.argv)
    if argv[0] == "unshare":
        argv = argv[argv.index("sh", 4) + 1 :]
    return " ".join(argv)
