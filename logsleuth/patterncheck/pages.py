"""Pages of documentation made of the catalog: one a cause, their index, and the table of patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from logsleuth.catalog.spec import Catalog, CauseSpec
from logsleuth.patterncheck.describe import describe_cause

GENERATED = "<!-- Made by `logsleuth patterns docs --write docs/` from patterns/; edit those. -->"
CAUSES = "causes"
_TIERS = (
    ("external", "Something outside the program broke or ended it"),
    ("program", "The program or its data"),
    ("setup", "The job could not start"),
    ("symptom", "The logs show what happened and not why"),
    ("none", "No failure"),
)


def pages(catalog: Catalog, judgements: Mapping[str, str]) -> dict[str, str]:
    """Path below ``docs/`` -> text. ``judgements``: cause id -> docstring of the module that concludes it."""
    made = {f"{CAUSES}/README.md": _index(catalog), "patterns.md": _patterns(catalog)}
    for cause in catalog.causes.values():
        made[f"{CAUSES}/{cause.id}.md"] = _cause(cause, catalog, judgements.get(cause.id))
    return dict(sorted(made.items()))


def write_pages(made: Mapping[str, str], folder: Path) -> list[Path]:
    """Write what differs and delete pages of causes that are gone; the paths of both."""
    changed = list(stale(made, folder))
    for path in changed:
        name = path.relative_to(folder).as_posix()
        if name in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[name], encoding="utf-8")
        else:
            path.unlink()
    return changed


def stale(made: Mapping[str, str], folder: Path) -> Iterator[Path]:
    """The files below ``folder`` that are missing, out of date or left over."""
    for name, text in made.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield path
    for path in sorted((folder / CAUSES).glob("*.md")):
        if f"{CAUSES}/{path.name}" not in made and path.read_text(encoding="utf-8").startswith(GENERATED):
            yield path


def _cause(cause: CauseSpec, catalog: Catalog, judgement: str | None) -> str:
    blocks = describe_cause(cause, catalog, judgement, lambda name: f"[{name}]({name}.md)", fenced=True)
    return _page(blocks)


def _index(catalog: Catalog) -> str:
    blocks = [
        "# Root causes",
        "What each means, what decides it and what to do: `logsleuth explain CAUSE` prints the same.",
    ]
    for tier, title in _TIERS:
        causes = sorted((c for c in catalog.causes.values() if c.tier == tier), key=lambda c: c.id)
        rows = ((f"[{c.id}]({c.id}.md)", c.title, c.owner, c.retry) for c in causes)
        blocks += [f"## {title}", _table(("cause", "means", "owner", "a retry helps"), rows)]
    return _page(blocks)


def _patterns(catalog: Catalog) -> str:
    ordered = sorted(catalog.patterns.values(), key=lambda pattern: (pattern.family, pattern.id))
    blocks = [
        "# Patterns",
        f"{len(ordered)} messages that LogSleuth reads. `logsleuth explain PATTERN` shows their samples and fields.",
    ]
    for family, patterns in groupby(ordered, key=lambda pattern: pattern.family):
        rows = ((f"`{p.id}`", p.title, p.event, p.role) for p in patterns)
        blocks += [f"## {family}", _table(("pattern", "reads", "yields", "role"), rows)]
    return _page(blocks)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _page(blocks: Iterable[str]) -> str:
    return "\n\n".join((GENERATED, *(block.rstrip() for block in blocks))) + "\n"
