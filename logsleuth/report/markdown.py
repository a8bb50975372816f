"""Markdown for issues and GitHub step summaries. Log text is data: it is fenced, never interpreted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from logsleuth.report.schema import Diagnosis, Fix, Process, Report
from logsleuth.report.words import (
    OWNERS,
    RANK_COLUMNS,
    RANK_NUMBERS,
    RETRIES,
    culprits_line,
    headline,
    leading_fix,
    place,
    proofs,
    rank_cells,
    ranked,
    shortened,
)

_VERDICTS = {"failure": "Failure", "no-failure": "No failure", "inconclusive": "Inconclusive"}
MOST_RANKS = 64
#: Characters that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!])")


def render_markdown(report: Report) -> str:
    """The whole report, the answer first; details are folded."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    roots = report.root_causes
    title = f": {_plain(roots[0].title)}" if roots else ""
    yield f"## {_VERDICTS[report.verdict]}{title}"
    yield ""
    yield _plain(headline(report))
    yield ""
    for root in roots:
        if root is not roots[0]:
            yield from (f"### A second, independent cause: {_plain(root.title)}", "", _plain(root.summary), "")
        yield from _answer(root)
    others = [d for d in report.diagnoses if d.role != "root-cause"]
    if others:
        yield from _folded("Other possibilities and what else was seen", _others(others))
    ranks = ranked(report)
    if len(ranks) > 1:
        yield from _folded("Ranks", _ranks(ranks))
    if report.notes:
        yield from _folded("Notes", [f"- {_plain(note)}" for note in report.notes])


def _answer(root: Diagnosis) -> Iterator[str]:
    yield f"- **Cause:** `{root.cause}`, {root.confidence} confidence"
    yield f"- **Who:** {_plain(culprits_line(root))}"
    yield f"- **Owner:** {OWNERS[root.owner]}; {RETRIES[root.retry]}"
    yield ""
    first = leading_fix(root)
    if first is not None:
        yield from ("### Fix", "", *_fix(first))
    if root.evidence:
        yield from ("### Proof", "")
        for item in proofs(root):
            yield f"**{_plain(place(item))}** {_plain(item.why)}"
            yield ""
            yield from fenced([shortened(item.text, 500)])
            yield ""
    rest = [f for f in root.fixes if f is not first]
    if rest:
        yield from _folded("More fixes, and what to collect next time", [line for f in rest for line in _fix(f)])


def _fix(fix: Fix) -> Iterator[str]:
    note = {"fix": "", "workaround": " (workaround)", "collect": " (collect)"}[fix.kind]
    applies = f" ({_plain(fix.applies_to)})" if fix.applies_to else ""
    yield f"**{_plain(fix.title)}**{note}{applies}"
    yield ""
    for step in fix.steps:
        yield f"- {_plain(step.text)}"
        if step.command:
            yield from ("", *fenced(step.command.splitlines(), "bash"), "")
    if fix.env:
        yield from ("", *fenced([f"export {name}={value}" for name, value in fix.env.items()], "bash"), "")
    for word, text in (("Risk", fix.risk), ("Verify", fix.verify)):
        if text:
            yield f"- {word}: {_plain(text)}"
    yield ""


def _others(others: Iterable[Diagnosis]) -> Iterator[str]:
    for other in others:
        yield f"- **{_plain(other.title)}** (`{other.cause}`, {other.role}): {_plain(other.reason or other.summary)}"


def _ranks(ranks: Sequence[Process]) -> Iterator[str]:
    yield f"| {' | '.join(RANK_COLUMNS)} |"
    yield f"|{'|'.join('---:' if name in RANK_NUMBERS else '---' for name in RANK_COLUMNS)}|"
    for process in ranks[:MOST_RANKS]:
        yield f"| {' | '.join(map(_plain, rank_cells(process)))} |"
    if len(ranks) > MOST_RANKS:
        yield f"\nand {len(ranks) - MOST_RANKS} more ranks"


def _folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", "")


def fenced(lines: Iterable[str], language: str = "text") -> Iterator[str]:
    """A code block whose fence is longer than any run of backticks in it."""
    body = list(lines)
    longest = max((len(run) for line in body for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *body, fence)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is; line breaks become blanks."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
