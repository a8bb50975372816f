"""The one generic judgement: causes whose file says ``decided_by`` or ``suggests``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from logsleuth.catalog.spec import Catalog, CauseSpec, DecidedBy
from logsleuth.diagnose.blame import culprits_of_events, culprits_of_ranks, everybody, evidence, silent_alike
from logsleuth.diagnose.exits import one_node
from logsleuth.diagnose.first import first_of
from logsleuth.model.diagnosis import Culprit, Finding
from logsleuth.model.events import Event
from logsleuth.model.job import JobView

#: What counts as telling the same story on another rank.
_RANK_FIELDS = ("rank", "from_rank", "other_rank", "peer_rank")


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding]:
    """A finding for each cause that an event concludes or suggests by itself."""
    for cause in catalog.causes.values():
        found = _first_rule(job, cause, cause.decided_by, hypothesis=False)
        found = found or _first_rule(job, cause, cause.suggests, hypothesis=True)
        if found is not None:
            yield found


def _first_rule(job: JobView, cause: CauseSpec, rules: Iterable[DecidedBy], *, hypothesis: bool) -> Finding | None:
    """The finding of the rule that fires with the most confidence; the file's order breaks ties."""
    fired: list[tuple[DecidedBy, list[Event]]] = []
    for rule in rules:
        events = [e for e in job.of_kind(rule.event) if _meets(e, rule) and not job.went_on(e)]
        if events:
            fired.append((rule, events))
    if not fired:
        return None
    rule, events = min(fired, key=lambda item: ("high", "medium", "low").index(item[0].confidence))
    leading = first_of(job, events)
    primary = min(leading, key=lambda e: e.locator.place)
    related = [(e, rule.why) for e in events if e is not primary]
    related += [(e, other.why) for other, others in fired if other is not rule for e in others]
    culprits = _blamed(job, rule, leading, events)
    if not culprits and not any(job.rank(e) is not None for e in events):
        culprits = _told_elsewhere(job, [item for item in fired if item[0] is not rule])
    return Finding(
        "decided",
        cause.id,
        rule.confidence,
        evidence(primary, rule.why, related),
        culprits,
        facts=_facts(primary),
        hypothesis=hypothesis,
        reason=rule.why if hypothesis else None,
    )


def _meets(event: Event, rule: DecidedBy) -> bool:
    """Whether an event of the rule's kind has the role and the values that the rule asks for."""
    return event.role in rule.roles and all(getattr(event.fact, n) in wanted for n, wanted in rule.where.items())


def _blamed(job: JobView, rule: DecidedBy, leading: list[Event], events: list[Event]) -> tuple[Culprit, ...]:
    if rule.blame == "none":
        return ()
    if rule.blame.startswith("field:"):
        names = rule.blame.removeprefix("field:").split("+")
        culprits = _by_field(job, names, events)
    else:
        culprits = culprits_of_events(job, events if rule.blame == "all" else leading)
    ranks = {c.rank for c in culprits if c.rank is not None}
    if not ranks and rule.blame == "first":
        alone = culprits_of_events(job, events)
        culprits = alone if len({c.rank for c in alone if c.rank is not None}) == 1 else culprits
    return () if everybody(job, ranks) or silent_alike(job, ranks) else culprits


def _told_elsewhere(job: JobView, others: list[tuple[DecidedBy, list[Event]]]) -> tuple[Culprit, ...]:
    """The one rank that reports the same failure by another rule, where the leading events carry no rank."""
    named = {
        c.rank: c
        for rule, events in others
        if rule.confidence != "low"
        for c in _blamed(job, rule, first_of(job, events), events)
        if c.rank is not None
    }
    return tuple(named.values()) if len(named) == 1 else ()


def _by_field(job: JobView, names: Iterable[str], events: Iterable[Event]) -> tuple[Culprit, ...]:
    """The ranks that fields of the facts name: global ranks, or local ones where there is one node."""
    ranks: set[int] = set()
    for event in events:
        for name in names:
            value = getattr(event.fact, name)
            if isinstance(value, int) and (name != "local_rank" or one_node(job)):
                ranks.add(value)
            elif isinstance(value, tuple):
                ranks.update(value)
    return culprits_of_ranks(job, ranks, "the message names it")


def _facts(event: Event) -> Mapping[str, Any]:
    fact = event.fact
    return {name: getattr(fact, name) for name in fact.__dataclass_fields__ if getattr(fact, name) not in (None, ())}
