"""A line on its way into a file, and what it tells a reader who may see it."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Speaker(enum.Enum):
    """Who prints."""

    WORKER = "worker"
    AGENT = "agent"  # torchrun, one on each node
    SLURM = "slurm"  # srun and slurmstepd
    DRIVER = "driver"  # the process that started Ray's actors
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Tell:
    """A fact that a line tells about a rank.

    ``named``: the text itself names the global rank, so that the layout need not. ``group`` is a group's number,
    ``value`` the operation and sizes of a work.
    """

    kind: str
    rank: int | None = None
    group: int | None = None
    number: int | None = None
    value: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """``tagged``: the text begins with ``[rankN]:``. ``rewritten``: a progress bar, which ends without a line feed."""

    at_s: float
    text: str
    speaker: Speaker = Speaker.WORKER
    rank: int | None = None
    host: int | None = None
    tells: tuple[Tell, ...] = ()
    tagged: bool = False
    stdout: bool = False
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clocks of the hosts: each is some seconds off, and may be set to another time zone."""

    start: datetime.datetime
    skew_s: Mapping[int, float] = field(default_factory=dict)
    zone_h: Mapping[int, int] = field(default_factory=dict)

    def on(self, host: int, at_s: float) -> datetime.datetime:
        offset_s = at_s + self.skew_s.get(host, 0.0) + 3600 * self.zone_h.get(host, 0)
        return self.start + datetime.timedelta(seconds=offset_s)
