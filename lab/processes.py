"""Ending what a run left behind. torchrun starts workers in sessions of their own, so a process group is not enough.

Every process of a run carries a mark in its environment; only processes with exactly that mark are ended, by pid.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import time

MARK_VARIABLE = "LAB_RUN_MARK"


def marked(mark: str) -> list[int]:
    """The pids of living processes that inherited the mark."""
    needle = f"{MARK_VARIABLE}={mark}\0".encode()
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if needle in (folder / "environ").read_bytes() + b"\0":
                    found.append(int(folder.name))
    return found


def end_marked(mark: str, polite_s: float = 0.0) -> None:
    """SIGTERM, up to ``polite_s`` to go, then SIGKILL."""
    if polite_s:
        _send(marked(mark), signal.SIGTERM)
        end = time.monotonic() + polite_s
        while marked(mark) and time.monotonic() < end:
            time.sleep(0.1)
    _send(marked(mark), signal.SIGKILL)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
