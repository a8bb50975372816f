"""``logsleuth patterns list|lint|test|new|unread|schema|docs``: the catalog as its authors see it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logsleuth.catalog.load import load_catalog
from logsleuth.cli.exits import Exit
from logsleuth.errors import UsageError

if TYPE_CHECKING:
    from logsleuth.catalog.spec import PatternSpec

patterns_app = typer.Typer(help="The catalog: what messages LogSleuth knows.", no_args_is_help=True)
Folders = Annotated[
    list[Path] | None,
    typer.Option("--patterns", help="Folder of own patterns and causes (repeatable).", exists=True, file_okay=False),
]


@patterns_app.command("list")
def list_patterns(
    patterns: Folders = None, as_json: Annotated[bool, typer.Option("--json", help="With everything in them.")] = False
) -> None:
    """Every pattern with its event kind and role."""
    catalog = load_catalog(patterns or ())
    ordered = sorted(catalog.patterns.values(), key=lambda p: (p.family, p.id))
    if as_json:
        typer.echo(json.dumps([asdict(pattern) for pattern in ordered], indent=2, ensure_ascii=False))
        return
    for pattern in ordered:
        typer.echo(f"{pattern.family + '/' + pattern.id:52} {pattern.event:20} {pattern.role:8} {pattern.title}")


@patterns_app.command("lint")
def lint_patterns(patterns: Folders = None) -> None:
    """Every fault of every file; exits 2 if there is one."""
    from logsleuth.catalog.load import load_partly
    from logsleuth.patterncheck.lint import lint

    catalog, faults = load_partly(patterns or ())
    faults += lint(catalog)
    samples = sum(len(p.samples) for p in catalog.patterns.values())
    _tell(faults, f"{len(catalog.patterns)} patterns with {samples} samples, {len(catalog.causes)} causes")


@patterns_app.command("test")
def test_patterns(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PATTERN]...", help="All of them if none.")] = None,
    patterns: Folders = None,
) -> None:
    """Read every sample and near miss with the whole engine, as a log of its own; exits 2 if one is read wrongly."""
    from logsleuth.patterncheck.samples import sample_faults

    catalog = load_catalog(patterns or ())
    for name in names or ():
        if name not in catalog.patterns:
            raise UsageError(f"{name}: no such pattern", hint="logsleuth patterns list")
    chosen: list[PatternSpec] = [p for p in catalog.patterns.values() if not names or p.id in names]
    samples = sum(len(p.samples) for p in chosen)
    misses = sum(len(p.near_misses) for p in chosen)
    _tell(sample_faults(catalog, names or ()), f"{len(chosen)} patterns, {samples} samples, {misses} near misses")


@patterns_app.command("new")
def new_pattern(
    line: Annotated[str | None, typer.Argument(help="A line of a log; standard input if none.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Id of the pattern; made of the line if none.")] = None,
    event: Annotated[str, typer.Option("--event", help="What it yields: collective-timeout, nccl-warn, ...")] = "note",
    role: Annotated[str, typer.Option("--role", help="cause, symptom, context or benign.")] = "context",
) -> None:
    """Print a pattern file to start from, made of a pasted line."""
    from logsleuth.model.events import KINDS, ROLES
    from logsleuth.patterncheck.samples import read_events
    from logsleuth.patterncheck.skeleton import skeleton
    from logsleuth.scan.index import build_index

    if event not in KINDS:
        raise UsageError(f"--event {event}: no such kind", hint=f"one of {', '.join(sorted(KINDS))}")
    if role not in ROLES:
        raise UsageError(f"--role {role}: not one of {', '.join(ROLES)}")
    text = (line if line is not None else sys.stdin.readline()).strip()
    if not re.search(r"[A-Za-z]{4}", text):
        raise UsageError("no line with words was given", hint="logsleuth patterns new 'text of the line'")
    if name is not None and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UsageError(f"--id {name}: expected lower-case words with dashes")
    chosen = name or "-".join(re.findall(r"[a-z]{3,}", text.lower().rpartition("] ")[2] or text.lower())[:4])
    known = sorted({e.pattern for e in read_events(text, build_index(load_catalog().patterns.values()))})
    if known:
        typer.echo(f"already read by {', '.join(known)}: a new wording of it is one more sample there", err=True)
    typer.echo(f"save it as patterns/FAMILY/{chosen}.yaml, then run: logsleuth patterns lint", err=True)
    typer.echo(skeleton(text, chosen, event, role), nl=False)


@patterns_app.command("unread")
def unread(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, globs, archives, or -.")],
    patterns: Folders = None,
    as_json: Annotated[bool, typer.Option("--json", help="With the masked line and every source.")] = False,
) -> None:
    """Error-like lines of logs that no pattern reads: how often, in how many files, and one of each kind."""
    from logsleuth.cli.events import scanned
    from logsleuth.cli.own import catalog_with
    from logsleuth.patterncheck.unread import unread_kinds

    kinds = unread_kinds(scanned(paths, catalog_with(patterns)))
    if as_json:
        typer.echo(json.dumps([asdict(kind) for kind in kinds], indent=2, ensure_ascii=False))
        return
    for kind in kinds:
        typer.echo(f"{kind.count:7} {len(kind.sources):5}  {kind.sample}")
    typer.echo(f"{len(kinds)} kinds, {sum(kind.count for kind in kinds)} lines", err=True)


@patterns_app.command("schema")
def schemas(
    name: Annotated[str | None, typer.Argument(metavar="[report|pattern|cause]", help="Print this one.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="DIR", help="Write all of them as DIR/NAME.schema.json.")
    ] = None,
) -> None:
    """JSON Schemas (draft 2020-12) of reports, pattern files and cause files."""
    from logsleuth.cli.schemas import NAMES, schema

    if (name is None) == (write is None) or (name is not None and name not in NAMES):
        raise UsageError(f"give one of {', '.join(NAMES)}, or --write DIR")
    if name is not None:
        typer.echo(schema(name), nl=False)
    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
        for each in NAMES:
            (write / f"{each}.schema.json").write_text(schema(each), encoding="utf-8")


@patterns_app.command("docs")
def docs(
    write: Annotated[Path, typer.Option("--write", metavar="DIR", help="Folder of the documentation: docs/")],
) -> None:
    """Write the pages of causes and patterns that are made of the catalog."""
    from logsleuth.cli.explain import judgements
    from logsleuth.patterncheck.pages import pages, write_pages

    for path in write_pages(pages(load_catalog(), judgements()), write):
        typer.echo(str(path), err=True)


def _tell(faults: list[str], summary: str) -> None:
    """Faults on standard error, the summary on standard output."""
    for fault in faults:
        typer.echo(fault, err=True)
    typer.echo(f"{summary}, {len(faults)} faults")
    if faults:
        raise typer.Exit(Exit.USAGE)
