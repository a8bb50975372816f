"""``logsleuth explain CAUSE|PATTERN``."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from logsleuth.catalog.load import load_catalog
from logsleuth.catalog.spec import CauseSpec, PatternSpec
from logsleuth.errors import UsageError


def explain(name: Annotated[str, typer.Argument(metavar="CAUSE|PATTERN", help="An id, as reports print it.")]) -> None:
    """Say what a cause or a pattern means, what decides it, and what to do."""
    catalog = load_catalog()
    if name in catalog.causes:
        typer.echo(_cause(catalog.causes[name]))
    elif name in catalog.patterns:
        typer.echo(_pattern(catalog.patterns[name]))
    else:
        near = difflib.get_close_matches(name, [*catalog.causes, *catalog.patterns], n=3)
        raise UsageError(f"{name}: no such cause or pattern", hint=f"did you mean {', '.join(near)}?" if near else None)


def _cause(cause: CauseSpec) -> str:
    parts = [f"# {cause.id}: {cause.title}", f"Severity {cause.severity}; owner: {cause.owner}; retry: {cause.retry}"]
    parts += ["## What it means", cause.meaning, "## What decides it", cause.decisive]
    if cause.look_alikes:
        parts += ["## Look-alikes", *(f"- {a.cause}: {a.tell_apart}" for a in cause.look_alikes)]
    for kind, title in (("fix", "Fixes"), ("workaround", "Workarounds"), ("collect", "Collect next time")):
        chosen = [fix for fix in cause.fixes if fix.kind == kind]
        if chosen:
            parts.append(f"## {title}")
        for fix in chosen:
            parts.append(f"### {fix.title}{f' ({fix.applies_to})' if fix.applies_to else ''}")
            for step in fix.steps:
                parts.append(f"- {step.text}")
                parts += [f"      {line}" for line in (step.command or "").splitlines()]
            parts += [f"      export {name}={value}" for name, value in fix.env.items()]
            parts += [f"{word}: {text}" for word, text in (("Risk", fix.risk), ("Verify", fix.verify)) if text]
    if cause.references:
        parts += ["## References", *(f"- {link}" for link in cause.references)]
    return "\n".join(parts)


def _pattern(pattern: PatternSpec) -> str:
    parts = [f"# {pattern.id}: {pattern.title}", f"Yields {pattern.event} ({pattern.role})", "## Samples"]
    parts += [f"    {line}" for sample in pattern.samples for line in sample.text.splitlines()]
    if pattern.near_misses:
        parts += ["## Does not match", *(f"    {line}" for line in pattern.near_misses)]
    return "\n".join(parts)
