"""Where a line comes from: rank, host, process; and for each of them how it was learnt."""

from __future__ import annotations

from dataclasses import fields, replace

from logsleuth.record import record

#: How a field was learnt, the surest first. A surer clue overrides a weaker one when two are merged.
CLUES = ("option", "prefix", "path", "pid-map", "text", "order")


@record
class Origin:
    """Who printed a line. Every field may be unknown (``None``); nothing is guessed silently.

    ``rank`` is the global rank in the world of its process, ``local_rank`` the rank on its node, ``task`` a
    launcher's task id (SLURM_PROCID, an MPI rank), ``attempt`` torchelastic's restart count from 0, ``stream``
    ``stdout`` or ``stderr``, ``role`` ``worker``, ``agent`` (a launcher), ``kernel`` or ``daemon``, ``actor`` a
    framework's name for the process (a Ray actor, ``VllmWorker-3``). ``learnt`` maps a field's name to one of
    :data:`CLUES`.
    """

    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    attempt: int | None = None
    stream: str | None = None
    role: str | None = None
    actor: str | None = None
    learnt: tuple[tuple[str, str], ...] = ()

    @classmethod
    def known(cls, clue: str, **values: object) -> Origin:
        """An origin whose given, non-``None`` values were all learnt from ``clue``."""
        given = {name: value for name, value in values.items() if value is not None}
        return cls(**given, learnt=tuple(sorted((name, clue) for name in given)))  # type: ignore[arg-type]

    def how(self, name: str) -> str | None:
        """The clue that gave the field ``name``."""
        return dict(self.learnt).get(name)

    def merged(self, other: Origin) -> Origin:
        """Both together; where both know a field, the surer clue wins, and this one on a tie."""
        mine, theirs = dict(self.learnt), dict(other.learnt)
        values: dict[str, object] = {}
        for name in _VALUE_FIELDS:
            new = getattr(other, name)
            if new is None:
                continue
            if getattr(self, name) is None or _surer(theirs.get(name), mine.get(name)):
                values[name] = new
                if name in theirs:
                    mine[name] = theirs[name]
        return replace(self, **values, learnt=tuple(sorted(mine.items()))) if values else self  # type: ignore[arg-type]


_VALUE_FIELDS = tuple(f.name for f in fields(Origin) if f.name != "learnt")
UNKNOWN = Origin()


def _surer(clue: str | None, than: str | None) -> bool:
    if clue is None or than is None:
        return clue is not None
    return CLUES.index(clue) < CLUES.index(than)
