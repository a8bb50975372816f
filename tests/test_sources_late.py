"""Expressions that are compiled late are the same as those compiled at once, and all of them can be compiled."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

from logsleuth import sources
from logsleuth.sources.grammars import Grammar
from logsleuth.sources.late import _Late, late


def put_off(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, _Late):
        yield value  # type: ignore[misc]
    elif isinstance(value, Grammar):
        yield from put_off(value.expression)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from put_off(item)
    elif isinstance(value, dict):
        yield from put_off(list(value.values()))


def test_every_expression_can_be_compiled() -> None:
    modules = [importlib.import_module(f"{sources.__name__}.{m.name}") for m in pkgutil.iter_modules(sources.__path__)]
    found = [expression for module in modules for value in vars(module).values() for expression in put_off(value)]
    assert len(found) > 100
    for expression in found:
        assert re.compile(expression.pattern, expression.flags).groupindex == expression.groupindex


def test_it_is_as_if_it_were_compiled_at_once() -> None:
    put_off, at_once = late(r"(?P<rank>\d+)", re.IGNORECASE), re.compile(r"(?P<rank>\d+)", re.IGNORECASE)
    for _ in range(2):
        assert put_off.search("rank 3")["rank"] == "3"
        assert put_off.match("rank 3") is None
        assert put_off.sub("#", "rank 3") == "rank #"
    assert (put_off.pattern, put_off.flags, put_off.groupindex) == (at_once.pattern, at_once.flags, at_once.groupindex)
