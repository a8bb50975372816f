"""Marks an analyzer's report against a label. Pure arithmetic; running the analyzer is in ``lab.measure``.

What is marked, where it applies:

==========  ==========================================================================================================
strict      the first root cause names ``expect.cause``
lenient     it names that or one of ``expect.also_ok``
never       no root cause names a cause in ``expect.never``
ranks       ``culprit_ranks`` is not empty: the first root cause's ranks are that set (or one of several sets)
restraint   it is empty: the first root cause accuses no rank
innocent    every accused rank is one that something was injected on
high        the first root cause says "high": it is at least lenient
fix         a fix of the first root cause mentions one of ``expect.fix_mentions``
facts       the share of ``expect.facts`` found in the report's job and evidence
==========  ==========================================================================================================

For ``no-failure``, strict asks for the verdict ``no-failure`` and no root cause; lenient takes ``inconclusive`` too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MARKS = ("strict", "lenient", "never", "ranks", "restraint", "innocent", "high", "fix", "facts")
_JOB_CHARS = 500_000
_EVIDENCE_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One case: what was wanted, what the analyzer said, its marks (1.0 right, 0.0 wrong; absent: not asked)."""

    case: str
    want: str
    got: str
    marks: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    took_s: float = 0.0


def mark(case: dict[str, Any], report: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """The answer in one word (a cause or a verdict), and the marks."""
    expect = case["expect"]
    roots = [it for it in report.get("diagnoses", []) if it.get("role") == "root-cause"]
    first = roots[0] if roots else None
    got = str(first.get("cause") if first else report.get("verdict"))
    right = {expect["cause"], *expect.get("also_ok", [])}
    marks: dict[str, bool | float] = {}
    if expect["cause"] == "no-failure":
        marks["strict"] = report.get("verdict") == "no-failure" and not roots
        marks["lenient"] = marks["strict"] or got in right or (got == "inconclusive" and not roots)
    else:
        marks["strict"] = got == expect["cause"]
        marks["lenient"] = got in right
    marks["never"] = not ({it.get("cause") for it in roots} & set(expect.get("never", [])))
    marks |= mark_ranks(case, first.get("ranks", []) if first else [], answered=first is not None)
    if first and first.get("confidence") == "high":
        marks["high"] = marks["lenient"]
    if expect.get("fix_mentions"):
        fixes = " ".join(leaves(first.get("fixes", []))).lower() if first else ""
        marks["fix"] = any(word.lower() in fixes for word in expect["fix_mentions"])
    facts = [fact.lower() for fact in leaves(expect.get("facts", {}))]
    if facts:
        text = _searchable(report)
        marks["facts"] = sum(fact in text for fact in facts) / len(facts)
    return got, {name: float(value) for name, value in marks.items()}


def mark_ranks(case: dict[str, Any], accused: Sequence[int], *, answered: bool = True) -> dict[str, bool | float]:
    """The marks on accused ranks alone; also for answers that name a rank and no cause."""
    culprits = case["expect"].get("culprit_ranks")
    marks: dict[str, bool | float] = {}
    if culprits:
        sets = culprits if isinstance(culprits[0], list) else [culprits]
        marks["ranks"] = answered and sorted(accused) in [sorted(it) for it in sets]
    elif culprits == [] and answered:
        marks["restraint"] = not accused
    if accused and "provenance" in case:
        marks["innocent"] = set(accused) <= injected_ranks(case)
    return marks


def injected_ranks(case: dict[str, Any]) -> set[int]:
    """The ranks that really were at fault; in a run that ended well nobody was."""
    if case["expect"]["cause"] == "no-failure":
        return set()
    return {rank for injection in case["provenance"]["injected"] for rank in injection["ranks"]}


def failed(case: dict[str, Any], error: str) -> Row:
    """The row of a case on which the analyzer gave no answer."""
    return Row(case=case["id"], want=case["expect"]["cause"], got="-", marks=dict.fromkeys(MARKS[:3], 0.0), error=error)


def share(rows: Iterable[Row], name: str) -> tuple[float | None, int]:
    """The mean of one mark over the rows that have it, and how many have it."""
    values = [row.marks[name] for row in rows if name in row.marks]
    return (sum(values) / len(values) if values else None), len(values)


def leaves(value: Any) -> Iterator[str]:
    """All scalars in nested dicts and lists, as text."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield str(value)


def _searchable(report: dict[str, Any]) -> str:
    evidence = " ".join(leaves([it.get("evidence", []) for it in report.get("diagnoses", [])]))[:_EVIDENCE_CHARS]
    return (json.dumps(report.get("job", {}), ensure_ascii=False)[:_JOB_CHARS] + evidence).lower()
