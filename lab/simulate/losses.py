"""What of the output is missing when somebody asks for help."""

from __future__ import annotations

import enum
import random
from collections.abc import Collection

from lab.simulate.layout import Files, Kept, Layout, cut, path_of_rank
from lab.simulate.lines import Speaker
from lab.simulate.scene import Scene

HANG_TELLS = frozenset({"wait", "remote-error", "stuck", "signalled"})


class Loss(str, enum.Enum):
    """One way of losing information."""

    NOTHING = "all"
    CULPRIT = "no-culprit"  # the culprit's own file
    VICTIMS = "few-victims"  # the files of some others
    LAUNCHER = "no-launcher"  # the output of agents, scheduler and kernel
    EXCERPT = "excerpt"  # only the watchdog's lines of a few ranks
    TAIL = "cut"  # the log breaks off in the middle
    HEAD = "no-head"  # the log begins shortly before the fault


def possible(layout: Layout) -> list[Loss]:
    """The losses that make sense for a layout."""
    if layout.keeps_apart:
        return [Loss.CULPRIT, Loss.VICTIMS, Loss.LAUNCHER]
    return [Loss.EXCERPT, Loss.TAIL, Loss.HEAD]


def lose(
    scene: Scene,
    layout: Layout,
    loss: Loss,
    files: Files,
    culprits: Collection[int],
    fault_s: float,
    rng: random.Random,
) -> Files:
    """The files that are left."""
    if loss is Loss.CULPRIT:
        gone = [path_of_rank(scene, layout, rank) for rank in culprits]
        return _without(files, gone)
    if loss is Loss.VICTIMS:
        others = [rank for rank in scene.mesh.ranks if rank not in culprits]
        few = rng.sample(others, k=max(1, len(others) // 2)) if len(others) > 1 else []
        return _without(files, [path_of_rank(scene, layout, rank) for rank in few])
    if loss is Loss.LAUNCHER:
        return {
            path: lines
            for path, lines in files.items()
            if not lines or any(it.line.speaker is Speaker.WORKER for it in lines)
        }
    if loss is Loss.EXCERPT:
        return _excerpt(files, rng)
    if loss is Loss.TAIL:
        return {path: _broken_off(lines, rng) for path, lines in files.items()}
    if loss is Loss.HEAD:
        return {
            path: late for path, lines in files.items() if (late := [it for it in lines if it.line.at_s >= fault_s - 8])
        }
    return files


def _without(files: Files, gone: list[str | None]) -> Files:
    prefixes = tuple(it for it in gone if it is not None)
    return {
        path: lines
        for path, lines in files.items()
        if path not in prefixes and not path.startswith(tuple(f"{p}/" for p in prefixes))
    }


def _hang(it: Kept) -> bool:
    return any(tell.kind in HANG_TELLS for tell in it.line.tells)


def _excerpt(files: Files, rng: random.Random) -> Files:
    """What people paste: the lines in which the watchdog complains, of a few ranks."""
    ranks = sorted({it.line.rank for lines in files.values() for it in lines if _hang(it) and it.line.rank is not None})
    if not ranks:
        return files
    chosen = set(rng.sample(ranks, k=rng.randint(1, min(3, len(ranks)))))
    lines = [it for kept in files.values() for it in kept if _hang(it) and it.line.rank in chosen]
    return {"error.log": lines}


def _broken_off(lines: list[Kept], rng: random.Random) -> list[Kept]:
    """Cut somewhere after the first complaint, in the middle of a line."""
    first = next((number for number, it in enumerate(lines) if _hang(it)), None)
    if first is None or first + 2 >= len(lines):
        return lines
    last = rng.randrange(first + 1, len(lines))
    return [*lines[:last], cut(lines[last], max(5, len(lines[last].text) // 2))]
