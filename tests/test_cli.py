"""What a user of the command line sees: answers on stdout, sentences on stderr, exit codes that mean something."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cases import FIXTURES, ROOT, compiled_once

from logsleuth.cli.app import main
from logsleuth.report.schema import Report
from logsleuth.sources import discover as discovery

FAILED = FIXTURES / "death" / "exception-rank5-table-blames-rank0" / "stdout-stderr.log"
HEALTHY = FIXTURES / "healthy" / "lightning-progress-bar" / "nohup.out"
SILENT = "loading model\nbuilding dataset\n"
ANSI = re.compile(r"\x1b\[")


@dataclass(frozen=True)
class Seen:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)  # type: ignore[no-any-return]


Run = Callable[..., Seen]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Iterator[Run]:
    """``run("analyze", path, stdin=b"...")`` in this process, as ``logsleuth`` would be started."""
    for name in ("NO_COLOR", "FORCE_COLOR", "LOGSLEUTH_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def command(*args: object, stdin: bytes = b"") -> Seen:
        monkeypatch.setattr(sys, "argv", ["logsleuth", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
        else:
            code = 0
        out, err = capsysbinary.readouterr()
        assert code is None or isinstance(code, int)
        return Seen(code or 0, out.decode("utf-8"), err.decode("utf-8"))

    with compiled_once():
        yield command


def process(*args: object, stdin: bytes | None = None, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The real thing, in a process of its own, without a terminal."""
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "logsleuth", *map(str, args)],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**clean, **env},
        check=False,
        timeout=120,
    )


# --- answers and exit codes ------------------------------------------------------------------------------------------


def test_a_failure_is_an_answer_and_no_error(run: Run) -> None:
    seen = run("analyze", FAILED)
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
def test_fail_on_decides_the_exit_code(run: Run, tmp_path: Path, text: str | None, fail_on: str, code: int) -> None:
    log = FAILED
    if text is not None:
        log = tmp_path / "job.log"
        log.write_text(text, encoding="utf-8")
    seen = run("analyze", "--fail-on", fail_on, log)
    assert seen.code == code
    assert seen.out, "the report is printed whatever the exit code"


def test_a_healthy_run_is_told_in_a_sentence(run: Run) -> None:
    seen = run("analyze", HEALTHY)
    assert seen.code == 0
    assert "NO FAILURE" in seen.out and "Nothing failed in these logs." in seen.out


def test_a_silent_hang_needs_the_users_word(run: Run) -> None:
    logs = FIXTURES / "init" / "silent-hang-with-kernel-warning"
    paths = sorted(logs.glob("p*.log"))
    told = run("analyze", "--hung", "-f", "json", *paths).json
    assert (told["verdict"], told["diagnoses"][0]["cause"]) == ("failure", "init-hang-unexplained")
    assert not [d for d in run("analyze", "-f", "json", *paths).json["diagnoses"] if d["role"] == "root-cause"]


def test_a_restart_can_be_chosen(run: Run) -> None:
    logs = FIXTURES / "death" / "restart-first-attempt-leads" / "logs"
    first, second = (run("analyze", "-f", "json", "--attempt", n, logs).json["diagnoses"][0] for n in (0, 1))
    assert first["attempt"] == 0 and "collate.py" in first["summary"]
    assert second["attempt"] == 1 and "collate.py" not in second["summary"]


@pytest.mark.xfail(strict=True, reason="an attempt that the logs do not hold is silently replaced by another one")
def test_a_restart_that_is_not_there_is_told(run: Run) -> None:
    seen = run("analyze", "-f", "json", "--attempt", 7, FIXTURES / "death" / "restart-first-attempt-leads" / "logs")
    assert seen.code == 2 or any("attempt 7" in note for note in seen.json["notes"])


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_path_that_is_not_there(run: Run, tmp_path: Path) -> None:
    seen = run("analyze", tmp_path / "rank7.log")
    assert (seen.code, seen.out) == (3, "")
    assert "rank7.log: there is no such file or folder" in seen.err
    assert len(seen.err.splitlines()) == 2, "a sentence and a hint, no traceback"


def test_a_folder_without_logs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 64)
    seen = run("analyze", tmp_path)
    assert (seen.code, seen.out) == (3, "")
    assert "no file that could be a log" in seen.err


def test_a_pattern_without_a_match(run: Run, tmp_path: Path) -> None:
    seen = run("analyze", tmp_path / "rank*.log")
    assert (seen.code, seen.out) == (3, "")
    assert "no file matches" in seen.err


def test_one_bad_path_does_not_spoil_the_good_ones(run: Run, tmp_path: Path) -> None:
    seen = run("analyze", "-f", "json", FAILED, tmp_path / "gone.log")
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert any("gone.log: there is no such file" in note for note in seen.json["notes"])


def test_an_empty_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rank0.log").touch()
    seen = run("analyze", "-f", "json", tmp_path / "rank0.log")
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
def test_bytes_that_are_no_text(run: Run, tmp_path: Path, raw: bytes) -> None:
    log = tmp_path / "core.log"
    log.write_bytes(raw)
    seen = run("analyze", "-f", "json", log)
    assert seen.code in (0, 3)
    if seen.code == 0:
        assert seen.json["verdict"] == "inconclusive" and seen.json["diagnoses"] == []
    else:
        assert "binary" in seen.err


def test_a_file_that_vanishes_before_it_is_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "rank1.log"
    gone.write_text("step 1\n", encoding="utf-8")
    found = discovery.discover

    def then_deleted(*args: Any, **options: Any) -> Any:
        sources = found(*args, **options)
        gone.unlink(missing_ok=True)
        return sources

    monkeypatch.setattr(discovery, "discover", then_deleted)
    seen = run("analyze", "-f", "json", gone, FAILED)
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert any("rank1.log: vanished" in note for note in seen.json["notes"])
    gone.write_text("step 1\n", encoding="utf-8")
    alone = run("analyze", gone)
    assert (alone.code, alone.out) == (3, "")
    assert "rank1.log: vanished" in alone.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("step 1\n", encoding="utf-8")
    log.chmod(0)
    seen = run("analyze", log)
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
def test_wrong_usage_is_exit_2_and_a_sentence(run: Run, args: list[str], said: str) -> None:
    seen = run("analyze", *args, FAILED)
    assert (seen.code, seen.out) == (2, "")
    assert said in seen.err and "Traceback" not in seen.err


def test_a_broken_pattern_file_is_exit_2_and_names_the_line(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "own"
    folder.mkdir(parents=True)
    (folder / "odd.yaml").write_text("id: odd\ntitle: Odd\nevent: no-such-kind\nrole: cause\n", encoding="utf-8")
    clean = process("analyze", "--patterns", tmp_path / "mine", FAILED)
    assert clean.returncode == 2 and clean.stdout == b""
    assert b"odd.yaml" in clean.stderr and b"Traceback" not in clean.stderr


@pytest.mark.xfail(strict=True, reason="a folder that does not exist is taken for one without patterns")
def test_a_missing_pattern_folder_is_exit_2(tmp_path: Path) -> None:
    done = process("analyze", "--patterns", tmp_path / "typo", FAILED)
    assert done.returncode == 2 and b"typo" in done.stderr


def test_ctrl_c_is_exit_130_without_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("logsleuth.analyze", interrupted)
    seen = run("analyze", FAILED)
    assert seen.code == 130 and "Traceback" not in seen.err


def test_an_internal_error_says_that_it_is_a_bug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("logsleuth.analyze", broken)
    seen = run("analyze", FAILED)
    assert (seen.code, seen.out) == (70, "")
    assert "internal error: ZeroDivisionError: inside" in seen.err and "please report" in seen.err


# --- where the log comes from and where the report goes --------------------------------------------------------------


@pytest.mark.parametrize("args", [["analyze", "-"], ["analyze"], ["stdin"]], ids=" ".join)
def test_a_pipe_is_read(run: Run, args: list[str]) -> None:
    seen = run(*args, "--format", "json", stdin=FAILED.read_bytes())
    assert seen.code == 0
    assert seen.json["diagnoses"][0]["ranks"] == [5]
    assert seen.json["coverage"]["sources"][0]["name"] == "stdin"


def test_an_empty_pipe(run: Run) -> None:
    seen = run("stdin")
    assert (seen.code, seen.out) == (3, "")
    assert "nothing came in" in seen.err


def test_a_rank_given_by_the_user_is_believed(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "c.txt"
    log.write_text(
        "Traceback (most recent call last):\n  File 'a.py', line 1, in <module>\nKeyError: 'x'\n", encoding="utf-8"
    )
    seen = run("analyze", "-f", "json", "--rank", f"3={log}", "--world-size", "8")
    assert seen.json["diagnoses"][0]["ranks"] == [3]
    assert seen.json["coverage"]["world_size"] == 8


def test_files_are_written_in_the_format_of_their_name(run: Run, tmp_path: Path) -> None:
    targets = {name: tmp_path / f"report.{name}" for name in ("json", "md", "txt")}
    seen = run("analyze", *(word for path in targets.values() for word in ("-o", path)), FAILED)
    assert (seen.code, seen.out, seen.err) == (0, "", "")
    assert json.loads(targets["json"].read_text(encoding="utf-8"))["diagnoses"][0]["cause"] == "rank-exception"
    assert targets["md"].read_text(encoding="utf-8").startswith("## Failure")
    text = targets["txt"].read_text(encoding="utf-8")
    assert "FAILURE" in text and not ANSI.search(text)


def test_a_file_and_standard_output_together(run: Run, tmp_path: Path) -> None:
    seen = run("analyze", "-o", tmp_path / "r.json", "-o", "-", FAILED)
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
def test_colour_can_be_forced_and_forbidden(
    run: Run, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], coloured: bool
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert bool(ANSI.search(run("analyze", FAILED).out)) is coloured


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


def test_json_follows_its_schema(run: Run) -> None:
    report = run("analyze", "-f", "json", FAILED).json
    jsonschema.validate(report, Report.model_json_schema())
    assert report["schema_version"] == "1.0"


def test_json_follows_the_published_schema(run: Run) -> None:
    published = ROOT / "schemas" / "report.schema.json"
    if not published.exists():
        pytest.skip("the schema is published once the report contract is frozen")
    report = run("analyze", "-f", "json", FAILED).json
    jsonschema.validate(report, json.loads(published.read_text(encoding="utf-8")))


# --- the other commands ----------------------------------------------------------------------------------------------


def test_version(run: Run) -> None:
    seen = run("--version")
    assert seen.code == 0
    assert re.fullmatch(r"logsleuth \d+\.\d+\.\d+\S*\n", seen.out)


def test_explain_a_cause_and_a_pattern(run: Run) -> None:
    cause = run("explain", "rank-missing-collective")
    assert cause.code == 0
    assert "## What decides it" in cause.out and "## Fixes" in cause.out
    assert "Yields" in run("explain", "nccl-watchdog-timeout").out


def test_explain_helps_with_a_typing_error(run: Run) -> None:
    seen = run("explain", "cuda-om")
    assert (seen.code, seen.out) == (2, "")
    assert "no such cause or pattern" in seen.err and "cuda-oom" in seen.err


def test_the_action_writes_summary_outputs_and_one_annotation(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "LOGSLEUTH_LOGS": f"{FAILED}\n\n",
        "LOGSLEUTH_FAIL_ON": "failure",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output.txt"),
    }.items():
        monkeypatch.setenv(name, value)
    seen = run("action")
    assert seen.code == 1
    assert seen.out.startswith("::error title=LogSleuth")
    values = dict(line.split("=", 1) for line in (tmp_path / "output.txt").read_text(encoding="utf-8").splitlines())
    assert (values["verdict"], values["cause"], values["culprit-ranks"]) == ("failure", "rank-exception", "5")
    assert json.loads(Path(values["report-json"]).read_text(encoding="utf-8"))["verdict"] == "failure"
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## Failure")


def test_the_action_takes_no_options_for_paths(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGSLEUTH_LOGS", "--fail-on=never")
    seen = run("action")
    assert seen.code == 2
    assert "looks like an option" in seen.err
