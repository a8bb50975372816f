"""Scan all sources in this process, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from logsleuth.model.scan import SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import PatternIndex
from logsleuth.scan.run import scan_source


def scan_here(
    sources: Sequence[Source], index: PatternIndex, on_done: Callable[[SourceScan], None] | None = None
) -> list[SourceScan]:
    """One SourceScan a source, in the order of ``sources``. ``on_done`` is called as each one is ready."""

    def one(source: Source) -> SourceScan:
        done = scan_source(source, index)
        if on_done is not None:
            on_done(done)
        return done

    if len(sources) == 1:
        return [one(sources[0])]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=_threads(len(sources))) as pool:
        return list(pool.map(one, sources))


def _threads(count: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, cores))
