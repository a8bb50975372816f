"""The simulator: its model keeps its own laws, its wording is that of the catalog, its labels are well formed."""

from __future__ import annotations

import json
import pathlib
from collections import defaultdict

import pytest
import regex

import logsleuth
from lab.simulate.__main__ import main
from lab.simulate.engine import Rank
from lab.simulate.label import FIELDS, describe, save
from lab.simulate.layout import Layout, text_of
from lab.simulate.lines import Line
from lab.simulate.losses import Loss
from lab.simulate.mesh import flat, grid
from lab.simulate.plan import draw, plan
from lab.simulate.program import EQUAL_SIZES
from lab.simulate.run import Outcome, Run
from lab.simulate.stage import ALL_FAULTS, simulate
from lab.simulate.versions import VERSIONS
from logsleuth.catalog.spec import Catalog

SEED = 20
#: Small enough for every test run, wide enough to meet most faults.
SLICE = plan(24, SEED)
ONE_OF_EACH = [draw(number, SEED, fault) for number, fault in enumerate(sorted(ALL_FAULTS))]
#: Facts whose line says it all by itself; a traceback and a table are read as a whole.
BY_LINE = frozenset(
    {
        "wait", "counters", "signalled", "stuck", "remote-error", "ib", "connect", "oom", "kernel-oom",
        "kernel-segfault", "xid", "limit", "preempt", "node-failure", "oom-step", "host-work", "progress",
        "finished", "init-start", "init-complete", "init-timeout", "nccl-system-error", "actor-died", "segfault",
    }
)  # fmt: skip


# --- the model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", ONE_OF_EACH, ids=lambda run: run.id)
def test_a_collective_completes_only_if_every_partner_entered_it(run: Run) -> None:
    _, outcome = simulate(run)
    completed = [work for rank in outcome.ranks.values() for work in rank.works if work.completed_s is not None]
    by_place = defaultdict(dict)
    for work in completed:
        if work.call.pair is None:
            by_place[work.call.group.number, work.seq][work.rank] = work
    for (group, _), works in by_place.items():
        assert set(works) == set(run.mesh.groups[group].members)
        assert len({work.call.op for work in works.values()}) == 1
        if next(iter(works.values())).call.op in EQUAL_SIZES:
            assert len({(work.call.numel_in, work.call.numel_out) for work in works.values()}) == 1
        assert max(work.started_s or 0 for work in works.values()) <= min(
            work.completed_s or 0 for work in works.values()
        )


@pytest.mark.parametrize("run", ONE_OF_EACH, ids=lambda run: run.id)
def test_nobody_gets_past_a_work_that_is_stuck(run: Run) -> None:
    _, outcome = simulate(run)
    for rank in outcome.ranks.values():
        finished = [work.completed_s is not None for work in rank.works]
        assert finished == sorted(finished, reverse=True)
        for number in {work.call.group.number for work in rank.works}:
            mine = [work.seq for work in rank.works if work.call.group.number == number]
            assert mine == list(range(mine[0], mine[0] + len(mine)))
        assert_counters_agree(rank)


def assert_counters_agree(rank: Rank) -> None:
    for group in {work.call.group.number: work.call.group for work in rank.works}.values():
        enqueued, started, completed = rank.counters(group, float("inf"))
        assert enqueued >= started >= completed


def test_the_absent_rank_alone_is_short_of_the_work_that_the_others_wait_in() -> None:
    run = Run(3, SEED, "finished", VERSIONS["2.7"], Layout.RANK_FILES, Loss.NOTHING, flat(8, 4))
    _, outcome = simulate(run)
    (culprit,) = outcome.culprits
    assert outcome.root is not None
    group, number = outcome.root
    world = run.mesh.groups[group]
    last = {rank: state.counters(world, float("inf"))[0] for rank, state in outcome.ranks.items()}
    assert {rank for rank, enqueued in last.items() if enqueued < (number or 0)} == {culprit}


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("shape", [(2, 4, 1), (2, 2, 2), (4, 4, 4)], ids=str)
def test_a_chain_of_groups_ends_at_the_rank_that_stayed_away(number: int, shape: tuple[int, int, int]) -> None:
    """Tensor groups wait for ranks that wait in data groups; only the culprit waits nowhere."""
    mesh = grid(*shape, 4, megatron=True)
    run = Run(number, SEED, "skips-dp", VERSIONS["2.6"], Layout.RANK_FILES, Loss.NOTHING, mesh)
    _, outcome = simulate(run)
    waiting = {rank for rank, state in outcome.ranks.items() if state.stuck()}
    groups = {number for state in outcome.ranks.values() for number in state.stuck()}
    assert set(mesh.ranks) - waiting == set(outcome.culprits)
    assert len({mesh.groups[number].kind for number in groups}) > 1


# --- wording, layouts ----------------------------------------------------------------------------------------------


def regexes(catalog: Catalog) -> list[tuple[tuple[str, ...], regex.Pattern[str]]]:
    return [(it.anchors, regex.compile(it.regex)) for it in catalog.patterns.values() if it.regex is not None]


@pytest.mark.parametrize("name", sorted(VERSIONS))
def test_the_catalog_reads_every_line_that_matters(name: str, catalog: Catalog) -> None:
    known = regexes(catalog)
    lines: dict[str, Line] = {}
    for number, fault in enumerate(sorted(ALL_FAULTS)):
        drawn = draw(number, SEED, fault)
        if fault == "gil" and not VERSIONS[name].heartbeat_s:
            continue
        run = Run(number, SEED, fault, VERSIONS[name], drawn.layout, Loss.NOTHING, drawn.mesh)
        for kept in simulate(run)[1].files.values():
            for it in kept:
                kinds = {tell.kind for tell in it.line.tells} & BY_LINE
                if kinds:
                    lines.setdefault(" ".join(sorted(kinds)) + regex.sub(r"\d+", "", it.line.text[:60]), it.line)
    unread = [line.text for line in lines.values() if not read_by(known, line.text)]
    assert unread == []


def read_by(known: list[tuple[tuple[str, ...], regex.Pattern[str]]], text: str) -> bool:
    return any(any(anchor in text for anchor in anchors) and pattern.search(text) for anchors, pattern in known)


@pytest.mark.parametrize("name", [name for name, torch in VERSIONS.items() if torch.sequence])
def test_a_timeout_line_carries_the_work_of_the_model(name: str, catalog: Catalog) -> None:
    run = Run(8, SEED, "elsewhere", VERSIONS[name], Layout.CONSOLE, Loss.NOTHING, flat(4, 4))
    _, outcome = simulate(run)
    pattern = regex.compile(catalog.patterns["nccl-watchdog-timeout"].regex or "")
    found = {}
    for it in outcome.files["train.log"]:
        match = pattern.search(it.line.text)
        if match is not None and it.line.rank is not None:
            found[it.line.rank] = (int(match["seq"]), match["op"])
    expected = {rank: state.stuck()[0] for rank, state in outcome.ranks.items() if state.stuck()}
    assert found == {rank: (work.seq, work.call.op) for rank, work in expected.items()}


def test_each_layout_keeps_the_same_words() -> None:
    """What a worker says does not depend on how it is kept; only prefixes and files do."""
    spoken = {}
    for layout in (Layout.CONSOLE, Layout.TEE, Layout.LOG_DIR):
        run = Run(9, SEED, "cuda-oom", VERSIONS["2.6"], layout, Loss.NOTHING, flat(4, 4))
        _, outcome = simulate(run)
        spoken[layout] = sorted(it.line.text for kept in outcome.files.values() for it in kept)
    assert spoken[Layout.CONSOLE] == spoken[Layout.TEE] == spoken[Layout.LOG_DIR]


# --- labels --------------------------------------------------------------------------------------------------------


def texts(outcome: Outcome) -> dict[str, str]:
    return {path: text_of(kept) for path, kept in outcome.files.items()}


def test_a_run_follows_from_seed_and_number_alone() -> None:
    assert plan(6, SEED) == plan(24, SEED)[:6]
    for run in SLICE[:6]:
        first, second = simulate(run), simulate(run)
        assert texts(first[1]) == texts(second[1])
        assert describe(*first) == describe(*second)
    assert texts(simulate(SLICE[0])[1]) != texts(simulate(draw(0, SEED + 1, SLICE[0].fault))[1])


@pytest.mark.parametrize("run", ONE_OF_EACH, ids=lambda run: run.id)
def test_a_label_is_well_formed(run: Run, catalog: Catalog) -> None:
    scene, outcome = simulate(run)
    case = describe(scene, outcome)
    expect = case["expect"]
    assert set(case) == set(FIELDS)
    assert {expect["cause"], *expect["also_ok"], *expect["never"]} <= set(catalog.causes)
    assert not {expect["cause"], *expect["also_ok"]} & set(expect["never"])
    sets = expect["culprit_ranks"]
    named = {rank for it in sets for rank in it} if sets and isinstance(sets[0], list) else set(sets)
    assert named <= set(outcome.culprits)


def test_without_the_culprits_log_nobody_is_blamed_for_an_exception() -> None:
    run = Run(2, SEED, "exception", VERSIONS["2.4"], Layout.RANK_FILES, Loss.NOTHING, flat(4, 4))
    whole = describe(*simulate(run))["expect"]
    assert whole["cause"] == "rank-exception"
    lost = Run(2, SEED, "exception", VERSIONS["2.4"], Layout.RANK_FILES, Loss.CULPRIT, flat(4, 4))
    assert describe(*simulate(lost))["expect"]["cause"].endswith("-unexplained")


def test_the_command_writes_case_folders(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path), "--runs", "2", "--seed", str(SEED), "--only", "finished"]) == 0
    folders = sorted((tmp_path / "simulated").iterdir())
    assert len(folders) == 2 and "2 cases" in capsys.readouterr().out
    for folder in folders:
        assert json.loads((folder / "case.json").read_text())["simulated"]["fault"] == "finished"
        assert [path for path in folder.rglob("*") if path.suffix != ".json" and path.is_file()]


# --- the analyzer on a slice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", SLICE, ids=lambda run: run.id)
def test_no_innocent_rank_is_accused_with_high_confidence(run: Run, tmp_path: pathlib.Path) -> None:
    scene, outcome = simulate(run)
    save(tmp_path, scene, outcome)
    (tmp_path / "case.json").unlink()
    report = logsleuth.analyze([str(tmp_path)], hung="--hung" in outcome.args)
    assert not [note for note in report.notes if "failed and was left out" in note]
    for diagnosis in report.diagnoses:
        if diagnosis.role == "root-cause" and diagnosis.confidence == "high":
            assert set(diagnosis.ranks) <= set(outcome.culprits), diagnosis.summary
