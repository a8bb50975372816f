"""One thing to read: a file, standard input, a member of an archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.record import record

#: Opens a stream of bytes, afresh at each call. Picklable, so that a source can be scanned in another process.
Opener = Callable[[], BinaryIO]


@record
class Source:
    """``name`` is what the user typed (``logs.zip!job/3_train.txt``) and what evidence cites; ``id`` is unique.

    Opened lazily. ``origin`` holds what the path alone says. ``size`` in bytes, ``None`` where unknown.
    """

    id: str
    name: str
    opener: Opener
    origin: Origin = UNKNOWN
    size: int | None = None


@record
class Skipped:
    """Something that was given but not read, and why: one clear sentence."""

    name: str
    reason: str
