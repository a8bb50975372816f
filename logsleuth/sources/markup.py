r"""A paste that went through Markdown or HTML, as it was before.

    \[rank3\]:\[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629\] \[Rank 3\] .. OpType=\_ALLGATHER\_BASE
    [1,3]&lt;stderr&gt;:frame #1: &lt;unknown function&gt; + 0xe5c6fc

Only what no log prints by itself is undone, and only in short texts that show it several times.
"""

from __future__ import annotations

import re

from logsleuth.sources.blocks import Window
from logsleuth.sources.mended import Mend

#: No issue and no mail is longer.
LARGEST = 512 * 1024
FEWEST = 4
#: What shows that a text was escaped: logs escape quotes and line ends, but no brackets.
_ESCAPED = re.compile(rb"\\[\[\]_*#<>]")
_ENTITIES = {b"&lt;": b"<", b"&gt;": b">", b"&amp;": b"&", b"&quot;": b'"', b"&#39;": b"'", b"&nbsp;": b" "}
_ENTITY = re.compile(b"|".join(map(re.escape, _ENTITIES)))
_EITHER = re.compile(_ESCAPED.pattern + b"|" + _ENTITY.pattern)


def unmarked(window: Window) -> Window | None:
    """``window`` without escapes and entities; ``None`` where there are none."""
    data = window.data
    if not window.final or window.base or window.starts or len(data) > LARGEST:
        return None
    escaped = b"\\[" in data and len(_ESCAPED.findall(data)) >= FEWEST
    entities = b"&lt;" in data and len(_ENTITY.findall(data)) >= FEWEST
    if not (escaped or entities):
        return None
    expression = _EITHER if escaped and entities else _ESCAPED if escaped else _ENTITY
    mend = Mend(window)
    at = 0
    for match in expression.finditer(data):
        mend.add(at, match.start())
        if match[0].startswith(b"\\"):
            at = match.start() + 1
        else:
            mend.insert(_ENTITIES[match[0]])
            at = match.end()
    mend.add(at, len(data))
    return mend.window()
