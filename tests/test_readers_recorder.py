"""The flight recorder's dumps, as a scan of one source gives them."""

from __future__ import annotations

import io
import json
import os
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from logsleuth.model.events import EnvFact, Event, RecordedGroup
from logsleuth.model.scan import SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import PatternIndex, build_index
from logsleuth.scan.readers import recorder
from logsleuth.scan.readers.dump import read_dump
from logsleuth.scan.readers.pickles import plain_value
from logsleuth.scan.readers.whole import UnreadableError
from logsleuth.scan.run import scan_source
from logsleuth.sources.discover import discover
from logsleuth.sources.layouts import origin_of_path
from logsleuth.sources.openers import HeldBytes

CREATED_NS = 1_760_000_000_250_000_000
INDEX = build_index([])


def scan(data: bytes, name: str = "nccl_trace_rank_3", index: PatternIndex = INDEX) -> SourceScan:
    return scan_source(Source(name, name, HeldBytes(data), origin_of_path(name), len(data)), index)


def entry(number: int, name: str = "nccl:all_reduce", state: str = "scheduled", **other: Any) -> dict[str, Any]:
    """An entry of format 2.x in group 0, its sequence number that of the record."""
    return {
        "record_id": 100 + number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": name,
        "time_created_ns": CREATED_NS + number,
        "input_sizes": [[4, 3]],
        "input_dtypes": ["Float"],
        "output_sizes": [[8, 3]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": state == "completed",
        "timeout_ms": 600000,
        "is_p2p": False,
        **other,
    }


def p2p(number: int, name: str, state: str = "scheduled", **other: Any) -> dict[str, Any]:
    return entry(number, name, state, collective_seq_id=0, p2p_seq_id=number, is_p2p=True, **other)


def numbers(enqueued: int, completed: int) -> dict[str, int]:
    return {
        "last_enqueued_collective": enqueued,
        "last_started_collective": -1,
        "last_completed_collective": completed,
    }


def dump(entries: list[dict[str, Any]], enqueued: int = 9, completed: int = 8, **other: Any) -> dict[str, Any]:
    return {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "nccl_version": "2.27.3",
        "pg_status": {"0": numbers(enqueued, completed)},
        "entries": entries,
        **other,
    }


def pickled(value: object, protocol: int = 2) -> bytes:
    return pickle.dumps(value, protocol=protocol)


def groups(scanned: SourceScan) -> dict[str | None, tuple[RecordedGroup, Event]]:
    assert not scanned.digest.flags
    return {e.fact.pg_guid: (e.fact, e) for e in scanned.events if isinstance(e.fact, RecordedGroup)}


def only(entries: list[dict[str, Any]], **other: Any) -> RecordedGroup:
    found = groups(scan(pickled(dump(entries, **other))))
    assert list(found) == ["0"]
    return found["0"][0]


# --- the recorder: what a dump tells ---------------------------------------------------------------------------------

FRAMES = [
    {"name": "all_reduce", "filename": "/opt/env/lib/python3.11/site-packages/torch/distributed/c10d.py", "line": 30},
    {"name": "wrapper", "filename": "/build/pytorch/torch/distributed/c10d_logger.py", "line": 83},
    {"name": "at::native::sum", "filename": "/build/aten/Reduce.cpp", "line": 9},
    {"name": "step", "filename": "/opt/train/loop.py", "line": 41},
    {"name": "<module>", "filename": "/opt/train/main.py", "line": 7},
]
HUNG = dump([entry(8, state="completed"), entry(9, "nccl:_all_gather_base", frames=FRAMES)])


def test_the_first_unfinished_work_of_a_group_is_told() -> None:
    scanned = scan(pickled(HUNG), "logs/comm_lib_trace_rank_3")
    fact, event = groups(scanned)["0"]
    assert fact == RecordedGroup(
        pg_guid="0",
        pg_desc="default_pg",
        members=(0, 1, 2, 3),
        seq=9,
        op="_ALLGATHER_BASE",
        state="scheduled",
        numel_in=12,
        numel_out=24,
        timeout_ms=600000,
        where="/opt/train/loop.py:41 in step",
        last_enqueued=9,
        last_started=None,
        last_completed=8,
    )
    assert (event.role, event.origin.rank, event.locator.entry) == ("symptom", 3, "entry 109")
    assert event.locator.text == "_ALLGATHER_BASE, work 9 of default_pg (0), scheduled; last completed 8"
    assert event.time is not None and event.time.utc_offset_s == 0
    assert event.time.seconds == pytest.approx(1_760_000_000.25)
    assert scanned.digest.first is not None and scanned.digest.bytes_read == len(pickled(HUNG))
    assert [e.fact for e in scanned.events if isinstance(e.fact, EnvFact)] == [EnvFact("nccl", "2.27.3")]


def as_json(value: dict[str, Any]) -> bytes:
    """As torch's JSON form differs: counters are text, missing times are 0, and there are no frames."""
    status = {key: {name: str(number) for name, number in of.items()} for key, of in value["pg_status"].items()}
    entries = [{k: 0 if v is None else v for k, v in e.items() if k != "frames"} for e in value["entries"]]
    return json.dumps({**value, "pg_status": status, "entries": entries}, sort_keys=True).encode()


@pytest.mark.parametrize("form", [2, 3, 4, 5, "json"])
def test_all_forms_tell_the_same(form: int | str) -> None:
    value = dump([entry(8, state="completed"), entry(9), p2p(3, "nccl:send 0->3", "started")])
    data = as_json(value) if form == "json" else pickled(value, int(form))
    assert [e.fact for e in scan(data).events] == [e.fact for e in scan(pickled(value)).events]
    assert groups(scan(data))["0"][0].seq == 9


def test_a_group_where_all_is_completed_is_context() -> None:
    fact, event = groups(scan(pickled(dump([entry(9, state="completed")], completed=9))))["0"]
    assert (fact.seq, fact.op, fact.state, fact.last_completed, event.role) == (None, None, None, 9, "context")
    assert event.locator.text == "default_pg (0): no unfinished work is recorded; last enqueued 9; last completed 9"


def test_what_the_watchdog_gave_up_is_unfinished_but_gloo_retires_what_is_completed() -> None:
    assert only([entry(9, retired=True)]).seq == 9
    assert only([entry(9, "gloo:all_reduce", retired=True)]).seq is None
    assert only([entry(9, "gloo:all_reduce", retired=False)]).seq == 9


def test_the_oldest_unfinished_works_come_first() -> None:
    tp = {"pg_id": 2, "process_group": ("7", "mesh_tp")}
    found = groups(scan(pickled(dump([entry(4, **tp), entry(9), entry(5, **tp)]))))
    assert [(name, fact.seq) for name, (fact, _) in found.items()] == [("7", 4), ("0", 9)]


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("nccl:all_reduce", "ALLREDUCE"),
        ("nccl:all_reduce_barrier", "ALLREDUCE"),
        ("nccl:all_gather", "ALLGATHER"),
        ("nccl:_all_gather_base", "_ALLGATHER_BASE"),
        ("nccl:_reduce_scatter_base", "_REDUCE_SCATTER_BASE"),
        ("nccl:reduce_scatter", "REDUCE_SCATTER"),
        ("nccl:all_to_all", "ALLTOALL_BASE"),
        ("nccl:broadcast", "BROADCAST"),
        ("nccl:_broadcast_oop", "BROADCAST"),
        ("nccl:allreduce_coalesced", "COALESCED"),
        ("nccl:ALLGATHER_coalesced", "ALLGATHER"),
        ("nccl:gather", "GATHER"),
        ("gloo:barrier", "BARRIER"),
    ],
)
def test_operations_have_the_names_that_torch_logs(name: str, op: str) -> None:
    assert only([entry(9, name)]).op == op


def test_sends_and_receives_are_counted_by_themselves() -> None:
    scanned = scan(pickled(dump([p2p(41, "nccl:recv 0<-1")], enqueued=41, completed=40)))
    fact, event = groups(scanned)["0"]
    assert (fact.op, fact.p2p, fact.seq) == ("RECV", True, 41)
    assert event.locator.text.startswith("RECV 0<-1, point-to-point work 41 of default_pg (0)")
    assert only([p2p(41, "nccl:send 0->1")]).op == "SEND"


def batch(number: int, state: str) -> list[dict[str, Any]]:
    """Parts stay ``scheduled`` for ever; the closing entry has the state and no sizes."""
    closing = p2p(number, "nccl:coalesced", state, input_sizes=[], output_sizes=[])
    return [p2p(number, "nccl:send 0->1"), p2p(number, "nccl:recv 0<-1"), closing]


def test_a_coalesced_batch_has_the_state_of_its_closing_entry() -> None:
    done = batch(7, "completed") + batch(8, "completed")
    assert only(done).seq is None
    waiting = only([*done, *batch(9, "started")])
    assert (waiting.op, waiting.seq, waiting.p2p, waiting.state) == ("COALESCED", 9, True, "started")
    assert (waiting.numel_in, waiting.numel_out) == (None, None)


def test_parts_of_completed_batches_do_not_wait_where_completed_entries_are_left_out() -> None:
    assert only([*batch(7, "")[:2], *batch(8, "")[:2]]).seq is None
    assert only([*batch(7, "")[:2], *batch(8, "")[:2], *batch(9, "scheduled")]).op == "COALESCED"
    # One part a batch: the counters say that number 8 is completed.
    assert only([p2p(7, "nccl:send 0->1"), p2p(8, "nccl:send 0->1")]).seq is None


def test_a_single_send_may_wait_while_later_ones_are_completed() -> None:
    assert only([p2p(6, "nccl:send 0->3"), p2p(9, "nccl:recv 0<-1")]).seq == 6


def test_a_batch_of_collectives_has_the_size_of_its_first() -> None:
    parts = [entry(9, "nccl:_all_gather_base"), entry(9, "nccl:_all_gather_base", input_sizes=[[5]])]
    waiting = only([*parts, entry(9, "nccl:coalesced", input_sizes=[], output_sizes=[])])
    assert (waiting.op, waiting.p2p, waiting.numel_in) == ("COALESCED", False, 12)


@pytest.mark.parametrize(
    ("sizes", "elements"), [([[]], 1), ([[2, 0]], 0), ([[7], [9]], 7), ([], None), (None, None), ([["x"]], None)]
)
def test_elements_are_those_of_the_first_tensor(sizes: object, elements: int | None) -> None:
    assert only([entry(9, input_sizes=sizes)]).numel_in == elements


# --- the recorder: which group is which ------------------------------------------------------------------------------


def config(*names: str) -> dict[str, Any]:
    return {name: {"name": name, "desc": f"group {name}", "ranks": "[0, 3]"} for name in names}


def status(*ids: int) -> dict[str, Any]:
    """Counters by which each group can be told: those of group ``n`` are ``10n``."""
    return {str(pg_id): numbers(10 * pg_id, 10 * pg_id) for pg_id in ids}


def enqueued_of(value: dict[str, Any]) -> dict[str | None, int | None]:
    return {name: fact.last_enqueued for name, (fact, _) in groups(scan(pickled(value))).items()}


def test_groups_without_entries_are_told_by_the_order_of_creation() -> None:
    tied = entry(9, pg_id=4, process_group=("36", "mesh_tp"))
    value = dump([tied], pg_config=config("0", "112", "36", "5"), pg_status=status(0, 1, 4, 6))
    assert enqueued_of(value) == {"0": 0, "5": 10, "36": 40, "112": 60}


def test_groups_are_not_told_where_the_numbers_of_both_differ() -> None:
    tied = entry(9, pg_id=4, process_group=("36", "mesh_tp"))
    value = dump([tied], pg_config=config("0", "112", "36", "5", "6"), pg_status=status(0, 1, 4, 6))
    assert enqueued_of(value) == {"0": 0, "36": 40, "112": 60}
    assert scan(pickled(value)).digest.notes == (
        "nccl_trace_rank_3 counts works of process groups without naming them; left out: 1",
    )


def test_hashed_names_have_no_order_but_one_may_be_left() -> None:
    value = dump([], pg_config=config("0", "a7f1"), pg_status=status(0, 3))
    assert enqueued_of(value) == {"0": 0, "a7f1": 30}
    value = dump([], pg_config=config("0", "a7f1", "b001"), pg_status=status(0, 3, 4))
    assert enqueued_of(value) == {"0": 0}


def test_groups_that_were_never_used_are_left_out() -> None:
    idle = {"0": numbers(9, 9), "1": numbers(-1, -1)}
    assert list(enqueued_of(dump([], pg_config=config("0", "1"), pg_status=idle))) == ["0"]


def test_an_undefined_description_is_none() -> None:
    scanned = scan(pickled(dump([entry(2, pg_id=1, process_group=("1", "undefined"))])))
    fact, event = groups(scanned)["1"]
    assert fact.pg_desc is None
    assert "of process group 1" in event.locator.text


# --- the recorder: older formats -------------------------------------------------------------------------------------


def old_entry(number: int, state: str, pg_id: int = 0) -> dict[str, Any]:
    """torch 2.2: no names of groups, no record numbers, microseconds."""
    return {
        "pg_id": pg_id,
        "seq_id": number,
        "profiling_name": "nccl:all_reduce",
        "time_created_us": CREATED_NS // 1000,
        "input_sizes": [[4]],
        "output_sizes": [[4]],
        "state": state,
        "retired": False,
        "frames": [],
    }


def test_a_bare_list_speaks_of_the_default_group() -> None:
    value = [old_entry(6, "completed"), old_entry(7, "started"), old_entry(3, "started", pg_id=2)]
    for data in (pickled(value), json.dumps(value).encode()):
        scanned = scan(data)
        fact, event = groups(scanned)["0"]
        assert (fact.seq, fact.op, fact.state, fact.last_enqueued, fact.last_completed) == (
            7,
            "ALLREDUCE",
            "started",
            7,
            6,
        )
        assert event.locator.entry == "entry 1"
        assert event.time is not None and event.time.seconds == pytest.approx(1_760_000_000.25)
        assert len(scanned.digest.notes) == 1


def test_format_1_lists_the_ranks_of_numbered_groups() -> None:
    value = {"version": "1.4", "entries": [old_entry(7, "scheduled")], "pg_config": {0: [0, 1], 1: [0]}}
    assert groups(scan(pickled(value)))["0"][0].members == (0, 1)


# --- the recorder: what must not happen ------------------------------------------------------------------------------


class Trap:
    """Unpickled for real, it would leave a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_asks_for_code_is_refused(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    scanned = scan(pickled(dump([entry(9, state=Trap(mark))]), protocol))  # type: ignore[arg-type]
    assert scanned.events == ()
    assert scanned.digest.flags == {"unreadable"}
    assert scanned.digest.notes == (
        "nccl_trace_rank_3: cannot be read: it is a pickle that asks for a class or a function, which plain data never "
        "does; it is refused",
    )
    assert not mark.exists()


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_truncated_dump_is_told(cut: int) -> None:
    data = pickled(HUNG)
    scanned = scan(data[: len(data) * cut // 4])
    assert (scanned.events, scanned.digest.flags) == ((), {"unreadable"})
    assert scanned.digest.notes == ("nccl_trace_rank_3: cannot be read: the pickle is cut off or damaged",)
    cut_json = scan(as_json(HUNG)[: -10 * cut])
    assert cut_json.digest.notes == ("nccl_trace_rank_3: cannot be read: the JSON is cut off or damaged",)


def test_a_pickle_of_something_else_is_told() -> None:
    assert scan(pickled({"weights": [1, 2]})).digest.notes == (
        "nccl_trace_rank_3: cannot be read: it is no flight-recorder dump",
    )


def test_a_dump_that_is_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_BYTES", 1024 * 1024)
    padded = dump([entry(9)], padding="x" * 1024 * 1024)
    assert scan(pickled(padded)).digest.notes == (
        "nccl_trace_rank_3: cannot be read: it is larger than 1 MiB, which no such file is",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02]r\xff\xff\xff\xff.",  # the interpreter's unpickler makes room for 4 billion memos
        b"\x80\x02}" + b")" + b"\x85" * 200_000 + b"K\x01s.",  # and overflows the stack when it hashes this key
    ],
    ids=["memo", "key"],
)
def test_a_pickle_made_to_exhaust_the_reader_does_not(data: bytes) -> None:
    assert scan(data).events == ()


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**100), 2**100) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(-5, 70000), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(plain, st.integers(2, 5))
def test_plain_pickles_are_read_as_the_interpreter_does(value: object, protocol: int) -> None:
    assert plain_value(pickled(value, protocol)) == value


@given(st.binary(max_size=200))
def test_no_bytes_make_a_pickle_crash(data: bytes) -> None:
    try:
        plain_value(b"\x80\x02" + data)
    except UnreadableError as error:
        assert "pickle" in str(error)


keys = st.sampled_from([*entry(9), *dump([]), "0", "1", "frames", "seq_id", "name", "desc", "ranks"])
shapes = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["0", "[0, 1]", "-1", "x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=15,
)


@settings(max_examples=100, deadline=None)
@given(shapes, st.lists(st.dictionaries(keys, shapes, max_size=8), max_size=3), shapes, shapes)
def test_no_shape_of_a_dump_crashes(value: object, entries: list[Any], configured: object, counted: object) -> None:
    read_dump(value)
    odd = {"entries": entries, "pg_config": configured, "pg_status": counted}
    scanned = scan(pickled(odd))
    assert all(event.locator.text for event in scanned.events)


# --- around the dump ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["zip", "tgz", "tar"])
def test_dumps_in_archives_are_read(form: str, tmp_path: Path) -> None:
    files = {f"fr/nccl_trace_rank_{rank}": pickled(dump([entry(9 + rank)])) for rank in range(3)}
    archive = tmp_path / f"fr.{form}"
    if form == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in files.items():
                packed.writestr(name, data)
    else:
        with tarfile.open(archive, "w:gz" if form == "tgz" else "w") as packed_tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                packed_tar.addfile(info, io.BytesIO(data))
    sources, skipped = discover([str(archive)])
    assert skipped == []
    scans = [scan_source(source, INDEX) for source in sources]
    assert [(scanned.source.origin.rank, groups(scanned)["0"][0].seq) for scanned in scans] == [
        (0, 9),
        (1, 10),
        (2, 11),
    ]


# --- dumps of real runs ----------------------------------------------------------------------------------------------

REAL = ROOT.parent / "shared" / "fr"
REAL_CASES = sorted(path.parent for path in REAL.glob("*/case.json"))
needs_real_dumps = pytest.mark.skipif(not REAL_CASES, reason="the real dumps are kept outside the repository")


@needs_real_dumps
@pytest.mark.parametrize("case", REAL_CASES, ids=lambda path: path.name)
def test_real_dumps_show_who_is_behind(case: Path) -> None:
    """A rank is behind where it did not reach a collective that others wait in, or waits in one that others completed.

    On exactly those ranks a fault was injected.
    """
    members_of: dict[str | None, dict[int, RecordedGroup]] = {}
    for path in sorted(case.glob("_dump_*")):
        scanned = scan(path.read_bytes(), path.name)
        rank = scanned.source.origin.rank
        assert rank is not None and scanned.digest.notes == ()
        for name, (fact, _) in groups(scanned).items():
            assert rank in fact.members
            members_of.setdefault(name, {})[rank] = fact
    behind: set[int] = set()
    for facts in members_of.values():
        if any(fact.p2p for fact in facts.values()):
            continue
        waited_in = min((fact.seq for fact in facts.values() if fact.seq is not None), default=0)
        completed = max(fact.last_completed or 0 for fact in facts.values())
        for rank, fact in facts.items():
            absent = fact.seq is None and (fact.last_enqueued or 0) < waited_in
            if absent or (fact.seq is not None and fact.seq <= completed):
                behind.add(rank)
    assert sorted(behind) == json.loads((case / "case.json").read_text())["expect"]["culprit_ranks"]


@needs_real_dumps
@pytest.mark.parametrize("case", REAL_CASES, ids=lambda path: path.name)
def test_the_order_of_creation_names_groups_as_real_entries_do(case: Path) -> None:
    checked = 0
    for path in case.glob("_dump_*"):
        value = pickle.loads(path.read_bytes())
        with_entries, without = read_dump(value), read_dump({**value, "entries": []})
        assert with_entries is not None and without is not None
        named = {group.name: group.counters for group in without.groups}
        for group in with_entries.groups:
            assert named[group.name] == group.counters
            checked += bool(group.entries)
    assert checked > 20
