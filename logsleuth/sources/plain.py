"""Lines as a reader would see them: without control codes, and out of the JSON that a collector put them into."""

from __future__ import annotations

import json
import re

_COLOUR = r"\[(?:\d{1,3};){0,4}\d{1,3}m"
#: Colours, cursor movements, NULs; also where a copy lost the escape or spells it out: ``[36m(Worker pid=1)[0m``.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]?"
    rf"|(?:\^\[|#033){_COLOUR}|{_COLOUR}(?=[(\[\s]|$)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
#: Without one of these ``_CONTROL`` is not even tried.
CONTROL_HINTS = ("\x1b", "\0", "[0m", "[36m", "\x08", "#033", "^[[")
_MESSAGE_KEYS = ("log", "message", "msg", "textPayload")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts")


def without_control_codes(line: str) -> str:
    """``line`` without control codes and final carriage return; the same object where there are none."""
    for hint in CONTROL_HINTS:
        if hint in line:
            line = _CONTROL.sub("", line)
            break
    return line[:-1] if line.endswith("\r") else line


def offset_in(raw: str, at: int) -> int:
    """The offset in ``raw`` of the character that is at ``at`` once control codes are removed."""
    removed = 0
    for match in _CONTROL.finditer(raw):
        if match.start() - removed > at:
            break
        removed += match.end() - match.start()
    return at + removed


def out_of_json(line: str) -> str:
    """``{"log":"text\\n","stream":"stderr","time":"2024-.."}`` of Docker and its like as ``2024-.. stderr F text``.

    Any other line comes back as it is.
    """
    if not line.startswith('{"'):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    message = next((record[key] for key in _MESSAGE_KEYS if isinstance(record.get(key), str)), None)
    time = next((record[key] for key in _TIME_KEYS if isinstance(record.get(key), str)), None)
    if message is None or (time is None and "log" not in record):
        return line
    stream = record.get("stream")
    label = f"{stream} F " if stream in ("stdout", "stderr") and time else ""
    return f"{time + ' ' if time else ''}{label}{message.rstrip(chr(10))}"
