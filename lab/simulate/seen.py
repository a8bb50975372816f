"""What a reader can know from the files that are left: the facts that their lines tell, and about whom."""

from __future__ import annotations

from collections.abc import Iterator

from lab.simulate.layout import Files, Kept, Layout, path_of_rank
from lab.simulate.lines import Speaker, Tell
from lab.simulate.run import Outcome
from lab.simulate.scene import Scene


class Seen:
    """The visible part of a run. A rank is *known* where its own file, a prefix or the text itself names it."""

    def __init__(self, scene: Scene, outcome: Outcome) -> None:
        self._scene, self._outcome = scene, outcome
        self._files: Files = outcome.files
        self._identified = {
            it.line.rank
            for it in self._lines()
            if it.known or any(tell.kind in ("init-start", "init-complete") for tell in it.line.tells)
        }
        self._tells: list[tuple[Tell, bool]] = [
            (tell, self._is_known(tell, it)) for it in self._lines() for tell in it.line.tells
        ]

    def _lines(self) -> Iterator[Kept]:
        for lines in self._files.values():
            yield from lines

    def _is_known(self, tell: Tell, it: Kept) -> bool:
        if tell.named or (self._speaker_known(it) and tell.rank == it.line.rank):
            return True
        whole_world = tell.group is not None and self.members(tell.group) == set(self._scene.mesh.ranks)
        return tell.kind == "wait" and whole_world and it.line.speaker is Speaker.WORKER

    def _speaker_known(self, it: Kept) -> bool:
        """Whether the line names its rank, or a prefix or folder that some other line ties to the rank."""
        apart = self._outcome.run.layout is not Layout.CONSOLE
        return it.known or (apart and it.line.speaker is Speaker.WORKER and it.line.rank in self._identified)

    def members(self, group: int) -> set[int]:
        return set(self._scene.mesh.groups[group].members)

    def any(self, *kinds: str) -> bool:
        """Whether one of these facts is told of anybody, known or not."""
        return any(tell.kind in kinds for tell, _ in self._tells)

    def known(self, *kinds: str, group: int | None = None, number: int | None = None) -> set[int]:
        """The known ranks of which one of these facts is told."""
        return {
            tell.rank
            for tell, known in self._tells
            if tell.kind in kinds
            and known
            and tell.rank is not None
            and (group is None or tell.group == group)
            and (number is None or tell.number == number)
        }

    def last(self, kind: str, rank: int, group: int | None = None) -> Tell | None:
        """The last such fact about a rank, where it is known to be about it."""
        found = None
        for tell, known in self._tells:
            if known and tell.kind == kind and tell.rank == rank and (group is None or tell.group == group):
                found = tell
        return found

    def works(self, group: int, number: int) -> dict[int, str]:
        """What each known rank was doing in this place: operation and sizes."""
        return {
            tell.rank: tell.value
            for tell, known in self._tells
            if known and tell.kind == "wait" and tell.value and (tell.group, tell.number) == (group, number)
            if tell.rank is not None
        }

    def transferring(self) -> set[int]:
        """The ranks of which a stuck send or receive is seen, whether or not they are known."""
        sides = ("SEND", "RECV")
        return {t.rank for t, _ in self._tells if t.kind == "wait" and t.value.startswith(sides) and t.rank is not None}

    def has_file_of(self, rank: int) -> bool:
        """Whether the rank's own file is there, be it empty."""
        path = path_of_rank(self._scene, self._outcome.run.layout, rank)
        return path is not None and any(name == path or name.startswith(f"{path}/") for name in self._files)

    def speaks(self, rank: int) -> bool:
        """Whether any line is known to be this rank's."""
        return any(
            it.line.rank == rank and it.line.speaker is Speaker.WORKER and self._speaker_known(it)
            for it in self._lines()
        )

    def pid_known(self, rank: int) -> bool:
        """Whether the reader can tell which pid the rank has: from the agent, NCCL's lines, or Ray's prefix."""
        pid = str(self._scene.pids[rank])
        one_host = len(self._scene.mesh.hosts) == 1
        told = any(t.kind == "pid" and t.rank == rank and (t.named or one_host) for t, _ in self._tells)
        return told or any(it.known and it.line.rank == rank and f":{pid}:" in it.text for it in self._lines())
