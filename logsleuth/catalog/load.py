"""patterns/ from disk to a Catalog. YAML is read and validated once; the result is kept in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from logsleuth import __version__
from logsleuth.catalog.spec import (
    BlockSpec,
    Catalog,
    CauseSpec,
    DecidedBy,
    FixSpec,
    LookAlike,
    PatternSpec,
    Sample,
    Step,
)
from logsleuth.errors import CatalogError

CAUSES = "causes"
DATA = "data"


def builtin_folder() -> Path:
    """The catalog that came with LogSleuth: inside the package when installed, else the checkout's ``patterns/``."""
    package = Path(__file__).resolve().parent.parent
    packaged = package / "patterns"
    return packaged if packaged.is_dir() else package.parent / "patterns"


def load_catalog(extra: Iterable[Path] = ()) -> Catalog:
    """The built-in catalog with the user's folders over it; a later file with the same id replaces an earlier one.

    Raises CatalogError with every fault of every file at once.
    """
    catalog, faults = load_partly(extra)
    if faults:
        raise CatalogError(faults, hint="`logsleuth patterns lint` tells what else is wrong")
    return catalog


def load_partly(extra: Iterable[Path] = ()) -> tuple[Catalog, list[str]]:
    """What can be read of the catalog, and the faults of the files that cannot (``path:line: sentence``).

    Raises CatalogError only where there is no folder or no file to read.
    """
    folders = [builtin_folder(), *extra]
    missing = [f"{folder}: no such folder" for folder in folders[1:] if not folder.is_dir()]
    if missing:
        raise CatalogError(missing, hint="--patterns takes a folder of YAML files")
    files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.yaml"))]
    if not files:
        raise CatalogError([f"{folders[0]}: no pattern files"], hint="reinstall LogSleuth")
    signature = _signature(path for _, path in files)
    raw = _from_cache(signature)
    faults: list[str] = []
    if raw is None:
        raw, faults = _read_all(files)
        if not faults:
            _to_cache(signature, raw)
    return _build(raw), faults


def _signature(paths: Iterable[Path]) -> str:
    digest = hashlib.blake2b(__version__.encode(), digest_size=12)
    for path in paths:
        stat = path.stat()
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    digest.update(str(Path(__file__).stat().st_mtime_ns).encode())
    return digest.hexdigest()


def _cache_file(signature: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(root).expanduser() / "logsleuth" / f"catalog-{signature}.json"


def _from_cache(signature: str) -> dict[str, Any] | None:
    try:
        loaded = json.loads(_cache_file(signature).read_bytes())
    except (OSError, ValueError, RuntimeError):
        return None
    return loaded if isinstance(loaded, dict) else None


def _to_cache(signature: str, raw: Mapping[str, Any]) -> None:
    """Best effort: no home, no space or no permission only costs time at the next start."""
    try:
        target = _cache_file(signature)
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob("catalog-*.json"):
            old.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8") as part:
            json.dump(raw, part)
        Path(part.name).replace(target)
    except (OSError, RuntimeError, TypeError):
        return


def _read_all(files: Iterable[tuple[Path, Path]]) -> tuple[dict[str, Any], list[str]]:
    """Every file validated: the sound ones, and the faults of all others together."""
    import yaml
    from pydantic import ValidationError

    from logsleuth.catalog.schema import CauseFile, PatternFile

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    faults: list[str] = []
    raw: dict[str, dict[str, Any]] = {"patterns": {}, "causes": {}, "data": {}}
    for folder, path in files:
        parts = path.relative_to(folder).parts
        room = parts[0] if len(parts) > 1 else ""
        try:
            loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except (OSError, UnicodeDecodeError) as error:
            faults.append(f"{path}: cannot be read: {error}")
            continue
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark else ""
            faults.append(f"{path}{line}: not valid YAML: {getattr(error, 'problem', error)}")
            continue
        if room == DATA:
            raw["data"][path.stem] = loaded
            continue
        model = CauseFile if room == CAUSES else PatternFile
        try:
            checked = model.model_validate(loaded)
        except ValidationError as error:
            for item in error.errors():
                where = ".".join(str(part) for part in item["loc"]) or "file"
                faults.append(f"{path}:{_line_of(path, item['loc'])}: {where}: {item['msg']}")
            continue
        if checked.id != path.stem:
            faults.append(f"{path}:1: id {checked.id!r} differs from the file's name")
            continue
        entry = checked.model_dump(mode="json")
        entry.update(path=str(path), family=room)
        raw[CAUSES if room == CAUSES else "patterns"][checked.id] = entry
    return raw, faults


def _line_of(path: Path, location: tuple[int | str, ...]) -> int:
    """The line of the first key of ``location``; 1 where it cannot be found."""
    if location:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith(f"{location[0]}:"):
                return number
    return 1


def _build(raw: Mapping[str, Any]) -> Catalog:
    return Catalog(
        patterns={name: _pattern(entry) for name, entry in raw["patterns"].items()},
        causes={name: _cause(entry) for name, entry in raw["causes"].items()},
        data=raw["data"],
    )


def _pattern(entry: Mapping[str, Any]) -> PatternSpec:
    block = entry["block"]
    return PatternSpec(
        id=entry["id"],
        title=entry["title"],
        event=entry["event"],
        role=entry["role"],
        anchors=tuple(entry["anchors"]),
        regex=entry["regex"],
        family=entry["family"],
        path=entry["path"],
        keep=entry["keep"],
        fields=entry["fields"],
        block=BlockSpec(**block) if block else None,
        parser=entry["parser"],
        versions=entry["versions"],
        samples=tuple(Sample(s["line"], s["expect"]) for s in entry["samples"]),
        near_misses=tuple(entry["near_misses"]),
        references=tuple(entry["references"]),
    )


def _decided(entries: Iterable[Mapping[str, Any]]) -> tuple[DecidedBy, ...]:
    return tuple(
        DecidedBy(
            event=e["event"],
            where={k: tuple(v) if isinstance(v, list) else (v,) for k, v in e["where"].items()},
            roles=tuple(e["roles"]),
            blame=e["blame"],
            confidence=e["confidence"],
            why=e["why"],
        )
        for e in entries
    )


def _fix(entry: Mapping[str, Any]) -> FixSpec:
    return FixSpec(
        kind=entry["kind"],
        title=entry["title"],
        steps=tuple(Step(s["text"], s["command"]) for s in entry["steps"]),
        env=entry["env"],
        when=entry["when"],
        applies_to=entry["applies_to"],
        risk=entry["risk"],
        verify=entry["verify"],
        references=tuple(entry["references"]),
    )


def _cause(entry: Mapping[str, Any]) -> CauseSpec:
    return CauseSpec(
        id=entry["id"],
        title=entry["title"],
        severity=entry["severity"],
        owner=entry["owner"],
        retry=entry["retry"],
        tier=entry["tier"],
        meaning=entry["meaning"],
        decisive=entry["decisive"],
        summary=entry["summary"],
        path=entry["path"],
        decided_by=_decided(entry["decided_by"]),
        suggests=_decided(entry["suggests"]),
        yields_to=tuple(entry["yields_to"]),
        look_alikes=tuple(LookAlike(a["cause"], a["tell_apart"]) for a in entry["look_alikes"]),
        fixes=tuple(_fix(f) for f in entry["fixes"]),
        references=tuple(entry["references"]),
    )
