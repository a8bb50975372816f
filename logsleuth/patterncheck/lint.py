"""Faults of patterns and causes, each as a sentence with the file's path."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Any

import regex

from logsleuth.catalog.spec import Catalog, CauseSpec, DecidedBy, PatternSpec
from logsleuth.model.events import KINDS
from logsleuth.scan.extract import LONGEST_TEXT, ORIGIN_GROUPS, extract
from logsleuth.scan.parsers import PARSERS

#: A regex that needs longer on 16 KiB of hostile text can be made to hang.
SLOWEST_S = 0.25


def lint(catalog: Catalog) -> list[str]:
    """Every fault of the catalog, ordered by file."""
    faults: list[str] = []
    for pattern in catalog.patterns.values():
        faults += [f"{pattern.path}: {fault}" for fault in _pattern_faults(pattern)]
        if pattern.id in catalog.causes:
            faults.append(f"{pattern.path}: the id is also a cause's id")
    for cause in catalog.causes.values():
        faults += [f"{cause.path}: {fault}" for fault in _cause_faults(cause, catalog)]
    return sorted(faults)


def _pattern_faults(pattern: PatternSpec) -> Iterator[str]:
    if pattern.event not in KINDS:
        yield f"event {pattern.event!r} is no kind; known: {', '.join(sorted(KINDS))}"
        return
    fields = {f.name for f in dataclasses.fields(KINDS[pattern.event])}
    for name in pattern.fields:
        if name not in fields:
            yield f"fields: {name!r} is no field of {pattern.event}"
    if (pattern.regex is None) == (pattern.parser is None):
        yield "needs either a regex or a parser"
        return
    if pattern.parser is not None:
        if pattern.parser not in PARSERS:
            yield f"parser {pattern.parser!r} is not one of {', '.join(sorted(PARSERS))}"
    else:
        yield from _regex_faults(pattern, fields)
    for number, sample in enumerate(pattern.samples, 1):
        if not any(anchor in sample.text for anchor in pattern.anchors):
            yield f"sample {number}: holds none of the anchors"
        elif pattern.parser is None:
            yield from _sample_faults(pattern, number, sample.text, sample.expect)
    for number, miss in enumerate(pattern.near_misses, 1):
        if pattern.parser is None and extract(pattern, miss) is not None:
            yield f"near_miss {number}: matches"


def _regex_faults(pattern: PatternSpec, fields: set[str]) -> Iterator[str]:
    assert pattern.regex is not None
    try:
        compiled = regex.compile(pattern.regex)
    except regex.error as error:
        yield f"regex: {error}"
        return
    for name in compiled.groupindex:
        if name not in fields and name not in ORIGIN_GROUPS:
            yield f"regex: group {name!r} is no field of {pattern.event}"
        elif name in pattern.fields:
            yield f"regex: group {name!r} is also a constant"
    for anchor in pattern.anchors:
        for filler in (anchor, anchor + " ", anchor + " a1 ", anchor + "(", "1", " "):
            text = (anchor + " " + filler * (LONGEST_TEXT // len(filler)))[:LONGEST_TEXT]
            begin = time.perf_counter()
            try:
                compiled.search(text, timeout=2)
            except TimeoutError:
                yield f"regex: takes more than 2 s on {LONGEST_TEXT} characters of {filler!r}"
                return
            if time.perf_counter() - begin > SLOWEST_S:
                yield f"regex: takes more than {SLOWEST_S} s on {LONGEST_TEXT} characters of {filler!r}"
                return


def _sample_faults(pattern: PatternSpec, number: int, text: str, expect: Mapping[str, Any]) -> Iterator[str]:
    found = extract(pattern, text)
    if found is None:
        yield f"sample {number}: the regex does not match"
        return
    for name, want in expect.items():
        if name in ORIGIN_GROUPS:
            have: Any = getattr(found.origin, name.removeprefix("o_"))
        elif hasattr(found.fact, name):
            have = getattr(found.fact, name)
        else:
            yield f"sample {number}: {name!r} is no field of {pattern.event}"
            continue
        if isinstance(have, tuple):
            have = list(have)
        if have != want:
            yield f"sample {number}: {name} is {have!r}, expected {want!r}"


def _cause_faults(cause: CauseSpec, catalog: Catalog) -> Iterator[str]:
    for rule in (*cause.decided_by, *cause.suggests):
        yield from _rule_faults(rule)
    for other in (*cause.yields_to, *(a.cause for a in cause.look_alikes)):
        if other not in catalog.causes:
            yield f"names the cause {other!r}, which does not exist"
    if cause.tier != "none" and not any(fix.kind == "fix" for fix in cause.fixes):
        if cause.tier != "symptom":
            yield "has no fix"
        elif not any(fix.kind == "collect" for fix in cause.fixes):
            yield "has nothing to collect"


def _rule_faults(rule: DecidedBy) -> Iterator[str]:
    if rule.event not in KINDS:
        yield f"decided_by: {rule.event!r} is no event kind"
        return
    fields = {f.name for f in dataclasses.fields(KINDS[rule.event])}
    for name in rule.where:
        if name not in fields:
            yield f"decided_by: {name!r} is no field of {rule.event}"
    if rule.blame.startswith("field:") and not set(rule.blame.removeprefix("field:").split("+")) <= fields:
        yield f"decided_by: blame {rule.blame!r} names no field of {rule.event}"
