"""``logsleuth events``: the parser alone, for people and for scripts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logsleuth.cli.app import main

RANK_1 = """\
2024-03-01 10:00:00,000 INFO start
[rank1]:[E301 10:10:00.123456789 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=7, OpType=BROADCAST, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600088 milliseconds \
before timing out.
"""
RANK_0 = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/opt/train/train.py", line 12, in <module>
[rank0]: ValueError: bad batch
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("--kind", "exception")`` -> exit code, standard output and standard error, in a folder with two logs."""
    (tmp_path / "a.log").write_text(RANK_0)
    (tmp_path / "b.log").write_text(RANK_1)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, paths: tuple[str, ...] = ("a.log", "b.log")) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["logsleuth", "events", *paths, *arguments])
        with pytest.raises(SystemExit) as done:
            main()
        return int(done.value.code or 0), *capsys.readouterr()

    return run


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_table_has_one_line_an_event(run: Run) -> None:
    code, out, said = run("--role", "cause", "--role", "symptom")
    assert (code, said) == (0, "")
    head, first, second = out.splitlines()
    assert head.split() == ["place", "time", "rank", "host", "kind", "role", "pattern", "text"]
    assert first.split()[:3] == ["a.log:3", "0", "exception"]
    assert first.endswith("ValueError: bad batch")
    assert second.split()[:6] == ["b.log:2", "301", "10:10:00.123456789", "1", "collective-timeout", "symptom"]


def test_json_lines_hold_the_fields_of_the_fact(run: Run) -> None:
    (event,) = rows(run("-f", "jsonl", "--kind", "collective-timeout")[1])
    assert (event["source"], event["line"], event["rank"], event["rank_known_by"]) == (
        "b.log",
        2,
        1,
        "the line's prefix",
    )
    fact = event["fact"]
    assert (fact["op"], fact["seq"], fact["numel_in"], fact["timeout_ms"]) == ("BROADCAST", 7, 4096, 600000)
    assert fact["pg_guid"] is None
    assert event["text"] == RANK_1.splitlines()[1]


def test_json_is_one_array_and_csv_has_the_columns_of_the_table(run: Run) -> None:
    array = json.loads(run("--format", "json")[1])
    assert array == rows(run("--format", "jsonl")[1])
    table = list(csv.DictReader(io.StringIO(run("--format", "csv")[1])))
    assert [(row["place"], row["kind"]) for row in table] == [(f"{e['source']}:{e['line']}", e["kind"]) for e in array]


def test_nothing_found_is_still_json(run: Run) -> None:
    assert json.loads(run("--format", "json", "--kind", "xid")[1]) == []


@pytest.mark.parametrize(
    ("arguments", "sources"),
    [
        (["--rank", "0"], {"a.log"}),
        (["--rank", "0-3,7"], {"a.log", "b.log"}),
        (["--rank", "1", "--kind", "exception"], set()),
        (["--pattern", "nccl-watchdog-timeout"], {"b.log"}),
        (["--kind", "exception", "--kind", "collective-timeout"], {"a.log", "b.log"}),
        (["--since", "2024-03-01 10:05"], {"b.log"}),
        (["--since", "03-01 10:05", "--kind", "exception"], None),
        (["--since", "10:05", "--until", "10:15"], {"b.log"}),
        (["--until", "10:05:00"], set()),
        (["--until", "2024-03-01T10:10:00Z"], {"b.log"}),
        (["--since", "2024-03-02"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_filters(run: Run, arguments: list[str], sources: set[str] | None) -> None:
    code, out, said = run("-f", "jsonl", *arguments)
    if sources is None:
        assert (code, out) == (2, "")
        assert "no time" in said
    else:
        assert code == 0
        assert {row["source"] for row in rows(out)} == sources


def test_events_without_a_time_are_counted_when_a_time_is_asked_for(run: Run) -> None:
    code, out, said = run("--since", "2024-03-01", "-f", "jsonl", paths=("a.log",))
    assert (code, out, said) == (0, "", "events left out because they have no time: 1\n")


def test_zones_count_where_both_have_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.log").write_text(f"2024-03-01T12:00:00+02:00 {RANK_0.splitlines()[2]}\n")
    assert rows(run("-f", "jsonl", "--since", "2024-03-01 10:00Z", paths=("c.log",))[1])
    assert not rows(run("-f", "jsonl", "--since", "2024-03-01 11:00Z", paths=("c.log",))[1])
    assert rows(run("-f", "jsonl", "--since", "2024-03-01 11:00", paths=("c.log",))[1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "xml"], "--format xml: not one of table, json, jsonl, csv"),
        (["--kind", "exeption"], "did you mean exception"),
        (["--pattern", "nccl-watchdog-timeot"], "did you mean nccl-watchdog-timeout"),
        (["--role", "fallout"], "--role fallout: not known"),
        (["--rank", "3-1"], "--rank 3-1: expected ranks"),
        (["--patterns", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_told_and_exit_2(run: Run, arguments: list[str], sentence: str) -> None:
    code, out, said = run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in said


def test_nothing_to_read_exits_3(run: Run) -> None:
    code, out, said = run(paths=("none.log",))
    assert (code, out) == (3, "")
    assert "none.log: there is no such file or folder" in said


def test_a_table_tells_a_terminal_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.log").write_text("ValueError: bad\x07 \x9b31m\x1b]0;title\x07 batch\n")
    out = run("--kind", "exception", paths=("d.log",))[1]
    assert "ValueError: bad" in out
    assert all(char == "\n" or char.isprintable() for char in out)


def test_own_patterns_are_read(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "own" / "mine"
    own.mkdir(parents=True)
    (own / "my-note.yaml").write_text(
        "id: my-note\ntitle: Mine\nevent: note\nrole: context\nanchors: ['INFO start']\nregex: 'INFO start'\n"
        "samples: [{line: 'INFO start'}]\n"
    )
    (event,) = rows(run("-f", "jsonl", "--patterns", "own", "--pattern", "my-note")[1])
    assert (event["line"], event["kind"], event["text"]) == (1, "note", RANK_1.splitlines()[0])
