"""The error file that torchelastic's ``@record`` leaves for a worker that died of a Python exception.

    {"message": {"message": "ValueError: bad batch",
                 "extraInfo": {"py_callstack": "Traceback ..", "timestamp": "1760000000"}}}
    {"message": "ValueError: bad batch", "timestamp": "1760000000"}        what other handlers may write

torchrun keeps it as ``<log dir>/<run id>/attempt_<n>/<local rank>/error.json`` (TORCHELASTIC_ERROR_FILE); the
agent adds ``errorCode`` where it copies it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from logsleuth.model.events import Event, Locator, PythonException, Stamp
from logsleuth.model.scan import Digest
from logsleuth.model.source import Source
from logsleuth.scan.readers.whole import json_value, read_whole
from logsleuth.scan.traceback import FINAL_LINE, HEADER, LONGEST_MESSAGE, is_final_line, read_traceback

READER = "elastic-error-file"
MOST_BYTES = 16 * 1024 * 1024
_STRUCTURED = re.compile(rb'\s*\{\s*"message"\s*:\s*\{\s*"(?:message|extraInfo|errorCode)"\s*:')
_PLAIN_KEYS = {"message", "timestamp", "errorTraits", "errorCode", "extraInfo"}
_ERROR_FILE = re.compile(r"error[^/\\!]*\.json$", re.IGNORECASE)
_CHAIN = re.compile(
    r"\n\s*\n(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):\s*\n"
)
#: torchelastic's own word for "there is no message".
_NO_MESSAGE = "<NONE>"


def is_error_json(head: bytes, name: str) -> bool:
    """Whether a file that begins with ``head`` is an error file. The plain form could be any JSON: the name counts."""
    if _STRUCTURED.match(head):
        return True
    if not _ERROR_FILE.search(name) or not head.lstrip().startswith(b"{"):
        return False
    try:
        value = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("message"), str) and value.keys() <= _PLAIN_KEYS


def scan_error_json(source: Source) -> tuple[list[Event], Digest]:
    """One exception, or none where the file names none. Raises UnreadableError and OSError."""
    data = read_whole(source, MOST_BYTES)
    top = _mapping(json_value(data))
    body = _mapping(top.get("message"))
    extra = _mapping(body.get("extraInfo")) or _mapping(top.get("extraInfo"))
    message = body.get("message") if body else top.get("message")
    stamp = _stamp(extra.get("timestamp", top.get("timestamp")))
    digest = Digest(bytes_read=len(data), first=stamp, last=stamp)
    fact = read_error(message if isinstance(message, str) else "", extra.get("py_callstack"))
    if fact is None:
        return [], digest
    text = ": ".join(part for part in (fact.type, fact.message) if part)
    locator = Locator(source.id, 0, 0, text, entry="message")
    return [Event(fact, "cause", READER, source.origin, locator, stamp)], digest


def read_error(message: str, callstack: object) -> PythonException | None:
    """The exception of an error file: ``message`` is ``<type>: <text>``, the stack that of ``traceback.format_exc``."""
    if not isinstance(callstack, str) and HEADER in message:
        callstack, message = message, ""
    tracebacks = _CHAIN.split(callstack) if isinstance(callstack, str) else []
    found = [_exception(text) for text in tracebacks]
    last = found[-1] if found else None
    if last is None:
        first_line = message.partition("\n")[0].strip()
        match = FINAL_LINE.match(first_line) if is_final_line(first_line) else None
        name, text = (match["type"], message.strip()[len(match["type"]) + 1 :]) if match else (None, message)
        bare = PythonException(type=name, message=_shortened(text), bare=True)
        return bare if bare.type or (bare.message and bare.message != _NO_MESSAGE) else None
    # The stack has the type's full name, and the message all of its lines.
    short_name = (last.type or "").rpartition(".")[2]
    if message.startswith(f"{short_name}:"):
        last = replace(last, message=_shortened(message[len(short_name) + 1 :]))
    root = found[0]
    if len(found) < 2 or root is None:
        return last
    return replace(last, chained=True, root_type=root.type, root_message=root.message)


def _exception(text: str) -> PythonException | None:
    """One traceback. After the frames, which are indented, the exception's line; its message may have more lines."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if HEADER in line), len(lines))
    end = next((number for number in range(header + 1, len(lines)) if lines[number][:1].strip()), None)
    match = FINAL_LINE.match(lines[end].strip()) if end is not None else None
    # Any class may be raised, also one that is not named like an error: the frames are read without it.
    framed = read_traceback([*lines[header:end], "Exception"])
    if match is None or framed is None:
        return None
    return replace(framed, type=match["type"], message=_shortened(match["message"] or ""))


def _shortened(text: str) -> str | None:
    return " ".join(text.split())[:LONGEST_MESSAGE] or None


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _stamp(timestamp: object) -> Stamp | None:
    """Whole seconds since 1970, printed as text."""
    text = str(timestamp)
    if not text.isdecimal() or not 0 < int(text[:12]) < 2**33 or len(text) > 10:
        return None
    printed = datetime.fromtimestamp(int(text), timezone.utc).isoformat(" ")
    return Stamp(text=printed, seconds=float(text), utc_offset_s=0)
