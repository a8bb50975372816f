"""The YAML of patterns and causes, strictly validated. pydantic lives here and is imported only when files are read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Link = Annotated[str, StringConstraints(pattern=r"^https://\S+$")]
Role = Literal["cause", "symptom", "context", "benign"]
Confidence = Literal["high", "medium", "low"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class BlockFile(_Strict):
    """A message of several lines: see ``BlockSpec``."""

    member: str
    end: str | None = None
    max_lines: Annotated[int, Field(ge=2, le=400)] = 20


class SampleFile(_Strict):
    """A real wording and the fields it must yield."""

    line: str
    expect: dict[str, Any] = {}


class PatternFile(_Strict):
    """One recognisable message."""

    id: Id
    title: Text
    event: Id
    role: Role
    anchors: Annotated[list[Annotated[str, StringConstraints(min_length=4)]], Field(min_length=1)]
    regex: str | None = None
    parser: Id | None = None
    keep: Literal["all", "latest-per-key", "count"] = "all"
    fields: dict[str, Any] = {}
    block: BlockFile | None = None
    versions: dict[str, str] = {}
    samples: Annotated[list[SampleFile], Field(min_length=1)]
    near_misses: list[str] = []
    references: list[Link] = []


class DecidedByFile(_Strict):
    """What concludes a cause by itself: see ``DecidedBy``."""

    event: Id
    where: dict[str, Any] = {}
    roles: list[Role] = ["cause", "symptom"]
    blame: Annotated[str, StringConstraints(pattern=r"^(first|all|none|field:[a-z_]+(\+[a-z_]+)*)$")] = "first"
    confidence: Confidence = "medium"
    why: Text


class StepFile(_Strict):
    """One step of a fix: what to do, and the exact command where there is one."""

    text: Text
    command: str | None = None


class FixFile(_Strict):
    """A fix, a workaround, or what to collect: see ``FixSpec``."""

    kind: Literal["fix", "workaround", "collect"]
    title: Text
    steps: Annotated[list[StepFile], Field(min_length=1)]
    env: dict[str, str] = {}
    when: dict[Literal["torch", "nccl", "launcher", "setting", "gpu", "framework", "hosts"], str] = {}
    best_for: dict[Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")], list[str | int]] = {}
    applies_to: str | None = None
    risk: str | None = None
    verify: str | None = None
    references: list[Link] = []


class LookAlikeFile(_Strict):
    """Another cause that shows the same picture, and what tells them apart."""

    cause: Id
    tell_apart: Text


class CauseFile(_Strict):
    """One root cause: see ``CauseSpec``."""

    id: Id
    title: Text
    severity: Literal["critical", "error", "warning", "info"]
    owner: Literal["code", "config", "platform", "network", "hardware", "unknown"]
    retry: Literal["likely", "unlikely", "unknown"]
    tier: Literal["external", "program", "setup", "symptom", "none"]
    meaning: Text
    decisive: Text
    summary: Text
    decided_by: list[DecidedByFile] = []
    suggests: list[DecidedByFile] = []
    yields_to: list[Id] = []
    look_alikes: list[LookAlikeFile] = []
    fixes: list[FixFile] = []
    references: list[Link] = []
