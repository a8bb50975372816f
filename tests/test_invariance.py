"""What must not change the answer: the order of files, names of hosts, harmless lines, one innocent rank's log less."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, analyze, answer, known_gaps, load_cases, report_of, shared_catalog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logsleuth.catalog.spec import PatternSpec
from logsleuth.report.json import render_json
from logsleuth.sources.prefixes import read_prefix

CASES = load_cases()
OF_SEVERAL_FILES = [case for case in CASES if len(case.logs) > 1]
OF_ONE_FILE = [case for case in CASES if len(case.logs) == 1]
#: The same examples in every run: a failure of today is a failure of tomorrow.
steady = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
#: Without a prefix that tells whose it is, such a line can only be read right behind the one before it.
_CONTINUES = re.compile(
    r"""(?x) \s | $ | frame\ \# | Exception\ raised\ from | [=*-]{20,}
    | Failures: | Root\ Cause | Other\ Failures | \S+\ FAILED$ | \[\d+\]:              # torchelastic's table
    | Last\ error: | nccl\w+Error: | socket\w+:\ | CUDA\ kernel | For\ debugging | Compile\ with
    | Original\ Traceback | Successfully\ processed | terminate\ called | \S*(?:Error|Exception|Interrupt)\b"""
)


def benign_samples() -> dict[str, tuple[PatternSpec, str]]:
    """Every sample of every benign pattern, by a readable name."""
    return {
        f"{pattern.id}-{number}": (pattern, sample.text)
        for pattern in sorted(shared_catalog().patterns.values(), key=lambda p: p.id)
        if pattern.role == "benign"
        for number, sample in enumerate(pattern.samples)
    }


@functools.cache
def harmless_lines() -> tuple[str, ...]:
    """The messages of benign patterns, without the prefixes that say who printed them."""
    messages = {read_prefix(text).text.strip() for _, text in benign_samples().values() if "\n" not in text}
    names_a_rank = re.compile(r"rank ?=?\d|\[rank|\bpid\b|:\d+:\d+ \[", re.IGNORECASE)
    return tuple(sorted(message for message in messages if not names_a_rank.search(message)))


def copy_of(case: Case, folder: Path) -> list[Path]:
    """The case's logs in a fresh folder, in the same layout."""
    if folder.exists():
        shutil.rmtree(folder)
    for path in case.logs:
        target = folder / path.relative_to(case.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return [folder / path.relative_to(case.folder) for path in case.logs]


@pytest.mark.parametrize("case", OF_SEVERAL_FILES, ids=lambda c: c.name)
@given(data=st.data())
@settings(steady, max_examples=2)
def test_the_order_of_files_changes_nothing(case: Case, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(case.logs))
    assert render_json(analyze(shuffled, hung=case.hung)) == render_json(report_of(case.folder))


@pytest.mark.parametrize("case", [c for c in CASES if c.data["hosts"]], ids=lambda c: c.name)
@given(data=st.data())
@settings(steady, max_examples=1)
def test_names_of_hosts_are_only_names(case: Case, tmp_path: Path, data: st.DataObject) -> None:
    hosts = case.data["hosts"]
    shape = data.draw(st.sampled_from(["node-{}", "gpu{:03d}", "cn{:04d}", "ip-10-1-{}-7"]))
    numbers = data.draw(st.lists(st.integers(1, 250), min_size=len(hosts), max_size=len(hosts), unique=True))
    renamed = dict(zip(hosts, map(shape.format, numbers), strict=True))
    name = re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, hosts)) + r")(?![\w-])")

    def rename(text: str) -> str:
        return name.sub(lambda match: renamed[match[0]], text)

    folder = tmp_path / "renamed"
    shutil.rmtree(folder, ignore_errors=True)
    paths = []
    for path in case.logs:
        target = folder / rename(str(path.relative_to(case.folder)))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(rename(path.read_bytes().decode("utf-8")).encode("utf-8"))
        paths.append(target)
    assert answer(analyze(paths, hung=case.hung)) == answer(report_of(case.folder))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@given(data=st.data())
@settings(steady, max_examples=2)
def test_harmless_lines_change_nothing(case: Case, tmp_path: Path, data: st.DataObject) -> None:
    paths = copy_of(case, tmp_path / "noisy")
    target = data.draw(st.sampled_from(paths), label="file")
    lines = target.read_bytes().decode("utf-8").split("\n")
    places = [n for n, line in enumerate(lines) if read_prefix(line).key or not _CONTINUES.match(line)]
    places += [0, len(lines)]
    noise = st.tuples(st.sampled_from(places), st.sampled_from(harmless_lines()))
    for place, line in sorted(data.draw(st.lists(noise, min_size=1, max_size=6), label="noise"), reverse=True):
        lines.insert(place, line)
    target.write_bytes("\n".join(lines).encode("utf-8"))
    assert answer(analyze(paths, hung=case.hung)) == answer(report_of(case.folder))


def at(number: int, digits: str) -> str:
    """The time at which a collector in UTC saw a line: in order, and on another clock than the job's."""
    return f"2025-09-14T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{digits}Z"


def docker(number: int, line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": at(number, "123456789")})


#: What a log looks like after somebody has collected it, line by line.
COLLECTORS: dict[str, Callable[[int, str], str]] = {
    "github": lambda number, line: f"{at(number, '1234567')} {line}",
    "docker": docker,
    "windows": lambda number, line: f"{line}\r",
}


def collected() -> list[Any]:
    """Each case of one file behind each collector; ``known_gap_collected`` of a case names those that lose it."""
    found = []
    for case in OF_ONE_FILE:
        gaps = case.data.get("known_gap_collected", {})
        for name in COLLECTORS:
            marks = pytest.mark.xfail(strict=True, reason=gaps[name]) if name in gaps else ()
            found.append(pytest.param(case, name, id=f"{case.name}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("case", "collector"), collected())
def test_a_collector_changes_nothing(case: Case, collector: str, tmp_path: Path) -> None:
    lines = case.logs[0].read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    log = tmp_path / "collected.log"
    wrapped = (COLLECTORS[collector](number, line) for number, line in enumerate(lines))
    log.write_bytes("".join(f"{line}\n" for line in wrapped).encode("utf-8"))
    assert answer(analyze([log], hung=case.hung)) == answer(report_of(case.folder))


@pytest.mark.parametrize(("pattern", "text"), benign_samples().values(), ids=benign_samples())
def test_a_benign_message_is_no_failure(pattern: PatternSpec, text: str, tmp_path: Path) -> None:
    """A note accuses nobody even as the last line; another fact is harmless where the run then ends well."""
    lines = ["epoch 0 step 10/500 loss 2.1", "epoch 0 step 20/500 loss 2.0", text]
    if pattern.event != "note":
        lines.append("Training completed in 0:12:40")
    log = tmp_path / "job.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert answer(analyze([log])) == ("no-failure", ())


@pytest.mark.parametrize("case", known_gaps(OF_SEVERAL_FILES, "known_gap_without_a_log"))
def test_a_missing_log_accuses_nobody_innocent(case: Case) -> None:
    """Without one of the innocent ranks' logs the answer may be weaker; it never blames another innocent rank."""
    guilty = set().union(*case.accused) | set(case.expect.get("root_ranks", ()))
    processes = report_of(case.folder).job.processes
    of_guilty = {name for p in processes if p.rank in guilty for name in p.sources}
    innocent = [path for path in case.logs if str(path) not in of_guilty]
    for path in innocent[:: max(1, len(innocent) // 3)]:
        report = analyze([other for other in case.logs if other != path], hung=case.hung)
        accused = {rank for d in report.root_causes for rank in d.ranks}
        assert accused <= guilty, f"without {path.name} {sorted(accused - guilty)} are accused"
