"""Time stamps: every grammar, and the seconds they stand for."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logsleuth.sources.clock import read_stamp


def _utc(*fields: int) -> float:
    return datetime(*fields, tzinfo=timezone.utc).timestamp()  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("2026-03-01T10:00:05.1234567Z text", _utc(2026, 3, 1, 10, 0, 5) + 0.1234567, id="github"),
        pytest.param("2026-03-01T10:00:05.123456789+02:00 text", _utc(2026, 3, 1, 8, 0, 5) + 0.123456789, id="offset"),
        pytest.param("2026-03-01T10:00:05-0530 node-a kernel:", _utc(2026, 3, 1, 15, 30, 5), id="journalctl"),
        pytest.param("[2026-03-01 10:00:05,250] text", _utc(2026, 3, 1, 10, 0, 5) + 0.25, id="python-logging"),
        pytest.param("2026-03-01_10:00:05", _utc(2026, 3, 1, 10, 0, 5), id="torchelastic-table"),
        pytest.param("  time      : 2026-03-01_10:00:05", _utc(2026, 3, 1, 10, 0, 5), id="behind-a-label"),
        pytest.param("2026-03-01 10:00 text", _utc(2026, 3, 1, 10, 0), id="without-seconds"),
        pytest.param("2026/03/01 10:00:05 - mmengine", _utc(2026, 3, 1, 10, 0, 5), id="slashes"),
        pytest.param("[Sun Mar  1 10:00:05 2026] NVRM:", _utc(2026, 3, 1, 10, 0, 5), id="dmesg-T"),
        pytest.param("Sun Mar  1 10:00:05 UTC 2026", _utc(2026, 3, 1, 10, 0, 5), id="date"),
        pytest.param("[Mar 01 2026 10:00:05] [INFO]", _utc(2026, 3, 1, 10, 0, 5), id="fabric-manager"),
        pytest.param("03/01/2026 10:00:05 - INFO", _utc(2026, 3, 1, 10, 0, 5), id="american"),
        pytest.param("31/03/2026 10:00:05 - INFO", _utc(2026, 3, 31, 10, 0, 5), id="day-first"),
        pytest.param("[03/01/26 10:00:05] INFO", _utc(2026, 3, 1, 10, 0, 5), id="rich"),
        pytest.param("[1772359205.500000] [node-a:4711 :0]", 1772359205.5, id="epoch"),
    ],
)
def test_a_full_stamp_counts_from_1970(text: str, seconds: float) -> None:
    stamp = read_stamp(text)
    assert stamp is not None
    assert stamp.seconds == pytest.approx(seconds, abs=1e-6)
    assert (stamp.has_year, stamp.has_date) == (True, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607]", _utc(1970, 12, 6, 18, 44, 12), id="torch"),
        pytest.param("[rank3]:[W517 08:37:08.068871151 x.cpp:1]", _utc(1970, 5, 17, 8, 37, 8), id="torch-unpadded"),
        pytest.param("E0206 12:34:56.250000  4711 x.cpp:523]", _utc(1970, 2, 6, 12, 34, 56) + 0.25, id="glog"),
        pytest.param("[W229 00:00:10.000000001 x.cpp:1]", _utc(1970, 3, 1, 0, 0, 10), id="29-february"),
        pytest.param("Oct  1 12:00:00 node-a kernel:", _utc(1970, 10, 1, 12), id="syslog"),
        pytest.param("INFO 09-23 13:55:24 [core.py:1]", _utc(1970, 9, 23, 13, 55, 24), id="vllm"),
        pytest.param("[10/06 12:00:00 d2.engine]:", _utc(1970, 10, 6, 12), id="detectron2"),
    ],
)
def test_a_stamp_without_a_year_counts_in_1970(text: str, seconds: float) -> None:
    stamp = read_stamp(text)
    assert stamp is not None
    assert stamp.seconds == pytest.approx(seconds, abs=1e-6)
    assert (stamp.has_year, stamp.has_date) == (False, True)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("[12345.678901] NVRM:", "12345.678901", id="since-boot"),
        pytest.param("[ 1843.308145] NVRM:", "1843.308145", id="since-boot-padded"),
        pytest.param("18:11:06.680 text", "18:11:06.680", id="time-of-day"),
        pytest.param("[15:58:29] WARNING", "15:58:29", id="rich-short"),
    ],
)
def test_a_stamp_without_a_date_has_no_seconds(text: str, printed: str) -> None:
    stamp = read_stamp(text)
    assert stamp is not None
    assert (stamp.text, stamp.seconds, stamp.has_date) == (printed, None, False)


def test_the_zone_is_kept_where_it_is_printed() -> None:
    offsets = [read_stamp(f"2026-03-01T10:00:05{zone}") for zone in ("", "Z", "+02:00", "-0530")]
    assert [stamp.utc_offset_s for stamp in offsets if stamp] == [None, 0, 7200, -19800]


def test_the_fraction_of_torchs_cpp_logger_is_another_clock_and_is_dropped() -> None:
    early, late = (read_stamp(f"[E606 09:09:08.{fraction} x.cpp:1]") for fraction in ("999999999", "000000001"))
    assert early and late and early.seconds == late.seconds


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Traceback (most recent call last):", id="no-stamp"),
        pytest.param("2026-13-01 10:00:00", id="month-13"),
        pytest.param("2026-03-01 25:00:00", id="hour-25"),
        pytest.param(" 2%| | 224/13945 [25:36<39:50:56, 10.46s/it]", id="progress-bar"),
        pytest.param("10:00:00<11:00:00", id="elapsed"),
        pytest.param("x" * 200 + " 2026-03-01 10:00:00", id="far-behind-the-beginning"),
    ],
)
def test_what_is_no_stamp_is_none(text: str) -> None:
    assert read_stamp(text) is None


@given(st.text(alphabet=st.sampled_from("0123456789-:/. [](),TZEWIJanFebMon\n"), max_size=60))
def test_any_text_is_survived(text: str) -> None:
    stamp = read_stamp(text)
    assert stamp is None or stamp.text in text
