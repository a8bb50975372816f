"""Tokens, keys and passwords: by their own shape, or by the name in front of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Replace = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Secret:
    """``expression`` with the secret in its group ``value``; tried only where one of ``literals`` is in the text."""

    literals: Sequence[str]
    expression: re.Pattern[str]


_SHAPES = {
    "hf_": r"hf_[A-Za-z0-9]{20,}",
    "api_org_": r"api_org_[A-Za-z0-9]{20,}",
    "gh": r"gh[pousr]_[A-Za-z0-9]{30,}",
    "github_pat_": r"github_pat_\w{30,}",
    "glpat-": r"glpat-[\w-]{16,}",
    "AKIA": r"AKIA[A-Z0-9]{12,28}",
    "ASIA": r"ASIA[A-Z0-9]{12,28}",
    "wandb_v": r"wandb_v\d+_\w{20,}",
    "sk-": r"sk-(?=[\w-]*\d)[\w-]{20,}",
    "xox": r"xox[abeoprs]-[\w-]{10,}",
    "AIza": r"AIza[\w-]{30,}",
    "ya29.": r"ya29\.[\w-]{20,}",
    "npm_": r"npm_[A-Za-z0-9]{30,}",
    "pypi-": r"pypi-[\w-]{40,}",
    "nvapi-": r"nvapi-[\w-]{20,}",
    "dapi": r"dapi[0-9a-f]{32}",
    "eyJ": r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?",
    "SG.": r"SG\.[\w-]{16,}\.[\w-]{16,}",
}
#: A value that is clearly none: a placeholder, a variable, a word of a programming language, already hidden.
_NO_SECRET = re.compile(
    r"(?:none|null|true|false|str|string|bytes|int|optional\S*|undefined|redacted\S*|hidden|masked|unset|empty|\*+|x+|\.+"
    r"|[<$%{(\[].*|os\.environ.*|getpass.*)[.,]?",
    re.IGNORECASE,
)
_VALUE = r"(?P<value>[^\s\"',;&<>(){}\[\]\\]{6,})"
_IS = r"\\?[\"']?[ \t]*[=:][ \t]*\\?[\"']?"
#: Letters and digits: not the values of pad_token and num_tokens.
_TOKEN = r"(?=[\w.~+/=-]*\d)(?=[\w.~+/=-]*[A-Za-z])(?P<value>[\w.~+/=-]{12,})"

_NAMED = (
    Secret(
        ("key", "KEY", "Key", "ecret", "ECRET", "assw", "ASSW", "assphrase", "credential", "CREDENTIAL"),
        re.compile(
            r"(?:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|passw(?:or)?d|passphrase|access[_-]?key(?:[_-]?id)?"
            rf"|private[_-]?key|credentials?){_IS}{_VALUE}",
            re.IGNORECASE,
        ),
    ),
    # HF_TOKEN=..., --token ..., "auth_token": "..."
    Secret(("TOKEN",), re.compile(rf"(?<![A-Za-z0-9_])[A-Z0-9_]{{0,40}}TOKEN(?:{_IS}|[ \t]+){_TOKEN}")),
    Secret(
        ("_token", "-token", "stoken"),
        re.compile(
            rf"(?:(?:access|auth|session|bearer|id|refresh|hf|hub)[_-]?token|--token)(?:{_IS}|[ \t]+){_TOKEN}",
            re.IGNORECASE,
        ),
    ),
    Secret(("earer ", "EARER "), re.compile(r"(?i:\bbearer) (?=\S*\d)(?P<value>[\w.~+/=-]{12,})")),
    Secret(("uthorization",), re.compile(rf"(?i:\bauthorization){_IS}(?:[A-Z]\w+ )?{_VALUE}")),
    # https://alice:password@host/, postgres://:password@host
    Secret(("://",), re.compile(r"(?<=://)(?P<value>[^\s/@\"'<>]{0,200}:[^\s/@\"'<>]{1,200})(?=@)")),
    # ...?X-Amz-Signature=...&sig=...
    Secret(
        ("ignature=", "sig=", "redential=", "oken=", "key=", "KeyId="),
        re.compile(
            r"[?&](?:X-Amz-(?:Signature|Credential|Security-Token)|X-Goog-(?:Signature|Credential)|AWSAccessKeyId|Signature"
            r"|sig|signature|token|access_token|api_?key|key)=(?P<value>[^&\s\"'<>]{4,})"
        ),
    ),
    # wandb login <40 digits>, wandb: Appending key ...
    Secret(
        ("wandb", "WANDB", "api key", "API key"),
        re.compile(r"(?:wandb|WANDB|[aA][pP][iI] key)[^\n]{0,60}?(?<![0-9a-f])(?P<value>[0-9a-f]{40})(?![0-9a-f])"),
    ),
    *(
        Secret((literal,), re.compile(rf"(?<![A-Za-z0-9])(?P<value>{shape})"))
        for literal, shape in _SHAPES.items()
    ),
)  # fmt: skip
_KEY_BEGIN, _KEY_END = "PRIVATE KEY-----", "-----END "
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{16,}")


class SecretFilter:
    """Replaces secrets in text that is given piece by piece (whole lines): a private key may span two pieces."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace
        self._in_key = False

    def __call__(self, text: str) -> str:
        if self._in_key or _KEY_BEGIN in text:
            text = "\n".join(map(self._key_line, text.split("\n")))
        for secret in _NAMED:
            if any(literal in text for literal in secret.literals):
                text = secret.expression.sub(self._hide, text)
        return text

    def _hide(self, match: re.Match[str]) -> str:
        value = match["value"]
        if _NO_SECRET.fullmatch(value):
            return match[0]
        start, end = match.start("value") - match.start(), match.end("value") - match.start()
        return f"{match[0][:start]}{self._replace(value)}{match[0][end:]}"

    def _key_line(self, line: str) -> str:
        """The lines between ``-----BEGIN ... PRIVATE KEY-----`` and its end."""
        if _KEY_BEGIN in line and "BEGIN" in line:
            self._in_key = True
        if not self._in_key:
            return line
        self._in_key = _KEY_END not in line
        return _BASE64.sub(lambda match: self._replace(match[0]), line)
