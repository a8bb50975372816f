"""Known-bad combinations of versions and hardware: evidence that raises a cause, never proof by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from logsleuth.catalog.conditions import fits, is_set
from logsleuth.catalog.spec import Catalog
from logsleuth.model.events import Event
from logsleuth.model.job import JobView


@dataclass(frozen=True, slots=True)
class KnownBad:
    """One row of patterns/data/known-bad.yaml that fits the job; ``told_by`` are the events that show it."""

    id: str
    raises: str
    effect: str
    good: str
    confidence: str
    told_by: tuple[Event, ...]


def known_bad(job: JobView, catalog: Catalog) -> Iterator[KnownBad]:
    """The rows whose every condition is met by what the logs say."""
    for row in catalog.data.get("known-bad", ()):
        told = _told_by(job, row.get("when", {}))
        if told is not None:
            yield KnownBad(
                str(row["id"]),
                str(row.get("raises", "")),
                str(row.get("effect", "")),
                str(row.get("good", "")),
                str(row.get("confidence", "")),
                told,
            )


def _told_by(job: JobView, when: Mapping[str, Any]) -> tuple[Event, ...] | None:
    """The events that meet every condition; ``None`` if one is not met or not known."""
    if not when:
        return None
    told: list[Event] = []
    for name, want in when.items():
        if name == "setting":
            if not is_set(job.environment, str(want)):
                return None
            told.append(job.environment.told_by[str(want).partition("=")[0]])
            continue
        have = job.environment.values.get(name, ())
        if not any(fits(name, value, str(want)) for value in have):
            return None
        told.append(job.environment.told_by[name])
    return tuple(told)
