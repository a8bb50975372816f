"""The catalog keeps its promises, and authors are told where it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from logsleuth.catalog.load import CAUSES, load_catalog
from logsleuth.catalog.spec import Catalog
from logsleuth.cli.app import app, main
from logsleuth.patterncheck.lint import lint
from logsleuth.patterncheck.samples import read_events, sample_faults
from logsleuth.patterncheck.satisfiable import in_short, meeting
from logsleuth.patterncheck.skeleton import skeleton
from logsleuth.scan.index import build_index

#: Every root cause that LogSleuth knows; a new one is added here by hand.
COLLECTIVES = """
    collective-order-mismatch collective-shape-mismatch rank-missing-collective straggler-host-work p2p-order-deadlock
"""
PROCESSES = """
    rank-exception cuda-oom host-oom-kill shm-exhausted segfault dataloader-worker-killed storage-failure job-time-limit
    preempted-or-cancelled process-died-unexplained
"""
MACHINES = """
    gpu-fell-off-bus gpu-ecc-error nvlink-error gpu-hang-or-gsp-timeout illegal-memory-access device-side-assert
    cuda-error-unexplained driver-p2p-broken iommu-acs-blocks-p2p driver-runtime-mismatch fabric-manager-not-running
    nvls-multicast-failure kernel-too-old fd-or-memlock-limit
"""
TRANSPORT = """
    no-network-interface wrong-network-interface peer-unreachable ib-transport-error gpudirect-unavailable
    nccl-topology-failure nccl-version-mismatch nccl-plugin-failure duplicate-gpu invalid-device nccl-misconfiguration
    nccl-invalid-usage nccl-internal-error rank-device-mapping-unknown
"""
LAUNCH = """
    rendezvous-timeout master-unreachable port-in-use dns-failure world-size-mismatch stale-rendezvous-state store-lost
    backend-unavailable ddp-unused-parameters
"""
SYMPTOMS = """
    init-hang-unexplained collective-timeout-unexplained watchdog-stuck-unexplained peer-lost-unexplained no-failure
"""
TAXONOMY = " ".join((COLLECTIVES, PROCESSES, MACHINES, TRANSPORT, LAUNCH, SYMPTOMS)).split()


# --- what came with LogSleuth ----------------------------------------------------------------------------------------


def test_the_causes_are_those_of_the_taxonomy(catalog: Catalog) -> None:
    assert sorted(catalog.causes) == sorted(TAXONOMY)


def test_lint_finds_no_faults(catalog: Catalog) -> None:
    assert lint(catalog) == []


def test_every_sample_and_near_miss_is_read_as_its_file_says(catalog: Catalog) -> None:
    assert sample_faults(catalog) == []


@pytest.mark.parametrize("cause", TAXONOMY)
def test_every_rule_of_a_cause_can_be_met_by_a_pattern(cause: str, catalog: Catalog) -> None:
    spec = catalog.causes[cause]
    dead = [in_short(r) for r in (*spec.decided_by, *spec.suggests) if next(meeting(r, catalog), None) is None]
    assert dead == []


def test_no_two_patterns_read_the_same_fact_in_the_same_place(catalog: Catalog) -> None:
    index = build_index(catalog.patterns.values())
    twice = set()
    for pattern in catalog.patterns.values():
        for sample in pattern.samples:
            events = read_events(sample.text, index)
            mine = {(event.fact, event.locator.start) for event in events if event.pattern == pattern.id}
            others = [e for e in events if e.pattern != pattern.id and (e.fact, e.locator.start) in mine]
            twice |= {tuple(sorted((pattern.id, event.pattern))) for event in others}
    assert twice == set()


# --- a user's own folder ---------------------------------------------------------------------------------------------

GOOD = """\
id: {name}
title: Mine
event: note
role: context
anchors: ['anchor of mine']
regex: 'anchor of mine (?P<what>\\w+)'
samples:
  - line: 'anchor of mine here'
    expect: {{what: here}}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("patterns", "lint")`` -> exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["logsleuth", *arguments])
        with pytest.raises(SystemExit) as done:
            main()
        return int(done.value.code or 0), *capsys.readouterr()

    return run


def files(folder: Path, **texts: str) -> Path:
    """``folder`` with ``mine/<name>.yaml`` for each text; underscores of the names are dashes."""
    for name, text in texts.items():
        path = folder / "mine" / f"{name.replace('_', '-')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(name=path.stem), encoding="utf-8")
    return folder


def test_every_fault_of_form_is_told_at_once_with_its_line(run: Run, tmp_path: Path) -> None:
    folder = files(
        tmp_path,
        no_yaml="id: [\n",
        unknown_key=GOOD + "colour: red\n",
        no_title=GOOD.replace("title: Mine\n", ""),
        bad_role=GOOD.replace("role: context", "role: guilty"),
        other_id=GOOD.replace("{name}", "something-else"),
        short_anchor=GOOD.replace("['anchor of mine']", "['a']"),
        no_field=GOOD.replace("what: here", "whatever: here", 1),
    )
    (folder / CAUSES).mkdir()
    (folder / CAUSES / "half.yaml").write_text("id: half\ntitle: Half\nseverity: dreadful\n")
    code, out, said = run("patterns", "lint", "--patterns", str(folder))
    assert code == 2 and out.endswith(" 14 faults\n"), said
    told = {
        line.removeprefix("logsleuth: ").removeprefix(str(folder) + "/").partition(": ")[0]
        for line in said.splitlines()
    }
    assert told >= {
        "mine/no-yaml.yaml:2",
        "mine/unknown-key.yaml:10",
        "mine/no-title.yaml:1",
        "mine/bad-role.yaml:4",
        "mine/other-id.yaml:1",
        "mine/short-anchor.yaml:5",
        "mine/no-field.yaml:8",
        "causes/half.yaml:3",
        "causes/half.yaml:1",
    }
    assert run("events", str(folder), "--patterns", str(folder))[0] == 2
    assert run("analyze", str(folder), "--patterns", str(folder))[0] == 2


REGEX = r"regex: 'anchor of mine (?P<what>\w+)'"
SLOW = r"regex: 'anchor of mine (?:1|11|\d)+(?!\d|\Z)(?P<what>\w)'"
MISSES = "near_misses:\n  - 'none'\n  - 'anchor of mine x'"
#: What is wrong -> what is replaced in GOOD, by what, and what is said.
FAULTS = {
    "unknown kind": ("event: note", "event: notes", ":3: event 'notes' is no kind"),
    "broken regex": ("(?P<what>", "((?P<what>", ":6: regex: cannot be compiled"),
    "unknown group": ("(?P<what>", "(?P<colour>", ":6: regex: group 'colour' is no field of note"),
    "unknown field": ("regex:", "fields: {{colour: red}}\nregex:", ":6: fields: 'colour' is no field of note"),
    "constant and group": ("regex:", "fields: {{what: red}}\nregex:", ":7: regex: group 'what' is also a constant"),
    "other value": ("what: here", "what: there", ":8: sample 1: what is 'here', expected 'there'"),
    "no anchor": ("line: 'anchor", "line: 'Anchor", ":8: sample 1: holds none of the anchors"),
    "near miss": ("samples:", f"{MISSES}\nsamples:", ":9: near miss 2: matches"),
    "dropped": ("role: context", "role: cause\nkeep: latest-per-key", ":5: keep: a cause is never dropped"),
    "no parser": (REGEX, "parser: none-such", ":6: parser 'none-such' is not one of"),
    "slow": (REGEX, SLOW, ":6: regex: takes more than"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_of_meaning_is_told_with_its_line(name: str, run: Run, tmp_path: Path) -> None:
    old, new, sentence = FAULTS[name]
    assert old in GOOD
    folder = files(tmp_path, wrong=GOOD.replace(old, new))
    log = tmp_path / "a.log"
    log.write_text("anchor of mine x\n")
    code, _, said = run("events", str(log), "--patterns", str(folder))
    assert code == 2
    assert f"{folder}/mine/wrong.yaml{sentence}" in said


def test_faults_of_causes_are_told_with_their_line(catalog: Catalog, tmp_path: Path) -> None:
    text = Path(catalog.causes["port-in-use"].path).read_text(encoding="utf-8")
    wrong = text.replace("what: address-in-use", "what: address-in-usage").replace(
        "cause: world-size-mismatch", "cause: x"
    )
    (tmp_path / CAUSES).mkdir()
    (tmp_path / CAUSES / "port-in-use.yaml").write_text(wrong, encoding="utf-8")
    line = 1 + text.splitlines().index("  - event: store-error")
    faults = lint(load_catalog([tmp_path]), [tmp_path])
    assert [fault.removeprefix(f"{tmp_path}/{CAUSES}/port-in-use.yaml:") for fault in faults] == [
        f"{line}: decided_by 1: no pattern yields store-error (what: address-in-usage) as cause",
        f"{1 + text.splitlines().index('look_alikes:')}: names the cause 'x', which does not exist",
    ]


def test_own_patterns_add_and_override(run: Run, catalog: Catalog, tmp_path: Path) -> None:
    folder = files(tmp_path, my_own=GOOD, nccl_watchdog_timeout=GOOD)
    code, out, _ = run("patterns", "list", "--json", "--patterns", str(folder))
    listed = {entry["id"]: entry for entry in json.loads(out)}
    assert code == 0
    assert listed.keys() == catalog.patterns.keys() | {"my-own"}
    assert listed["nccl-watchdog-timeout"]["title"] == listed["my-own"]["title"] == "Mine"
    assert listed["my-own"]["family"] == "mine"


def test_a_folder_that_is_not_there_is_no_empty_folder(run: Run) -> None:
    code, _, said = run("patterns", "lint", "--patterns", "nowhere")
    assert code == 2
    assert "nowhere" in said


def test_samples_are_read_with_all_other_patterns_beside_them(run: Run, tmp_path: Path) -> None:
    folder = files(tmp_path, my_own=GOOD, my_other=GOOD.replace("what: here", "what: there"))
    assert run("patterns", "test", "my-own", "--patterns", str(folder))[:2] == (
        0,
        "1 patterns, 1 samples, 0 near misses, 0 faults\n",
    )
    code, out, said = run("patterns", "test", "my-other", "my-own", "--patterns", str(folder))
    assert (code, out) == (2, "2 patterns, 2 samples, 0 near misses, 1 faults\n")
    assert said == f"{folder}/mine/my-other.yaml:8: sample 1: what is 'here', expected 'there'\n"
    assert run("patterns", "test", "none-such")[0] == 2


def test_analyze_refuses_own_patterns_that_lint_refuses(run: Run, tmp_path: Path) -> None:
    folder = files(tmp_path, no_field=GOOD.replace("what: here", "whatever: here", 1))
    code, out, said = run("analyze", str(folder), "--patterns", str(folder))
    assert (code, out) == (2, "")
    assert f"{folder}/mine/no-field.yaml:8: sample 1: 'whatever' is no field of note" in said


# --- what no pattern reads -------------------------------------------------------------------------------------------


def test_unread_lines_are_counted_by_kind_over_all_files(run: Run, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(
        "step 1\nfrob error: slot 7 of 10.0.0.1 is gone\nfrob error: slot 8 of 10.0.0.2 is gone\n"
    )
    (logs / "b.log").write_text("frob error: slot 9 of 10.0.0.3 is gone\nTypeError: x\nERROR the cat is out\n")
    code, out, said = run("patterns", "unread", str(logs))
    assert (code, said) == (0, "2 kinds, 4 lines\n")
    assert out.splitlines() == [
        "      3     2  frob error: slot 7 of 10.0.0.1 is gone",
        "      1     1  ERROR the cat is out",
    ]
    listed = json.loads(run("patterns", "unread", str(logs), "--json")[1])
    assert listed[0]["masked"] == "frob error: slot <N> of <IP> is gone"
    assert [Path(name).name for name in listed[0]["sources"]] == ["a.log", "b.log"]


def test_what_own_patterns_read_is_no_longer_unread(run: Run, tmp_path: Path) -> None:
    mine = files(tmp_path / "own", my_own=GOOD.replace("anchor of mine", "ERROR anchor of mine"))
    log = tmp_path / "a.log"
    log.write_text("ERROR anchor of mine here\nERROR anchor of yours here\n")
    assert run("patterns", "unread", str(log), "--patterns", str(mine))[1] == (
        "      1     1  ERROR anchor of yours here\n"
    )


# --- a new pattern ---------------------------------------------------------------------------------------------------

LINE = "[rank3]:[E606 08:12:47.123456789 Frob.cpp:12] [Rank 3] It's frobnicating collective 1580 on /dev/x (pid: 4711)"


def test_a_skeleton_keeps_the_literals_and_turns_numbers_into_groups() -> None:
    text = skeleton(LINE, "my-frob", "process-exit", "symptom")
    made = yaml.safe_load(text)
    assert (made["id"], made["event"], made["role"]) == ("my-frob", "process-exit", "symptom")
    assert made["anchors"] == ["It's frobnicating collective"]
    assert made["samples"][0]["line"] == LINE.partition("Frob.cpp:12] ")[2]
    assert made["samples"][0]["expect"] == {"rank": 3, "pid": 4711}
    assert made["regex"] == (
        r"\[Rank\s+(?P<rank>\d+)\]\s+It's\s+frobnicating\s+collective\s+\d+\s+on\s+\S+?\s+\(pid:\s+(?P<pid>\d+)\)"
    )


def test_a_skeleton_of_any_known_line_passes_lint_and_reads_its_line(catalog: Catalog, tmp_path: Path) -> None:
    chosen = list(catalog.patterns.values())[::12]
    for number, pattern in enumerate(chosen):
        path = tmp_path / "mine" / f"made-{number}.yaml"
        path.parent.mkdir(exist_ok=True)
        line = pattern.samples[0].text.splitlines()[0]
        path.write_text(skeleton(line, path.stem, pattern.event, pattern.role), encoding="utf-8")
    made = load_catalog([tmp_path])
    assert lint(made, [tmp_path]) == []
    assert sample_faults(made, [f"made-{number}" for number in range(len(chosen))]) == []


def test_new_tells_what_reads_the_line_already() -> None:
    done = CliRunner().invoke(
        app, ["patterns", "new", "--id", "mine", "ncclSystemError: OSError: [Errno 98] Address already in use"]
    )
    assert done.exit_code == 0
    assert "already read by python-address-in-use" in done.stderr
    assert yaml.safe_load(done.stdout)["id"] == "mine"


@pytest.mark.parametrize("arguments", [["--event", "x"], ["--role", "x"], ["--id", "Not An Id"], ["123 456"]], ids=str)
def test_new_needs_a_line_and_known_words(arguments: list[str], run: Run) -> None:
    line = [] if arguments == ["123 456"] else ["some words of a line"]
    assert run("patterns", "new", *line, *arguments)[0] == 2
