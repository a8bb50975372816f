"""The terminal report. First screen: what happened, who did it, what to do, what proves it. Details below."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from logsleuth.report.schema import Diagnosis, Fix, Process, Report
from logsleuth.report.words import (
    OWNERS,
    RANK_COLUMNS,
    RANK_NUMBERS,
    RETRIES,
    culprits_line,
    headline,
    leading_fix,
    near_place,
    proofs,
    rank_cells,
    ranked,
    shortened,
)

_VERDICT = {
    "failure": ("FAILURE", "bold white on red"),
    "no-failure": ("NO FAILURE", "bold black on green"),
    "inconclusive": ("INCONCLUSIVE", "bold black on yellow"),
}
_CONFIDENCE = {"high": "green", "medium": "yellow", "low": "magenta"}
#: Without a terminal nobody wraps for us; 100 columns read well in CI logs and mails.
PIPED_WIDTH = 100
NARROWEST = 60
MOST_RANKS = 32
MOST_NOTES = 12
MOST_COLLECTS = 3
#: Steps of the first fix that the first screen has room for.
FIRST_STEPS = 1


def render_terminal(report: Report, *, color: bool, width: int | None = None, verbose: bool = False) -> str:
    """The report as text of ``width`` columns, with ANSI colours if ``color``."""
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=color,
        no_color=not color,
        color_system="auto" if color else None,
        width=max(NARROWEST, width or PIPED_WIDTH),
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    for part in _parts(report, console.width, verbose):
        console.print(part, crop=False)
    text = out.getvalue()
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _parts(report: Report, width: int, verbose: bool) -> list[RenderableType]:
    parts: list[RenderableType] = [*_first_screen(report, width)]
    hypotheses = [d for d in report.diagnoses if d.role == "hypothesis"]
    others = [d for d in report.diagnoses if d.role in ("contributing", "fallout")]
    if hypotheses:
        parts += [_title("Other possibilities"), *(line for d in hypotheses for line in _brief(d, width))]
    parts += _collect(report)
    if others:
        parts += [_title("Also seen"), *(line for d in others for line in _brief(d, width))]
    ranks = ranked(report)
    if len(ranks) > 1:
        parts += [_title("Ranks"), _ranks(ranks)]
    parts += _environment(report)
    if report.unknown:
        kinds = len(report.unknown)
        parts += [
            _title("Unknown"),
            Text(f"  {kinds} kind{'s' * (kinds != 1)} of error-like lines that no pattern reads, such as"),
        ]
        parts += [
            Text(f"  {u.source}:{u.line or '?'}  {shortened(u.sample, width - 20)}", style="dim")
            for u in report.unknown[:3]
        ]
    if report.notes:
        parts += [_title("Notes"), *(Text(f"  · {note}") for note in report.notes[:MOST_NOTES])]
    if verbose and report.passed:
        parts += [
            _title("Judgements that did not fire"),
            *(_passed(p.judgement, p.reason, p.would_decide) for p in report.passed),
        ]
    return parts


def _collect(report: Report) -> list[RenderableType]:
    """What to gather next time: the first few; ``explain`` has them all."""
    root = next(iter(report.root_causes), None)
    if root is None:
        return []
    first = leading_fix(root)
    collects = [f for f in root.fixes if f.kind == "collect" and f is not first]
    parts: list[RenderableType] = [_title("Collect next time")] if collects else []
    parts += [line for f in collects[:MOST_COLLECTS] for line in _fix(f)]
    if len(collects) > MOST_COLLECTS:
        more = len(collects) - MOST_COLLECTS
        parts.append(Text(f"  {more} more: logsleuth explain {root.cause}", style="dim"))
    return parts


def _first_screen(report: Report, width: int) -> list[RenderableType]:
    word, style = _VERDICT[report.verdict]
    head = Text(f" {word} ", style=style)
    parts: list[RenderableType] = []
    roots = report.root_causes
    if roots:
        head.append(f"  {roots[0].title}", style="bold")
        head.append(f"  [{roots[0].cause}]", style="dim")
    parts += [head, Text(), Text(headline(report)), Text()]
    if roots:
        parts += _answer(roots[0], width)
    for other in roots[1:]:
        parts += [
            _title(f"A second, independent cause: {other.title}"),
            Text(other.summary),
            Text(),
            *_answer(other, width),
        ]
    return parts


def _answer(root: Diagnosis, width: int) -> list[RenderableType]:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column()
    facts.add_row("Who", Text(culprits_line(root)))
    known = {c.known_by for c in root.culprits if c.known_by}
    if len(known) == 1:
        facts.add_row("", Text(f"known by: {known.pop()}", style="dim"))
    facts.add_row("Sure?", Text(f"{root.confidence} confidence", style=_CONFIDENCE[root.confidence]))
    facts.add_row("Owner", Text(f"{OWNERS[root.owner]}; {RETRIES[root.retry]}"))
    parts: list[RenderableType] = [facts]
    first = leading_fix(root)
    rest = [f for f in root.fixes if f.kind != "collect" and f is not first]
    if first is not None:
        parts += [Text(), Text("Fix" if first.kind == "fix" else "Do", style="bold"), *_fix_begun(first)]
    if root.evidence:
        parts += [Text(), Text("Proof", style="bold")]
        for item in proofs(root):
            parts.append(Text.assemble(("  " + near_place(item), "cyan"), "  ", (item.why, "")))
            parts.append(Text("    " + shortened(item.text, width - 4), style="dim"))
    in_full = [first, *rest] if first is not None and _is_long(first) else rest
    if in_full:
        parts += [_title("What to do, in full"), *(line for f in in_full for line in _fix(f))]
    return parts


def _is_long(fix: Fix) -> bool:
    """Whether a fix is more than the first screen shows of it."""
    return len(fix.steps) > FIRST_STEPS or bool(fix.env or fix.risk or fix.verify)


def _fix_begun(fix: Fix) -> list[RenderableType]:
    """The first steps of a fix, so that the proof stays on the first screen."""
    begun = _fix(replace(fix, steps=fix.steps[:FIRST_STEPS], env={}, risk=None, verify=None))
    return [*begun, _indented(Text("the rest is below", style="dim"))] if _is_long(fix) else begun


def _fix(fix: Fix) -> list[RenderableType]:
    """A fix as indented lines; commands stay whole, however long, so that they can be copied."""
    title = Text(fix.title, style="bold")
    if fix.kind == "workaround":
        title.append("  (workaround)", style="yellow")
    if fix.applies_to:
        title.append(f"  ({fix.applies_to})", style="dim")
    lines: list[RenderableType] = [_indented(title)]
    for step in fix.steps:
        lines.append(_indented(Text(f"- {step.text}")))
        lines += [_command(line) for line in (step.command or "").splitlines()]
    lines += [_command(f"export {name}={value}") for name, value in fix.env.items()]
    for word, text in (("Risk", fix.risk), ("Verify", fix.verify)):
        if text:
            lines.append(_indented(Text(f"{word}: {text}", style="dim")))
    return lines


def _indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 2))


def _command(line: str) -> RenderableType:
    """In a group, because ``Console.print`` forgets ``no_wrap`` of a bare text."""
    return Group(Text(f"      {line}", style="green", no_wrap=True, overflow="ignore"))


def _brief(diagnosis: Diagnosis, width: int) -> list[RenderableType]:
    title = Text.assemble((diagnosis.title, "bold"), (f"  [{diagnosis.cause}, {diagnosis.confidence}]", "dim"))
    lines = [_indented(title), _indented(Text(diagnosis.reason or diagnosis.summary))]
    if diagnosis.role != "hypothesis":
        for item in proofs(diagnosis, 1):
            lines.append(_indented(Text(f"{near_place(item)}  {shortened(item.text, width - 44)}", style="dim")))
    return lines


def _ranks(processes: list[Process]) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    for name in RANK_COLUMNS:
        table.add_column(name, justify="right" if name in RANK_NUMBERS else "left", overflow="fold")
    for process in processes[:MOST_RANKS]:
        table.add_row(*rank_cells(process))
    more = len(processes) - MOST_RANKS
    body: list[RenderableType] = [table]
    if more > 0:
        body.append(Text(f"and {more} more ranks (--format json has them all)", style="dim"))
    return Padding(Group(*body), (0, 0, 0, 2))


def _environment(report: Report) -> list[RenderableType]:
    env = report.job.environment
    known = [("torch", env.torch), ("NCCL", env.nccl), ("driver", env.driver), ("kernel", env.kernel)]
    said = [f"{name} {value}" for name, value in known if value] + env.gpus[:2]
    return [_title("Environment"), Text("  " + ", ".join(said))] if said else []


def _passed(judgement: str, reason: str, would_decide: str | None) -> RenderableType:
    tail = f" (would decide: {would_decide})" if would_decide else ""
    return Text.assemble((f"  {judgement}: ", "dim"), reason, (tail, "dim"))


def _title(text: str) -> RenderableType:
    return Padding(Rule(Text(text, style="bold"), align="left", style="dim", characters="─"), (1, 0, 0, 0))
