"""Lines of one kind become equal: numbers, paths, addresses and hex are replaced by their names."""

from __future__ import annotations

import re

LONGEST_MASKED = 300
_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "<HEX>"),
    (re.compile(r"(?:/[\w.+@~-]+){2,}/?"), "<PATH>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<IP>"),
    (re.compile(r"\b[0-9a-fA-F]{8,}\b"), "<HEX>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<N>"),
)


def masked(text: str) -> str:
    """``text`` without what differs from run to run, at most LONGEST_MASKED characters."""
    for expression, name in _MASKS:
        text = expression.sub(name, text)
    return " ".join(text.split())[:LONGEST_MASKED]
