"""case.json of a simulated run, and the files beside it."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

from lab.simulate.layout import text_of
from lab.simulate.run import Outcome
from lab.simulate.scene import Scene
from lab.simulate.seen import Seen
from lab.simulate.truth import Verdict, judge

FIELDS = ("id", "family", "torch", "nccl", "launcher", "args", "source", "expect", "why", "notes", "simulated")


def describe(scene: Scene, outcome: Outcome) -> dict[str, Any]:
    """The content of case.json."""
    run = outcome.run
    seen = Seen(scene, outcome)
    verdict = judge(outcome, seen)
    return {
        "id": run.id,
        "family": "simulated",
        "torch": run.torch.name,
        "nccl": run.torch.nccl,
        "launcher": {"srun": "slurm", "none": "unknown"}.get(scene.launcher, scene.launcher),
        "args": list(outcome.args),
        "source": "LogSleuth simulator",
        "expect": {
            "cause": verdict.cause,
            "also_ok": list(dict.fromkeys(it for it in verdict.also_ok if it != verdict.cause)),
            "never": list(verdict.never),
            "culprit_ranks": _culprits(verdict),
            "facts": _facts(outcome, seen),
            "fix_mentions": [],
        },
        "why": f"simulated: {run.fault} on ranks {list(outcome.culprits)}"
        if outcome.culprits
        else f"simulated: {run.fault}",
        "notes": f"{run.mesh.kind}, {run.mesh.size} ranks on {len(run.mesh.hosts)} hosts; kept: {run.loss.value}",
        "simulated": {
            "fault": run.fault,
            "rank": list(outcome.culprits),
            "torch": run.torch.name,
            "layout": run.layout.value,
            "loss": run.loss.value,
            "mesh": run.mesh.kind,
            "seed": run.seed,
            "world": run.mesh.size,
        },
    }


def _culprits(verdict: Verdict) -> list[Any]:
    """One set as a flat list, several as a list of lists; nobody as an empty list."""
    sets = [list(it) for it in dict.fromkeys(verdict.culprits)]
    return sets[0] if len(sets) == 1 else sets


def _facts(outcome: Outcome, seen: Seen) -> dict[str, Any]:
    """Values of the first stuck work, where the files show them."""
    if outcome.root is None or outcome.root[1] is None:
        return {}
    group, number = outcome.root[0], outcome.root[1]
    values = list(seen.works(group, number).values())
    if not values or not outcome.run.torch.sequence:
        return {}
    ops = {value.split()[0] for value in values}
    return {"seq": number, **({"op": next(iter(ops))} if len(ops) == 1 else {})}


def save(folder: pathlib.Path, scene: Scene, outcome: Outcome) -> None:
    """Writes the case folder afresh."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, lines in outcome.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(lines), encoding="utf-8", newline="")
    text = json.dumps(describe(scene, outcome), indent=1, ensure_ascii=False)
    (folder / "case.json").write_text(text + "\n", encoding="utf-8")
