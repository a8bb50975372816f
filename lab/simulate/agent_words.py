"""What a torchrun agent prints, in the log format of each torch version."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from lab.simulate.happening import Happening
from lab.simulate.lines import Line, Speaker, Tell
from lab.simulate.scene import Scene
from lab.simulate.versions import PythonLog

SIGNALS = {-6: "SIGABRT", -9: "SIGKILL", -11: "SIGSEGV", -15: "SIGTERM"}
API = "torch.distributed.elastic.multiprocessing.api"
AGENT = "torch.distributed.elastic.agent.server.api"


def lines_of(scene: Scene, it: Happening) -> Iterator[Line]:
    """The lines of what an agent does; nothing for other happenings."""
    if it.host is None:
        return
    if it.kind == "closing":
        for rank in it.others:
            yield _log(
                scene, it.host, it.at_s, "W", API, 0, f"Sending process {scene.pids[rank]} closing signal SIGTERM"
            )
    elif it.kind == "forced":
        new = scene.torch.at_least(2, 7)
        asked, forced = ("15", "9") if new else ("Signals.SIGTERM", "Signals.SIGKILL")
        for rank in it.others:
            text = f"Unable to shutdown process {scene.pids[rank]} via {asked}, forcefully exiting via {forced}"
            yield _log(scene, it.host, it.at_s, "W", API, 0, text)
    elif it.kind == "failed" and it.rank is not None:
        told = (Tell("exit", it.rank, number=it.number, named=scene.mesh.hosts == range(1)), Tell("pid", it.rank))
        text = (
            f"failed (exitcode: {it.number}) local_rank: {scene.mesh.local_rank(it.rank)} (pid: {scene.pids[it.rank]}) "
            f"of binary: {scene.venv}/bin/python3"
        )
        yield _log(scene, it.host, it.at_s, "E", API, 1, text, told)
    elif it.kind == "table":
        yield from _table(scene, it)
    elif it.kind == "signalled":
        yield from _signalled(scene, it)


def start(scene: Scene, host: int, at_s: float) -> Iterator[Line]:
    """The banner on OMP_NUM_THREADS, which nobody sets."""
    setting = (
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being "
        "overloaded, please further tune the variable for optimal performance in your application as needed. "
    )
    for text in ("", "*" * 41, setting, "*" * 41):
        yield _log(scene, host, at_s, "W", "torch.distributed.run", 2, text, path="torch/distributed/run.py")


def _log(
    scene: Scene, host: int, at_s: float, level: str, logger: str, place: int, text: str,
    tells: tuple[Tell, ...] = (), path: str = "",
) -> Line:  # fmt: skip
    """``place``: 0 a warning, 1 an error of the process API, 2 a line of the agent or of run.py."""
    now = scene.clock.on(host, at_s)
    name = {"W": "WARNING", "E": "ERROR", "I": "INFO"}[level]
    form = scene.torch.python_log
    if form is PythonLog.NAMED:
        start = f"{name}:{logger}:"
    elif form is PythonLog.BRACKETED:
        start = f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}] {logger}: [{name}] "
    else:
        number = scene.agent_pids[host] if form is PythonLog.PID else 139000000000000 + scene.agent_pids[host] * 4096
        path = path or logger.replace(".", "/") + ".py"
        start = f"{level}{now:%m%d %H:%M:%S}.{now.microsecond // 1000:03d}000 {number} {path}:"
        start += f"{scene.torch.agent_lines[place]}] "
    return Line(at_s, start + text, Speaker.AGENT, host=host, tells=tells)


def _plain(host: int, at_s: float, text: str, tells: tuple[Tell, ...] = ()) -> Line:
    return Line(at_s, text, Speaker.AGENT, host=host, tells=tells)


def _trace(scene: Scene, host: int, at_s: float, last: list[tuple[str, int, str, str]]) -> Iterator[Line]:
    yield _plain(host, at_s, "Traceback (most recent call last):")
    elastic = f"{scene.site}/torch/distributed/elastic"
    frames = [
        (f"{scene.venv}/bin/torchrun", 8, "<module>", "sys.exit(main())"),
        (f"{elastic}/multiprocessing/errors/__init__.py", 355, "wrapper", "return f(*args, **kwargs)"),
        (f"{scene.site}/torch/distributed/run.py", 918, "main", "run(args)"),
        *[(f"{scene.site}/{path}", line, function, code) for path, line, function, code in last],
    ]  # fmt: skip
    for path, line, function, code in frames:
        yield _plain(host, at_s, f'  File "{path}", line {line}, in {function}')
        yield _plain(host, at_s, f"    {code}")


def _table(scene: Scene, it: Happening) -> Iterator[Line]:
    """ChildFailedError: the node's failures by local rank; the first of the earliest second counts as root."""
    host, at_s = it.host or 0, it.at_s
    last = [("torch/distributed/launcher/api.py", 260, "launch_agent", "raise ChildFailedError(")]
    yield from _trace(scene, host, at_s, last)
    yield _plain(host, at_s, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    seen = scene.clock.on(host, float(it.text))
    if not scene.torch.at_least(1, 10):
        yield from _old_table(scene, it, seen)
        return
    yield _plain(host, at_s, "=" * 60)
    yield _plain(host, at_s, f"{scene.script} FAILED")
    yield _plain(host, at_s, "-" * 60)
    yield _plain(host, at_s, "Failures:")
    others = [rank for rank in it.others if rank != it.rank]
    if not others:
        yield _plain(host, at_s, "  <NO_OTHER_FAILURES>")
    for index, rank in enumerate(others, start=1):
        yield from _row(scene, it, index, rank, seen)
    yield _plain(host, at_s, "-" * 60)
    yield _plain(host, at_s, "Root Cause (first observed failure):")
    yield from _row(scene, it, 0, it.rank or 0, seen, first=True)
    yield _plain(host, at_s, "=" * 60)


def _row(
    scene: Scene, it: Happening, index: int, rank: int, seen: datetime.datetime, first: bool = False
) -> Iterator[Line]:
    host, pid, code = it.host or 0, scene.pids[rank], scene.exits[rank]
    signal = SIGNALS.get(code)
    shown = f"  ({signal})" if signal and scene.torch.lists_terminated else " " if scene.torch.lists_terminated else ""
    trace = (
        f"Signal {-code} ({signal}) received by PID {pid}"
        if signal
        else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    )
    tells = [Tell("exit", rank, number=code, named=True), Tell("pid", rank, named=True)]
    if first:
        tells.append(Tell("first", rank, number=code, named=True))
    rows = [
        f"[{index}]:",
        f"  time      : {seen:%Y-%m-%d_%H:%M:%S}",
        f"  host      : {scene.hosts[host]}",
        f"  rank      : {rank} (local_rank: {scene.mesh.local_rank(rank)})",
        f"  exitcode  : {code} (pid: {pid}){shown}",
        "  error_file: <N/A>",
        f"  traceback : {trace}",
    ]
    for number, text in enumerate(rows):
        yield _plain(host, it.at_s, text, tuple(tells) if number == 4 else ())


def _old_table(scene: Scene, it: Happening, seen: datetime.datetime) -> Iterator[Line]:
    """torch 1.9: the root cause first, fields not aligned, no host."""
    host, at_s = it.host or 0, it.at_s

    def rows(rank: int, index: int, first: bool) -> Iterator[Line]:
        code, pid = scene.exits[rank], scene.pids[rank]
        signal = SIGNALS.get(code)
        message = (
            f"Signal {-code} ({signal}) received by PID {pid}" if signal else f"Process failed with exitcode {code}"
        )
        tells = [Tell("exit", rank, number=code, named=True), Tell("pid", rank, named=True)]
        tells += [Tell("first", rank, number=code, named=True)] if first else []
        yield _plain(host, at_s, f"[{index}]:")
        yield _plain(host, at_s, f"  time: {seen:%Y-%m-%d_%H:%M:%S}")
        yield _plain(host, at_s, f"  rank: {rank} (local_rank: {scene.mesh.local_rank(rank)})")
        yield _plain(host, at_s, f"  exitcode: {code} (pid: {pid})", tuple(tells))
        yield _plain(host, at_s, "  error_file: <N/A>")
        yield _plain(host, at_s, f'  msg: "{message}"')

    yield _plain(host, at_s, "*" * 45)
    yield _plain(host, at_s, f"{scene.script} FAILED".center(45))
    yield _plain(host, at_s, "=" * 45)
    yield _plain(host, at_s, "Root Cause:")
    yield from rows(it.rank or 0, 0, True)
    yield _plain(host, at_s, "=" * 45)
    yield _plain(host, at_s, "Other Failures:")
    others = [rank for rank in it.others if rank != it.rank]
    if not others:
        yield _plain(host, at_s, "  <NO_OTHER_FAILURES>")
    for index, rank in enumerate(others, start=1):
        yield from rows(rank, index, False)
    yield _plain(host, at_s, "*" * 45)


def _signalled(scene: Scene, it: Happening) -> Iterator[Line]:
    """Somebody ended the agent from outside."""
    host, at_s = it.host or 0, it.at_s
    number = "15" if scene.torch.at_least(2, 7) else "Signals.SIGTERM"
    text = f"Received {number} death signal, shutting down workers"
    yield _log(scene, host, at_s, "W", AGENT, 2, text, (Tell("preempt"),))
    for rank in it.others:
        text = f"Sending process {scene.pids[rank]} closing signal SIGTERM"
        yield _log(scene, host, at_s + 0.001, "W", API, 0, text)
    frames = [
        ("torch/distributed/launcher/api.py", 255, "launch_agent", "result = agent.run()"),
        (
            "torch/distributed/elastic/multiprocessing/api.py", 76, "_terminate_process_handler",
            'raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)',
        ),
    ]  # fmt: skip
    yield from _trace(scene, host, at_s + 0.4, frames)
    text = (
        f"torch.distributed.elastic.multiprocessing.api.SignalException: Process {scene.agent_pids[host]} got signal: "
    )
    yield _plain(host, at_s + 0.4, text + ("15" if number == "15" else "Signals.SIGTERM"), (Tell("preempt"),))
