"""Slurm's short form of many host names: ``gpu[01-04,07],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: ``prefix[ranges]suffix``
BRACKETED = re.compile(r"([A-Za-z][\w.-]*)\[(\d[\d,-]*)\]([\w.-]*)")
#: No cluster has more hosts in one list; a longer one is no list of hosts.
MOST_HOSTS = 20_000
_NUMBERED = re.compile(r"(.*?)(\d+)")


def expanded(text: str) -> Iterator[str]:
    """``gpu[01-03],login1`` -> gpu01, gpu02, gpu03, login1."""
    for part in re.split(r",(?![^\[]*\])", text):
        match = BRACKETED.fullmatch(part)
        if match is None:
            yield part
            continue
        for number in _numbers(match[2]):
            yield f"{match[1]}{number}{match[3]}"


def _numbers(ranges: str) -> Iterator[str]:
    """``01-03,07`` -> 01, 02, 03, 07: the zeros in front are kept."""
    given = 0
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            continue
        for number in range(int(first), int(last if dash else first) + 1):
            given += 1
            if given > MOST_HOSTS:
                return
            yield str(number).zfill(len(first))


def compressed(names: Iterable[str]) -> str:
    """The other way round: node-1, node-2, node-4 -> ``node-[1-2,4]``; a name without a number stays as it is."""
    numbers: dict[str, list[str]] = {}
    parts: list[str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            parts.append(name)
        else:
            numbers.setdefault(match[1], []).append(match[2])
    for prefix, values in numbers.items():
        runs = list(_runs(sorted(values, key=int)))
        one = len(values) == 1
        parts.append(f"{prefix}{values[0]}" if one else f"{prefix}[{','.join(runs)}]")
    return ",".join(parts)


def _runs(numbers: list[str]) -> Iterator[str]:
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and int(number) == int(last) + 1:
            last = number
            continue
        yield first if first == last else f"{first}-{last}"
        if number is not None:
            first = last = number
