"""How lines that tell no rank get one, and when they do not; how few ranks that differ become suspects."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsleuth
from logsleuth.correlate.clues import Clues, find_clues
from logsleuth.model.events import CollectiveTimeout, Event, Fact, Locator, ProcessExit
from logsleuth.model.origin import Origin


def event(fact: Fact, origin: Origin | None = None, source: str = "a.log") -> Event:
    return Event(fact, "symptom", "p", origin or Origin(), Locator(source, 0, 1, "x"))


def told(source: str, rank: int | None) -> Event:
    return event(CollectiveTimeout(), Origin(rank=rank), source)


FILES = [f"out/worker-{n}.log" for n in range(4)]


def test_the_number_of_a_file_is_the_rank_as_in_the_others_of_its_series() -> None:
    clues = find_clues([told(FILES[0], 0), told(FILES[3], 3)], FILES)
    assert clues.rank_of_source == {name: n for n, name in enumerate(FILES)}


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([told(FILES[0], 0)], id="one-file-is-no-series"),
        pytest.param([told(FILES[0], 0), told(FILES[1], 1), told(FILES[2], 5)], id="a-file-with-another-rank"),
        pytest.param([told(FILES[0], 0), told(FILES[1], 1), told(FILES[1], 2)], id="a-file-with-two-ranks"),
    ],
)
def test_a_series_that_is_not_of_ranks_tells_nothing(events: list[Event]) -> None:
    assert find_clues(events, FILES).rank_of_source == {}


def test_a_prefix_with_rank_and_pid_tells_the_rank_of_the_pids_other_lines() -> None:
    clues = find_clues([event(CollectiveTimeout(), Origin(rank=5, host="n2", pid=71))], [])
    assert clues.of_pid("n2", 71) == 5
    assert clues.of_pid("n3", 71) == 5
    assert clues.of_pid("n2", 72) is None


def test_a_pid_with_two_ranks_tells_none() -> None:
    both = [event(CollectiveTimeout(), Origin(rank=rank, host="n2", pid=71)) for rank in (5, 6)]
    assert find_clues(both, []).of_pid("n2", 71) is None


def test_a_host_whose_first_rank_is_known_tells_the_ranks_of_its_other_local_ranks() -> None:
    exits = [event(ProcessExit(rank=8 + local, local_rank=local, host="n2")) for local in (1, 2)]
    clues = find_clues([*exits, event(ProcessExit(rank=0, local_rank=0, host="n1"))], [])
    assert clues.of_local_rank("n2", 3) == 11
    assert clues.of_local_rank("n1", 3) is None  # one known rank is too few to say how ranks lie on that host


def test_hosts_whose_ranks_lie_in_no_order_tell_nothing() -> None:
    clues = Clues(rank_of_local={("n2", 0): 4, ("n2", 1): 7})
    assert clues.of_local_rank("n2", 1) == 7
    assert clues.of_local_rank("n2", 2) is None


def test_a_rank_that_two_processes_print_is_no_global_rank() -> None:
    """Old torch prints the rank inside of a group that it does not name."""
    printed = [event(CollectiveTimeout(group_rank=1), Origin(local_rank=local)) for local in (1, 4)]
    assert not find_clues(printed, []).group_rank_is_global
    assert find_clues(printed[:1], []).group_rank_is_global


TIMEOUT = (
    "[rank{r}]:[E304 05:16:10.100000{r}00 ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=58, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600010 "
    "milliseconds before timing out.\n"
)


def write(folder: Path, texts: dict[int, str]) -> list[str]:
    for rank, text in texts.items():
        (folder / f"rank{rank}.log").write_text(text, encoding="utf-8")
    return [str(folder / f"rank{rank}.log") for rank in texts]


def test_a_rank_behind_the_others_is_a_suspect_and_not_a_culprit(tmp_path: Path) -> None:
    texts = {r: f"step {30 if r != 5 else 29}/100 loss 2.0\n{TIMEOUT.format(r=r)}" for r in range(8)}
    root = logsleuth.analyze(write(tmp_path, texts)).root_causes[0]
    assert (root.cause, root.ranks) == ("collective-timeout-unexplained", [])
    assert [(c.rank, c.known_by) for c in root.suspects] == [(5, "its last step is 29, the others' 30")]


def test_the_last_line_of_a_silent_rank_is_told(tmp_path: Path) -> None:
    """Two of eight are silent: each may have been stopped before it told, so neither is accused."""
    texts = {r: f"reading shard {r}\n" + (TIMEOUT.format(r=r) if r not in (2, 6) else "") for r in range(8)}
    root = logsleuth.analyze(write(tmp_path, texts)).root_causes[0]
    assert root.ranks == []
    assert [c.rank for c in root.suspects] == [2, 6]
    assert all("reports no wait; its last line: “reading shard" in (c.known_by or "") for c in root.suspects)


def test_many_that_differ_are_no_suspects(tmp_path: Path) -> None:
    texts = {r: "ready\n" + (TIMEOUT.format(r=r) if r < 4 else "") for r in range(8)}
    assert logsleuth.analyze(write(tmp_path, texts)).root_causes[0].suspects == []
