"""The fault lab's own arithmetic, and one tiny real run where an interpreter with torch is given."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

from lab.accuracy import BEGIN, END, tables, write_between_markers
from lab.baselines import first_alarming_line, torchrun_root_cause
from lab.case import LabelError, check, load
from lab.logs import Logs
from lab.neutralise import Names, neutralise, read, write
from lab.plan import plan
from lab.run import relabel
from lab.score import Row, mark, share

REPOSITORY = pathlib.Path(__file__).parent.parent
FIXTURES = REPOSITORY / "tests" / "fixtures" / "lab"
KEPT = sorted(path.parent for path in FIXTURES.glob("*/case.json"))

NAMES = Names(
    paths={"/tmp/lab-1/train": "/opt/train", "/tmp/lab-1": "/scratch", "/srv/venv": "/opt/venv"},
    hosts={"gpu7": "node-a", "gpu7.example.org": "node-a", "192.168.3.7": "node-a"},
    user="ada",
)

TABLE = """\
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2030-01-02_03:04:05
  host      : node-a
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 700)  (SIGTERM)
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2030-01-02_03:04:05
  host      : node-a
  rank      : 5 (local_rank: 1)
  exitcode  : -9 (pid: 701)  (SIGKILL)
"""


# --- neutralise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ('File "/tmp/lab-1/train/main.py", line 3', 'File "/opt/train/main.py", line 3'),
        ("binary: /srv/venv/bin/python3", "binary: /opt/venv/bin/python3"),
        ("/tmp/lab-12/train stays", "/tmp/lab-12/train stays"),
        ("  host      : gpu7.example.org", "  host      : node-a"),
        ("The node 'gpu7_4711_0' has joined", "The node 'node-a_4711_0' has joined"),
        ("gpu72 and mygpu7 stay", "gpu72 and mygpu7 stay"),
        ("remote=[::ffff:192.168.3.7]:29500", "remote=[::ffff:10.0.0.1]:29500"),
        ("/home/ada/.cache, ada@gpu7", "/home/user/.cache, user@node-a"),
        ("localhost, 127.0.0.1, Canada", "localhost, 127.0.0.1, Canada"),
    ],
)
def test_neutralise_replaces_whole_names_only(text: str, neutral: str) -> None:
    assert neutralise(text, NAMES) == neutral


def test_a_second_node_gets_its_own_name_and_address() -> None:
    assert neutralise("gpu7 192.168.3.7", NAMES.on_host("node-b")) == "node-b 10.0.0.2"


def test_bytes_survive_the_round_trip(tmp_path: pathlib.Path) -> None:
    raw = b"50%|#####     | 1/2\r100%|##########| 2/2\r\n\xff\xfe broken \xf0\x9f\x8f\x96\n"
    (tmp_path / "in.log").write_bytes(raw)
    write(tmp_path / "out.log", neutralise(read(tmp_path / "in.log"), NAMES))
    assert (tmp_path / "out.log").read_bytes() == raw


# --- reading logs for labels and baselines ---------------------------------------------------------------------------


def test_lines_belong_to_the_rank_that_they_or_their_file_name() -> None:
    logs = Logs(
        {
            "job.log": "[rank2]: Traceback\n[default3]:hello\n[default1]:[rank5]: nested\nnobody\n",
            "logs/x_1/attempt_0/2/stderr.log": "plain line\n",
            "worker-2.log": "another\n",
        }
    )
    assert logs.of_rank(2).splitlines() == ["[rank2]: Traceback", "plain line", "another"]
    assert logs.of_rank(3) == "[default3]:hello"
    assert logs.ranks_showing("nested", range(8)) == (5,)


def test_torchruns_table_is_read_with_its_root_cause() -> None:
    logs = Logs({"job.log": TABLE})
    assert [(row.rank, row.exitcode, row.first) for row in logs.table()] == [(0, -15, False), (5, -9, True)]
    assert logs.exited_with(-9, range(8)) == (5,)
    assert torchrun_root_cause(logs) == [5]


def test_the_first_alarming_line_answers_only_with_a_rank() -> None:
    assert first_alarming_line(Logs({"job.log": "step 1\n[rank3]: KeyError\n[rank1]: timeout\n"})) == [3]
    assert first_alarming_line(Logs({"job.log": "an Exception of nobody\n[rank1]: error\n"})) == []
    assert first_alarming_line(Logs({"job.log": "fine\n"})) == []


# --- score -----------------------------------------------------------------------------------------------------------


def _case(cause: str, ranks: list[Any], injected: list[int], **expect: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "expect": {"cause": cause, "culprit_ranks": ranks, **expect},
        "provenance": {"injected": [{"ranks": injected}]},
    }


def _report(cause: str | None, ranks: list[int], confidence: str = "medium", **more: Any) -> dict[str, Any]:
    root = {"cause": cause, "role": "root-cause", "ranks": ranks, "confidence": confidence, **more}
    return {"verdict": "failure" if cause else "no-failure", "diagnoses": [root] if cause else []}


def test_the_right_cause_and_rank() -> None:
    case = _case("segfault", [2], [2], also_ok=["process-died-unexplained"], never=["cuda-oom"])
    got, marks = mark(case, _report("segfault", [2], "high"))
    assert got == "segfault"
    assert marks == {"strict": 1, "lenient": 1, "never": 1, "ranks": 1, "innocent": 1, "high": 1}


def test_a_defensible_cause_with_an_innocent_rank() -> None:
    case = _case("segfault", [2], [2], also_ok=["process-died-unexplained"], never=["cuda-oom"])
    _, marks = mark(case, _report("process-died-unexplained", [0], "high"))
    assert marks == {"strict": 0, "lenient": 1, "never": 1, "ranks": 0, "innocent": 0, "high": 1}


def test_a_forbidden_cause_said_with_certainty() -> None:
    case = _case("segfault", [2], [2], never=["cuda-oom"])
    _, marks = mark(case, _report("cuda-oom", [], "high"))
    assert marks == {"strict": 0, "lenient": 0, "never": 0, "ranks": 0, "high": 0}


def test_restraint_and_several_defensible_rank_sets() -> None:
    assert mark(_case("port-in-use", [], []), _report("port-in-use", [0]))[1]["restraint"] == 0
    assert mark(_case("port-in-use", [], []), _report("port-in-use", []))[1]["restraint"] == 1
    either = _case("port-in-use", [[], [0, 1]], [])
    assert mark(either, _report("port-in-use", [1, 0]))[1]["ranks"] == 1
    assert mark(either, _report("port-in-use", [0]))[1]["ranks"] == 0


def test_a_healthy_run_wants_no_root_cause() -> None:
    case = _case("no-failure", [], [0, 1])
    assert mark(case, _report(None, []))[1]["strict"] == 1
    undecided = {"verdict": "inconclusive", "diagnoses": []}
    assert (mark(case, undecided)[1]["strict"], mark(case, undecided)[1]["lenient"]) == (0, 1)
    assert mark(case, _report("segfault", [0]))[1]["innocent"] == 0


def test_fixes_and_facts_are_searched_in_their_places() -> None:
    case = _case("segfault", [], [], fix_mentions=["gdb"], facts={"signal": "SIGSEGV", "pid": 17})
    report = _report(
        "segfault", [], fixes=[{"steps": [{"command": "GDB python core"}]}], evidence=[{"text": "sigsegv"}]
    )
    marks = mark(case, report)[1]
    assert (marks["fix"], marks["facts"]) == (1, 0.5)


def test_tables_count_answers_and_compare_baselines(tmp_path: pathlib.Path) -> None:
    rows = [
        Row("a", "segfault", "segfault", {"strict": 1.0, "lenient": 1.0, "ranks": 1.0}),
        Row("b", "segfault", "cuda-oom", {"strict": 0.0, "lenient": 0.0, "ranks": 0.0}),
    ]
    assert share(rows, "strict") == (0.5, 2)
    assert share(rows, "restraint") == (None, 0)
    text = tables(rows, {"torchrun": [Row("a", "segfault", "1", {"ranks": 0.0})]}, "logsleuth", "2.13.0")
    assert "| segfault | 2 | 50 % | 50 % | segfault 1, cuda-oom 1 |" in text
    assert "| ranks right, where the logs point at some | 50 % of 2 | 0 % of 1 |" in text
    page = tmp_path / "accuracy.md"
    page.write_text(f"head\n{BEGIN}\nold\n{END}\ntail\n")
    write_between_markers(page, text)
    assert page.read_text().startswith(f"head\n{BEGIN}\n\n2 runs")
    assert page.read_text().endswith(f"{END}\ntail\n")
    page.write_text("no markers")
    with pytest.raises(ValueError, match="followed by"):
        write_between_markers(page, text)


# --- the plan and the labels -----------------------------------------------------------------------------------------


def test_the_plan_is_deterministic_and_follows_the_seed() -> None:
    assert [run.id for run in plan(7)] == [run.id for run in plan(7)]
    assert [run.id for run in plan(7)] != [run.id for run in plan(8)]


def test_the_plan_covers_every_layout_and_cpu_runs_need_no_gpu() -> None:
    runs = plan(7)
    assert len(runs) >= 60
    assert {run.layout.value for run in runs} == {
        "console",
        "tee",
        "log-dir",
        "agent-only",
        "two-nodes",
        "per-rank",
        "spawn",
    }
    assert not any("gpu-nccl" in run.needs for run in runs)
    assert all("gpu-nccl" in run.needs for run in plan(7, "nccl"))


def test_injected_ranks_exist() -> None:
    for run in plan(7):
        assert all(0 <= rank < run.world_size for rank in run.culprits), run.id


def test_a_label_must_be_borne_out_by_its_logs() -> None:
    case, logs = load(KEPT[0])
    check(case, logs)
    case["expect"]["facts"] = {"signal": "SIGNOTHING"}
    with pytest.raises(LabelError, match="SIGNOTHING"):
        check(case, logs)
    del case["why"]
    with pytest.raises(LabelError, match="no field why"):
        check(case, logs)


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_run_has_a_sound_label_and_names_no_machine(folder: pathlib.Path) -> None:
    case, logs = load(folder)
    check(case, logs)
    assert case["id"] == folder.name
    assert sum(len(text) for text in logs.files.values()) < 30 * 1024
    assert "/tmp/lab-" not in logs.text
    assert "/root/" not in logs.text


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_the_label_of_a_kept_run_follows_from_its_logs(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    case, _ = load(folder)
    runs = [run for run in plan(case["provenance"]["seed"]) if run.id == case["id"]]
    assert len(runs) == 1
    shutil.copytree(folder, tmp_path / case["family"] / case["id"])
    assert relabel(runs, tmp_path) == []


# --- a real run ------------------------------------------------------------------------------------------------------


def _has_torch(python: str | None) -> bool:
    return bool(python) and subprocess.run([str(python), "-c", "import torch"], capture_output=True).returncode == 0


@pytest.fixture
def torchrun() -> str:
    python = os.environ.get("LOGSLEUTH_LAB_PYTHON")
    if not _has_torch(python):
        pytest.skip("LOGSLEUTH_LAB_PYTHON names no interpreter that can import torch, so no job can be started")
    return str(pathlib.Path(str(python)).parent / "torchrun")


def test_one_real_run_becomes_a_case_and_is_kept(torchrun: str, tmp_path: pathlib.Path) -> None:
    argv = [sys.executable, "-m", "lab", "run", "--out", str(tmp_path), "--torchrun", torchrun]
    argv += ["--only", "missing-module-all-console"]
    first = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True)
    assert "1 made" in first.stdout, first.stdout + first.stderr
    (folder,) = (path.parent for path in tmp_path.rglob("case.json"))
    case, logs = load(folder)
    assert case["expect"]["cause"] == "rank-exception"
    assert "No module named 'flash_kernels'" in logs.text
    assert torchrun.rsplit("/", 2)[0] not in logs.text + json.dumps(case)
    assert "1 kept" in subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True).stdout


def test_without_torch_the_lab_says_so_in_one_sentence(tmp_path: pathlib.Path) -> None:
    argv = [sys.executable, "-m", "lab", "run", "--out", str(tmp_path), "--torchrun", str(tmp_path / "torchrun")]
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("nothing run: no ")
    assert done.stderr.count("\n") == 1
