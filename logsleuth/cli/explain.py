"""``logsleuth explain CAUSE|PATTERN``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from logsleuth.cli.own import catalog_with
from logsleuth.errors import UsageError


def explain(
    name: Annotated[str, typer.Argument(metavar="CAUSE|PATTERN", help="An id, as reports print it.")],
    patterns: Annotated[
        list[Path] | None,
        typer.Option("--patterns", help="Folder of own patterns (repeatable).", exists=True, file_okay=False),
    ] = None,
) -> None:
    """Say what a cause or a pattern means, what decides it, and what to do."""
    from logsleuth.patterncheck.describe import describe_cause, describe_pattern

    catalog = catalog_with(patterns)
    if name in catalog.causes:
        typer.echo(_compact(describe_cause(catalog.causes[name], catalog, judgements().get(name))))
    elif name in catalog.patterns:
        typer.echo(_compact(describe_pattern(catalog.patterns[name], catalog)))
    else:
        near = difflib.get_close_matches(name, [*catalog.causes, *catalog.patterns], n=3)
        raise UsageError(f"{name}: no such cause or pattern", hint=f"did you mean {', '.join(near)}?" if near else None)


def judgements() -> dict[str, str]:
    """The docstring of each judgement's module, by the id of the cause that it concludes."""
    from importlib import import_module
    from pkgutil import iter_modules

    from logsleuth.diagnose import judgements as room

    names = [module.name for module in iter_modules(room.__path__)]
    return {name.replace("_", "-"): import_module(f"{room.__name__}.{name}").__doc__ or "" for name in names}


def _compact(blocks: Iterable[str]) -> str:
    """An empty line before headings only."""
    text = "\n".join(f"\n{block}" if block.startswith("#") else block for block in blocks)
    return text.lstrip("\n")
