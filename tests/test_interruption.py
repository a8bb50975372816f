"""Ctrl-C while logs are read: the answer is that of what was read so far, and the exit code says that it is partial."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cases import FIXTURES, ROOT, compiled_once

import logsleuth
from logsleuth.execute.interruption import Interruption

LOG = (FIXTURES / "death" / "segfault-rank6" / "nohup.out").read_bytes()
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
#: A test that waits longer is broken, not slow.
PATIENCE_S = 100


def unread_bytes(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("size", [len(LOG), 3_000_000], ids=["a little", "more than a block"])
def test_a_pipe_that_goes_on_is_answered_at_ctrl_c(size: int) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "logsleuth", "analyze", "--format", "json", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert running.stdin and running.stdout and running.stderr
    running.stdin.write(LOG + b"a line that says nothing\n" * ((size - len(LOG)) // 25))
    running.stdin.flush()
    deadline = time.monotonic() + PATIENCE_S
    while unread_bytes(running.stdin.fileno()) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.stdout.read(), running.stderr.read().decode()
    running.stdin.close()
    assert running.wait(PATIENCE_S) == 130, err
    assert "interrupted" in err and "Traceback" not in err
    report = json.loads(out)
    assert report["diagnoses"][0]["cause"] == "segfault" and report["diagnoses"][0]["ranks"] == [6]
    assert report["diagnoses"][0]["confidence"] != "high"
    assert any(note.startswith("interrupted: 1 of 1 sources") for note in report["notes"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """More logs than there are threads; the first holds the cause."""
    for number in range(40):
        (tmp_path / f"rank{number:02}.log").write_bytes(LOG if number == 0 else b"nothing\n")
    return tmp_path


def press_ctrl_c_after_the_first(interruption: Interruption | None) -> tuple[list[str], object]:
    """A callback for ``on_source``; it holds its thread until the interruption was heard."""
    names: list[str] = []

    def told(name: str, _: int) -> None:
        names.append(name)
        if len(names) == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        deadline = time.monotonic() + PATIENCE_S
        while interruption is not None and not interruption.asked and time.monotonic() < deadline:
            time.sleep(0.01)

    return names, told


def test_sources_that_were_not_read_are_named(folder: Path) -> None:
    interruption = Interruption()
    names, told = press_ctrl_c_after_the_first(interruption)
    with compiled_once():
        report = logsleuth.analyze([str(folder)], on_source=told, interruption=interruption)  # type: ignore[arg-type]
    read = {source.name: source for source in report.coverage.sources if "interrupted" not in source.flags}
    assert interruption.asked and set(read) >= set(names) and len(report.coverage.sources) == 40
    assert f"{folder}/rank00.log" in read
    assert report.root_causes[0].cause == "segfault" and report.root_causes[0].confidence != "high"
    (note,) = [note for note in report.notes if note.startswith("interrupted")]
    assert f"{40 - len(read)} of 40 sources were not read to their end" in note


def test_what_was_not_read_to_its_end_is_no_proof_that_nothing_failed(folder: Path) -> None:
    shutil.copy(folder / "rank01.log", folder / "rank00.log")
    interruption = Interruption()
    _, told = press_ctrl_c_after_the_first(interruption)
    with compiled_once():
        report = logsleuth.analyze([str(folder)], on_source=told, interruption=interruption)  # type: ignore[arg-type]
    assert report.verdict == "inconclusive"


def test_without_being_asked_for_a_partial_answer_ctrl_c_is_an_exception(folder: Path) -> None:
    _, told = press_ctrl_c_after_the_first(None)
    with compiled_once(), pytest.raises(KeyboardInterrupt):
        logsleuth.analyze([str(folder)], on_source=told)  # type: ignore[arg-type]
        time.sleep(PATIENCE_S)


@pytest.mark.parametrize("ask", [-1, 10, 7_000_000])
def test_input_that_ends_by_itself_is_read_whole(ask: int) -> None:
    text = os.urandom(2_500_000)
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as out:
            out.write(text)

    threading.Thread(target=write).start()
    interruption = Interruption()
    with os.fdopen(reader, "rb") as pipe:
        stream = interruption.listening(pipe)
        assert stream.read(ask) == (text[:ask] if ask > 0 else text)
        stream.read()
    assert interruption.listening(io.BytesIO(text)).read(ask) == (text[:ask] if ask > 0 else text)
    assert not interruption.asked
