"""What a user of the command line sees: answers on stdout, sentences on stderr, exit codes that mean something."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from cases import FIXTURES
from commands import command, process

from logsleuth.sources import discover as discovery

FAILED = FIXTURES / "death" / "exception-rank5-table-blames-rank0" / "stdout-stderr.log"
HEALTHY = FIXTURES / "healthy" / "lightning-progress-bar" / "nohup.out"
SILENT = "loading model\nbuilding dataset\n"


# --- answers and exit codes ------------------------------------------------------------------------------------------


def test_a_failure_is_an_answer_and_no_error() -> None:
    seen = command("analyze", FAILED)
    assert seen.code == 0 and seen.err == ""
    assert "KeyError" in seen.out and "rank 5" in seen.out


@pytest.mark.parametrize(
    ("text", "fail_on", "code"),
    [
        (None, "failure", 1),
        (None, "inconclusive", 1),
        (SILENT, "failure", 0),
        (SILENT, "inconclusive", 1),
        ("epoch 0 step 10/20 loss 2.1\nepoch 0 step 20/20 loss 2.0\n", "inconclusive", 0),
    ],
    ids=["a failure", "a failure is worse than inconclusive", "silence is no failure", "silence", "a healthy run"],
)
def test_fail_on_decides_the_exit_code(tmp_path: Path, text: str | None, fail_on: str, code: int) -> None:
    log = FAILED
    if text is not None:
        log = tmp_path / "job.log"
        log.write_text(text, encoding="utf-8")
    seen = command("analyze", "--fail-on", fail_on, log)
    assert seen.code == code
    assert seen.out, "the report is printed whatever the exit code"


def test_a_healthy_run_is_told_in_a_sentence() -> None:
    seen = command("analyze", HEALTHY)
    assert seen.code == 0
    assert "NO FAILURE" in seen.out and "Nothing failed in these logs." in seen.out


def test_a_silent_hang_needs_the_users_word() -> None:
    logs = FIXTURES / "init" / "silent-hang-with-kernel-warning"
    paths = sorted(logs.glob("p*.log"))
    told = command("analyze", "--hung", "-f", "json", *paths).json
    assert (told["verdict"], told["diagnoses"][0]["cause"]) == ("failure", "init-hang-unexplained")
    assert not [d for d in command("analyze", "-f", "json", *paths).json["diagnoses"] if d["role"] == "root-cause"]


def test_a_restart_can_be_chosen() -> None:
    logs = FIXTURES / "death" / "restart-first-attempt-leads" / "logs"
    first, second = (command("analyze", "-f", "json", "--attempt", n, logs).json["diagnoses"][0] for n in (0, 1))
    assert first["attempt"] == 0 and "collate.py" in first["summary"]
    assert second["attempt"] == 1 and "collate.py" not in second["summary"]


def test_a_restart_that_is_not_there_is_told() -> None:
    seen = command("analyze", "-f", "json", "--attempt", 7, FIXTURES / "death" / "restart-first-attempt-leads" / "logs")
    assert seen.code == 2 or any("attempt 7" in note for note in seen.json["notes"])


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    seen = command("analyze", tmp_path / "rank7.log")
    assert (seen.code, seen.out) == (3, "")
    assert "rank7.log: there is no such file or folder" in seen.err
    assert len(seen.err.splitlines()) == 2, "a sentence and a hint, no traceback"


def test_a_folder_without_logs(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 64)
    seen = command("analyze", tmp_path)
    assert (seen.code, seen.out) == (3, "")
    assert "no file that could be a log" in seen.err


def test_a_pattern_without_a_match(tmp_path: Path) -> None:
    seen = command("analyze", tmp_path / "rank*.log")
    assert (seen.code, seen.out) == (3, "")
    assert "no file matches" in seen.err


def test_one_bad_path_does_not_spoil_the_good_ones(tmp_path: Path) -> None:
    seen = command("analyze", "-f", "json", FAILED, tmp_path / "gone.log")
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert any("gone.log: there is no such file" in note for note in seen.json["notes"])


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").touch()
    seen = command("analyze", "-f", "json", tmp_path / "rank0.log")
    assert seen.code == 0
    assert seen.json["verdict"] == "inconclusive"
    assert seen.json["coverage"]["sources"][0]["flags"] == ["empty"]
    assert any(note.endswith("rank0.log: empty") for note in seen.json["notes"])


@pytest.mark.parametrize(
    "raw",
    [
        b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40,
        b"\0" * 5000,
        bytes((i * 7919) % 251 for i in range(9000)),
        b"\xff\xfe" * 3,
    ],
    ids=["a program", "zeros", "rubbish", "byte order marks"],
)
def test_bytes_that_are_no_text(tmp_path: Path, raw: bytes) -> None:
    log = tmp_path / "core.log"
    log.write_bytes(raw)
    seen = command("analyze", "-f", "json", log)
    assert seen.code in (0, 3)
    if seen.code == 0:
        assert seen.json["verdict"] == "inconclusive" and seen.json["diagnoses"] == []
    else:
        assert "binary" in seen.err


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "rank1.log"
    gone.write_text("step 1\n", encoding="utf-8")
    found = discovery.discover

    def then_deleted(*args: Any, **options: Any) -> Any:
        sources = found(*args, **options)
        gone.unlink(missing_ok=True)
        return sources

    monkeypatch.setattr(discovery, "discover", then_deleted)
    seen = command("analyze", "-f", "json", gone, FAILED)
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert any("rank1.log: vanished" in note for note in seen.json["notes"])
    gone.write_text("step 1\n", encoding="utf-8")
    alone = command("analyze", gone)
    assert (alone.code, alone.out) == (3, "")
    assert "rank1.log: vanished" in alone.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("step 1\n", encoding="utf-8")
    log.chmod(0)
    seen = command("analyze", log)
    assert seen.code == 3
    assert "cannot be read" in seen.err


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--format", "yaml"], "not one of terminal, json"),
        (["--rank", "three=x.log"], "expected N=PATH"),
        (["--rank", "3"], "expected N=PATH"),
        (["--fail-on", "never"], "not one of failure, inconclusive"),
        (["--bogus"], "No such option"),
        (["--world-size", "0"], "--world-size"),
        (["-o", "no/such/folder/report.json"], "cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_exit_2_and_a_sentence(args: list[str], said: str) -> None:
    seen = command("analyze", *args, FAILED)
    assert (seen.code, seen.out) == (2, "")
    assert said in seen.err and "Traceback" not in seen.err


def test_a_broken_pattern_file_is_exit_2_and_names_the_line(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "own"
    folder.mkdir(parents=True)
    (folder / "odd.yaml").write_text("id: odd\ntitle: Odd\nevent: no-such-kind\nrole: cause\n", encoding="utf-8")
    clean = process("analyze", "--patterns", tmp_path / "mine", FAILED)
    assert clean.returncode == 2 and clean.stdout == b""
    assert b"odd.yaml" in clean.stderr and b"Traceback" not in clean.stderr


def test_a_missing_pattern_folder_is_exit_2(tmp_path: Path) -> None:
    done = process("analyze", "--patterns", tmp_path / "typo", FAILED)
    assert done.returncode == 2 and b"typo" in done.stderr


def test_ctrl_c_is_exit_130_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("logsleuth.analyze", interrupted)
    seen = command("analyze", FAILED)
    assert seen.code == 130 and "Traceback" not in seen.err


def test_an_internal_error_says_that_it_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("logsleuth.analyze", broken)
    seen = command("analyze", FAILED)
    assert (seen.code, seen.out) == (70, "")
    assert "internal error: ZeroDivisionError: inside" in seen.err and "please report" in seen.err
