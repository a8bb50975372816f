"""What a source's lines need before they can be read, told by its beginning."""

from __future__ import annotations

from logsleuth.sources.blocks import Window
from logsleuth.sources.labels import labels_of
from logsleuth.sources.markup import unmarked
from logsleuth.sources.mended import Mender
from logsleuth.sources.partials import partials_of
from logsleuth.sources.reflow import IsOneWord, reflowed

#: Bytes of the beginning that tell.
HEAD_BYTES = 16 * 1024


def mender_for(head: bytes, is_one_word: IsOneWord) -> Mender:
    """What to do with each window of the source that begins with ``head``. ``is_one_word``: see reflow."""
    head = head[:HEAD_BYTES]

    def whole(window: Window) -> Window:
        return reflowed(window, is_one_word) or unmarked(window) or window

    return partials_of(head) or labels_of(head) or whole
