"""Three engines, one answer: the same hits and the same events on every text, also where windows meet."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from cases import load_cases, shared_index
from hypothesis import given, settings
from hypothesis import strategies as st

from logsleuth.model.events import Event
from logsleuth.model.source import Source
from logsleuth.scan.prefilter import ENGINES, Hits, Prefilter, prefilter
from logsleuth.scan.readers import text as text_reader
from logsleuth.scan.run import scan_source
from logsleuth.sources.blocks import windows
from logsleuth.sources.openers import FileBytes, HeldBytes

FILES = sorted(path for case in load_cases() for path in case.logs)
steady = settings(derandomize=True, database=None, deadline=None, max_examples=60)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Every engine that is installed here."""
    try:
        prefilter([b"anchor"], request.param)
    except ImportError:
        pytest.skip(f"{request.param} is not installed here")
    return str(request.param)


def by_definition(anchors: Sequence[bytes], data: bytes, lo: int, hi: int) -> Hits:
    """Every occurrence of every anchor in ``data[lo:hi]``, the slow way."""
    return sorted(
        (at, index)
        for index, anchor in enumerate(anchors)
        for at in range(lo, hi - len(anchor) + 1)
        if data.startswith(anchor, at)
    )


def events_of(path: Path, name: str) -> tuple[Event, ...]:
    return scan_source(Source(str(path), str(path), FileBytes(str(path))), shared_index(name)).events


@functools.cache
def expected_events(path: Path) -> tuple[Event, ...]:
    return events_of(path, "find")


# --- hits --------------------------------------------------------------------------------------------------------

#: Anchors that overlap, contain and repeat each other.
_AWKWARD = (b"aaaa", b"aaaaab", b"abab", b"babab", b"NCCL WARN", b"WARN", b"NCCL", "🏖️".encode(), b"\x1b[36m(")
_PIECES = st.sampled_from(
    [*_AWKWARD, *(a[:-1] for a in _AWKWARD), *(a[1:] for a in _AWKWARD), b"\n", b"a", b"\0", b"\xff"]
)


@functools.cache
def awkward(engine: str) -> Prefilter:
    return prefilter(_AWKWARD, engine)


@given(pieces=st.lists(st.one_of(_PIECES, st.binary(max_size=3)), max_size=24), data=st.data())
@steady
@pytest.mark.parametrize("name", ENGINES)
def test_every_occurrence_is_found(name: str, pieces: list[bytes], data: st.DataObject) -> None:
    pytest.importorskip({"hyperscan": "hyperscan", "ahocorasick": "ahocorasick_rs", "find": "re"}[name])
    text = b"".join(pieces)
    lo = data.draw(st.integers(0, len(text)))
    hi = data.draw(st.integers(lo, len(text)))
    assert awkward(name).find(text, lo, hi) == by_definition(_AWKWARD, text, lo, hi)


def test_an_empty_region_has_no_hits(engine: str) -> None:
    assert awkward(engine).find(b"NCCL WARN", 4, 4) == []
    assert awkward(engine).find(b"", 0, 0) == []


def test_an_engine_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    with pytest.raises(ImportError):
        prefilter([b"anchor"], "hyperscan")
    assert prefilter([b"anchor"]).name != "hyperscan"


# --- events ------------------------------------------------------------------------------------------------------


def test_every_file_gives_the_same_events(engine: str) -> None:
    differing = [path for path in FILES if events_of(path, engine) != expected_events(path)]
    assert differing == []
    assert sum(len(expected_events(path)) for path in FILES) > 1000


@functools.cache
def anchors() -> tuple[bytes, ...]:
    return shared_index("find").anchors


@given(data=st.data())
@steady
def test_noise_around_the_catalogs_anchors_gives_the_same_events(data: st.DataObject) -> None:
    """Random bytes, glued to anchors and parts of them: nothing crashes, and all engines read the same."""
    parts = st.one_of(
        st.sampled_from(anchors()),
        st.sampled_from(
            [b"\n", b"\r", b" ", b": ", b"[rank3]:", b"[default1]:", b"Traceback (most recent call last):\n"]
        ),
        st.binary(max_size=12),
    )
    raw = b"".join(data.draw(st.lists(parts, max_size=40)))
    found = [
        scan_source(Source("x", "x", HeldBytes(raw), size=len(raw)), shared_index(name)).events
        for name in ENGINES
        if _installed(name)
    ]
    assert all(events == found[0] for events in found)


def _installed(name: str) -> bool:
    try:
        prefilter([b"anchor"], name)
    except ImportError:
        return False
    return True


# --- windows -----------------------------------------------------------------------------------------------------


@given(
    lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=30),
    block=st.integers(1, 64),
    margin=st.integers(0, 64),
)
@steady
def test_windows_join_without_gap_or_overlap(lines: list[bytes], block: int, margin: int) -> None:
    text = b"\n".join(lines)
    at = 0
    for window in windows(io.BytesIO(text), block, margin):
        assert window.base + window.lo == at
        assert window.data == text[window.base : window.base + len(window.data)]
        at = window.base + window.hi
        assert window.final or text[at - 1 : at] == b"\n"
        assert window.lo >= min(margin, window.base + window.lo)
    assert at == len(text)


@given(data=st.data())
@steady
def test_no_hit_is_lost_where_windows_meet(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from([*anchors()[:80], b"nothing here", b""]), min_size=1, max_size=40))
    text = b"\n".join(lines)
    block, margin = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 200))
    find = shared_index().engine.find
    hits = [
        (window.base + at, anchor)
        for window in windows(io.BytesIO(text), block, margin)
        for at, anchor in find(window.data, window.lo, window.hi)
    ]
    assert hits == find(text, 0, len(text))


def test_small_windows_give_the_same_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message may need the lines around it, but no window needs more of them than the margin holds."""
    monkeypatch.setattr(text_reader, "windows", functools.partial(windows, block=2048, margin=16 * 1024))
    longest = [path for path in FILES if path.stat().st_size > 4096]
    assert len(longest) > 40
    assert [path for path in longest if events_of(path, "find") != expected_events(path)] == []
