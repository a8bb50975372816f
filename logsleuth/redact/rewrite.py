"""Second pass: text with everything that identifies replaced, and everything else as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping

from logsleuth.redact.hostlists import BRACKETED, compressed, expanded
from logsleuth.redact.learn import Names
from logsleuth.redact.ordinary import is_public
from logsleuth.redact.places import BUCKETS, HOME
from logsleuth.redact.pseudonyms import Pseudonyms
from logsleuth.redact.secrets import SecretFilter

_EMAIL = re.compile(
    r"(?<![\w.+-])(?<!://)[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
#: What may not stand in front is asked behind the first digit: an expression that begins with one is found faster.
_IPV4 = re.compile(r"[0-9](?<![\w.][0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![\w]|\.\d|-\d+\+)")
_OCTETS = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
#: Four numbers with dots are a version behind these: ``cudnn 8.9.2.26``, ``nvidia-cublas-cu12==12.4.5.8``.
_VERSION = re.compile(
    r"(?:[vV]ersion|VERSION|\bver\.?|cudnn|cuDNN|cuBLAS|cublas|TensorRT|[=<>~!]=|\.so|nvidia-[\w-]+)"
    r"[ \t:('\"]*$"
)
#: The same behind a dash (``OFED-5.8-1.1.2.1``), where the first number is not one that private networks begin with.
_VERSION_BEHIND_DASH = re.compile(r"\w-$")
_RANGE = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}-$")
_PRIVATE = ("10.", "172.", "192.168.", "100.")
_VERSION_LOOKBACK = 40
_IPV6 = re.compile(
    r"[02-3fF](?<![\w:.].)(?:(?:(?<=[23])[0-9a-fA-F]{3}|(?<=[fF])(?:[cdCD][0-9a-fA-F]{2}|[eE][89abAB][0-9a-fA-F]))"
    r"(?::[0-9a-fA-F]{0,4}){2,7}|000:(?:0000:){4}[fF]{4}:[0-9a-fA-F]{4}:[0-9a-fA-F]{4})(?![\w:]|\.\d)"
)
_HOMES = re.compile(rf"(/{HOME}/(?:\d{{5}}/)?|[A-Za-z]:\\{{1,2}}Users\\{{1,2}})([A-Za-z_][\w.-]{{0,63}})")
#: Where a word may begin: not behind a letter or digit, unless that ends a control code or an escape in JSON.
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\[\dm)|(?<=\[\d\dm)|(?<=;\dm)|(?<=;\d\dm))"
_TOKEN_TAIL = r"[\w.-]{0,250}"


class Redactor:
    """Text in, text out, with one memory for all texts. Give whole lines: a name is not seen across two pieces."""

    def __init__(self, names: Names) -> None:
        self.pseudonyms = Pseudonyms(names)
        self._secrets = SecretFilter(self.pseudonyms.secret)
        self._homes = names.homes
        made = self.pseudonyms
        domains = {old: new for old, new in made.domains.items() if "." in old}
        users = {old: new for old, new in made.users.items() if old not in names.homes}
        self._words = _Words({**made.buckets, **users, **domains, **made.hosts})

    def redact(self, text: str) -> str:
        """``text`` without what identifies; the same number of lines."""
        text = self._secrets(text)
        if "@" in text:
            text = _EMAIL.sub(self._email, text)
        for place in BUCKETS:
            if any(literal in text for literal in place.literals):
                text = place.expression.sub(self._bucket, text)
        if self._homes and ("/" in text or "\\" in text):
            text = _HOMES.sub(self._home, text)
        text = _IPV6.sub(self._ipv6, text)
        text = _IPV4.sub(self._ipv4, text)
        return self._words.replaced(text)

    def _email(self, match: re.Match[str]) -> str:
        return match[0] if match[0].startswith("git@") else self.pseudonyms.email(match[0])

    def _bucket(self, match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith(("$", "%", "<", "*")):
            return match[0]
        at = match.start(1) - match.start()
        return f"{match[0][:at]}{self.pseudonyms.bucket(name)}{match[0][at + len(name) :]}"

    def _home(self, match: re.Match[str]) -> str:
        name = match[2]
        return f"{match[1]}{self.pseudonyms.user(name)}" if name in self._homes else match[0]

    def _ipv4(self, match: re.Match[str]) -> str:
        if not _OCTETS.fullmatch(match[0]):
            return match[0]
        before = match.string[max(0, match.start() - _VERSION_LOOKBACK) : match.start()]
        dashed = _VERSION_BEHIND_DASH.search(before) and not match[0].startswith(_PRIVATE)
        if _VERSION.search(before) or (dashed and not _RANGE.search(before)):
            return match[0]
        return self.pseudonyms.ipv4(match[0])

    def _ipv6(self, match: re.Match[str]) -> str:
        try:
            return self.pseudonyms.ipv6(match[0])
        except ValueError:
            return match[0]


class _Words:
    """Replaces whole words out of a large set: candidates by the letters that a name begins with, then by look-up."""

    def __init__(self, new_of: Mapping[str, str]) -> None:
        self._new_of = {old: new for old, new in new_of.items() if not is_public(old)}
        stems = sorted({_stem(old) for old in self._new_of}, key=lambda stem: (-len(stem), stem))
        joined = "|".join(map(re.escape, stems))
        self._candidate = re.compile(rf"(?:{joined}){_TOKEN_TAIL}") if stems else None
        self._begins = re.compile(_BEGINS)

    def replaced(self, text: str) -> str:
        if self._candidate is None:
            return text
        if "[" in text:
            text = BRACKETED.sub(self._list, text)
        return self._candidate.sub(self._token, text)

    def _list(self, match: re.Match[str]) -> str:
        """``gpu[01-04]`` where all of them are hosts."""
        new: list[str] = []
        for name in expanded(match[0]):
            if name not in self._new_of:
                return match[0]
            new.append(self._new_of[name])
        return compressed(new) if new else match[0]

    def _token(self, match: re.Match[str]) -> str:
        """Every name in a run of letters, digits, dots and dashes; the longest at each place."""
        token, offset = match[0], match.start()
        parts: list[str] = []
        at = done = 0
        while at < len(token):
            end = self._longest(token, at) if self._may_begin(match.string, offset + at) else None
            if end is None:
                at += 1
                continue
            parts += (token[done:at], self._new_of[token[at:end]])
            at = done = end
        return "".join((*parts, token[done:]))

    def _may_begin(self, text: str, at: int) -> bool:
        return self._begins.match(text, at) is not None

    def _longest(self, token: str, at: int) -> int | None:
        """The end of the longest name that begins at ``at``."""
        for end in range(len(token), at, -1):
            if (end == len(token) or not _is_alnum(token[end])) and token[at:end] in self._new_of:
                return end
        return None


def _stem(name: str) -> str:
    """The letters that ``name`` begins with, or its first two characters."""
    letters = re.match(r"[A-Za-z]+", name)
    return letters[0] if letters else name[:2]


def _is_alnum(char: str) -> bool:
    return char.isascii() and char.isalnum()
