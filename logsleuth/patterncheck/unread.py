"""Error-like lines that no pattern reads, alike ones together: what the catalog does not know yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from logsleuth.model.scan import SourceScan


@dataclass(frozen=True, slots=True)
class UnreadKind:
    """Lines that differ only in numbers, paths and addresses. ``sample`` is one of them, ``sources`` hold them."""

    masked: str
    sample: str
    count: int
    sources: tuple[str, ...]


def unread_kinds(scans: Iterable[SourceScan]) -> list[UnreadKind]:
    """Every kind over all sources: those that most sources hold first, then by their count."""
    found: dict[str, UnreadKind] = {}
    for scan in scans:
        for line in scan.digest.unknown:
            have = found.get(line.masked)
            found[line.masked] = UnreadKind(
                line.masked,
                have.sample if have else line.sample,
                line.count + (have.count if have else 0),
                (*(have.sources if have else ()), scan.source.name),
            )
    return sorted(found.values(), key=lambda kind: (-len(kind.sources), -kind.count, kind.masked))
