"""Runs an analyzer and the baselines on case folders. The logs are copied first: a folder's name must tell nothing."""

from __future__ import annotations

import json
import pathlib
import shlex
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from lab.baselines import BASELINES
from lab.case import load
from lab.neutralise import write
from lab.score import Row, failed, mark, mark_ranks

# Exit codes of an analyzer that has answered.
ANSWERED = (0, 1, 2)


def cases_in(folder: pathlib.Path, only: str = "") -> list[pathlib.Path]:
    """The case folders below ``folder``; ``only`` is a part of ``family/id``."""
    found = sorted(path.parent for path in folder.rglob("case.json"))
    return [path for path in found if only in f"{path.parent.name}/{path.name}" and ".partial" not in path.name]


def measure(folders: list[pathlib.Path], command: str, *, jobs: int, timeout_s: float) -> list[Row]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda folder: measure_one(folder, command, timeout_s), folders))


def measure_one(folder: pathlib.Path, command: str, timeout_s: float) -> Row:
    """One case: the analyzer gets the log files (and the case's ``args``) as arguments."""
    case, logs = load(folder)
    with tempfile.TemporaryDirectory(prefix="run-") as copy:
        paths = [pathlib.Path(copy) / name for name in logs.files]
        for path, text in zip(paths, logs.files.values(), strict=True):
            write(path, text)
        argv = [*shlex.split(command), *case.get("args", []), *map(str, paths)]
        begin = time.perf_counter()
        try:
            done = subprocess.run(argv, capture_output=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return failed(case, f"no answer in {timeout_s:.0f} s")
        took_s = time.perf_counter() - begin
    last = done.stderr.decode(errors="replace").strip()[-200:]
    if done.returncode not in ANSWERED:
        return failed(case, f"exit {done.returncode}: {last}")
    try:
        report = json.loads(done.stdout)
    except ValueError as error:
        return failed(case, f"not JSON ({error}): {last}")
    got, marks = mark(case, report)
    return Row(case=case["id"], want=case["expect"]["cause"], got=got, marks=marks, took_s=took_s)


def measure_baselines(folders: list[pathlib.Path]) -> dict[str, list[Row]]:
    """The marks on ranks of each baseline."""
    rows: dict[str, list[Row]] = {name: [] for name in BASELINES}
    for folder in folders:
        case, logs = load(folder)
        for name, answer in BASELINES.items():
            accused = answer(logs)
            marks = {key: float(value) for key, value in mark_ranks(case, accused).items()}
            got = ",".join(map(str, accused)) or "-"
            rows[name].append(Row(case=case["id"], want=case["expect"]["cause"], got=got, marks=marks))
    return rows
