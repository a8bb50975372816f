"""Printed text -> typed field values of a fact."""

from __future__ import annotations

import dataclasses
import functools
import signal as _signal
from collections.abc import Callable, Mapping
from typing import Any

from logsleuth.model.events import KINDS, Fact

#: (size_t)-1: torch prints it for "not set" (ProcessGroupNCCL.hpp: ``size_t numelIn_ = -1``).
UNSET_SIZE = 2**64 - 1
#: The largest number that can be a sequence number or a size; beyond it the integer is garbage.
_LARGEST = 2**62

#: Wordings of shells, Slurm, Lightning and the DataLoader for signals.
_SIGNAL_WORDS = {
    "killed": "SIGKILL",
    "terminated": "SIGTERM",
    "aborted": "SIGABRT",
    "iot": "SIGABRT",
    "bus error": "SIGBUS",
    "segmentation fault": "SIGSEGV",
    "floating point exception": "SIGFPE",
    "floating-point exception": "SIGFPE",
    "illegal instruction": "SIGILL",
    "hangup": "SIGHUP",
    "interrupt": "SIGINT",
    "sigiot": "SIGABRT",
}


def fact_from(kind: str, values: Mapping[str, str | None], constants: Mapping[str, Any]) -> Fact | None:
    """The fact of ``kind`` from a match's named groups and a pattern's constants.

    ``None`` where a group that must be a number is none: then the text is not what the pattern means.
    """
    converters = _converters_of(kind)
    filled: dict[str, Any] = dict(constants)
    try:
        for name, text in values.items():
            if text is not None and (convert := converters.get(name)) is not None:
                value = convert(text)
                if value is not None:
                    filled[name] = value
    except ValueError:
        return None
    for name in constants:
        if isinstance(filled[name], list):
            filled[name] = tuple(filled[name])
    return KINDS[kind](**filled)


def rank_list(text: str) -> tuple[int, ...]:
    """``4, 5, 6`` or ``0-3,7`` -> sorted ranks. Raises ValueError on anything else."""
    ranks: set[int] = set()
    for part in text.replace(" ", "").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        low = int(first)
        high = int(last) if dash else low
        if high < low or high - low > 1_000_000:
            raise ValueError(text)
        ranks.update(range(low, high + 1))
    return tuple(sorted(ranks))


def signal_name(text: str) -> str:
    """``9``, ``Signals.SIGKILL``, ``Killed``, ``SIGKILL`` -> ``SIGKILL``; unknown words in upper case."""
    word = text.strip().removeprefix("Signals.")
    if word.lstrip("-").isdigit():
        number = abs(int(word))
        try:
            return _signal.Signals(number - 128 if number > 128 else number).name
        except ValueError:
            return f"SIG{number}"
    return _SIGNAL_WORDS.get(word.lower(), word.upper())


def _number(text: str) -> int | None:
    value = (
        int(text)
        if text.isdecimal()
        else int(text.replace(",", "").replace("_", "").strip(), 16 if text.strip().lower().startswith("0x") else 10)
    )
    return value if -_LARGEST < value < _LARGEST else None


def _count(text: str) -> int | None:
    """A sequence number; torch's -1 means none yet."""
    value = _number(text)
    return None if value is None or value < 0 else value


def _size(text: str) -> int | None:
    return None if int(text) == UNSET_SIZE else _number(text)


def _flag(text: str) -> bool:
    return bool(text.strip())


def _words(text: str) -> str | None:
    return " ".join(text.split()) or None


_BY_NAME: Mapping[str, Callable[[str], Any]] = {
    "signal": signal_name,
    "numel_in": _size,
    "numel_out": _size,
    "last_enqueued": _count,
    "last_started": _count,
    "last_completed": _count,
}


@functools.cache
def _converters_of(kind: str) -> Mapping[str, Callable[[str], Any]]:
    chosen: dict[str, Callable[[str], Any]] = {}
    for item in dataclasses.fields(KINDS[kind]):
        annotation = str(item.type)
        if item.name in _BY_NAME:
            chosen[item.name] = _BY_NAME[item.name]
        elif annotation.startswith("tuple"):
            chosen[item.name] = rank_list
        elif annotation.startswith("int"):
            chosen[item.name] = _number
        elif annotation == "bool":
            chosen[item.name] = _flag
        else:
            chosen[item.name] = _words
    return chosen
