"""First pass: the names of machines, people and buckets, from the logs' own structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from logsleuth.model.source import Source
from logsleuth.redact.hostlists import expanded
from logsleuth.redact.ordinary import ACCOUNTS, identifies_nobody, is_public
from logsleuth.redact.places import BUCKETS, HOSTS, URLS, USERS, Place
from logsleuth.sources.blocks import windows
from logsleuth.sources.hosts import could_name_host, is_numbered_thing
from logsleuth.sources.prefixes import read_prefix, split_segments

#: Of each line, so many words are compared to find out whether its prefixes were seen before.
_WORDS_OF_HEAD = 6
_LONGEST_HEAD = 200
_MOST_HEADS = 200_000
_ADDRESS = re.compile(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")
_HOST = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")


class Names:
    """What was learnt, in the order in which it was seen: that order is the same for the same input.

    ``homes`` are users whose name is an everyday word: replaced below a folder of homes only.
    """

    def __init__(self) -> None:
        self.hosts: dict[str, None] = {}
        self.domains: dict[str, None] = {}
        self.users: dict[str, None] = {}
        self.homes: dict[str, None] = {}
        self.buckets: dict[str, None] = {}

    def add_host(self, word: str, *, sure: bool) -> None:
        """``word`` stood where a host stands; ``sure``: where only a host can. A full name gives its domain as well."""
        word = word.strip(".-_")
        if not _HOST.fullmatch(word) or _ADDRESS.fullmatch(word) or is_public(word) or word.isdecimal():
            return
        short, dot, domain = word.partition(".")
        full = bool(dot) and domain.rpartition(".")[2].isalpha() and not identifies_nobody(word)
        if full and (sure or could_name_host(word) or could_name_host(short)):
            self.hosts.setdefault(word)
            self.domains.setdefault(domain)
            word = short
        if identifies_nobody(word) or not (sure or _looks_like_host(word)):
            return
        self.hosts.setdefault(word)

    def add_server(self, name: str) -> None:
        """The full name in a URL."""
        domain = name.partition(".")[2]
        if not (is_public(name) or _ADDRESS.fullmatch(name)):
            self.hosts.setdefault(name)
            self.domains.setdefault(domain)

    def add_user(self, word: str, *, sure: bool) -> None:
        word = word.rstrip(".-")
        if word.lower() in ACCOUNTS or (not sure and identifies_nobody(word)):
            return
        everyday = identifies_nobody(word) or len(word) < 3
        (self.homes if everyday else self.users).setdefault(word)

    def add_bucket(self, word: str) -> None:
        """A name that is no everyday word is replaced wherever it stands."""
        if (
            len(word) >= 4
            and not identifies_nobody(word)
            and ("-" in word or "." in word or any(map(str.isdigit, word)))
        ):
            self.buckets.setdefault(word)


def learn(sources: Iterable[Source]) -> Names:
    """Everything that names a machine, a person or a bucket in ``sources`` and their paths. Raises OSError where one
    cannot be read."""
    learner = _Learner()
    for source in sources:
        learner.path(source)
        with source.opener() as stream:
            for window in windows(stream, margin=0):
                learner.text(window.data[window.lo : window.hi].decode("utf-8", "replace"))
    return learner.names


class _Learner:
    def __init__(self) -> None:
        self.names = Names()
        self._heads: set[str] = set()

    def path(self, source: Source) -> None:
        if source.origin.host is not None:
            self.names.add_host(source.origin.host, sure=True)
        self._places(source.name)

    def text(self, text: str) -> None:
        """Whole lines."""
        for line in text.split("\n"):
            self._prefixes(line)
        self._places(text)

    def _prefixes(self, line: str) -> None:
        """Hosts in front of messages; none is new where the line's beginning was seen before, but for times."""
        head = " ".join(map(_shape, line[:_LONGEST_HEAD].split(" ", _WORDS_OF_HEAD)[:_WORDS_OF_HEAD]))
        if head in self._heads and "\r" not in line:
            return
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads.add(head)
        for _, segment in split_segments(line):
            host = read_prefix(segment).origin.host
            if host is not None:
                self.names.add_host(host, sure=True)

    def _places(self, text: str) -> None:
        for place in HOSTS:
            for word in _found(place, text):
                for host in expanded(word):
                    self.names.add_host(host, sure=place.sure)
        for place in URLS:
            for word in _found(place, text):
                self.names.add_server(word)
        for place in USERS:
            for word in _found(place, text):
                self.names.add_user(word, sure=place.sure)
        for place in BUCKETS:
            for word in _found(place, text):
                self.names.add_bucket(word)


def _found(place: Place, text: str) -> Iterator[str]:
    """Each distinct name in the lines that hold one of the place's literals."""
    seen: set[str] = set()
    for literal in place.literals:
        at = text.find(literal)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            seen.update(match[1] for match in place.expression.finditer(text[start:end]))
            at = text.find(literal, end)
    yield from sorted(seen)


def _shape(word: str) -> str:
    """``word`` without what differs from line to line: times, numbers, values."""
    if word.upper() == word.lower() or (word[4:5] == "-" and word[10:11] in ("T", "_")):
        return "#"
    name, _, value = word.rpartition("=")
    return name if name and value.upper() == value.lower() else word


def _looks_like_host(word: str) -> bool:
    return could_name_host(word) or (("-" in word or any(map(str.isdigit, word))) and not is_numbered_thing(word))
