"""Logs as they are found: encodings, cut and overwritten lines, several files in one, what cannot be read."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import analyze, shared_index
from hypothesis import given, settings
from hypothesis import strategies as st

from logsleuth.model.events import CollectiveTimeout, Event, PythonException
from logsleuth.model.scan import SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.run import scan_source
from logsleuth.sources.blocks import Window, windows
from logsleuth.sources.discover import discover
from logsleuth.sources.labels import labels_of
from logsleuth.sources.markup import unmarked
from logsleuth.sources.openers import HeldBytes
from logsleuth.sources.partials import join_cri, join_docker, partials_of

RAISED = """\
Traceback (most recent call last):
  File "/opt/train/train.py", line 41, in <module>
    loss = model(batch)
ValueError: bad batch 17
"""
TIMEOUT = (
    "[rank3]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600021 "
    "milliseconds before timing out."
)
BOTH = f"{TIMEOUT}\n{RAISED}"


def scanned(data: bytes | str) -> SourceScan:
    raw = data.encode() if isinstance(data, str) else data
    return scan_source(Source("x", "x", HeldBytes(raw), size=len(raw)), shared_index())


def told(events: tuple[Event, ...]) -> set[object]:
    """What matters of a scan: the timeouts and exceptions in it, and whose they are."""
    return {(event.fact, event.origin.rank) for event in events if event.kind in ("collective-timeout", "exception")}


# --- encodings and line ends -----------------------------------------------------------------------------------------

ENCODED: dict[str, Callable[[str], bytes]] = {
    "utf-8": str.encode,
    "utf-8-with-mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf-16-of-powershell": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "utf-16-without-mark": lambda text: text.encode("utf-16-le"),
    "utf-16-big-endian-without-mark": lambda text: text.encode("utf-16-be"),
    "invalid-bytes": lambda text: b"loss \xff\xfe\x80 nan\n" + text.encode() + b"\xc3",
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "no-last-newline": lambda text: text.rstrip("\n").encode(),
    "overwritten-lines": lambda text: "".join(f" 10%|█  |\r 20%|██ |\r{line}\n" for line in text.splitlines()).encode(),
    "colours": lambda text: "".join(f"\x1b[31m{line}\x1b[0m\n" for line in text.splitlines()).encode(),
    "nuls-of-a-sparse-file": lambda text: b"\0" * 5000 + text.encode() + b"\0" * 5000,
    "indented": lambda text: "".join(f"    {line}\n" for line in text.splitlines()).encode(),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()).encode(),
    "numbered-by-cat": lambda text: "".join(
        f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1)
    ).encode(),
}


@pytest.mark.parametrize("encode", ENCODED.values(), ids=ENCODED)
def test_the_same_is_read_however_it_is_written(encode: Callable[[str], bytes], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(encode(BOTH))
    (source,), skipped = discover([str(log)])
    assert skipped == []
    facts = {fact for fact, _ in told(scan_source(source, shared_index()).events)}
    assert {type(fact) for fact in facts} == {CollectiveTimeout, PythonException}
    assert {(fact.type, fact.message) for fact in facts if isinstance(fact, PythonException)} == {
        ("ValueError", "bad batch 17")
    }


def test_a_file_that_grows_is_read_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "rank3.log"
    log.write_text("step 1\n" * 10)
    (source,), _ = discover([str(log)])
    with log.open("a") as more:
        more.write(TIMEOUT + "\n")
    scan = scan_source(source, shared_index())
    assert told(scan.events) == told(scanned(TIMEOUT + "\n").events)
    assert "shrunk" not in scan.digest.flags


# --- lines that a container runtime cut ------------------------------------------------------------------------------

CRI = "2026-03-01T10:00:0{second}.123456789Z {stream} {tag} {text}\n"


def cri(text: str, at: int, between: str = "") -> str:
    return (
        CRI.format(second=1, stream="stderr", tag="P", text=text[:at])
        + between
        + CRI.format(second=2, stream="stderr", tag="F", text=text[at:])
    )


def docker(text: str, at: int, between: str = "") -> str:
    parts = (
        {"log": part, "stream": "stderr", "time": "2026-03-01T10:00:05.1Z"} for part in (text[:at], text[at:] + "\n")
    )
    first, last = (json.dumps(part, separators=(",", ":")) + "\n" for part in parts)
    return first + between + last


OTHER_OF_CRI = CRI.format(second=1, stream="stdout", tag="F", text="step 7 loss 2.1")
OTHER_OF_DOCKER = '{"log":"step 7 loss 2.1\\n","stream":"stdout","time":"2026-03-01T10:00:05.1Z"}\n'


@pytest.mark.parametrize("at", [3, 60, 110, 150, 240])
@pytest.mark.parametrize(
    ("cut", "between"),
    [
        pytest.param(cri, "", id="cri"),
        pytest.param(cri, OTHER_OF_CRI, id="cri-with-the-other-stream-between"),
        pytest.param(docker, "", id="docker"),
        pytest.param(docker, OTHER_OF_DOCKER, id="docker-with-the-other-stream-between"),
    ],
)
def test_cut_lines_are_joined(cut: Callable[[str, int, str], str], between: str, at: int) -> None:
    scan = scanned(cut(TIMEOUT, at, between))
    assert told(scan.events) == told(scanned(TIMEOUT + "\n").events)
    assert {event.origin.stream for event in scan.events if event.kind == "collective-timeout"} == {"stderr"}


def test_a_joined_line_is_cited_from_its_first_part_to_its_last() -> None:
    text = OTHER_OF_CRI * 3 + cri(TIMEOUT, 150) + OTHER_OF_CRI
    (event,) = [event for event in scanned(text).events if event.kind == "collective-timeout"]
    assert text[event.locator.start :].startswith("2026-03-01T10:00:01.123456789Z stderr P")
    assert text[: event.locator.end].endswith("before timing out.")


LINES = st.tuples(st.booleans(), st.booleans(), st.text('ab "', max_size=9))


@settings(derandomize=True, database=None, deadline=None, max_examples=60)
@given(st.lists(LINES, max_size=12), st.integers(20, 400))
def test_joining_loses_nothing_wherever_windows_meet(lines: list[tuple[bool, bool, str]], block: int) -> None:
    text = "".join(
        CRI.format(second=1, stream="stdout" if out else "stderr", tag="P" if part else "F", text=words)
        for out, part, words in lines
    )
    for window in windows(io.BytesIO(text.encode()), block=block, margin=200):
        joined = join_cri(window)
        assert 0 <= joined.lo <= joined.hi <= len(joined.data)
        assert [joined.data.count(letter) for letter in (b"a", b"b")] == [
            window.data.count(letter) for letter in (b"a", b"b")
        ]
        places = [joined.place(at) - window.base for at in range(len(joined.data))]
        assert bytes(window.data[place] for place in places) == joined.data
        assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("log", "ends"),
    [('{"log":"a\\n","stream":"stdout","time":"t"}', True), ('{"log":"a\\\\n","stream":"stdout","time":"t"}', False)],
)
def test_an_escaped_backslash_before_n_is_no_line_end(log: str, ends: bool) -> None:
    data = f"{log}\n{log}\n".encode()
    joined = join_docker(Window(data, 0, 0, len(data), final=True))
    assert (joined.data.count(b"\n") == 2) is ends


def test_no_other_text_is_taken_for_a_runtimes() -> None:
    assert partials_of(b"2026-03-01T10:00:05.1Z a line of GitHub's\n") is None
    assert partials_of(b'{"loss": 2.1}\n') is None


# --- several files in one --------------------------------------------------------------------------------------------


def test_tails_file_names_tell_the_ranks(tmp_path: Path) -> None:
    log = tmp_path / "all.txt"
    waited = TIMEOUT.partition(":")[2]
    parts = [f"==> logs/rank{rank}.log <==\n" + (RAISED if rank == 2 else "step 9\n") for rank in range(3)]
    log.write_text("\n".join([*parts, f"==> logs/rank3.log <==\n{waited}\n"]))
    report = analyze([log])
    assert {process.rank: process.known_by for process in report.job.processes} == {
        0: "the line's prefix", 1: "the line's prefix", 2: "the file's name", 3: "the file's name",
    }  # fmt: skip
    (exception,) = [item for item in report.timeline.shown if item.kind == "exception"]
    assert (exception.rank, exception.source, exception.line) == (2, str(log), 11)


def test_a_traceback_ends_where_another_file_begins() -> None:
    text = f"==> rank0.log <==\n{RAISED.rpartition('ValueError')[0]}\n==> rank1.log <==\nValueError: of rank 1\n"
    assert not [event for event in scanned(text).events if event.kind == "exception" and event.origin.rank == 0]


def test_an_arrow_in_a_line_is_no_file() -> None:
    events = scanned(f"a ==> rank5.log <==\n==> nothing\n{RAISED}").events
    assert {event.origin.rank for event in events} == {None}


# --- pastes ----------------------------------------------------------------------------------------------------------


def test_markdowns_escapes_are_undone() -> None:
    text = TIMEOUT.replace("ALLREDUCE", "_ALLGATHER_BASE")
    escaped = text.replace("[", "\\[").replace("]", "\\]").replace("_", "\\_")
    assert told(scanned(f"{escaped}\n").events) == told(scanned(f"{text}\n").events) != set()


def test_entities_of_html_are_undone() -> None:
    text = "".join(f"[1,3]<stderr>:{line}\n" for line in RAISED.splitlines())
    entities = text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    (event,) = [event for event in scanned(entities).events if event.kind == "exception"]
    assert (event.origin.task, event.origin.stream) == (3, "stderr")
    assert event.fact.where == "/opt/train/train.py:41 in <module>"


@pytest.mark.parametrize(
    "text", ["C:\\_x and \\[1\\] once", "a &lt; b", '{"log":"a\\nb"}\n' * 5], ids=["few", "one", "json"]
)
def test_what_a_log_prints_itself_stays(text: str) -> None:
    data = text.encode()
    assert unmarked(Window(data, 0, 0, len(data), final=True)) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("".join(f"[{number}] line of a viewer\n" for number in range(20)), id="line-numbers"),
        pytest.param("[3] only one\n" * 20, id="one-number"),
        pytest.param("[0] a\n[1] b\nno label\n" * 20, id="not-every-line"),
    ],
)
def test_brackets_that_are_no_labels(text: str) -> None:
    assert labels_of(text.encode()) is None


HALF = {
    "begins-in-the-middle": (TIMEOUT[TIMEOUT.index("NCCL.cpp:629]") :] + "\n", 88123),
    "ends-in-the-middle": (TIMEOUT[: TIMEOUT.index("lIn=")], 88123),
    "glued-to-a-progress-bar": (f" 33%|███▎      | 1/3 [00:02<00:04,  2.19s/it]{TIMEOUT}\n", 88123),
    "torn-line-of-nccl-before": (f"node-a:4711:4802 [3] NCCL INFO comm 0x7f00 ra{TIMEOUT}\n", 88123),
    "two-ranks-in-one-line": (TIMEOUT + TIMEOUT.replace("rank3", "rank4").replace("Rank 3", "Rank 4") + "\n", 88123),
}


@pytest.mark.parametrize(("text", "seq"), HALF.values(), ids=HALF)
def test_a_torn_line_tells_what_is_left_of_it(text: str, seq: int) -> None:
    facts = [event.fact for event in scanned(text).events if isinstance(event.fact, CollectiveTimeout)]
    assert facts and {fact.seq for fact in facts} == {seq}
    if "rank4" in text:
        assert {fact.group_rank for fact in facts} == {3, 4}


# --- what cannot be read ---------------------------------------------------------------------------------------------


def _corrupt_zip() -> bytes:
    """The first member is not packed, so that any change of it is a wrong checksum and never an unreadable stream."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("rank0.log", "step 1\n" * 6_000)
        archive.writestr("rank3.log", RAISED)
    data = bytearray(held.getvalue())
    data[20_000:20_040] = b"\xff" * 40
    return bytes(data)


def test_the_rest_is_read_and_each_bad_input_has_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.log").write_text(RAISED)
    Path("corrupt.zip").write_bytes(_corrupt_zip())
    Path("cut.log.gz").write_bytes(gzip.compress(os.urandom(9000).hex().encode())[:5000])
    Path("broken.log").symlink_to("nowhere")
    os.mkfifo("pipe")
    Path("archive.zip").write_bytes(b"PK\x03\x04 and then nothing")
    names = ["good.log", "corrupt.zip", "cut.log.gz", "broken.log", "pipe", "archive.zip", "/dev/null"]
    report = analyze([Path(name) for name in names])
    assert report.root_causes[0].cause == "rank-exception"
    for name, words in {
        "corrupt.zip!rank0.log": "garbled",
        "cut.log.gz": "damaged or cut off",
        "broken.log": "points to nothing",
        "pipe": "named pipe",
        "archive.zip": "damaged",
        "/dev/null": "device",
    }.items():
        assert [note for note in report.notes if note.startswith(name) and words in note], (name, report.notes)
    read = {item.source for diagnosis in report.diagnoses for item in diagnosis.evidence}
    assert read & {"good.log", "corrupt.zip!rank3.log"}
