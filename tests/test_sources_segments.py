"""Several messages on one physical line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from origins import known_fields

from logsleuth.sources.prefixes import read_prefix, split_segments

_BAR = " 33%|███▎      | 1/3 [00:02<00:04,  2.19s/it]"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        pytest.param("one message", ["one message"], id="one"),
        pytest.param("", [""], id="empty"),
        pytest.param("10%\r20%\r30%", ["10%", "20%", "30%"], id="carriage-returns"),
        pytest.param(
            "loss=5.09][rank0]:[E709 17:05:39.1 ProcessGroupNCCL.cpp:632] x",
            ["loss=5.09]", "[rank0]:[E709 17:05:39.1 ProcessGroupNCCL.cpp:632] x"],
            id="rank-behind-a-progress-bar",
        ),
        pytest.param(
            f"{_BAR}[E ProcessGroupNCCL.cpp:467] [Rank 1] x", [_BAR, "[E ProcessGroupNCCL.cpp:467] [Rank 1] x"],
            id="logger-behind-a-progress-bar",
        ),
        pytest.param(
            "[default0]:4866.01 examples/s][default2]:[E ProcessGroupNCCL.cpp:475] x",
            ["[default0]:4866.01 examples/s]", "[default2]:[E ProcessGroupNCCL.cpp:475] x"],
            id="two-ranks-of-a-tee",
        ),
        pytest.param(
            f"{_BAR}slurmstepd: error: *** JOB 7 ON node-a CANCELLED ***",
            [_BAR, "slurmstepd: error: *** JOB 7 ON node-a CANCELLED ***"],
            id="scheduler",
        ),
        pytest.param(
            f"{_BAR}Traceback (most recent call last):", [_BAR, "Traceback (most recent call last):"], id="traceback"
        ),
        pytest.param(
            "8.1it/s, v_num=3]WARNING:torch.distributed.elastic.agent:x",
            ["8.1it/s, v_num=3]", "WARNING:torch.distributed.elastic.agent:x"],
            id="launcher",
        ),
        pytest.param(
            "[rank0]:[E1 A.cpp:1] x[rank1]:[E2 A.cpp:2] y", ["[rank0]:[E1 A.cpp:1] x", "[rank1]:[E2 A.cpp:2] y"],
            id="two-ranks",
        ),
        pytest.param(
            "node-a:1:2 [0] NCCL INFO x node-a:3:4 [1] NCCL INFO y",
            ["node-a:1:2 [0] NCCL INFO x ", "node-a:3:4 [1] NCCL INFO y"],
            id="two-of-nccl",
        ),
        pytest.param("[default0]:[rank8]:[E1 A.cpp:1] x", ["[default0]:[rank8]:[E1 A.cpp:1] x"], id="stacked-prefixes"),
        pytest.param("[80746] [rank0]:[E A.cpp:7] x", ["[80746] [rank0]:[E A.cpp:7] x"],
                     id="stacked-viewer-number"),
        pytest.param("TP5] x: Traceback (most recent call last):", ["TP5] x: Traceback (most recent call last):"],
                     id="traceback-of-a-logger"),
        pytest.param("\x1b[31mred\x1b[0m\0", ["red"], id="control-codes"),
    ],
)  # fmt: skip
def test_a_line_is_split_where_a_message_begins(line: str, pieces: list[str]) -> None:
    assert [text for _, text in split_segments(line)] == pieces


@pytest.mark.parametrize(
    ("line", "known"),
    [
        pytest.param(f"3: {_BAR}\r{_BAR}Traceback (most recent call last):", {"task": 3}, id="srun"),
        pytest.param(f"node-a: {_BAR}Traceback (most recent call last):", {"host": "node-a"}, id="pdsh"),
        pytest.param(f"[default1]:{_BAR}[rank9]: RuntimeError: x", {"local_rank": 1, "rank": 9}, id="tee"),
        pytest.param(f"3: {_BAR}slurmstepd: error: x", {"role": "agent"}, id="not-a-scheduler's"),
        pytest.param(f"[default1]:{_BAR}[default2]:x", {"local_rank": 2}, id="own-label"),
    ],
)
def test_what_a_collector_put_before_the_line_holds_for_its_later_messages(line: str, known: dict[str, object]) -> None:
    _, last = split_segments(line)[-1]
    assert known_fields(read_prefix(last).origin) == known


def test_offsets_point_into_the_line_as_it_was() -> None:
    line = "\x1b[31m10%\x1b[0m\r\x1b[1mloss\x1b[0m=5.09][rank0]: end"
    assert [line[offset:].startswith(text[:3]) for offset, text in split_segments(line)] == [True, True, True]
    assert [offset for offset, _ in split_segments("ab\rcd")] == [0, 3]


def test_a_line_of_dockers_json_is_opened() -> None:
    line = '{"log":"1%\\r2%\\n","stream":"stderr","time":"2026-03-01T10:00:05.1Z"}'
    texts = [read_prefix(text) for _, text in split_segments(line)]
    assert [(prefixed.text, prefixed.origin.stream) for prefixed in texts] == [("1%", "stderr"), ("2%", "stderr")]


@given(st.text(max_size=200))
def test_nothing_visible_is_lost(line: str) -> None:
    pieces = split_segments(line)
    assert pieces and all(0 <= offset <= len(line) for offset, _ in pieces)
    printable = "".join(char for char in line if char.isalnum())
    if "\x1b" not in line and "[" not in line and not line.startswith("{"):
        assert "".join(char for _, text in pieces for char in text if char.isalnum()) == printable
