"""patterns/ from disk to a Catalog. YAML is read and validated once; the result is kept in the user's cache, with the
samples apart: they are half of it, and only those who check or explain patterns read them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from logsleuth import __version__
from logsleuth.cache import keep, key_of, recall
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


def load_catalog(extra: Iterable[Path] = (), *, samples: bool = True) -> Catalog:
    """The built-in catalog with the user's folders over it; a later file with the same id replaces an earlier one.

    ``samples``: with the samples and near-misses of the patterns, which an analysis does not need. Raises CatalogError
    with every fault of every file at once.
    """
    catalog, faults = load_partly(extra, samples=samples)
    if faults:
        raise CatalogError(faults, hint="`logsleuth patterns lint` tells what else is wrong")
    return catalog


def load_partly(extra: Iterable[Path] = (), *, samples: bool = True) -> tuple[Catalog, list[str]]:
    """What can be read of the catalog, and the faults of the files that cannot (``path:line: sentence``).

    Raises CatalogError only where there is no folder or no file to read.
    """
    folders = [builtin_folder(), *extra]
    missing = [f"{folder}: no such folder" for folder in folders[1:] if not folder.is_dir()]
    if missing:
        raise CatalogError(missing, hint="--patterns takes a folder of YAML files")
    files = [(folder, path, stat) for folder in folders for path, stat in _files(str(folder))]
    if not files:
        raise CatalogError([f"{folders[0]}: no pattern files"], hint="reinstall LogSleuth")
    signature = _signature((path, stat) for _, path, stat in files)
    raw = _from_cache("catalog", signature)
    shown = _from_cache("samples", signature) if samples else {}
    faults: list[str] = []
    if raw is None or shown is None:
        raw, shown, faults = _read_all((folder, Path(path)) for folder, path, _ in files)
        if not faults:
            _to_cache("catalog", signature, raw)
            _to_cache("samples", signature, shown)
    return _build(raw, shown if samples else {}), faults


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every YAML file below ``folder``, in the order of their paths; a folder that is closed holds none."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.name.endswith(".yaml"):
            yield entry.path, _stat(entry)


def _stat(entry: os.DirEntry[str]) -> os.stat_result:
    """Of the file, or of the link that points to none: whoever reads it will say so."""
    try:
        return entry.stat()
    except OSError:
        return entry.stat(follow_symlinks=False)


def _signature(files: Iterable[tuple[str, os.stat_result]]) -> str:
    """Changes with any file of the catalog, and with the code that validates it."""
    stamps = [*files, *_files_of_code()]
    return key_of(
        __version__.encode(), *(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}".encode() for path, stat in stamps)
    )


def _files_of_code() -> Iterator[tuple[str, os.stat_result]]:
    for path in (Path(__file__), Path(__file__).with_name("schema.py")):
        yield str(path), path.stat()


def _from_cache(kind: str, signature: str) -> dict[str, Any] | None:
    content = recall(kind, signature)
    try:
        loaded = json.loads(content.decode("ascii")) if content is not None else None
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def _to_cache(kind: str, signature: str, raw: Mapping[str, Any]) -> None:
    """Data tables may hold what JSON does not know, such as a date; then the files are read at each start."""
    try:
        content = json.dumps(raw, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError):
        return
    keep(kind, signature, content)


def _read_all(files: Iterable[tuple[Path, Path]]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Every file validated: the sound ones, the samples of each pattern, and the faults of all others together."""
    import yaml
    from pydantic import ValidationError

    from logsleuth.catalog.schema import CauseFile, PatternFile

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    faults: list[str] = []
    raw: dict[str, dict[str, Any]] = {"patterns": {}, "causes": {}, "data": {}}
    samples: dict[str, Any] = {}
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
        if room != CAUSES:
            samples[checked.id] = {name: entry.pop(name) for name in ("samples", "near_misses")}
        raw[CAUSES if room == CAUSES else "patterns"][checked.id] = entry
    return raw, samples, faults


def _line_of(path: Path, location: tuple[int | str, ...]) -> int:
    """The line of the first key of ``location``; 1 where it cannot be found."""
    if location:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith(f"{location[0]}:"):
                return number
    return 1


def _build(raw: Mapping[str, Any], samples: Mapping[str, Any]) -> Catalog:
    return Catalog(
        patterns={name: _pattern(entry, samples.get(name, {})) for name, entry in raw["patterns"].items()},
        causes={name: _cause(entry) for name, entry in raw["causes"].items()},
        data=raw["data"],
    )


def _pattern(entry: Mapping[str, Any], shown: Mapping[str, Any]) -> PatternSpec:
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
        samples=tuple(Sample(s["line"], s["expect"]) for s in shown.get("samples", ())),
        near_misses=tuple(shown.get("near_misses", ())),
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
        best_for={name: tuple(values) for name, values in entry["best_for"].items()},
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
