"""Versions and settings found in the text."""

from __future__ import annotations

from collections.abc import Iterable

from logsleuth.model.events import EnvFact, Event, NcclError, Setting
from logsleuth.model.job import Environment


def build_environment(events: Iterable[Event]) -> Environment:
    """Distinct values in the order seen; conflicting ones are all kept.

    Where nothing states torch's version, the source lines of its messages do (``torch-build``).
    """
    values: dict[str, list[str]] = {}
    settings: dict[str, list[str]] = {}
    told_by: dict[str, Event] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, EnvFact) and fact.name and fact.value:
            _note(values, fact.name, fact.value)
            told_by.setdefault(fact.name, event)
        elif isinstance(fact, Setting) and fact.name and fact.value is not None:
            _note(settings, fact.name, fact.value)
            told_by.setdefault(fact.name, event)
        elif isinstance(fact, NcclError) and fact.version:
            _note(values, "nccl", fact.version)
            told_by.setdefault("nccl", event)
    if "torch" not in values and "torch-build" in values:
        values["torch"] = values["torch-build"]
        told_by["torch"] = told_by["torch-build"]
    return Environment(
        {name: tuple(found) for name, found in values.items()},
        {name: tuple(found) for name, found in settings.items()},
        told_by,
    )


def _note(into: dict[str, list[str]], name: str, value: str) -> None:
    found = into.setdefault(name, [])
    if value not in found:
        found.append(value)
