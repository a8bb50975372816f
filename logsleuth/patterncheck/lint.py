"""Faults of patterns and causes, each as ``path:line: sentence``: all of them at once."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import regex

from logsleuth.catalog.spec import Catalog, CauseSpec, DecidedBy, PatternSpec
from logsleuth.model.events import KINDS
from logsleuth.patterncheck.place import place
from logsleuth.patterncheck.satisfiable import in_short, meeting
from logsleuth.scan.extract import LONGEST_TEXT, ORIGIN_GROUPS, extract
from logsleuth.scan.parsers import PARSERS
from logsleuth.sources.prefixes import read_prefix

#: A regex that needs longer on 16 KiB of hostile text can be made to hang.
SLOWEST_S = 0.25
#: A key of the file, the number of its entry (from 1) or ``None``, and what is wrong there.
Fault = tuple[str, int | None, str]


def lint(catalog: Catalog, under: Iterable[Path] = ()) -> list[str]:
    """Every fault of the files below the folders ``under``, or of the whole catalog, ordered by file and line."""
    folders = [folder.resolve() for folder in under]

    def wanted(path: str) -> bool:
        return not folders or any(Path(path).resolve().is_relative_to(folder) for folder in folders)

    found: list[tuple[str, Fault]] = []
    for pattern in catalog.patterns.values():
        if wanted(pattern.path):
            found += [(pattern.path, fault) for fault in _pattern_faults(pattern)]
            if pattern.id in catalog.causes:
                found.append((pattern.path, ("id", None, "the id is also a cause's id")))
    runnable = _without(catalog, {path for path, (key, _, _) in found if key in ("event", "regex", "parser")})
    for cause in catalog.causes.values():
        if wanted(cause.path):
            found += [(cause.path, fault) for fault in _cause_faults(cause, runnable)]
    return sorted(f"{place(path, key, item)}: {sentence}" for path, (key, item, sentence) in found)


def _without(catalog: Catalog, paths: set[str]) -> Catalog:
    """The catalog without patterns that cannot run at all."""
    kept = {name: pattern for name, pattern in catalog.patterns.items() if pattern.path not in paths}
    return dataclasses.replace(catalog, patterns=kept)


# --- patterns --------------------------------------------------------------------------------------------------------


def _pattern_faults(pattern: PatternSpec) -> Iterator[Fault]:
    if pattern.event not in KINDS:
        yield "event", None, f"event {pattern.event!r} is no kind; known: {', '.join(sorted(KINDS))}"
        return
    fields = {f.name for f in dataclasses.fields(KINDS[pattern.event])}
    unknown = [name for name in pattern.fields if name not in fields]
    for name in unknown:
        yield "fields", None, f"fields: {name!r} is no field of {pattern.event}"
    if pattern.role in ("cause", "symptom") and pattern.keep == "latest-per-key":
        yield "keep", None, f"keep: a {pattern.role} is never dropped; latest-per-key drops it"
    if (pattern.regex is None) == (pattern.parser is None):
        yield "regex", None, "needs either a regex or a parser"
        return
    if pattern.parser is not None:
        if pattern.parser not in PARSERS:
            yield "parser", None, f"parser {pattern.parser!r} is not one of {', '.join(sorted(PARSERS))}"
            return
    else:
        broken = list(_regex_faults(pattern, fields))
        yield from broken
        if any(text.startswith("regex: cannot be compiled") for _, _, text in broken):
            return
    if not unknown:
        yield from _example_faults(pattern)


def _example_faults(pattern: PatternSpec) -> Iterator[Fault]:
    for number, sample in enumerate(pattern.samples, 1):
        if not any(anchor in sample.text for anchor in pattern.anchors):
            yield "samples", number, f"sample {number}: holds none of the anchors"
        elif pattern.parser is None:
            for text in _sample_faults(pattern, sample.text, sample.expect):
                yield "samples", number, f"sample {number}: {text}"
    for number, miss in enumerate(pattern.near_misses, 1):
        if pattern.parser is None and extract(pattern, miss) is not None:
            yield "near_misses", number, f"near miss {number}: matches"


def _regex_faults(pattern: PatternSpec, fields: set[str]) -> Iterator[Fault]:
    assert pattern.regex is not None
    block = pattern.block
    for key, text in (("regex", pattern.regex), ("block", block and block.member), ("block", block and block.end)):
        try:
            regex.compile(text or "")
        except regex.error as error:
            yield key, None, f"{key}: cannot be compiled: {error}"
            return
    compiled = regex.compile(pattern.regex)
    for name in compiled.groupindex:
        if name not in fields and name not in ORIGIN_GROUPS:
            yield "regex", None, f"regex: group {name!r} is no field of {pattern.event}"
        elif name in pattern.fields:
            yield "regex", None, f"regex: group {name!r} is also a constant"
    slow = _slow_on(compiled, pattern.anchors)
    if slow is not None:
        yield "regex", None, f"regex: takes more than {SLOWEST_S} s on {LONGEST_TEXT} characters of {slow!r}"


def _slow_on(compiled: regex.Pattern[str], anchors: Iterable[str]) -> str | None:
    """What makes the expression slow, of a few hostile texts around its anchors."""
    for anchor in anchors:
        for filler in (anchor, anchor + " ", anchor + " a1 ", anchor + "(", "1", " "):
            text = (anchor + " " + filler * (LONGEST_TEXT // len(filler)))[:LONGEST_TEXT]
            begin = time.thread_time()
            try:
                compiled.search(text, timeout=10)
            except TimeoutError:
                return filler
            if time.thread_time() - begin > SLOWEST_S:
                return filler
    return None


def _sample_faults(pattern: PatternSpec, text: str, expect: Mapping[str, Any]) -> Iterator[str]:
    unprefixed = "\n".join(read_prefix(line).text for line in text.split("\n"))
    found = extract(pattern, text) or extract(pattern, unprefixed)
    if found is None:
        yield "the regex does not match"
        return
    for name, want in expect.items():
        if name in ORIGIN_GROUPS:
            have: Any = getattr(found.origin, name.removeprefix("o_"))
        elif hasattr(found.fact, name):
            have = getattr(found.fact, name)
        else:
            yield f"{name!r} is no field of {pattern.event}"
            continue
        if isinstance(have, tuple):
            have = list(have)
        if have != want:
            yield f"{name} is {have!r}, expected {want!r}"


# --- causes ----------------------------------------------------------------------------------------------------------


def _cause_faults(cause: CauseSpec, catalog: Catalog) -> Iterator[Fault]:
    for key, rules in (("decided_by", cause.decided_by), ("suggests", cause.suggests)):
        for number, rule in enumerate(rules, 1):
            for text in _rule_faults(rule, catalog):
                yield key, number, f"{key} {number}: {text}"
    named = [("yields_to", name) for name in cause.yields_to]
    for key, other in [*named, *(("look_alikes", alike.cause) for alike in cause.look_alikes)]:
        if other not in catalog.causes:
            yield key, None, f"names the cause {other!r}, which does not exist"
        elif other == cause.id:
            yield key, None, "names itself"
    if cause.tier != "none" and not any(fix.kind == "fix" for fix in cause.fixes):
        if cause.tier != "symptom":
            yield "fixes", None, "has no fix"
        elif not any(fix.kind == "collect" for fix in cause.fixes):
            yield "fixes", None, "has nothing to collect"


def _rule_faults(rule: DecidedBy, catalog: Catalog) -> Iterator[str]:
    if rule.event not in KINDS:
        yield f"{rule.event!r} is no event kind"
        return
    fields = {f.name for f in dataclasses.fields(KINDS[rule.event])}
    unknown = [name for name in rule.where if name not in fields]
    for name in unknown:
        yield f"{name!r} is no field of {rule.event}"
    if rule.blame.startswith("field:") and not set(rule.blame.removeprefix("field:").split("+")) <= fields:
        yield f"blame {rule.blame!r} names no field of {rule.event}"
    if not unknown and next(meeting(rule, catalog), None) is None:
        yield f"no pattern yields {in_short(rule)}"
