"""JobView -> Diagnosis: every judgement is heard, then their findings are weighed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose import decided, judgements
from logsleuth.diagnose.weigh import weigh
from logsleuth.model.diagnosis import Diagnosis, Finding, Passed
from logsleuth.model.events import AttemptStart, Event, ProcessExit
from logsleuth.model.job import JobView

Judge = Callable[[JobView, Catalog], Iterable[Finding | Passed]]
#: Ends and messages that speak of a failure, whichever judgement reads them.
_FAILING_KINDS = frozenset(
    {
        "collective-timeout",
        "watchdog-stuck",
        "dump-signal",
        "native-crash",
        "memory-exhausted",
        "collective-mismatch",
        "monitored-barrier",
    }
)
#: Errors that need not end a run; logs that stop after one do not show that it went well.
_TROUBLE_KINDS = frozenset({"nccl-warn", "nccl-error", "cuda-error", "peer-lost", "store-error"})


def judges() -> Iterator[tuple[str, Judge]]:
    """Every judgement by its cause id, in the order of their names; then the generic one."""
    for module in sorted(pkgutil.iter_modules(judgements.__path__), key=lambda m: m.name):
        loaded = importlib.import_module(f"{judgements.__name__}.{module.name}")
        yield module.name.replace("_", "-"), loaded.judge
    yield "decided", decided.judge


def diagnose(job: JobView, catalog: Catalog) -> Diagnosis:
    """The diagnosis. A judgement that crashes becomes a note, and the rest goes on."""
    findings: list[Finding] = []
    passed: list[Passed] = []
    notes: list[str] = []
    for name, judge in judges():
        try:
            for opinion in judge(job, catalog):
                if isinstance(opinion, Passed):
                    passed.append(opinion)
                else:
                    findings.append(opinion)
        except Exception as error:
            notes.append(f"the judgement {name} failed and was left out: {type(error).__name__}: {error}")
    roots, contributing, fallout, hypotheses = weigh(job, findings, catalog)
    if not roots and contributing and job.hung:
        roots, contributing = [replace(contributing[0], confidence="low")], contributing[1:]
    verdict = "failure" if roots else _verdict_without_roots(job)
    return Diagnosis(
        verdict=verdict,
        roots=tuple(roots),
        contributing=tuple(contributing) if roots else (),
        fallout=tuple(fallout),
        hypotheses=tuple(hypotheses),
        passed=tuple(passed),
        notes=(*notes, *_attempt_notes(job)),
    )


def _verdict_without_roots(job: JobView) -> str:
    """``no-failure`` where nothing failed and the logs go on or end well; ``inconclusive`` where that cannot be
    said."""
    if job.hung or any(event.kind in _FAILING_KINDS and event.role != "benign" for event in job.events):
        return "inconclusive"
    flags = {flag for scan in job.scans for flag in scan.digest.flags}
    if flags & {"vanished", "unreadable", "shrunk", "interrupted"} or not job.events:
        return "inconclusive"
    good = [
        e for e in job.events if e.kind in ("progress", "run-end") or e.role == "benign" or e.kind == "barrier-device"
    ]
    ended = any(e.kind in ("progress", "run-end") for e in job.events)
    troubled = any(scan.digest.unknown for scan in job.scans) or any(_is_trouble(job, event) for event in job.events)
    if good and (ended or not troubled):
        return "no-failure"
    return "inconclusive"


def _is_trouble(job: JobView, event: Event) -> bool:
    """An error that nothing shows the job to have survived."""
    if isinstance(event.fact, ProcessExit):
        return event.fact.exit_code not in (None, 0)
    return event.kind in _TROUBLE_KINDS and event.role in ("cause", "symptom") and not job.went_on(event)


def _attempt_notes(job: JobView) -> Iterator[str]:
    if len(job.attempts) > 1:
        failed = sum(a.failed for a in job.attempts)
        focus = next((a for a in job.attempts if a.focus), None)
        if focus is not None:
            yield (
                f"{len(job.attempts)} attempts in these logs, {failed} of them failed; this is attempt {focus.index}"
                f"{f' of launch {focus.launch}' if focus.launch else ''}"
            )
    elif any(fact.remaining is not None for _, fact in job.of(AttemptStart)):
        yield "the launcher restarted its workers"
