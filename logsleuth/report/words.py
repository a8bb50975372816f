"""Phrases that all renderers share, so that they say the same in every format."""

from __future__ import annotations

from collections.abc import Sequence

from logsleuth.report.schema import Culprit, Diagnosis, Evidence, Fix, Process, Report

OWNERS = {
    "code": "your code or data",
    "config": "the job's configuration",
    "platform": "the platform or its operators",
    "network": "the network",
    "hardware": "the hardware",
    "unknown": "unknown",
}
RETRIES = {
    "likely": "a retry may well pass",
    "unlikely": "a retry will fail again",
    "unknown": "whether a retry helps is unknown",
}
ROOT_PROOFS = 3
#: What a table of ranks shows of each; the numbers are sequence numbers.
RANK_COLUMNS = ("rank", "host", "state", "group", "enqueued", "completed", "end")
RANK_NUMBERS = frozenset({"rank", "enqueued", "completed"})
#: A longer path is shortened on the terminal; JSON always has it whole.
LONGEST_PLACE = 40


def headline(report: Report) -> str:
    """The whole answer in one sentence."""
    roots = report.root_causes
    if roots:
        return roots[0].summary
    if report.verdict == "no-failure":
        return "Nothing failed in these logs."
    return "These logs do not show what happened: they stop without an error, or the part that tells is missing."


def who(culprit: Culprit) -> str:
    """``rank 3 on node-b, pid 4103, GPU 0000:1b:00``."""
    if culprit.rank is not None:
        name = f"rank {culprit.rank}"
    elif culprit.local_rank is not None:
        name = f"local rank {culprit.local_rank}"
    elif culprit.task is not None:
        name = f"task {culprit.task}"
    else:
        name = ""
    parts = [f"{name} on {culprit.host}" if name and culprit.host else name or (culprit.host or "")]
    if culprit.pid is not None:
        parts.append(f"pid {culprit.pid}")
    if culprit.device is not None and culprit.device.pci:
        parts.append(f"{culprit.device.kind.upper()} {culprit.device.pci}")
    return ", ".join(part for part in parts if part) or "not identified"


def culprits_line(diagnosis: Diagnosis) -> str:
    """Who did it, or plainly that the logs do not say."""
    if diagnosis.culprits:
        named = "; ".join(who(c) for c in diagnosis.culprits[:4])
        more = len(diagnosis.culprits) - 4
        return f"{named}{f' and {more} more' if more > 0 else ''}"
    if diagnosis.suspects:
        return f"not certain; suspected: {'; '.join(who(c) for c in diagnosis.suspects[:4])}"
    return "no rank stands out in these logs"


def ranked(report: Report) -> list[Process]:
    """The processes whose rank is known."""
    return [p for p in report.job.processes if p.rank is not None]


def rank_cells(process: Process) -> tuple[str, ...]:
    """A rank's row under RANK_COLUMNS, with where it stands in the first of its groups; empty where unknown."""
    standing = process.groups[0] if process.groups else None
    cells = (
        process.rank,
        process.host,
        process.state,
        standing.group if standing else None,
        standing.last_enqueued if standing else None,
        standing.last_completed if standing else None,
        process.end,
    )
    return tuple("" if cell is None else str(cell) for cell in cells)


def leading_fix(root: Diagnosis) -> Fix | None:
    """The one thing to do first: what removes the cause, else what avoids it, else what tells more next time.

    Where the answer is only a symptom, the cause's own order counts: its fixes hold for some of the reasons only.
    """
    if root.owner == "unknown":
        return next(iter(root.fixes), None)
    kinds = ("fix", "workaround", "collect")
    return min(root.fixes, key=lambda fix: kinds.index(fix.kind), default=None)


def place(item: Evidence) -> str:
    """``rank3.log:120``."""
    if item.line is not None:
        return f"{item.source}:{item.line}"
    return f"{item.source} {item.locator}" if item.locator else item.source


def near_place(item: Evidence) -> str:
    """Like ``place`` with at most the last three parts of a long path, for narrow screens."""
    parts = place(item).split("/")
    return "/".join(parts) if len(parts) <= 3 or len(place(item)) <= LONGEST_PLACE else "/".join(["…", *parts[-2:]])


def proofs(diagnosis: Diagnosis, most: int = ROOT_PROOFS) -> Sequence[Evidence]:
    """The primary evidence and the best of the rest."""
    return sorted(diagnosis.evidence, key=lambda e: not e.primary)[:most]


def shortened(text: str, most: int) -> str:
    """One line of at most ``most`` characters, cut in the middle so that both ends stay readable."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    tail = most // 3
    return f"{line[: most - tail - 1]}…{line[-tail:]}"
