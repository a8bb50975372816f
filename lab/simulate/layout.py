"""Lines -> the files that the user has, with the prefixes of the launcher, in the order in which they arrive."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.simulate.lines import Line, Speaker
from lab.simulate.scene import Scene
from lab.simulate.versions import Stamp


class Layout(str, enum.Enum):
    """How the output was kept."""

    RANK_FILES = "rank-files"  # rank3.log for each rank, and the agents' output beside them
    CONSOLE = "console"  # everything on one terminal
    LOG_DIR = "log-dir"  # torchrun --log-dir --redirects 3: a tree for each node
    TEE = "tee"  # torchrun --tee 3: one file for each node, "[default3]:" before the workers' lines
    SRUN = "srun"  # srun --label
    RAY = "ray"  # the driver's log, "(TrainWorker pid=4711)" before the workers' lines

    @property
    def keeps_apart(self) -> bool:
        """Whether each rank's lines are in files of its own."""
        return self in (Layout.RANK_FILES, Layout.LOG_DIR)

    @property
    def labels_lines(self) -> bool:
        """Whether each piece of output becomes a line with a label, so that progress bars do not run into others."""
        return self in (Layout.SRUN, Layout.RAY)


@dataclass(frozen=True, slots=True)
class Kept:
    """A line in a file. ``known``: the file or the line tells which rank prints it."""

    line: Line
    text: str
    known: bool


Files = dict[str, list[Kept]]


def arrange(scene: Scene, layout: Layout, lines: Sequence[Line]) -> Files:
    """The files of this layout, complete."""
    files: Files = {path: [] for rank in scene.mesh.ranks for path in _own_files(scene, layout, rank)}
    if layout.labels_lines:
        lines = [replace(line, rewritten=False) for line in lines]
    for line in _in_order(scene, layout, lines):
        path = _path(scene, layout, line)
        if path is not None:
            files.setdefault(path, []).append(
                Kept(line, _prefix(scene, layout, line) + line.text, _known(scene, layout, line))
            )
    return files


def text_of(kept: Sequence[Kept]) -> str:
    """A file's content. A progress bar ends without a line feed, so that what follows is glued to it."""
    parts: list[str] = []
    for number, it in enumerate(kept):
        if it.line.rewritten and number + 1 < len(kept):
            after = kept[number + 1]
            parts.append(it.text + ("\r" if after.line.rewritten else ""))
        else:
            parts.append(it.text + "\n")
    return "".join(parts)


def _own_files(scene: Scene, layout: Layout, rank: int) -> list[str]:
    """The files of a rank that exist even if it prints nothing."""
    if layout is Layout.RANK_FILES:
        return [f"rank{rank}.log"]
    return [f"{_folder(scene, rank)}/{name}.log" for name in ("stdout", "stderr")] if layout is Layout.LOG_DIR else []


def path_of_rank(scene: Scene, layout: Layout, rank: int) -> str | None:
    """The file (or folder) that holds a rank's lines alone."""
    if layout is Layout.RANK_FILES:
        return f"rank{rank}.log"
    if layout is Layout.LOG_DIR:
        return _folder(scene, rank)
    return None


def _folder(scene: Scene, rank: int) -> str:
    host = scene.hosts[scene.mesh.host_of(rank)]
    run = f"{scene.job}_{scene.job * 7919 % 99991:05d}"
    return f"logs/{host}/{run}/attempt_0/{scene.mesh.local_rank(rank)}"


def _in_order(scene: Scene, layout: Layout, lines: Sequence[Line]) -> list[Line]:
    """By time; where several processes share a terminal, lines arrive a few milliseconds late."""
    if layout is Layout.RANK_FILES or layout is Layout.LOG_DIR:
        return sorted(lines, key=lambda it: it.at_s)
    late_s: dict[tuple[Speaker, int | None], float] = {}
    for line in lines:
        late_s.setdefault((line.speaker, line.rank), scene.rng.uniform(0, 0.003))
    return sorted(lines, key=lambda it: it.at_s + late_s[it.speaker, it.rank])


def _path(scene: Scene, layout: Layout, line: Line) -> str | None:
    host = scene.hosts[line.host or 0]
    if line.speaker is Speaker.KERNEL:
        return f"dmesg-{host}.txt" if scene.job % 3 else f"{host}-kern.log"
    if line.speaker is Speaker.SLURM:
        return f"slurm-{scene.job}.out" if layout is Layout.SRUN else f"slurm-{scene.job}.err"
    if layout is Layout.CONSOLE:
        return "train.log"
    if layout is Layout.SRUN:
        return f"slurm-{scene.job}.out"
    if layout is Layout.RAY:
        return "driver.log"
    if line.speaker is Speaker.AGENT or layout is Layout.TEE:
        return f"{host}.log" if layout is not Layout.RANK_FILES else f"torchrun-{host}.log"
    if layout is Layout.RANK_FILES:
        return f"rank{line.rank}.log"
    return f"{_folder(scene, line.rank or 0)}/{'stdout' if line.stdout else 'stderr'}.log"


def _prefix(scene: Scene, layout: Layout, line: Line) -> str:
    if line.speaker is not Speaker.WORKER or line.rank is None:
        return ""
    if layout is Layout.TEE:
        return f"[default{scene.mesh.local_rank(line.rank)}]:"
    if layout is Layout.SRUN:
        width = len(str(scene.mesh.size - 1))
        return f"{line.rank:>{width}}: "
    if layout is Layout.RAY:
        host = scene.mesh.host_of(line.rank)
        where = f", ip={scene.address(host)}" if host else ""
        return f"(TrainWorker pid={scene.pids[line.rank]}{where}) "
    return ""


def _known(scene: Scene, layout: Layout, line: Line) -> bool:
    if line.rank is None:
        return False
    if line.tagged or layout in (Layout.RANK_FILES, Layout.SRUN):
        return True
    if layout in (Layout.LOG_DIR, Layout.TEE):
        return len(scene.mesh.hosts) == 1 or (layout is Layout.LOG_DIR and scene.torch.stamp is not Stamp.BARE)
    return False


def cut(kept: Kept, characters: int) -> Kept:
    """The line, broken off after so many characters: it may tell nothing any more."""
    text = kept.text[:characters]
    return Kept(replace(kept.line, tells=(), rewritten=False), text, kept.known)
