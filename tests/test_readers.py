"""Which reader a source gets, and what torchelastic's error files tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logsleuth.model.events import Event, PythonException
from logsleuth.model.scan import SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import build_index
from logsleuth.scan.readers.text import scan_text
from logsleuth.scan.run import scan_source
from logsleuth.sources.layouts import origin_of_path
from logsleuth.sources.openers import HeldBytes

INDEX = build_index([])


def scan(data: bytes, name: str) -> SourceScan:
    return scan_source(Source(name, name, HeldBytes(data), origin_of_path(name), len(data)), INDEX)


# --- the error file --------------------------------------------------------------------------------------------------

STACK = """\
Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/errors/__init__.py", line 355, in wrapper
    return f(*args, **kwargs)
  File "/opt/train/main.py", line 30, in main
    step(batch)
  File "/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1739, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
"""


def error_file(message: object, stack: str | None = None, **other: Any) -> bytes:
    extra = {"timestamp": "1760000000"} if stack is None else {"py_callstack": stack, "timestamp": "1760000000"}
    return json.dumps({"message": {"message": message, "extraInfo": extra, **other}}).encode()


def only_exception(data: bytes, name: str = "attempt_1/2/error.json") -> tuple[PythonException, Event]:
    (event,) = scan(data, name).events
    assert isinstance(event.fact, PythonException)
    return event.fact, event


def test_an_error_file_tells_the_exception_and_where_it_was_raised() -> None:
    message = "DistBackendError: NCCL error\nncclSystemError: a call failed.\nLast error:\nsocketStartConnect"
    fact, event = only_exception(error_file(message, f"{STACK}torch.distributed.{message}\n", errorCode=-6))
    assert fact == PythonException(
        type="torch.distributed.DistBackendError",
        message="NCCL error ncclSystemError: a call failed. Last error: socketStartConnect",
        where="/opt/train/main.py:30 in main",
        innermost="/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py:1739 in _wrapped_call_impl",
    )
    assert (event.role, event.origin.attempt, event.origin.local_rank) == ("cause", 1, 2)
    assert event.time is not None and (event.time.seconds, event.time.utc_offset_s) == (1_760_000_000.0, 0)
    assert event.locator.text.startswith("torch.distributed.DistBackendError: NCCL error")


def test_an_exception_while_handling_another_one_keeps_the_first() -> None:
    chain = "\nDuring handling of the above exception, another exception occurred:\n\n"
    stack = f"{STACK}KeyError: 'lr'\n{chain}{STACK}train.ConfigProblem: no learning rate\n"
    fact, _ = only_exception(error_file("ConfigProblem: no learning rate", stack))
    assert (fact.type, fact.message) == ("train.ConfigProblem", "no learning rate")
    assert (fact.chained, fact.root_type, fact.root_message) == (True, "KeyError", "'lr'")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (error_file("ValueError: bad batch"), "ValueError", "bad batch"),
        (b'{"message": "ValueError: bad batch", "timestamp": 1760000000}', "ValueError", "bad batch"),
        (b'{"message": "the data loader gave up"}', None, "the data loader gave up"),
    ],
)
def test_an_error_file_without_a_stack(data: bytes, kind: str | None, message: str) -> None:
    fact, _ = only_exception(data)
    assert (fact.type, fact.message, fact.bare, fact.where) == (kind, message, True, None)


def test_a_plain_message_may_hold_the_stack() -> None:
    fact, _ = only_exception(json.dumps({"message": f"{STACK}ValueError: bad batch"}).encode())
    assert (fact.type, fact.where, fact.bare) == ("ValueError", "/opt/train/main.py:30 in main", False)


def test_an_error_file_without_a_message_tells_nothing() -> None:
    scanned = scan(b'{"message": "<NONE>"}', "error.json")
    assert (scanned.events, scanned.digest.flags) == ((), frozenset())


def test_a_damaged_error_file_is_told() -> None:
    scanned = scan(error_file("ValueError: bad batch")[:-5], "error.json")
    assert scanned.digest.flags == {"unreadable"}
    assert scanned.digest.notes == ("error.json: cannot be read: the JSON is cut off or damaged",)


# --- which reader ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b'{"message": "step 10", "level": "info"}\n',
        b'{"log":"the entry has a \\"profiling_name\\": none\\n","stream":"stderr","time":"2026-03-01T10:00:00Z"}\n',
        b"[rank0]: Traceback (most recent call last):\n",
        b'"profiling_name": "nccl:all_reduce"\n',
    ],
)
def test_logs_stay_text(line: bytes) -> None:
    scanned = scan(line * 3, "rank0.log")
    assert not scanned.digest.flags
    assert scanned.digest.tails != ()


def test_text_is_scanned_from_its_beginning_to_its_end(catalog) -> None:
    index = build_index(catalog.patterns.values())
    report = b"[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: batch %d\n"
    text = b"".join(report % number + b"step done\n" * 400 for number in range(60))
    source = Source("rank1.log", "rank1.log", HeldBytes(text), origin_of_path("rank1.log"), len(text))
    scanned = scan_source(source, index)
    assert (list(scanned.events), scanned.digest) == scan_text(source, index)
    assert len(scanned.events) >= 60
    assert scanned.source is source


@given(st.binary(max_size=300), st.sampled_from(["nccl_trace_rank_0", "attempt_0/1/error.json", "rank0.log"]))
def test_no_bytes_crash_a_scan(data: bytes, name: str) -> None:
    for head in (b"", b"\x80\x02", b"\x80\x02}X\x09\0\0\0pg_config", b'{"profiling_name":', b'{"message": {"message":'):
        scanned = scan(head + data, name)
        assert scanned.digest.bytes_read == len(head + data) or scanned.digest.flags == {"unreadable"}
