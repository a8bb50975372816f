"""What was concluded: findings of single judgements, and the diagnosis weighed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from logsleuth.model.events import Event
from logsleuth.record import record

CONFIDENCES = ("high", "medium", "low")


@record
class Culprit:
    """A process that is blamed. ``known_by`` says in a phrase how it was identified."""

    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    pci: str | None = None
    known_by: str | None = None


@record
class Evidence:
    """An event and the phrase that says what it shows. Exactly one of a finding's evidence is ``primary``."""

    event: Event
    why: str
    primary: bool = False


@record
class Finding:
    """One judgement's opinion.

    ``culprits`` are named by the evidence; ``suspects`` by elimination or likeness only. ``facts`` fill the cause's
    texts. ``hypothesis``: it may not become a root cause. ``contributing``: it may only accompany a better one, or lead
    when nothing better explains the failure.
    """

    judgement: str
    cause: str
    confidence: str
    evidence: tuple[Evidence, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    suspects: tuple[Culprit, ...] = ()
    summary: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    hypothesis: bool = False
    contributing: bool = False
    reason: str | None = None

    @property
    def primary(self) -> Event | None:
        return next((e.event for e in self.evidence if e.primary), None)


@record
class Passed:
    """A judgement that did not fire: why, and what evidence would have decided."""

    judgement: str
    reason: str
    would_decide: str | None = None


@record
class Diagnosis:
    """Findings weighed. ``roots``: the first is the answer. ``verdict``: failure, no-failure or inconclusive."""

    verdict: str
    roots: tuple[Finding, ...] = ()
    contributing: tuple[Finding, ...] = ()
    fallout: tuple[Finding, ...] = ()
    hypotheses: tuple[Finding, ...] = ()
    passed: tuple[Passed, ...] = ()
    notes: tuple[str, ...] = ()

    def all(self) -> tuple[tuple[str, Finding], ...]:
        """Every finding with its role, most important first."""
        return tuple(
            (role, finding)
            for role, findings in (
                ("root-cause", self.roots),
                ("contributing", self.contributing),
                ("hypothesis", self.hypotheses),
                ("fallout", self.fallout),
            )
            for finding in findings
        )
