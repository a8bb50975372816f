"""A cause's texts filled with what the logs show: summary templates, fix steps, and which fixes apply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from logsleuth.catalog.conditions import fits, is_set
from logsleuth.catalog.spec import CauseSpec, FixSpec
from logsleuth.model.job import JobView
from logsleuth.report.schema import Fix, Step

_OPTIONAL = re.compile(r"\[([^\[\]]*\{[^\[\]]*)\]")
_FIELD = re.compile(r"\{([a-z_]+)\}")


def filled(template: str, facts: Mapping[str, Any]) -> str:
    """``template`` with its ``{fields}``; a part in ``[...]`` that needs an unknown field is left out.

    A field outside brackets that is unknown becomes "an unknown ..." in plain words.
    """

    def optional(match: re.Match[str]) -> str:
        names = _FIELD.findall(match.group(1))
        return match.group(1) if all(_known(facts, name) for name in names) else ""

    if "," in str(facts.get("ranks", "")):
        template = template.replace("rank {ranks}", "ranks {ranks}")
    text = _OPTIONAL.sub(optional, template)
    text = _FIELD.sub(
        lambda m: str(facts[m[1]]) if _known(facts, m[1]) else f"an unknown {m[1].replace('_', ' ')}", text
    )
    text = re.sub(r"\s+([,.;:])(?=\s|$)", r"\1", re.sub(r"\s{2,}", " ", text)).strip()
    return text[:1].upper() + text[1:]


def _known(facts: Mapping[str, Any], name: str) -> bool:
    return facts.get(name) not in (None, "", ())


def fixes(cause: CauseSpec, job: JobView, facts: Mapping[str, Any]) -> Iterator[Fix]:
    """The cause's fixes that what is known of the job does not rule out: those for this very case first, else in the
    file's order."""
    for spec in sorted(cause.fixes, key=lambda spec: _distance(spec, facts)):
        if not _ruled_out(spec, job):
            yield Fix(
                kind=spec.kind,  # type: ignore[arg-type]
                title=_plain(spec.title, facts),
                steps=[Step(text=_plain(s.text, facts), command=_command(s.command, facts)) for s in spec.steps],
                env=dict(spec.env),
                applies_to=spec.applies_to,
                risk=spec.risk,
                verify=spec.verify,
                references=list(spec.references),
            )


def _plain(text: str, facts: Mapping[str, Any]) -> str:
    """Like ``filled``, but brackets and braces that are no template stay as they are."""
    if not _FIELD.search(text) or not all(_known(facts, name) for name in _FIELD.findall(_OPTIONAL.sub("", text))):
        return _OPTIONAL.sub("", text) if _OPTIONAL.search(text) and _FIELD.search(text) else text
    return filled(text, facts)


def _command(command: str | None, facts: Mapping[str, Any]) -> str | None:
    """A command is never re-spaced; only fields that are known are filled."""
    if command is None:
        return None
    return _FIELD.sub(lambda m: str(facts[m[1]]) if _known(facts, m[1]) else m[0], command)


def _distance(spec: FixSpec, facts: Mapping[str, Any]) -> int:
    """0 where a fix is meant for what the facts say, 2 where it is meant for something else, 1 between."""
    told = [facts[name] in wanted for name, wanted in spec.best_for.items() if _known(facts, name)]
    return 1 if not told else 0 if any(told) else 2


def _ruled_out(spec: FixSpec, job: JobView) -> bool:
    """Whether a condition of the fix is known to be false; an unknown fact rules nothing out."""
    for name, want in spec.when.items():
        if name in ("torch", "nccl", "gpu"):
            have = job.environment.values.get(name, ())
            if have and not any(fits(name, value, want) for value in have):
                return True
        elif name == "setting":
            if not is_set(job.environment, want):
                return True
        elif name == "hosts" and job.hosts and (len(job.hosts) > 1) != (want == "many"):
            return True
    return False
