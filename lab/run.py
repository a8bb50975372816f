"""Carries out planned runs, at most two at a time, and keeps each as a labelled case folder. Resumable."""

from __future__ import annotations

import pathlib
import re
import shutil
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lab.case import LabelError, check, describe, load, provenance, save, save_label, save_logs
from lab.collect import collect
from lab.command import Sandbox
from lab.interpreter import Interpreter
from lab.launch import Outcome, free_port, launch
from lab.logs import Logs
from lab.neutralise import names_of_this_machine, neutralise
from lab.spec import Run

AT_A_TIME = 2
TRIES = 3
SPOILED = ".spoiled"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one planned run. ``state`` is made, kept (was there already), skipped or spoiled."""

    run: Run
    state: str
    reason: str = ""
    took_s: float = 0.0


def run_all(runs: list[Run], out: pathlib.Path, interpreter: Interpreter, seed: int) -> list[Result]:
    """Runs everything that has no case folder yet, and prints one line for each."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(lambda run: _report(run_one(run, out, interpreter, seed)), runs))


def run_one(run: Run, out: pathlib.Path, interpreter: Interpreter, seed: int) -> Result:
    """One case folder ``out/family/id``. A run whose logs do not show the injected fault is tried again.

    The logs of the last spoiled try are kept under ``out/.spoiled``, without a label.
    """
    folder = out / run.family / run.id
    if (folder / "case.json").exists():
        return Result(run, "kept")
    missing = interpreter.missing(run.needs)
    if missing:
        return Result(run, "skipped", missing)
    begin = time.monotonic()
    reason = ""
    for _ in range(TRIES):
        try:
            _make_case(run, out, interpreter, seed)
        except LabelError as error:
            reason = str(error)
        else:
            return Result(run, "made", took_s=time.monotonic() - begin)
    return Result(run, "spoiled", reason, time.monotonic() - begin)


def relabel(runs: list[Run], out: pathlib.Path) -> list[str]:
    """Works the labels of kept runs out again from their logs; returns the ids whose label changed."""
    changed = []
    for run in runs:
        folder = out / run.family / run.id
        if not (folder / "case.json").exists():
            continue
        old, logs = load(folder)
        case = describe(run, run.truth(run, logs), old["provenance"])
        check(case, logs)
        if case != old:
            save_label(folder, case)
            changed.append(run.id)
    return changed


def _make_case(run: Run, out: pathlib.Path, interpreter: Interpreter, seed: int) -> None:
    root = pathlib.Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        sandbox = Sandbox(root, mark=uuid.uuid4().hex, port=free_port())
        outcome = launch(run, sandbox, interpreter)
        names = names_of_this_machine(root, interpreter.prefix, interpreter.base_prefix)
        logs = collect(run, sandbox, names)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    try:
        _check_outcome(run, outcome, logs)
        origin = provenance(run, interpreter, neutralise(outcome.command, names), seed)
        case = describe(run, run.truth(run, logs), origin)
        check(case, logs)
    except LabelError:
        save_logs(out / SPOILED / run.id, logs)
        raise
    save(out / run.family / run.id, case, logs)


def _check_outcome(run: Run, outcome: Outcome, logs: Logs) -> None:
    if outcome.past_limit:
        raise LabelError(f"{run.id}: still running after {run.limit_s:.0f} s")
    if run.ends_well and any(outcome.returncodes):
        raise LabelError(f"{run.id}: was to end well and exited with {outcome.returncodes}")
    for pattern in run.must_show:
        if not re.search(pattern, logs.text):
            raise LabelError(f"{run.id}: the logs do not show /{pattern}/")


def _report(result: Result) -> Result:
    detail = result.reason or (f"{result.took_s:.0f} s" if result.took_s else "")
    print(f"{result.state:8s} {result.run.family}/{result.run.id}  {detail}", flush=True)
    return result
