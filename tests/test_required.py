"""What a pattern needs is in everything that it matches: skipping a text that lacks it loses nothing."""

from __future__ import annotations

import pytest
from cases import shared_catalog
from hypothesis import given, settings
from hypothesis import strategies as st

from logsleuth.catalog.spec import PatternSpec
from logsleuth.scan.extract import extract_all
from logsleuth.scan.required import may_match, required

PATTERNS = [p for p in shared_catalog().patterns.values() if p.regex is not None]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.id)
def test_what_a_pattern_matches_holds_what_it_needs(pattern: PatternSpec) -> None:
    texts = [*(sample.text for sample in pattern.samples), *pattern.near_misses]
    for text in texts:
        parts = [text[at : at + 40] for at in range(0, len(text), 40)]
        assert may_match(pattern.regex or "", parts) or not extract_all(pattern, text)


def test_most_patterns_need_something() -> None:
    known = [pattern for pattern in PATTERNS if required(pattern.regex or "")]
    assert len(known) > 0.9 * len(PATTERNS)


@pytest.mark.parametrize(
    ("expression", "runs"),
    [
        (r"Watchdog\s+caught", [("Watchdogcaught",)]),
        (r"(?x) a b\ c # said so", [("abc",)]),
        (r"rank (?P<rank>\d+) of \[\d+\]", [("rank",), ("of[",), ("]",)]),
        (r"lost?", [("los",)]),
        (r"lost+!", [("lost",), ("!",)]),
        (r"no(?:thing)?body", [("no",), ("body",)]),
        (r"(?:left|right) of", [("left", "right"), ("of",)]),
        (r"(?:left|\d)x", [("x",)]),
        (r"a(?:b(?:c|d)|ef)", [("a",), ("b", "ef")]),
        (r"(?:ab){2}c", [("ab",), ("c",)]),
        (r"x{0,3}y", [("y",)]),
        (r"(?<!not )ok(?! never)", [("ok",)]),
        (r"[\]x]y[^]]z", [("y",), ("z",)]),
        (r"one|two", [("one", "two")]),
        (r"(?i)one", []),
        (r"one(?i:two)", []),
        (r"(?P<a>x)(?P=a)", []),
        (r"[[:alpha:]]x", []),
        (r"\p{Lu}x", []),
        (r"one)", []),
    ],
)
def test_what_an_expression_needs(expression: str, runs: list[tuple[str, ...]]) -> None:
    assert list(required(expression)) == runs


#: Expressions whose texts are generated: each construct that the catalog uses.
_EXPRESSIONS = (
    r"ab?c+d*e{2}f{0,1}(?:gh|i(?:j|kl))+\s*m(?P<n>no|p)?q[rs]\.t",
    r"(?:Timeout\s+at|Exception)\s+work:\s*(?:\d+|-\d)(?:,\s*last\s+(?P<x>\w{1,3}))?",
    r"(?x) \[ Rank \s* \d+ \] (?: one \  two | three )",
)


@given(data=st.data())
@settings(derandomize=True, database=None, deadline=None, max_examples=200)
@pytest.mark.parametrize("expression", _EXPRESSIONS)
def test_whatever_matches_holds_it(expression: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(expression, fullmatch=True))
    assert required(expression)
    assert may_match(expression, [text])
