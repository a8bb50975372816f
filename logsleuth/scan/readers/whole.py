"""Structured files are read whole, up to a limit."""

from __future__ import annotations

import json
from typing import Any

from logsleuth.model.source import Source

MIB = 1024 * 1024


class UnreadableError(ValueError):
    """A structured file that is damaged, refused or too large; the message is the reason, without the file's name."""


def read_whole(source: Source, most_bytes: int) -> bytes:
    """All bytes of ``source``. Raises UnreadableError where there are more than ``most_bytes``, OSError as files do."""
    pieces: list[bytes] = []
    missing = most_bytes + 1
    with source.opener() as stream:
        while missing > 0 and (piece := stream.read(missing)):
            pieces.append(piece)
            missing -= len(piece)
    if missing <= 0:
        raise UnreadableError(f"it is larger than {most_bytes // MIB} MiB, which no such file is")
    return b"".join(pieces)


def json_value(data: bytes) -> Any:
    """The value of a JSON file. Raises UnreadableError where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("the JSON is cut off or damaged") from error
