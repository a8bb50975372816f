"""case.json: the label of one run, written beside its logs, and a check of its form."""

from __future__ import annotations

import datetime
import json
import pathlib
import shutil
from typing import Any

from lab.interpreter import Interpreter
from lab.logs import Logs
from lab.neutralise import read, write
from lab.spec import Expect, Run

FIELDS = ("id", "family", "torch", "nccl", "launcher", "args", "source", "expect", "why", "notes", "provenance")
EXPECT_FIELDS = ("cause", "also_ok", "never", "culprit_ranks", "facts", "fix_mentions")
PROVENANCE_FIELDS = ("command", "torch", "python", "date", "seed", "injected")


class LabelError(ValueError):
    """A label that its own logs do not bear out, or whose form is wrong."""


def provenance(run: Run, interpreter: Interpreter, command: str, seed: int) -> dict[str, Any]:
    """Where a case comes from, and what was really injected. ``command`` is already neutral."""
    return {
        "command": command,
        "torch": interpreter.torch_version,
        "python": interpreter.python_version,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "seed": seed,
        "injected": [
            {"what": it.kind, "ranks": list(it.ranks), "step": it.step, "attempts": list(it.attempts)}
            for it in run.injections
        ],
    }


def describe(run: Run, expect: Expect, origin: dict[str, Any]) -> dict[str, Any]:
    """The content of case.json; ``origin`` is its provenance."""
    return {
        "id": run.id,
        "family": run.family,
        "torch": origin["torch"],
        "nccl": None,
        "launcher": run.layout.launcher,
        "args": list(run.args),
        "source": "LogSleuth fault lab",
        "expect": {
            "cause": expect.cause,
            "also_ok": list(expect.also_ok),
            "never": list(expect.never),
            "culprit_ranks": [list(it) if isinstance(it, tuple) else it for it in expect.culprit_ranks],
            "facts": dict(expect.facts),
            "fix_mentions": list(expect.fix_mentions),
        },
        "why": run.why,
        "notes": run.notes,
        "provenance": origin,
    }


def check(case: dict[str, Any], logs: Logs) -> None:
    """Raises LabelError for a malformed label, or for facts that stand nowhere in the logs."""
    problems = [f"no field {name}" for name in FIELDS if name not in case]
    expect = case.get("expect", {})
    problems += [f"no field expect.{name}" for name in EXPECT_FIELDS if name not in expect]
    problems += [f"no field provenance.{name}" for name in PROVENANCE_FIELDS if name not in case.get("provenance", {})]
    if not problems:
        if expect["cause"] in expect["never"] or set(expect["also_ok"]) & set(expect["never"]):
            problems.append("a cause is both right and forbidden")
        text = logs.text.lower()
        problems += [
            f"the logs do not show {name}={value}"
            for name, value in _leaves(expect["facts"])
            if value.lower() not in text
        ]
    if problems:
        raise LabelError(f"{case.get('id')}: " + "; ".join(problems))


def save(folder: pathlib.Path, case: dict[str, Any], logs: Logs) -> None:
    """Writes the folder in one step (a rename), so that an interrupted run leaves no half case."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    save_logs(partial, logs)
    save_label(partial, case)
    partial.rename(folder)


def save_logs(folder: pathlib.Path, logs: Logs) -> None:
    for name, text in logs.files.items():
        write(folder / name, text)


def save_label(folder: pathlib.Path, case: dict[str, Any]) -> None:
    write(folder / "case.json", json.dumps(case, indent=1, ensure_ascii=False) + "\n")


def load(folder: pathlib.Path) -> tuple[dict[str, Any], Logs]:
    """A case folder as it was saved."""
    case: dict[str, Any] = json.loads(read(folder / "case.json"))
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "case.json"]
    return case, Logs({path.relative_to(folder).as_posix(): read(path) for path in files})


def _leaves(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, key)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item, name)]
    return [] if value is None else [(name, str(value))]
