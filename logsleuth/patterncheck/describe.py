"""A cause or a pattern in words, as blocks of Markdown under fixed headings: for ``explain`` and for the pages."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from logsleuth.catalog.spec import Catalog, CauseSpec, DecidedBy, FixSpec, PatternSpec
from logsleuth.model.events import KINDS
from logsleuth.patterncheck.satisfiable import meeting
from logsleuth.scan.extract import ORIGIN_GROUPS, compiled

#: How an id is written: alone, or as a link to its page.
Link = Callable[[str], str]
#: The headings of a judgement's docstring.
JUDGEMENT_HEADINGS = ("Concludes", "Evidence", "Mistaken for", "Example")
_FIX_HEADINGS = (("fix", "Fixes"), ("workaround", "Workarounds"), ("collect", "Collect next time"))
_BLAME = {
    "first": "blames the ranks that print it first",
    "all": "blames every rank that prints it",
    "none": "blames no rank",
}
_TIERS = {
    "external": "something outside the program broke or ended it",
    "program": "the program or its data",
    "setup": "the job could not start",
    "symptom": "the logs show what happened and not why",
    "none": "nothing failed",
}


def describe_cause(
    cause: CauseSpec, catalog: Catalog, judgement: str | None, link: Link = str, *, fenced: bool = False
) -> list[str]:
    """What it means, what decides it, what it is mistaken for, what to do.

    ``judgement``: the docstring of the module that concludes it. ``fenced``: commands in fences, for pages; else
    indented.
    """
    blocks = [
        f"# {cause.id}: {cause.title}",
        f"Severity {cause.severity}; owner: {cause.owner}; retry: {cause.retry}; {_TIERS[cause.tier]}",
        "## What it means",
        cause.meaning,
        "## What decides it",
        cause.decisive,
    ]
    blocks += _listed(_rule(rule, catalog) for rule in cause.decided_by)
    said = headings_of(judgement or "")
    if said:
        blocks += ["## How it is judged", *_listed(f"{heading}: {text}" for heading, text in said.items())]
    if cause.suggests:
        blocks += ["## What only suggests it", *_listed(_rule(rule, catalog) for rule in cause.suggests)]
    if cause.yields_to:
        named = ((link(name), catalog.causes.get(name)) for name in cause.yields_to)
        blocks += [
            "## Gives way to",
            *_listed(f"{shown}{f': {other.title}' if other else ''}" for shown, other in named),
        ]
    if cause.look_alikes:
        blocks += ["## Look-alikes", *_listed(f"{link(a.cause)}: {a.tell_apart}" for a in cause.look_alikes)]
    for kind, title in _FIX_HEADINGS:
        chosen = [fix for fix in cause.fixes if fix.kind == kind]
        if chosen:
            blocks += [f"## {title}", *(block for fix in chosen for block in _fix(fix, fenced))]
    if cause.references:
        blocks += ["## References", *_listed(cause.references)]
    return blocks


def describe_pattern(pattern: PatternSpec, catalog: Catalog, link: Link = str) -> list[str]:
    """What it reads and how, what it yields, and which causes that decides."""
    blocks = [
        f"# {pattern.id}: {pattern.title}",
        f"Yields {pattern.event} ({pattern.role}); keeps {_keeps(pattern)}; family {pattern.family}",
        " ".join((KINDS[pattern.event].__doc__ or "").split()),
        "## Fields",
        *_listed(_fields(pattern)),
        "## Anchors",
        *_listed(f"`{anchor}`" for anchor in pattern.anchors),
    ]
    if pattern.regex is not None:
        blocks += ["## Regex", _indented(pattern.regex.splitlines())]
    if pattern.block is not None:
        end = f", up to `{pattern.block.end}`" if pattern.block.end else ""
        blocks += [
            "## Block",
            f"The following lines that match `{pattern.block.member}`{end}, {pattern.block.max_lines} at most",
        ]
    if pattern.versions:
        blocks += ["## Versions", ", ".join(f"{name} {wanted}" for name, wanted in pattern.versions.items())]
    blocks += ["## Samples", *(_indented(sample.text.splitlines()) for sample in pattern.samples)]
    if pattern.near_misses:
        blocks += ["## Does not match", *(_indented(miss.splitlines()) for miss in pattern.near_misses)]
    for heading, causes in _decides(pattern, catalog).items():
        if causes:
            blocks += [f"## {heading}", *_listed(f"{link(cause.id)}: {cause.title}" for cause in causes)]
    if pattern.references:
        blocks += ["## References", *_listed(pattern.references)]
    return blocks


def headings_of(docstring: str) -> dict[str, str]:
    """``Concludes:``, ``Evidence:``, ... of a judgement's docstring, each on one line."""
    names = "|".join(JUDGEMENT_HEADINGS)
    parts = re.split(rf"^\s*({names}):", docstring, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def rule_in_words(rule: DecidedBy) -> str:
    """``store-error with what = address-in-use, from a cause line: high confidence, blames no rank``."""
    where = " and ".join(f"{name} = {_one_of(values)}" for name, values in rule.where.items())
    blame = _BLAME.get(rule.blame) or f"blames the ranks in {rule.blame.removeprefix('field:').replace('+', ', ')}"
    lines = "any line" if len(rule.roles) == 4 else f"a {' or '.join(rule.roles)} line"
    return f"{rule.event}{f' with {where}' if where else ''}, from {lines}: {rule.confidence} confidence, {blame}"


def _rule(rule: DecidedBy, catalog: Catalog) -> str:
    readers = sorted(meeting(rule, catalog))
    return f"{rule.why}\n  {rule_in_words(rule)}\n  read by {', '.join(readers) or 'no pattern'}"


def _one_of(values: Iterable[object]) -> str:
    return " or ".join("nothing" if value is None else str(value) for value in values)


def _keeps(pattern: PatternSpec) -> str:
    return {"all": "all", "latest-per-key": "the first and the last ones", "count": "the first, with a count"}[
        pattern.keep
    ]


def _fields(pattern: PatternSpec) -> Iterator[str]:
    for name, value in pattern.fields.items():
        yield f"{name} = {value}"
    if pattern.regex is None:
        names = ", ".join(field.name for field in dataclasses.fields(KINDS[pattern.event]))
        yield f"what the parser {pattern.parser} finds of {names}"
        return
    for name in compiled(pattern.regex).groupindex:
        yield f"{name.removeprefix('o_')} of the printing process" if name in ORIGIN_GROUPS else name


def _decides(pattern: PatternSpec, catalog: Catalog) -> Mapping[str, list[CauseSpec]]:
    alone = dataclasses.replace(catalog, patterns={pattern.id: pattern})

    def met(rules: Iterable[DecidedBy]) -> bool:
        return any(next(meeting(rule, alone), None) is not None for rule in rules)

    return {
        "Can decide": [cause for cause in catalog.causes.values() if met(cause.decided_by)],
        "Can suggest": [cause for cause in catalog.causes.values() if met(cause.suggests)],
    }


def _fix(fix: FixSpec, fenced: bool) -> Iterator[str]:
    yield f"### {fix.title}{f' ({fix.applies_to})' if fix.applies_to else ''}"
    lines: list[str] = []
    for step in fix.steps:
        lines += [f"- {step.text}", *_command((step.command or "").splitlines(), fenced)]
    lines += _command([f"export {name}={value}" for name, value in fix.env.items()], fenced)
    yield "\n".join(lines)
    if fix.when:
        yield f"Only with {', '.join(f'{name} {wanted}' for name, wanted in fix.when.items())}"
    yield from (f"{word}: {text}" for word, text in (("Risk", fix.risk), ("Verify", fix.verify)) if text)
    if fix.references:
        yield f"See {', '.join(fix.references)}"


def _command(lines: list[str], fenced: bool) -> list[str]:
    if not lines:
        return []
    return ["  ```", *(f"  {line}" for line in lines), "  ```"] if fenced else [f"      {line}" for line in lines]


def _listed(items: Iterable[str]) -> list[str]:
    """One block with a line an item, or none."""
    lines = [f"- {item}" for item in items]
    return ["\n".join(lines)] if lines else []


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
