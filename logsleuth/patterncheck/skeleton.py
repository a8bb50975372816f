"""A pattern file to start from, made of one pasted line: its literals stay, its numbers and names become groups."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

import regex

from logsleuth.model.events import KINDS
from logsleuth.scan.fields import fact_from
from logsleuth.scan.index import ERROR_WORDS
from logsleuth.sources.prefixes import read_prefix, split_segments

#: What differs from run to run, most specific first, and the expression that stands for it.
_VARIES: tuple[tuple[str, str], ...] = (
    (r"0x[0-9a-fA-F]+", r"0x[0-9a-fA-F]+"),
    (r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?", r"[0-9a-fA-F:.]+"),
    (r"(?:\d{1,3}\.){3}\d{1,3}", r"[\d.]+"),
    (r"(?<![\w.])/(?:[\w.+@~-]+/)*[\w.+@~-]+", r"\S+?"),
    (r"\[[\d, ]+\]", r"\[[\d, ]*\]"),
    (r"(?<![\w])[0-9a-f]{12,}(?![\w])", r"[0-9a-f]+"),
    (r"\d+\.\d+(?:\.\d+)*", r"[\d.]+"),
    (r"\d+", r"\d+"),
)
_SPLIT = re.compile("|".join(f"(?P<v{number}>{shape})" for number, (shape, _) in enumerate(_VARIES)))
#: Fields of numbers by the words that stand in front of them.
_FIELD_WORDS: dict[str, tuple[str, ...]] = {
    "rank": ("rank",),
    "local_rank": ("local rank", "local_rank"),
    "pid": ("pid", "process"),
    "port": ("port",),
    "seq": ("seq", "seqnum", "sequence"),
    "exit_code": ("exitcode", "exit code", "status"),
    "signal": ("signal",),
    "device": ("device", "gpu", "cuda"),
    "step": ("step", "iteration"),
    "code": ("xid", "code", "error"),
    "errno": ("errno",),
    "timeout_ms": ("timeout(ms)", "timeout_ms"),
    "world_size": ("world size", "world_size"),
    "numel_in": ("numelin",),
    "numel_out": ("numelout",),
}
#: An anchor shorter than this is in too many lines.
SHORTEST_ANCHOR = 4
GOOD_ANCHOR = 8
LONGEST_ANCHOR = 60
_EDGES = " []():,.;='\"-#<>"
#: Words that ordinary logs are full of: alone they make no anchor.
_COMMON = frozenset(
    {
        *(word.decode().strip(" :").lower() for word in ERROR_WORDS),
        *("error", "failed", "rank", "loss", "step", "the", "and", "with", "from", "info", "warning", "torch", "cuda"),
        *("process", "distributed", "training", "model", "data", "time", "file", "line", "device", "worker", "timeout"),
    }
)


def skeleton(line: str, name: str, event: str = "note", role: str = "context") -> str:
    """The text of a YAML file that reads ``line`` and is accepted by lint; what is to be decided says TODO."""
    text = read_prefix(split_segments(line.rstrip("\n"))[-1][1]).text.strip()
    parts = list(_parts(text))
    literals = [part for part in parts if isinstance(part, str)]
    anchors = _anchors(literals, text)
    fields = sorted(field.name for field in dataclasses.fields(KINDS[event]))
    expression, expect = _expression(parts, event)
    return "\n".join(
        (
            f"id: {name}",
            "title: TODO what the message means, in one line",
            f"event: {event}",
            f"role: {role}  # cause, symptom, context or benign",
            "# At least one of them is in every match; they are searched in gigabytes, so they should be rare.",
            f"anchors: [{', '.join(map(_quoted, anchors))}]",
            "# Named groups are fields of the event: TODO name those that matter, of",
            f"# {', '.join(fields)}",
            f"regex: {_quoted(expression)}",
            "samples:",
            "  # TODO replace names and numbers of the real log by your own; one sample for each wording",
            f"  - line: {_quoted(text)}",
            f"    expect: {{{', '.join(f'{field}: {value}' for field, value in expect.items())}}}",
            "near_misses: []  # TODO a similar line that must not match",
            "",
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Value:
    """A part of the line that differs from run to run."""

    text: str
    expression: str


def _parts(text: str) -> Iterator[str | _Value]:
    at = 0
    for match in _SPLIT.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        shape = next(number for number in range(len(_VARIES)) if match[f"v{number}"] is not None)
        yield _Value(match[0], _VARIES[shape][1])
        at = match.end()
    if at < len(text):
        yield text[at:]


def _anchors(literals: Iterable[str], text: str) -> list[str]:
    """The one or two longest literals that ordinary logs do not hold."""
    trimmed = {part.strip(_EDGES)[:LONGEST_ANCHOR].strip(_EDGES) for part in literals}
    found = sorted(trimmed, key=lambda part: (-_rarity(part), part))
    usable = [part for part in found if len(part.encode()) >= SHORTEST_ANCHOR]
    good = [part for part in usable if _rarity(part) >= GOOD_ANCHOR]
    return good[:2] or usable[:1] or [text[:LONGEST_ANCHOR]]


def _rarity(part: str) -> int:
    """Its characters, without those of everyday words and without punctuation."""
    return sum(len(word) for word in re.findall(r"[A-Za-z_]+", part) if word.lower() not in _COMMON)


def _expression(parts: Iterable[str | _Value], event: str) -> tuple[str, dict[str, str]]:
    """The regex, with a group where the word in front of a number is a field of the event, and what the groups read."""
    fields = {field.name for field in dataclasses.fields(KINDS[event])}
    pieces: list[str] = []
    expect: dict[str, str] = {}
    before = ""
    for part in parts:
        if isinstance(part, str):
            before = part
            pieces.append(_literal(part))
            continue
        field = _field(before, fields - expect.keys()) if part.text.isdecimal() else None
        value = _expected(event, field, part.text) if field else None
        if field is None or value is None:
            pieces.append(part.expression)
        else:
            pieces.append(f"(?P<{field}>{part.expression})")
            expect[field] = value
        before = ""
    return "".join(pieces), expect


def _literal(text: str) -> str:
    """Blanks may be line ends where a terminal wrapped the line."""
    return r"\s+".join(regex.escape(word, special_only=True) for word in re.split(r"\s+", text))


def _field(before: str, fields: set[str]) -> str | None:
    lead = before.lower().rstrip(" :=#([")
    for field, words in sorted(_FIELD_WORDS.items(), key=lambda item: -max(map(len, item[1]))):
        if field in fields and any(re.search(rf"(?:^|[^a-z_]){re.escape(word)}$", lead) for word in words):
            return field
    return None


def _expected(event: str, field: str, text: str) -> str | None:
    """What the engine makes of ``text`` in that field, as YAML."""
    fact = fact_from(event, {field: text}, {})
    value = getattr(fact, field, None)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return None if value is None else str(value) if isinstance(value, int) else _quoted(value)


def _quoted(text: str) -> str:
    """A YAML string in single quotes."""
    return "'" + text.replace("'", "''") + "'"
