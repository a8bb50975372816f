"""Can a rule of a cause ever fire? ``decided_by`` and ``suggests`` against what patterns can yield."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from logsleuth.catalog.spec import Catalog, DecidedBy, PatternSpec
from logsleuth.model.events import KINDS
from logsleuth.patterncheck.samples import facts_of_samples
from logsleuth.scan.extract import compiled


def meeting(rule: DecidedBy, catalog: Catalog) -> Iterator[str]:
    """The ids of the patterns that can yield what ``rule`` asks for."""
    for pattern in catalog.patterns.values():
        if pattern.event == rule.event and pattern.role in rule.roles:
            may = _by_sample(pattern) if pattern.parser is not None else _by_fields(pattern)
            if may(rule):
                yield pattern.id


def in_short(rule: DecidedBy) -> str:
    """``store-error (what: address-in-use or bind-failed) as cause``."""
    where = ", ".join(f"{name}: {' or '.join(map(str, values))}" for name, values in rule.where.items())
    return f"{rule.event}{f' ({where})' if where else ''} as {' or '.join(rule.roles)}"


def _by_fields(pattern: PatternSpec) -> Callable[[DecidedBy], bool]:
    """A constant must be a value that the rule wants, what a group reads can be any, and all else has its default."""
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(KINDS[pattern.event])}
    read = compiled(pattern.regex or "").groupindex

    def may(rule: DecidedBy) -> bool:
        return all(
            name in read or pattern.fields.get(name, defaults.get(name)) in wanted
            for name, wanted in rule.where.items()
        )

    return may


def _by_sample(pattern: PatternSpec) -> Callable[[DecidedBy], bool]:
    """A parser's fields are known from its samples alone."""
    facts = facts_of_samples(pattern)

    def may(rule: DecidedBy) -> bool:
        return any(all(getattr(fact, name) in wanted for name, wanted in rule.where.items()) for fact in facts)

    return may
