"""Where logs come from and where reports go: pipes, files, terminals, colours, JSON, and the other commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from cases import FIXTURES, ROOT
from commands import command, process

from logsleuth.cli.schemas import schema

FAILED = FIXTURES / "death" / "exception-rank5-table-blames-rank0" / "stdout-stderr.log"
ANSI = re.compile(r"\x1b\[")


# --- where the log comes from and where the report goes --------------------------------------------------------------


@pytest.mark.parametrize("args", [["analyze", "-"], ["analyze"], ["stdin"]], ids=" ".join)
def test_a_pipe_is_read(args: list[str]) -> None:
    seen = command(*args, "--format", "json", stdin=FAILED.read_bytes())
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert seen.json["coverage"]["sources"][0]["name"] == "stdin"


def test_an_empty_pipe() -> None:
    seen = command("stdin")
    assert (seen.code, seen.out) == (3, "")
    assert "nothing came in" in seen.err


def test_a_rank_given_by_the_user_is_believed(tmp_path: Path) -> None:
    log = tmp_path / "c.txt"
    log.write_text(
        "Traceback (most recent call last):\n  File 'a.py', line 1, in <module>\nKeyError: 'x'\n", encoding="utf-8"
    )
    seen = command("analyze", "-f", "json", "--rank", f"3={log}", "--world-size", "8")
    assert seen.json["diagnoses"][0]["ranks"] == [3]
    assert seen.json["coverage"]["world_size"] == 8


def test_files_are_written_in_the_format_of_their_name(tmp_path: Path) -> None:
    targets = {name: tmp_path / f"report.{name}" for name in ("json", "md", "txt")}
    seen = command("analyze", *(word for path in targets.values() for word in ("-o", path)), FAILED)
    assert (seen.code, seen.out, seen.err) == (0, "", "")
    assert json.loads(targets["json"].read_text(encoding="utf-8"))["diagnoses"][0]["cause"] == "rank-exception"
    assert targets["md"].read_text(encoding="utf-8").startswith("## Failure")
    text = targets["txt"].read_text(encoding="utf-8")
    assert "FAILURE" in text and not ANSI.search(text)


def test_a_file_and_standard_output_together(tmp_path: Path) -> None:
    seen = command("analyze", "-o", tmp_path / "r.json", "-o", "-", FAILED)
    assert "FAILURE" in seen.out
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["verdict"] == "failure"


def test_piped_output_has_no_colour_and_no_progress() -> None:
    done = process("analyze", FAILED)
    assert done.returncode == 0 and done.stderr == b""
    assert not ANSI.search(done.stdout.decode("utf-8"))


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({"FORCE_COLOR": "1", "TERM": "xterm-256color"}, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
    ids=["FORCE_COLOR", "NO_COLOR wins"],
)
def test_colour_can_be_forced_and_forbidden(env: dict[str, str], coloured: bool) -> None:
    assert bool(ANSI.search(command("analyze", FAILED, env=env).out)) is coloured


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_a_terminal_of_80_columns() -> None:
    """In a real terminal: colours, and no line wider than it is but commands and paths."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "logsleuth", "analyze", str(FAILED.relative_to(ROOT))]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, cwd=ROOT, env=env) as running:
        os.close(slave)
        raw = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            raw += chunk
        assert running.wait(60) == 0
    os.close(master)
    assert b"\x1b[" in raw
    lines = re.sub(r"\x1b\[[0-9;]*m", "", raw.decode("utf-8")).replace("\r", "").split("\n")
    too_wide = [line for line in lines if len(line) > 80 and not line.startswith("      ") and FAILED.name not in line]
    assert too_wide == []


@pytest.mark.skipif(sys.platform == "win32", reason="no broken pipes there")
def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m logsleuth analyze -f json {FAILED} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=ROOT, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{\n", b"")


# --- the JSON contract -----------------------------------------------------------------------------------------------


def test_json_follows_its_schema() -> None:
    report = command("analyze", "-f", "json", FAILED).json
    jsonschema.validate(report, json.loads(schema("report")))
    assert report["schema_version"] == "1.0"


def test_json_follows_the_published_schema() -> None:
    published = ROOT / "schemas" / "report.schema.json"
    if not published.exists():
        pytest.skip("the schema is published once the report contract is frozen")
    report = command("analyze", "-f", "json", FAILED).json
    jsonschema.validate(report, json.loads(published.read_text(encoding="utf-8")))


# --- the other commands ----------------------------------------------------------------------------------------------


def test_version() -> None:
    seen = command("--version")
    assert seen.code == 0
    assert re.fullmatch(r"logsleuth \d+\.\d+\.\d+\S*\n", seen.out)


def test_explain_a_cause_and_a_pattern() -> None:
    cause = command("explain", "rank-missing-collective")
    assert cause.code == 0
    assert "## What decides it" in cause.out and "## Fixes" in cause.out
    assert "Yields" in command("explain", "nccl-watchdog-timeout").out


def test_explain_helps_with_a_typing_error() -> None:
    seen = command("explain", "cuda-om")
    assert (seen.code, seen.out) == (2, "")
    assert "no such cause or pattern" in seen.err and "cuda-oom" in seen.err


def test_the_action_writes_summary_outputs_and_one_annotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "LOGSLEUTH_LOGS": f"{FAILED}\n\n",
        "LOGSLEUTH_FAIL_ON": "failure",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output.txt"),
    }.items():
        monkeypatch.setenv(name, value)
    seen = command("action")
    assert seen.code == 1
    assert seen.out.startswith("::error title=LogSleuth")
    values = dict(line.split("=", 1) for line in (tmp_path / "output.txt").read_text(encoding="utf-8").splitlines())
    assert (values["verdict"], values["cause"], values["culprit-ranks"]) == ("failure", "rank-exception", "5")
    assert json.loads(Path(values["report-json"]).read_text(encoding="utf-8"))["verdict"] == "failure"
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## Failure")


def test_the_action_takes_no_options_for_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGSLEUTH_LOGS", "--fail-on=never")
    seen = command("action")
    assert seen.code == 2
    assert "looks like an option" in seen.err
