"""Ranks in bare brackets before every line, as ``mpiexec -prepend-rank`` of MPICH and Intel MPI prints them.

    [3] Traceback (most recent call last):

One such line tells nothing: brackets may hold a device, a step or a viewer's line number. Where every line has them,
with several numbers that come again and again, they are labels, and are read like those of ``srun --label``.
"""

from __future__ import annotations

import re

from logsleuth.sources.blocks import Window
from logsleuth.sources.mended import Mend, Mender

_LABEL = re.compile(rb"^\[(\d{1,5})\] ?", re.MULTILINE)
FEWEST_LINES = 8
#: Of the lines of the beginning, those that carry a label.
NEARLY_ALL = 0.95


def labels_of(head: bytes) -> Mender | None:
    """What turns MPICH's labels into srun's, where ``head`` shows that these are labels."""
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()]
    if len(lines) < FEWEST_LINES:
        return None
    labels = [int(match[1]) for line in lines if (match := _LABEL.match(line))]
    if len(labels) < NEARLY_ALL * len(lines):
        return None
    distinct = len(set(labels))
    # Line numbers and steps come once each, and in order.
    return _as_srun if 1 < distinct <= len(labels) // 2 and labels != sorted(labels) else None


def _as_srun(window: Window) -> Window:
    mend = Mend(window)
    at = 0
    for match in _LABEL.finditer(window.data):
        mend.add(at, match.start())
        mend.add(match.start(1), match.end(1))
        mend.insert(b": ")
        at = match.end()
    mend.add(at, len(window.data))
    return mend.window()
