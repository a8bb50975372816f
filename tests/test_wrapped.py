"""Text that a terminal, tmux, an editor or a mail program broke, and pastes whose names were replaced since."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, analyze, answer, load_cases, report_of, shared_index

from logsleuth.model.events import Event
from logsleuth.model.source import Source
from logsleuth.scan.run import scan_source
from logsleuth.sources.blocks import Window
from logsleuth.sources.openers import HeldBytes
from logsleuth.sources.reflow import reflowed

OF_ONE_FILE = [case for case in load_cases() if len(case.logs) == 1]
HEAD = "[rank3]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] "


def terminal(text: str, width: int) -> str:
    """Broken within words; blanks at the edge are lost, as in most copies."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line[at : at + width].rstrip() for at in range(0, max(len(line), 1), width)]
    return "\n".join(lines)


def padded(text: str, width: int) -> str:
    """As tmux captures it: every line filled with blanks."""
    return "\n".join(line.ljust(width) for line in terminal(text, width).split("\n"))


def boxed(text: str, width: int) -> str:
    return "\n".join(f"│ {line.ljust(width)} │" for line in terminal(text, width).split("\n"))


def quoted(text: str, width: int) -> str:
    return "\n".join(f"> {line}" for line in terminal(text, width).split("\n"))


def editor(text: str, width: int) -> str:
    """Broken between words."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def renamed(text: str, width: int) -> str:
    """Broken by a terminal; then somebody replaced the names of folders and machines."""
    broken = re.sub(r"/opt/[a-z]+/", "/home/user-a/run/", terminal(text, width))
    return re.sub(r"\bnode-[abc]\b", "gpu-node-017", broken)


WAYS: dict[str, tuple[Callable[[str, int], str], int]] = {
    "terminal-of-80": (terminal, 80),
    "terminal-of-188": (terminal, 188),
    "tmux-of-132": (padded, 132),
    "box-of-120": (boxed, 120),
    "quoted-100": (quoted, 100),
    "editor-of-100": (editor, 100),
    "names-replaced-120": (renamed, 120),
}


#: Logs of one short message, of which the edge breaks every anchor or the words that decide: a known weakness.
BROKEN = {
    ("init/two-threads-launch-on-one-gpu", "quoted-100"),
    ("init/two-threads-launch-on-one-gpu", "editor-of-100"),
    ("network/gloo-finds-no-route", "editor-of-100"),
    ("rendezvous/store-counts-an-earlier-attempt", "editor-of-100"),
    ("rendezvous/store-port-not-permitted", "quoted-100"),
}


def each_case_and_way() -> list[Any]:
    return [
        pytest.param(
            case,
            way,
            id=f"{case.name}-{way}",
            marks=pytest.mark.xfail(strict=True, reason="the edge breaks every anchor of the one message")
            if (case.name, way) in BROKEN
            else (),
        )
        for case in OF_ONE_FILE
        for way in WAYS
    ]


@pytest.mark.parametrize(("case", "way"), each_case_and_way())
def test_the_answer_survives(case: Case, way: str, tmp_path: Path) -> None:
    broke, width = WAYS[way]
    log = tmp_path / case.logs[0].name
    log.write_text(broke(case.logs[0].read_bytes().decode("utf-8", "replace"), width), encoding="utf-8")
    assert answer(analyze([log], hung=case.hung)) == answer(report_of(case.folder))


# --- one message, which shows no width -------------------------------------------------------------------------------

_OF_RANK = (
    "CollectiveFingerPrint(SequenceNumber=7, OpType={op}, TensorShape=[{n}], TensorDtypes=Float, TensorDeviceTypes="
)
MISMATCH = (
    "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
    + _OF_RANK.format(op="ALLREDUCE", n=1048576)
    + "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt))), but Rank 3 is running collective: "
    + _OF_RANK.format(op="ALLGATHER", n=524288)
    + "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt))).Collectives differ in the following aspects: "
    "\t Op type: ALLREDUCEvs ALLGATHER\t Tensor Tensor shapes: 1048576vs 524288"
)
GUESS = (
    "[rank3]:[W1103 01:00:09.000000001 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 3]  using GPU 3 to perform "
    "barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to "
    "GPU mapping is incorrect. Specify device_ids in barrier() to force use of a particular device, or call "
    "init_process_group() with a device_id."
)
ILLEGAL = (
    f"{HEAD}[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: CUDA "
    "error: an illegal memory access was encountered"
)
TIMEOUT = (
    f"{HEAD}[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, "
    "NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
)
#: id: the message, the kind that it must yield, fields of the fact, and the printing rank.
MESSAGES: dict[str, tuple[str, str, dict[str, Any], int | None]] = {
    "mismatch": (MISMATCH, "collective-mismatch", {"op": "ALLREDUCE", "other_op": "ALLGATHER", "other_rank": 3}, 0),
    "barrier-device": (GUESS, "barrier-device", {"device": 3}, 3),
    "illegal-access": (ILLEGAL, "cuda-error", {}, 3),
    "timeout": (TIMEOUT, "collective-timeout", {"seq": 88123, "numel_in": 4096, "ran_ms": 600021}, 3),
}


def events_in(text: str) -> list[Event]:
    return list(scan_source(Source("x", "x", HeldBytes(text.encode())), shared_index()).events)


def pieces(text: str, width: int, jitter: int = 0) -> str:
    """Broken at ``width``, or so much off it in turn that no common width remains."""
    lines = []
    at = number = 0
    while at < len(text):
        size = width + (-jitter, jitter, 0)[number % 3]
        lines.append(text[at : at + size].rstrip())
        at, number = at + size, number + 1
    return "\n".join(lines) + "\n"


def each_way() -> list[Any]:
    """Every message at every width; where each anchor of its pattern is broken, nothing finds it."""
    found = []
    for message in MESSAGES:
        for width in (80, 100, 120, 137, 160):
            for jitter, name in ((0, "one-width"), (2, "names-replaced")):
                broken = (message, width, jitter) == ("illegal-access", 100, 2)
                marks = pytest.mark.xfail(strict=True, reason="every anchor is broken by the edge") if broken else ()
                found.append(pytest.param(message, width, jitter, id=f"{message}-{width}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("message", "width", "jitter"), each_way())
def test_a_message_alone_is_read_in_full(message: str, width: int, jitter: int) -> None:
    text, kind, fields, rank = MESSAGES[message]
    found = [event for event in events_in(pieces(text, width, jitter) + "\n[rank1]: end\n") if event.kind == kind]
    assert found, "nothing was read"
    (event,) = {(event.fact, event.origin.rank): event for event in found}.values()
    assert {name: getattr(event.fact, name) for name in fields} == fields
    assert event.origin.rank == rank


def test_a_wrapped_line_is_cited_where_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "paste.log"
    others = [TIMEOUT.replace("rank3", f"rank{rank}").replace("Rank 3", f"Rank {rank}") for rank in (0, 1, 2)]
    log.write_text("before\n" + terminal("\n".join([*others, TIMEOUT]), 80) + "\nafter\n", encoding="utf-8")
    report = analyze([log])
    cited = [item for item in report.timeline.shown if item.kind == "collective-timeout"]
    lines = log.read_text().split("\n")
    assert [lines[item.line - 1][:8] for item in cited] == ["[rank0]:", "[rank1]:", "[rank2]:", "[rank3]:"]


# --- texts that nobody broke -----------------------------------------------------------------------------------------

WHOLE: dict[str, list[str]] = {
    "a-table": [f"| {number:<10} | {chr(97 + number) * 9:<40} |" for number in range(20)],
    "progress-of-one-length": [f"step {number:>6} loss 2.{number:04d} of this training run" for number in range(50)],
    "one-message-of-every-rank": [
        f"[rank{rank}]: RuntimeError: something went wrong here in the middle of it\nsee above" for rank in range(8)
    ],
    "random-names": [f'time="2024-10-09" level=warning msg="cannot remove {w * 8}"' for w in ("abcd", "efgh", "ijkl")],
    "a-traceback": [f'  File "/opt/{chr(97 + number)}.py", line 12, in f\n    call()' for number in range(26)],
    "short-lines": ["one", "two", "three"] * 20,
}  # fmt: skip


@pytest.mark.parametrize("lines", WHOLE.values(), ids=WHOLE)
def test_a_whole_text_stays_as_it_is(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    assert reflowed(Window(data, 0, 0, len(data), final=True)) is None
