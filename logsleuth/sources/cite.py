"""Line numbers and the lines around, for cited evidence only: one more pass over the sources that are cited."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from logsleuth.model.source import Source
from logsleuth.sources.blocks import windows

CONTEXT_LINES = 2
LONGEST_CONTEXT = 400


@dataclass(frozen=True, slots=True)
class Citation:
    """``line`` counts from 1; ``end_line`` is that of the span's last byte. ``before``, ``after``: the lines around
    it."""

    line: int
    end_line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def cite(source: Source, spans: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], Citation]:
    """A Citation for each byte span (start, end) of ``source``; spans that cannot be read again are left out."""
    wanted = sorted(set(spans))
    found: dict[tuple[int, int], Citation] = {}
    if not wanted:
        return found
    try:
        with source.opener() as stream:
            lines_before = 0
            for window in windows(stream):
                region_start, region_end = window.base + window.lo, window.base + window.hi
                first = bisect.bisect_left(wanted, (region_start, 0))
                last_cut = window.lo
                for span in wanted[first:]:
                    if span[0] >= region_end:
                        break
                    at = span[0] - window.base
                    lines_before += window.data.count(b"\n", last_cut, at)
                    last_cut = at
                    end = max(at, min(span[1] - window.base - 1, len(window.data)))
                    found[span] = Citation(
                        line=lines_before + 1,
                        end_line=lines_before + 1 + window.data.count(b"\n", at, end),
                        before=_before(window.data, at),
                        after=_after(window.data, end),
                    )
                lines_before += window.data.count(b"\n", last_cut, window.hi)
                if region_end > wanted[-1][0]:
                    break
    except OSError:
        return found
    return found


def _before(data: bytes, at: int) -> tuple[str, ...]:
    end = data.rfind(b"\n", 0, at)
    lines: list[str] = []
    while end > 0 and len(lines) < CONTEXT_LINES:
        start = data.rfind(b"\n", 0, end) + 1
        lines.append(_shown(data[start:end]))
        end = start - 1
    return tuple(reversed(lines))


def _after(data: bytes, at: int) -> tuple[str, ...]:
    start = data.find(b"\n", at) + 1
    lines: list[str] = []
    while 0 < start < len(data) and len(lines) < CONTEXT_LINES:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        lines.append(_shown(data[start:end]))
        start = end + 1
    return tuple(lines)


def _shown(raw: bytes) -> str:
    return raw[: 4 * LONGEST_CONTEXT].decode("utf-8", "replace").rstrip("\r")[:LONGEST_CONTEXT]
