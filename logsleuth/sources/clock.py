"""Time stamps as logs print them.

The grammars, with a line of each:

    [E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607]     torch C++: month * 100 + day without padding, no year
    E0206 12:34:56.123456  4711 ProcessGroupNCCL.cpp:523]   glog, torch's Python loggers: padded
    2024-03-01T10:00:00.1234567Z   [2024-03-01 10:00:00,123]   2024-03-01_10:00:00   2025-02-18 12:54
    Oct  1 12:00:00   [Tue Oct  1 12:00:00 2024]   [Feb 25 2025 13:59:45]
    08/31/2024 14:37:22
    INFO 09-23 13:55:24   [10/06 12:00:00   [03/01/24 15:58:29]    month and day, of vLLM, detectron2, rich
    [1721380813.194737]                                     seconds since 1970
    [12345.678901]                                          seconds since boot
    18:11:06.680                                            time of day alone
"""

from __future__ import annotations

import functools
import re
from datetime import date

from logsleuth.model.events import Stamp

#: How far into a text a stamp may begin.
FURTHEST_START = 96

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"

#: A full date and time of the ISO kind, with any separator and zone; without groups, for use in larger expressions.
ISO_STAMP = r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[ ]?[+-]\d\d:?\d\d\b|[ ]UTC\b)?"
#: ``Oct  1 12:00:00``, ``Tue Oct  1 12:00:00 2024``, ``Feb 25 2025 13:59:45``; without groups.
WORD_STAMP = (
    rf"(?:{_DAY} )?{_MONTH}\ +\d{{1,2}}(?: \d{{4}})? \d\d:\d\d:\d\d(?:\.\d{{1,9}})?(?: [A-Z]{{3,4}}(?= \d{{4}}))?"
    r"(?: (?:19|20)\d\d(?!\d))?"
)

_STAMP = re.compile(
    rf"""
      (?<![\d.])(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _]
        (?P<time>\d\d:\d\d(?::\d\d)?)(?:[.,](?P<fraction>\d{{1,9}}))?(?P<zone>Z|[ ]?[+-]\d\d:?\d\d\b|[ ]UTC\b)?
    | (?P<bracket>\[)?(?<!\w)[FEWIVC](?P<monthday>\d{{3,4}})[ ]
        (?P<log_time>\d\d:\d\d:\d\d)\.(?P<log_fraction>\d{{1,9}})
    | (?<!\w)(?:{_DAY}[ ])?(?P<word_month>{_MONTH})\ +(?P<word_day>\d{{1,2}})(?:[ ](?P<early_year>\d{{4}}))?[ ]
        (?P<word_time>\d\d:\d\d:\d\d)(?:\.(?P<word_fraction>\d{{1,9}}))?
        (?:[ ](?P<word_zone>[A-Z]{{3,4}})(?=[ ]\d{{4}}))?(?:[ ](?P<late_year>(?:19|20)\d\d)(?!\d))?
    | (?<![\d/])(?P<us_month>\d\d)/(?P<us_day>\d\d)/(?P<us_year>(?:19|20)\d\d)[ ,T-]+
        (?P<us_time>\d\d:\d\d:\d\d)(?:[.,](?P<us_fraction>\d{{1,9}}))?
    | (?:\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)[ ]+|^\[)
        (?P<short_month>\d\d)[-/](?P<short_day>\d\d)(?:/(?P<short_year>\d\d))?[ ]
        (?P<short_time>\d\d:\d\d:\d\d)(?:[.,](?P<short_fraction>\d{{1,9}}))?
    | \[(?P<epoch>1\d{{9}}(?:\.\d{{1,9}})?)\]
    | \[[ ]*(?P<boot>\d{{1,9}}\.\d{{6}})\]
    | ^[\[(\s]*(?P<alone>\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?)(?![\d:<])
    """,
    re.VERBOSE,
)


def read_stamp(text: str) -> Stamp | None:
    """The first time stamp in the beginning of ``text``; ``None`` where there is none or its fields are impossible."""
    match = _STAMP.search(text, 0, FURTHEST_START + 40)
    if match is None or match.start() > FURTHEST_START:
        return None
    read = _READERS.get(match.lastgroup or "")
    return (read or _read_fields)(match)


def _read_fields(match: re.Match[str]) -> Stamp | None:
    if match["year"]:
        return _dated(
            match, match["year"], match["month"], match["day"], match["time"], match["fraction"], match["zone"]
        )
    if match["monthday"]:
        # Torch's C++ logger (bracketed, nine digits) prints another clock's nanoseconds: only whole seconds are true.
        fraction = match["log_fraction"]
        other_clock = match["bracket"] is not None and len(fraction) == 9
        number = int(match["monthday"])
        return _dated(match, None, number // 100, number % 100, match["log_time"], None if other_clock else fraction)
    if match["word_month"]:
        year = match["early_year"] or match["late_year"]
        zone = "Z" if match["word_zone"] in ("UTC", "GMT") else None
        month = _MONTHS[match["word_month"]]
        return _dated(match, year, month, match["word_day"], match["word_time"], match["word_fraction"], zone)
    if match["us_year"]:
        month, day = int(match["us_month"]), int(match["us_day"])
        if month > 12:  # 31/08/2024
            month, day = day, month
        return _dated(match, match["us_year"], month, day, match["us_time"], match["us_fraction"])
    year = f"20{match['short_year']}" if match["short_year"] else None
    month, day = int(match["short_month"]), int(match["short_day"])
    return _dated(match, year, month, day, match["short_time"], match["short_fraction"])


def _read_epoch(match: re.Match[str]) -> Stamp:
    return Stamp(text=match["epoch"], seconds=float(match["epoch"]), utc_offset_s=0)


def _read_boot(match: re.Match[str]) -> Stamp:
    return Stamp(text=match["boot"], has_year=False, has_date=False)


def _read_alone(match: re.Match[str]) -> Stamp:
    return Stamp(text=match["alone"], has_year=False, has_date=False)


_READERS = {"epoch": _read_epoch, "boot": _read_boot, "alone": _read_alone}


def _dated(
    match: re.Match[str],
    year: str | None,
    month: str | int,
    day: str | int,
    time_of_day: str,
    fraction: str | None,
    zone: str | None = None,
) -> Stamp | None:
    midnight = _midnight_s(int(year) if year else None, int(month), int(day))
    hours, minutes, *seconds = (int(part) for part in time_of_day.split(":"))
    whole_s = seconds[0] if seconds else 0
    if midnight is None or hours > 23 or minutes > 59 or whole_s > 60:
        return None
    offset_s = _offset_s(zone)
    total = midnight + hours * 3600 + minutes * 60 + whole_s - (offset_s or 0)
    return Stamp(
        text=match[0].lstrip("[ABCDEFGINORTUVW ")
        if match["monthday"] or match["short_month"]
        else match[0].strip("[] "),
        seconds=total + (float(f"0.{fraction}") if fraction else 0.0),
        has_year=year is not None,
        utc_offset_s=offset_s,
    )


@functools.lru_cache(maxsize=64)
def _midnight_s(year: int | None, month: int, day: int) -> int | None:
    """Seconds from 1970 to that day; without a year 1970 is used, which has no 29 February: it becomes 1 March."""
    if year is None and (month, day) == (2, 29):
        month, day = 3, 1
    try:
        return (date(year or 1970, month, day).toordinal() - date(1970, 1, 1).toordinal()) * 86400
    except ValueError:
        return None


def _offset_s(zone: str | None) -> int | None:
    if zone is None:
        return None
    zone = zone.strip()
    if zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "")
    return (-1 if zone[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
