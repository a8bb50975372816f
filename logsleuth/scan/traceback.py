"""A Python traceback -> one exception fact.

Traceback (most recent call last):
  File "/opt/train/train.py", line 12, in main
    loss = step(batch)
ValueError: bad batch
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from logsleuth.model.events import PythonException

HEADER = "Traceback (most recent call last)"
#: ``package.module.SomeError: message``, ``KeyboardInterrupt``; the last line of a traceback.
FINAL_LINE = re.compile(r"^(?P<type>[A-Za-z_][\w.]*?(?:\.[A-Za-z_]\w*)?)(?:: ?(?P<message>.*))?$")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|\\lib\\|^<frozen |^<string>|/lib64/python\d|importlib"
)
_ENDS_LIKE_ERROR = re.compile(
    r"(Error|Exception|Interrupt|Exit|Warning|Failure|Fault|Timeout|Terminated|Killed|NotMet|Died|Closed)$"
)
LONGEST_MESSAGE = 600


def is_final_line(text: str) -> bool:
    """Whether an unindented line can end a traceback: a dotted name, alone or before a colon, that names an error."""
    match = FINAL_LINE.match(text)
    if match is None:
        return False
    name = match["type"]
    return bool(_ENDS_LIKE_ERROR.search(name)) or ("." in name and name.rpartition(".")[2][:1].isupper())


def read_traceback(lines: Sequence[str]) -> PythonException | None:
    """The fact of one traceback; ``lines`` from the header on, prefixes peeled, ending with the exception's line."""
    frames = [match for line in lines if (match := _FRAME.match(line))]
    final = next((line for line in reversed(lines) if is_final_line(line.strip())), None)
    if final is None:
        return None
    match = FINAL_LINE.match(final.strip())
    assert match is not None
    own = [frame for frame in frames if not _LIBRARY.search(frame["file"])]
    return PythonException(
        type=match["type"],
        message=(match["message"] or "").strip()[:LONGEST_MESSAGE] or None,
        where=_place(own[-1]) if own else None,
        innermost=_place(frames[-1]) if frames else None,
    )


def _place(frame: re.Match[str]) -> str:
    function = f" in {frame['function'].strip()}" if frame["function"] else ""
    return f"{frame['file']}:{frame['line']}{function}"
