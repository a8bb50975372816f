"""What stands in front of a message on its line: who printed it, when, and where the message itself begins.

Prefixes are peeled from the outside in, in any order and number:

    2025-04-07T12:57:33.2904078Z node-a: [default3]:[rank11]:[E606 12:57:33.123456789 ProcessGroupNCCL.cpp:607] text

The message is never touched: ``RuntimeError: x``, ``srun: error: ..`` and ``WARNING:torch.distributed..:`` are text.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from logsleuth.model.events import Stamp
from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.sources.clock import read_stamp
from logsleuth.sources.clues import speaks_for_agent
from logsleuth.sources.grammars import Kind, grammars_for
from logsleuth.sources.late import late
from logsleuth.sources.plain import CONTROL_HINTS, offset_in, out_of_json, without_control_codes

#: Lines that were taken apart are remembered: those around a hit are asked for again and again.
MOST_REMEMBERED = 4096
LONGEST_REMEMBERED = 1024
#: No line has more prefixes than this.
MOST_PREFIXES = 16
#: srun pads its labels to the width of the largest task id.
MOST_PADDING = 3
#: cat -n pads its line numbers to six characters.
CAT_WIDTH = 6


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A line taken apart. ``origin`` is what its prefixes say; ``stamp`` the process's own time, else a collector's.

    ``key`` is equal for lines of one origin and wrapping: it holds the prefixes that are printed on every line, with
    times and line numbers masked. What a logger prints on the first line of a message only (``[E606 ..
    ProcessGroupNCCL.cpp:607]``) is peeled but not in the key, so that the lines that follow have the key of the first.
    ``repeated`` is Ray's count of equal lines.
    """

    origin: Origin
    stamp: Stamp | None
    text: str
    key: str
    repeated: int = 1


def read_prefix(line: str) -> Prefixed:
    """Take ``line`` apart; one without any prefix comes back whole. Never raises."""
    return _remembered(line) if len(line) <= LONGEST_REMEMBERED else _read_prefix(line)


def _read_prefix(line: str) -> Prefixed:
    peeled = _peel(without_control_codes(out_of_json(line)))
    text, repeated = peeled.line[peeled.end :], 1
    if " across cluster]" in text and (match := _REPEATED.search(text)):
        text, repeated = text[: match.start()], int(match[1])
    values = peeled.values
    if text[:1] in _LAUNCHER_INITIALS and "rank" not in values and "local_rank" not in values:
        values = {**values, **_launcher(text)}
    origin = _origin(tuple(sorted(values.items()))) if values else UNKNOWN
    return Prefixed(origin, peeled.stamp, text, "".join(peeled.key), repeated)


_remembered = functools.lru_cache(MOST_REMEMBERED)(_read_prefix)


def split_segments(line: str) -> list[tuple[int, str]]:
    """The messages on one physical line as (character offset, text): usually one, the line itself.

    Split at carriage returns (progress bars), where a rank's prefix or a logger begins in the middle, and where a
    launcher, a scheduler or a traceback is glued to the end of a progress bar. Later pieces repeat the prefixes that a
    collector put before the whole line, as they hold for them as well. Control codes are removed.
    """
    if not any(map(line.__contains__, _HINTS)) and len(_cuts(line)) == 1:
        return [(0, line)]
    inside = out_of_json(line)
    if inside is not line:
        return [(0, text) for _, text in split_segments(inside)]
    pieces: list[tuple[int, str]] = []
    wrapping: str | None = None
    start, first = 0, ""
    for part in line.split("\r"):
        shown = without_control_codes(part)
        for begin, end in _cuts(shown):
            text = shown[begin:end]
            if not text.strip():
                continue
            if not pieces:
                first = shown
            elif not _HAS_OWN_WRAPPING.match(text):
                wrapping = first[: _peel(first).wrapping_end] if wrapping is None else wrapping
                text = wrapping + text
            pieces.append((start + (begin if shown is part else offset_in(part, begin)), text))
        start += len(part) + 1
    return pieces or [(0, "")]


# --- peeling ---------------------------------------------------------------------------------------------------------

_NUMBERS = frozenset({"rank", "local_rank", "task", "pid"})
_FIELDS = _NUMBERS | {"host", "stream", "role", "actor"}
#: ``job<TAB>step<TAB>2025-04-07T..``: gh run view --log
_GITHUB_CLI = late(r"[^\t\n]{1,120}\t[^\t\n]{1,120}\t(?=\ufeff?\d{4}-\d\d-\d\dT)")
_REPEATED = late(r"\s*\[repeated (\d{1,7})x across cluster\](?: \(Ray deduplicates.*)?\s*$")


class _Peeled:
    """The state of peeling one line. ``wrapping_end``: where the prefixes of launchers and collectors end."""

    __slots__ = ("end", "key", "line", "own_stamp", "stamp", "values", "wrapping_end")

    def __init__(self, line: str) -> None:
        self.line = line
        self.end = 0
        self.wrapping_end = 0
        self.values: dict[str, int | str] = {}
        self.key: list[str] = []
        self.stamp: Stamp | None = None
        self.own_stamp = False


def _peel(line: str) -> _Peeled:
    """``line`` taken apart, to be looked at only."""
    return _peel_remembered(line) if len(line) <= LONGEST_REMEMBERED else _peel_anew(line)


def _peel_anew(line: str) -> _Peeled:
    peeled = _Peeled(line)
    if "\t" in line and (match := _GITHUB_CLI.match(line)):
        peeled.key.append(match[0])
        peeled.end = peeled.wrapping_end = match.end()
    outside = True
    for _ in range(MOST_PREFIXES):
        kind = _peel_one(peeled, outside)
        if kind is None:
            break
        if kind is not Kind.OUTER:
            outside = False
        elif outside:
            peeled.wrapping_end = peeled.end
    return peeled


_peel_remembered = functools.lru_cache(MOST_REMEMBERED)(_peel_anew)


def _peel_one(peeled: _Peeled, outside: bool) -> Kind | None:
    """Peel the next prefix, if there is one; ``outside``: the process itself has printed nothing yet."""
    line, at = peeled.line, peeled.end
    while line[at : at + 1] in (" ", "\t"):
        at += 1
    # Of the weak grammars, only srun's right-aligned label and the bars of tables are believed behind a few blanks.
    indented = (
        peeled.end == peeled.wrapping_end
        and line[at : at + 1] in _INDENTED_WEAK
        and (at - peeled.end <= MOST_PADDING or (at - peeled.end < CAT_WIDTH and _CAT.match(line, at) is not None))
    )
    weak_too = outside and (at == peeled.end or indented)
    for grammar in grammars_for(line, at):
        if grammar.weak and not weak_too:
            continue
        match = grammar.expression.match(line, at)
        if match is None:
            continue
        more = grammar.more(match) if grammar.more is not None else {}
        if more is None:
            continue
        groups = match.groupdict()
        for name, value in (*groups.items(), *more.items()):
            if value is not None and name in _FIELDS:
                peeled.values[name] = int(value) if name in _NUMBERS else value
        if stamp_text := groups.get("t"):
            _note_stamp(peeled, stamp_text, own=grammar.kind is not Kind.OUTER)
        if grammar.kind is not Kind.HEADER:
            peeled.key.append(_masked(match))
        peeled.end = match.end()
        return grammar.kind
    return None


_CAT = re.compile(r"\d{1,5}\t")
_INDENTED_WEAK = frozenset("|0123456789")


def _note_stamp(peeled: _Peeled, text: str, own: bool) -> None:
    """Prefer a time with a date, then the process's own to a collector's, then the inner to the outer."""
    stamp = read_stamp(text)
    if stamp is None:
        return
    old = peeled.stamp
    if old is None or (stamp.seconds is not None and (own or not peeled.own_stamp or old.seconds is None)):
        peeled.stamp, peeled.own_stamp = stamp, own


def _masked(match: re.Match[str]) -> str:
    """The text of a prefix for the key."""
    groups = match.re.groupindex
    start = match.end("cut") if "cut" in groups and match["cut"] else match.start()
    spans = sorted(span for name in ("t", "n", "n2") if name in groups and (span := match.span(name))[0] >= start)
    parts: list[str] = []
    for begin, end in spans:
        parts += (match.string[start:begin], "#")
        start = end
    return "".join((*parts, match.string[start : match.end()])).strip()


@functools.lru_cache(maxsize=4096)
def _origin(values: tuple[tuple[str, int | str], ...]) -> Origin:
    return Origin.known("prefix", **dict(values))


#: Launchers and schedulers speak for themselves where no prefix says who does.
_LAUNCHER = late(
    r"(?:srun|salloc|sbatch): |slurmstepd(?:-(?P<host>[\w.-]+))?: "
    r"|(?:DEBUG|INFO|WARNING|ERROR): ?(?P<logger>torch\.distributed\.[\w.]+)"
)
_LAUNCHER_INITIALS = frozenset("sDIWE")


def _launcher(text: str) -> dict[str, str]:
    """What a launcher's or a scheduler's line says of who prints it."""
    match = _LAUNCHER.match(text)
    if match is None or (match["logger"] is not None and not speaks_for_agent(match["logger"])):
        return {}
    return {"role": "agent", "host": match["host"]} if match["host"] is not None else {"role": "agent"}


# --- splitting -------------------------------------------------------------------------------------------------------

#: Where a message may begin in the middle of a line: a literal that is in every match, and the expression. The end of a
#: progress bar with text glued to it counts too: ``1.00s/it]text``, ``2it/s, loss=5]text``.
_BAR_END = late(r"(?:/s|/it)(?:, [^\]\[\n]{0,400})?\](?=[^\s\],.;:)|])")
_CPP_HEADER = late(r"\[[FEWIC](?:\d{3,4} \d\d:\d\d:\d\d\.\d{1,9})? [\w./+-]+\.(?:cpp|cc):\d+\]")
_GLOG_HEADER = late(r"(?<!\w)[FEWIVC]\d{4} \d\d:\d\d:\d\d\.\d{6}\s+\d+ [^\s\]]+\.(?:py|cpp|cc):\d+\]")
_SCHEDULER = late(r"(?<=[^\s:(\"'/])(?:slurmstepd(?:-[\w.-]+)?|srun): ")
_STARTS: dict[str, tuple[re.Pattern[str], ...]] = {
    "[rank": (late(r"\[rank\d{1,7}\]:"),),
    "[default": (late(r"\[default\d{1,5}\]:"),),
    "[trainer": (late(r"\[trainer\d{1,5}(?:\|\d+)?\]:"),),
    "[worker": (late(r"\[worker\d{1,5}(?:\|\d+)?\]:"),),
    "/s]": (_BAR_END,),
    "/s, ": (_BAR_END,),
    "/it]": (_BAR_END,),
    "/it, ": (_BAR_END,),
    ".cpp:": (_CPP_HEADER, _GLOG_HEADER),
    ".cc:": (_CPP_HEADER,),
    ".py:": (_GLOG_HEADER,),
    "Traceback (most": (late(r"(?<=[^\s:(\"'])Traceback \(most recent call last\):"),),
    "slurmstepd": (_SCHEDULER,),
    "srun: ": (_SCHEDULER,),
    " NCCL ": (late(r"(?<=[\]\s])[\w.-]+:\d+:\d+ \[-?\d+\] (?=NCCL [A-Z]|\S+:\d+ NCCL [A-Z])"),),
    ":torch.": (late(r"(?<![\w.])(?:DEBUG|INFO|WARNING|ERROR):torch\.distributed"),),
}
#: A line with none of these is as it was printed.
_HINTS = ("\r", '{"', *CONTROL_HINTS)
#: A piece with a launcher's label of its own does not take that of the line's beginning, nor does a scheduler's.
_HAS_OWN_WRAPPING = late(r"\[(?!rank)[A-Za-z_]+\d+(?:\|\d+)?\]:|\[\d+,\d+\]<|\([^()\n]{0,120}pid=\d|slurmstepd|srun: ")


def _cuts(text: str) -> list[tuple[int, int]]:
    """Begin and end of each message in ``text``."""
    find = text.find
    found: set[int] = set()
    for literal in [literal for literal in _STARTS if find(literal, 1) > 0]:
        for expression in _STARTS[literal]:
            ends = expression is _BAR_END
            for match in expression.finditer(text, 1):
                found.add(match.end() if ends else match.start())
    cuts: list[tuple[int, int]] = []
    begin = 0
    if found:
        in_front = _peel(text).end
        for at in sorted(found):
            if at <= in_front:
                continue  # prefixes that are stacked, or the message right behind them
            cuts.append((begin, at))
            begin, in_front = at, at + _peel(text[at:]).end
    cuts.append((begin, len(text)))
    return cuts
