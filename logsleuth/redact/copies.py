"""Sources -> redacted files: plain text, in a folder whose names say the same of rank and host as the original ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logsleuth.errors import UsageError
from logsleuth.model.origin import Origin
from logsleuth.model.source import Skipped, Source
from logsleuth.redact.learn import learn
from logsleuth.redact.pseudonyms import Pseudonyms
from logsleuth.redact.rewrite import Redactor
from logsleuth.sources.blocks import windows
from logsleuth.sources.layouts import origin_of_path

_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|zip|tar|tgz|tbz2|txz)$", re.IGNORECASE)
_SEPARATORS = re.compile(r"[/\\!]+")
_HEAD_BYTES = 4096
#: A pickle, such as a flight recorder's dump: the lengths of its texts are part of it.
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_IN_NAMES = ("rank", "local_rank", "task", "host", "pid", "attempt", "stream", "role")


@dataclass(frozen=True, slots=True)
class Copies:
    """``files`` maps a source's name to its copy, ``pseudonyms`` tell what was replaced by what."""

    files: Mapping[str, Path]
    skipped: tuple[Skipped, ...]
    pseudonyms: Pseudonyms


def write_copies(
    sources: Sequence[Source], folder: Path, on_copy: Callable[[str, Path], object] | None = None
) -> Copies:
    """A redacted copy of each source under ``folder``, which must be empty or new.

    Reads every source twice: names are learnt from all of them before the first line is written. What cannot be read,
    or is no text, is skipped. Raises UsageError where nothing can be written.
    """
    _make(folder)
    skipped = {source.id: reason for source in sources if (reason := _why_not(source)) is not None}
    redactor = Redactor(learn(source for source in sources if source.id not in skipped))
    files: dict[str, Path] = {}
    readable = [source for source in sources if source.id not in skipped]
    for source, name in zip(readable, _names(readable, redactor), strict=True):
        target = folder / name
        try:
            _copy(source, target, redactor)
        except OSError as error:
            raise UsageError(f"{target}: cannot be written: {_reason(error)}") from error
        files[source.id] = target
        if on_copy is not None:
            on_copy(source.name, target)
    told = tuple(Skipped(source.name, skipped[source.id]) for source in sources if source.id in skipped)
    return Copies(files, told, redactor.pseudonyms)


def write_map(pseudonyms: Pseudonyms, path: Path) -> None:
    """What was replaced by what, readable by its owner alone. Secrets are counted and not told."""
    content = {
        "hosts": pseudonyms.hosts,
        "domains": pseudonyms.domains,
        "users": pseudonyms.users,
        "addresses": {old: new for old, new in pseudonyms.addresses.items() if old != new},
        "buckets": pseudonyms.buckets,
        "emails": pseudonyms.emails,
        "secrets": len(pseudonyms.secrets),
    }
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {_reason(error)}") from error


def _why_not(source: Source) -> str | None:
    """Why ``source`` is not copied: it cannot be read, or no text can be replaced in it without breaking it."""
    try:
        with source.opener() as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        return f"it cannot be read: {_reason(error)}"
    if _PICKLE.match(head) or head.count(b"\0") * 10 > len(head):
        return "it holds binary data, which is not redacted; leave it out or share its text form"
    return None


def _copy(source: Source, target: Path, redactor: Redactor) -> None:
    """Bytes that are no UTF-8 come through as they are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.opener() as stream, target.open("wb") as copy:
        for window in windows(stream, margin=0):
            text = window.data[window.lo : window.hi].decode("utf-8", "surrogateescape")
            copy.write(redactor.redact(text).encode("utf-8", "surrogateescape"))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty", hint="name a new folder, so that nothing old is shared with it")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be used: {_reason(error)}") from error


def _names(sources: Sequence[Source], redactor: Redactor) -> list[str]:
    """A relative path for each source: redacted, unique, without the folders that all have in common.

    As many of those are kept as it takes to tell the same of rank and host (``attempt_0/3/stderr.log``).
    """
    parts = [_parts(source.name) for source in sources]
    common = _common(parts)
    names: list[str] = []
    for source, path in zip(sources, parts, strict=True):
        wanted = _said(source.origin)
        start = next((at for at in range(common, 0, -1) if _said(origin_of_path("/".join(path[at:]))) == wanted), 0)
        start = start if start or _said(origin_of_path("/".join(path))) == wanted else common
        name = redactor.redact("/".join(path[start:]))
        names.append(_unique(name, names))
    return names


def _parts(name: str) -> list[str]:
    """``/logs/../x.zip!job/3.txt.gz`` -> [logs, x, job, 3.txt]."""
    parts = [part for part in _SEPARATORS.split(name.partition("://")[2] or name) if part not in ("", ".", "..")]
    stripped = [_PACKED.sub("", _PACKED.sub("", part)) or part for part in parts]
    return [part.replace(":", "_") for part in stripped] or ["log"]


def _common(paths: Sequence[Sequence[str]]) -> int:
    """How many leading folders all ``paths`` share."""
    shortest = min((len(path) - 1 for path in paths), default=0)
    return next((at for at in range(shortest) if len({path[at] for path in paths}) > 1), shortest)


def _said(origin: Origin) -> dict[str, object]:
    return {name: getattr(origin, name) for name in _IN_NAMES if origin.how(name) == "path"}


def _unique(name: str, taken: Sequence[str]) -> str:
    """``a.log``, and ``a-2.log`` for the next."""
    path = Path(name)
    number, new = 1, name
    while new in taken:
        number += 1
        new = str(path.with_name(f"{path.stem}-{number}{path.suffix}"))
    return new


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
