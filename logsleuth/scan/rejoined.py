"""A pattern tried again where the line alone did not give all: behind its prefixes, and joined with its neighbours."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from logsleuth.catalog.spec import PatternSpec
from logsleuth.model.events import KINDS
from logsleuth.scan.extract import ORIGIN_GROUPS, Extract, compiled, extract_all, looks_at_the_beginning
from logsleuth.scan.lines import Piece
from logsleuth.scan.required import may_match
from logsleuth.scan.vocabulary import Vocabulary
from logsleuth.scan.wrapped import joined
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import Prefixed


def extracts_behind_prefixes(pattern: PatternSpec, text: str, prefixed: Prefixed) -> list[Extract]:
    """What a pattern that asks for the beginning of a line reads behind launchers, collectors and an indent."""
    if pattern.regex is None or not looks_at_the_beginning(pattern.regex):
        return []
    for inner in dict.fromkeys((prefixed.text, prefixed.text.lstrip())):
        shift = len(text) - len(inner)
        if shift and (found := extract_all(pattern, inner)):
            return [replace(item, start=item.start + shift, end=item.end + shift) for item in found]
    return []


def joined_extracts(
    window: Window,
    piece: Piece,
    pattern: PatternSpec,
    text: str,
    key: str,
    plain: list[Extract],
    vocabulary: Vocabulary,
) -> tuple[list[Extract], Prefixed | None] | None:
    """The pattern on ``text`` (of ``piece``, whose prefixes have ``key``) joined with the lines around it, and the
    prefixes of the line where the message begins. ``None`` where that reads no more than ``plain``, the line alone."""
    # A message may be read in full on a line of its own while the line before holds its rank.
    with_previous = not plain or (not key and all(found.origin.rank is None for found in plain))
    best: tuple[list[Extract], Prefixed | None] | None = None
    number, filled = len(plain), _filled(plain)
    expression = pattern.regex or ""
    most = _most_filled(pattern.event, expression, tuple(pattern.fields))
    if number and filled >= number * most:
        return None

    def worth_while(parts: Sequence[str]) -> bool:
        return may_match(expression, parts)

    for candidate in joined(window, piece, text, vocabulary, with_previous=with_previous, may_match=worth_while):
        extracts = [
            found
            for found in extract_all(pattern, candidate.text)
            if found.start < candidate.own_end and found.end > candidate.own_start
        ]
        # Of two ways to join, the one that lets the pattern read more; a joined neighbour is not more.
        if extracts and len(extracts) == (number or len(extracts)) and (more := _filled(extracts)) > filled:
            best, number, filled = (extracts, candidate.head), len(extracts), more
            if filled >= number * most:
                break
    return best


def _filled(extracts: Iterable[Extract]) -> int:
    """How many fields were read, of the fact and of its origin."""
    # A match alone tells something, also where its kind has no field.
    return sum(
        1 + len(e.origin.learnt) + sum(_tells(getattr(e.fact, field.name)) for field in _fields(e.fact.kind))
        for e in extracts
    )


def _tells(value: object) -> bool:
    return value is not None and value is not False and value != ()


@functools.cache
def _fields(kind: str) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(KINDS[kind])


@functools.cache
def _most_filled(event: str, expression: str, constants: tuple[str, ...]) -> int:
    """What ``_filled`` gives for one match of a pattern in which every group took part."""
    groups = compiled(expression).groupindex
    told = sum(name in groups for name in ORIGIN_GROUPS)
    return 1 + told + sum(f.name in groups or f.name in constants or _tells(f.default) for f in _fields(event))
