"""Scan all sources in this process, on as many threads as there are cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence

from logsleuth.execute.interruption import Interruption, Stoppable
from logsleuth.model.scan import SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import PatternIndex
from logsleuth.scan.run import scan_source

#: Waits are this long: where the system cannot interrupt them, Ctrl-C is heard after one.
WAIT_S = 0.2


def scan_here(
    sources: Sequence[Source],
    index: PatternIndex,
    on_done: Callable[[SourceScan], None] | None = None,
    interruption: Interruption | None = None,
) -> list[SourceScan]:
    """One SourceScan a source, in the order of ``sources``. ``on_done`` is called as each one is ready, by any thread.

    With ``interruption``, Ctrl-C ends the reading and not the run: it notes that it came, and the scans of sources
    that were not read to their end carry the flag ``interrupted``.
    """
    if not sources:
        return []
    stop = Interruption()
    waiting = deque(enumerate(sources))
    done: dict[int, SourceScan] = {}
    told: list[int] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        while waiting and not failed:
            try:
                number, source = waiting.popleft()
            except IndexError:
                return
            try:
                done[number] = Stoppable(source, stop).scanned(lambda opened: scan_source(opened, index))
                if on_done is not None and not stop.asked:
                    on_done(done[number])
                told.append(number)
            except BaseException as error:
                failed.append(error)
            if failed or len(told) == len(sources):
                over.set()

    try:
        for _ in range(_threads(len(sources))):
            threading.Thread(target=work, daemon=True).start()
        _wait(over)
    except KeyboardInterrupt:
        stop.asked = True
        if interruption is None:
            raise
        interruption.asked = True
        work()
        _wait(over)
    if failed:
        raise failed[0]
    return [done[number] for number in range(len(sources))]


def _wait(over: threading.Event) -> None:
    while not over.wait(WAIT_S):
        pass


def _threads(count: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, cores)
