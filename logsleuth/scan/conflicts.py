"""A file's name says one rank and its lines another: the surer word is taken, and the user is told."""

from __future__ import annotations

from logsleuth.model.origin import Origin

_WHO_SAYS = {"path": "the file's name says", "option": "--rank says"}
_BELIEVED = {"path": "the lines are believed", "option": "--rank is believed"}
MOST_SHOWN = 8


class Conflicts:
    """Collects what the lines of one source say against the rank that it was given."""

    def __init__(self) -> None:
        self._said: dict[tuple[int, str], set[int]] = {}

    def compare(self, line: Origin, given: Origin) -> None:
        """``line``: what a line's own prefix tells; ``given``: what path or option tell of the source."""
        if given.rank is not None and line.rank is not None:
            self._said.setdefault((given.rank, given.how("rank") or "path"), set()).add(line.rank)

    def notes(self, name: str) -> list[str]:
        """One sentence for each given rank that none of its lines confirms."""
        found = []
        for (rank, how), said in sorted(self._said.items()):
            if rank not in said:
                shown = ", ".join(map(str, sorted(said)[:MOST_SHOWN])) + (", .." if len(said) > MOST_SHOWN else "")
                ranks = f"rank{'s' if len(said) > 1 else ''} {shown}"
                found.append(f"{name}: {_WHO_SAYS[how]} rank {rank}, its lines say {ranks}; {_BELIEVED[how]}")
        return found
