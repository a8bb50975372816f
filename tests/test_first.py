"""Which of many events came first: the quick way agrees with the plain definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logsleuth.diagnose.first import first_of
from logsleuth.model.events import Event, Locator, PythonException, Stamp
from logsleuth.model.job import INTERLEAVED_BYTES, Coverage, Environment, JobView
from logsleuth.model.origin import Origin
from logsleuth.model.timeline import ProcessTimeline

_SPOTS = st.tuples(
    st.sampled_from(["a.log", "b.log"]),
    st.integers(0, 4),
    st.sampled_from([None, 0, 1, 2, 3, 9]),
    st.sampled_from([None, 0]),
    st.sampled_from([None, 0, 1, 2]),
)


def _job(spots: list[tuple[str, int, int | None, int | None, int | None]]) -> JobView:
    events, owners = [], {}
    for number, (source, block, second, offset, process) in enumerate(spots):
        start = block * (INTERLEAVED_BYTES + 1) + number
        stamp = None if second is None else Stamp(str(second), float(second), True, True, offset)
        fact = PythonException(type="ValueError")
        event = Event(fact, "cause", "p", Origin(), Locator(source, start, start + 1, "x"), stamp)
        events.append(event)
        if process is not None:
            owners[id(event)] = process
    processes = tuple(ProcessTimeline(f"rank {rank}", rank) for rank in range(3))
    return JobView(tuple(events), processes, (), Environment(), Coverage(), (), (), owners)


@given(st.lists(_SPOTS, max_size=14))
def test_first_of_are_those_that_none_clearly_precedes(
    spots: list[tuple[str, int, int | None, int | None, int | None]],
) -> None:
    job = _job(spots)
    plain = [e for e in job.events if not any(job.clearly_precedes(o, e) for o in job.events if o is not e)]
    assert first_of(job, job.events) == plain


def test_the_earlier_of_two_processes_in_two_files() -> None:
    job = _job([("a.log", 0, 9, None, 0), ("b.log", 0, 3, None, 1)])
    assert first_of(job, job.events) == [job.events[1]]
