"""``logsleuth patterns list|lint``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logsleuth.catalog.load import load_catalog
from logsleuth.cli.exits import Exit

patterns_app = typer.Typer(help="The catalog: what messages LogSleuth knows.", no_args_is_help=True)
Folders = Annotated[
    list[Path] | None, typer.Option("--patterns", help="Folder of own patterns and causes (repeatable).")
]


@patterns_app.command("list")
def list_patterns(patterns: Folders = None) -> None:
    """Every pattern with its event kind and role."""
    catalog = load_catalog(patterns or ())
    for pattern in sorted(catalog.patterns.values(), key=lambda p: (p.family, p.id)):
        typer.echo(f"{pattern.family + '/' + pattern.id:52} {pattern.event:20} {pattern.role:8} {pattern.title}")


@patterns_app.command("lint")
def lint_patterns(patterns: Folders = None) -> None:
    """Every fault of every file; exits 2 if there is one."""
    from logsleuth.patterncheck.lint import lint

    catalog = load_catalog(patterns or ())
    faults = lint(catalog)
    for fault in faults:
        typer.echo(fault, err=True)
    samples = sum(len(p.samples) for p in catalog.patterns.values())
    typer.echo(
        f"{len(catalog.patterns)} patterns with {samples} samples, {len(catalog.causes)} causes, {len(faults)} faults"
    )
    if faults:
        raise typer.Exit(Exit.USAGE)
