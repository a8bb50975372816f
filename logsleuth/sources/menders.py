"""What a source's lines need before they can be read, told by its beginning."""

from __future__ import annotations

from logsleuth.sources.blocks import Window
from logsleuth.sources.labels import labels_of
from logsleuth.sources.mended import Mender
from logsleuth.sources.partials import partials_of
from logsleuth.sources.reflow import reflowed

#: Bytes of the beginning that tell.
HEAD_BYTES = 16 * 1024


def mender_for(head: bytes) -> Mender:
    """What to do with each window of the source that begins with ``head``."""
    head = head[:HEAD_BYTES]
    return partials_of(head) or labels_of(head) or _whole


def _whole(window: Window) -> Window:
    return reflowed(window) or window
