"""Patterns and causes as the stages use them: small frozen dataclasses, built from validated YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from logsleuth.record import record


@record
class BlockSpec:
    """A message of several lines: the lines after the matching one that match ``member``, until ``end`` matches (that
    line is included) or ``max_lines`` are read. The pattern's regex runs on all of them joined with newlines."""

    member: str
    end: str | None = None
    max_lines: int = 20


@record
class Sample:
    """A real wording: ``text`` (several lines for a block) and the fields it must yield."""

    text: str
    expect: Mapping[str, Any]


@record
class PatternSpec:
    """One recognisable message. ``anchors``: at least one of these literals is in every match.

    ``regex`` is ``None`` for a pattern that a Python parser reads (``parser``). ``fields`` are constants of the fact.
    ``keep``: ``all``, ``latest-per-key`` (a few of the last per block of the file), ``count`` (the first, with a
    count).
    """

    id: str
    title: str
    event: str
    role: str
    anchors: tuple[str, ...]
    regex: str | None
    family: str
    path: str
    keep: str = "all"
    fields: Mapping[str, Any] = field(default_factory=dict)
    block: BlockSpec | None = None
    parser: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    near_misses: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@record
class DecidedBy:
    """An event kind, with the field values it must have, that concludes a cause without further reasoning.

    ``where``: field -> allowed values. ``roles``: the pattern roles that count. ``blame``: ``first`` (the ranks that
    print it first), ``all`` (every rank that prints it), ``none``, or ``field:NAME[+NAME]`` (the ranks that fields
    name).
    """

    event: str
    where: Mapping[str, tuple[Any, ...]]
    roles: tuple[str, ...]
    blame: str
    confidence: str
    why: str


@record
class Step:
    text: str
    command: str | None = None


@record
class FixSpec:
    """``kind``: ``fix`` (removes the cause), ``workaround``, ``collect`` (what to gather next time).

    ``when`` limits it: ``{"torch": ">=2.2"}``, ``{"launcher": "slurm"}``, ``{"setting": "NCCL_P2P_LEVEL"}``,
    ``{"gpu": "RTX"}``. ``best_for`` only orders: a fix leads where a field of the deciding event has one of these
    values, and stands back where it has another.
    """

    kind: str
    title: str
    steps: tuple[Step, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    when: Mapping[str, str] = field(default_factory=dict)
    best_for: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    applies_to: str | None = None
    risk: str | None = None
    verify: str | None = None
    references: tuple[str, ...] = ()


@record
class LookAlike:
    cause: str
    tell_apart: str


@record
class CauseSpec:
    """One root cause: what it means, what decides it, what it is mistaken for, what to do.

    ``tier``: ``external`` (something outside the program broke or ended it), ``program`` (code or data), ``setup``
    (the job could not start), ``symptom`` (an honest "the logs do not say why"). ``yields_to``: causes that explain
    this one when both are found. ``summary`` is a template: ``{field}`` from the primary event, ``[...]`` is left out
    where a field in it is unknown.
    """

    id: str
    title: str
    severity: str
    owner: str
    retry: str
    tier: str
    meaning: str
    decisive: str
    summary: str
    path: str
    decided_by: tuple[DecidedBy, ...] = ()
    suggests: tuple[DecidedBy, ...] = ()
    yields_to: tuple[str, ...] = ()
    look_alikes: tuple[LookAlike, ...] = ()
    fixes: tuple[FixSpec, ...] = ()
    references: tuple[str, ...] = ()


@record
class Catalog:
    """All that is known: patterns and causes by id, data tables by file name."""

    patterns: Mapping[str, PatternSpec]
    causes: Mapping[str, CauseSpec]
    data: Mapping[str, Any]
