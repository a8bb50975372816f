"""Findings -> one diagnosis: what is a root, what follows from it, what only accompanies it.

A cause explains another finding when that finding's cause says so (``yields_to``), when it is a mere symptom, or
when it clearly came first. What nothing explains is a root; several roots stand only where different ranks failed by
themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logsleuth.catalog.spec import Catalog
from logsleuth.model.diagnosis import CONFIDENCES, Finding
from logsleuth.model.events import Event
from logsleuth.model.job import JobView

_TIERS = ("external", "setup", "program", "symptom", "none")
#: Ends that an earlier failure brings about: they lead only when nothing failed before them.
_ENDINGS = frozenset({"preempted-or-cancelled", "job-time-limit"})
#: Among causes that only name a symptom, the one nearer to the beginning of the story leads.
_SYMPTOMS = (
    "process-died-unexplained",
    "watchdog-stuck-unexplained",
    "init-hang-unexplained",
    "collective-timeout-unexplained",
    "peer-lost-unexplained",
    "store-lost",
)
#: What the ranks that are left do when a node is gone.
_WAITS = frozenset({*_SYMPTOMS, "rank-missing-collective"})
#: Faults that all ranks may share, so that naming nobody is no gap.
_COMMON_TO_ALL = frozenset(
    {
        "collective-order-mismatch",
        "collective-shape-mismatch",
        "ddp-unused-parameters",
        "device-side-assert",
        "cuda-oom",
    }
)
#: Failures of a rank by itself, of which several may be independent.
_OWN_FAILURES = frozenset(
    {"rank-exception", "cuda-oom", "segfault", "storage-failure", "host-oom-kill", "gpu-ecc-error"}
)


def weigh(
    job: JobView, findings: Sequence[Finding], catalog: Catalog
) -> tuple[list[Finding], list[Finding], list[Finding], list[Finding]]:
    """(roots, contributing, fallout, hypotheses), each with the most important first."""
    best = _one_per_cause(findings)
    candidates = [f for f in best if not f.hypothesis and not f.contributing]
    contributing = [f for f in best if f.contributing and not f.hypothesis]
    hypotheses = [f for f in best if f.hypothesis]
    explained = {id(f) for f in candidates if any(_explains(job, o, f, catalog) for o in candidates if o is not f)}
    roots = sorted((f for f in candidates if id(f) not in explained), key=lambda f: _standing(job, f, catalog))
    fallout = [f for f in candidates if id(f) in explained]
    if not roots and candidates:
        roots = [min(candidates, key=lambda f: _standing(job, f, catalog))]
        fallout = [f for f in candidates if f not in roots]
    if roots:
        kept = [roots[0], *(f for f in roots[1:] if _independent(f, roots[0]))]
        fallout += [f for f in roots[1:] if f not in kept]
        roots = kept
    roots = [_capped(job, f, rivals=fallout + roots[1:], catalog=catalog) for f in roots]
    named = {f.cause for f in roots}
    hypotheses = [f for f in hypotheses if f.cause not in named] if _open(roots, catalog) else []
    return roots, contributing, fallout, hypotheses


def _one_per_cause(findings: Sequence[Finding]) -> list[Finding]:
    """The surest finding of each cause; one that names culprits before one that does not."""
    best: dict[str, Finding] = {}
    for finding in findings:
        have = best.get(finding.cause)
        if have is None or _surer(finding, have):
            best[finding.cause] = finding
    return list(best.values())


def _surer(new: Finding, old: Finding) -> bool:
    def key(f: Finding) -> tuple[bool, bool, int, bool]:
        return f.hypothesis, f.contributing, CONFIDENCES.index(f.confidence), not f.culprits

    return key(new) < key(old)


def _explains(job: JobView, cause: Finding, effect: Finding, catalog: Catalog) -> bool:
    """Whether ``effect`` follows from ``cause``."""
    tier, effect_tier = _tier(cause, catalog), _tier(effect, catalog)
    if _is_lost_node(cause) and effect.cause in _WAITS:
        return True
    if _is_lost_node(effect) and cause.cause in _WAITS:
        return False
    if _yields(cause, effect, catalog) and not _yields(effect, cause, catalog):
        return False
    if _precedes(job, effect, cause) and _is_ending(cause) and not _is_ending(effect):
        return False
    if _is_ending(effect) and not _is_ending(cause):
        return _any_precedes(job, cause, effect) and _first_hand(cause)
    if _yields(effect, cause, catalog):
        mutual = _yields(cause, effect, catalog)
        return not mutual or _standing(job, cause, catalog) < _standing(job, effect, catalog)
    if effect_tier == "symptom":
        return tier != "symptom" or _nearer(cause.cause) < _nearer(effect.cause)
    return (
        tier != "symptom"
        and effect_tier == "program"
        and _precedes(job, cause, effect) is True
        and _precedes(job, effect, cause) is not True
    )


def _is_ending(finding: Finding) -> bool:
    """A job that is ended from outside, except by the loss of a node, which is where the trouble begins."""
    return finding.cause in _ENDINGS and not _is_lost_node(finding)


def _is_lost_node(finding: Finding) -> bool:
    """A node that failed, which a scheduler may tell long after the others began to wait for it."""
    return finding.cause in _ENDINGS and finding.facts.get("what") == "node-failure"


def _yields(finding: Finding, other: Finding, catalog: Catalog) -> bool:
    """Whether the finding's cause says that the other's explains it."""
    spec = catalog.causes.get(finding.cause)
    return spec is not None and other.cause in spec.yields_to


def _nearer(cause: str) -> int:
    return _SYMPTOMS.index(cause) if cause in _SYMPTOMS else len(_SYMPTOMS)


def _first_hand(finding: Finding) -> bool:
    """A hang that was reported, or a failure: not a mere lost connection, which a cancelled job also prints."""
    return finding.cause not in ("peer-lost-unexplained", "store-lost", "process-died-unexplained")


def _standing(job: JobView, finding: Finding, catalog: Catalog) -> tuple[int, int, float, bool, str]:
    """Smaller is better: tier, confidence, time, culprits named."""
    tier = _TIERS.index(_tier(finding, catalog))
    if _is_ending(finding):
        tier = _TIERS.index("program")
    at = _when(job, finding.primary) if finding.primary else None
    certain = CONFIDENCES.index(finding.confidence)
    certain += 10 * _nearer(finding.cause) if finding.cause in _SYMPTOMS else 0
    return tier, certain, at if at is not None else float("inf"), not finding.culprits, finding.cause


def _when(job: JobView, event: Event) -> float | None:
    """In one source its order, which needs no clocks that agree; else seconds."""
    return event.locator.start if len(job.scans) == 1 else job.clock(event)


def _tier(finding: Finding, catalog: Catalog) -> str:
    spec = catalog.causes.get(finding.cause)
    return spec.tier if spec is not None else "symptom"


def _precedes(job: JobView, first: Finding, second: Finding) -> bool | None:
    if first.primary is None or second.primary is None:
        return None
    return job.precedes(first.primary, second.primary)


def _any_precedes(job: JobView, first: Finding, second: Finding) -> bool:
    """Whether any evidence of the first came before the second's."""
    told = [item.event for item in first.evidence]
    return second.primary is not None and any(job.precedes(event, second.primary) for event in told)


def _independent(finding: Finding, leading: Finding) -> bool:
    """Another rank's own failure, which the leading one does not account for."""
    mine = {c.rank for c in finding.culprits if c.rank is not None}
    theirs = {c.rank for c in leading.culprits if c.rank is not None}
    both = finding.cause in _OWN_FAILURES and leading.cause in _OWN_FAILURES
    return both and bool(mine) and bool(theirs) and not mine & theirs and finding.confidence != "low"


def _capped(job: JobView, finding: Finding, rivals: Sequence[Finding], catalog: Catalog) -> Finding:
    """``high`` only with a rank where one is to be blamed, whole logs, and no rival of the same standing."""
    if finding.confidence != "high":
        return finding
    flags = {flag for scan in job.scans for flag in scan.digest.flags}
    tier = _tier(finding, catalog)
    unattributed = tier == "program" and not finding.culprits and finding.cause not in _COMMON_TO_ALL
    rival = any(
        _tier(f, catalog) in ("external", "setup") and f.confidence == "high" and f.cause != finding.cause
        for f in rivals
    )
    if flags & {"sampled", "shrunk", "unreadable", "ranks-hidden", "interrupted"} or unattributed or rival:
        return replace(finding, confidence="medium")
    return finding


def _open(roots: Sequence[Finding], catalog: Catalog) -> bool:
    """Whether the answer leaves the question open, so that hypotheses are of use."""
    return not roots or _tier(roots[0], catalog) == "symptom" or roots[0].confidence != "high"
