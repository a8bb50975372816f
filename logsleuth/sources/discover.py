"""What the user typed -> Sources in a stable order, and a Skipped with one sentence for everything that is not read."""

from __future__ import annotations

import atexit
import dataclasses
import glob
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from logsleuth.model.origin import Origin
from logsleuth.model.source import Opener, Skipped, Source
from logsleuth.sources import remote
from logsleuth.sources.archives import HEAD_BYTES, Member, form_of, members_of
from logsleuth.sources.filenames import (
    could_be_log,
    could_hold_logs,
    is_binary_name,
    natural,
    repeated,
)
from logsleuth.sources.layouts import origin_of_path, torchrun_origin
from logsleuth.sources.openers import AsUtf8, Decompressed, FileBytes, HeldBytes, SkippedBytes
from logsleuth.sources.streams import zstd_is_available

STDIN_NAME = "stdin"
#: Standard input beyond this goes to a temporary file.
MOST_HELD_BYTES = 16 * 1024**2
#: An archive may hold archives, and those none.
DEEPEST_ARCHIVE = 2
#: Compression around compression.
MOST_LAYERS = 4

_UNREADABLE_FORMS = {
    "7z": "7z archives are not read; unpack it first",
    "rar": "rar archives are not read; unpack it first",
    "lz4": "lz4 is not read; unpack it first",
}
_ODD_KINDS = (
    (stat.S_ISFIFO, "it is a named pipe, which can be read only once; pipe it into `logsleuth analyze -` instead"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def discover(
    paths: Sequence[str], *, stdin: BinaryIO | None = None, ranks: Mapping[str, int] | None = None
) -> tuple[list[Source], list[Skipped]]:
    """The sources behind files, globs, folders, archives, addresses and ``-``; sorted by name, each file once.

    Never raises for what it finds. ``ranks`` gives files, folders or archives a global rank and reads them as well.
    """
    return _Discovery(stdin, dict(ranks or {})).run([*paths, *(ranks or {})])


class _Discovery:
    def __init__(self, stdin: BinaryIO | None, ranks: Mapping[str, int]) -> None:
        self._stdin = stdin
        self._ranks = ranks
        places = {os.path.realpath(path): rank for path, rank in ranks.items()}
        #: The innermost folder or the file itself first.
        self._ranks_by_place = dict(sorted(places.items(), key=lambda item: -len(item[0])))
        self._sources: list[Source] = []
        self._skipped: list[Skipped] = []

    def run(self, paths: Sequence[str]) -> tuple[list[Source], list[Skipped]]:
        names: dict[str, str] = {}
        for path in sorted(set(paths)):
            if path == "-":
                self._read_stdin()
            elif remote.is_address(path):
                self._read_remote(path)
            else:
                for name in self._files(path):
                    place = os.path.realpath(name)
                    names[place] = min(names.get(place, name), name, key=lambda name: (len(name), natural(name)))
        for place, name in names.items():
            self._read_file(name, place)
        taken: dict[str, int] = {}
        unique: list[Source] = []
        for source in sorted(self._sources, key=lambda source: natural(source.name)):
            taken[source.name] = taken.get(source.name, 0) + 1
            number = taken[source.name]
            unique.append(source if number == 1 else dataclasses.replace(source, id=f"{source.name}#{number}"))
        return unique, sorted(set(self._skipped), key=lambda item: (natural(item.name), item.reason))

    # --- from what was typed to files -----------------------------------------------------------------------------

    def _files(self, path: str) -> Iterator[str]:
        """The files behind one argument."""
        if not os.path.lexists(path) and glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - the user's own spelling is kept
            if not matches:
                self._skip(path, "no file matches this pattern")
            for match in matches:
                if os.path.isdir(match):  # noqa: PTH112 - Path.is_dir raises where a folder is closed
                    yield from self._files_in(match)
                elif could_be_log(match) and self._is_file(match):
                    yield match
        elif os.path.isdir(path):  # noqa: PTH112
            yield from self._files_in(path)
        elif self._is_file(path):
            if is_binary_name(path):
                self._skip(path, "by its name it holds binary data and no log")
            else:
                yield path

    def _files_in(self, folder: str) -> Iterator[str]:
        found: list[str] = []
        for parent, folders, files in os.walk(folder, onerror=self._note_closed_folder):
            folders[:] = sorted(filter(could_hold_logs, folders))
            # os.path.join: Path would not keep the user's own spelling.
            paths = [os.path.join(parent, name) for name in sorted(files) if could_be_log(name)]  # noqa: PTH118
            found += filter(self._is_file, paths)
        repeating = repeated({path: _size(path) for path in found})
        for path in found:
            if path in repeating:
                self._skip(path, repeating[path])
            else:
                yield path
        if not found and not any(item.name == folder for item in self._skipped):
            self._skip(folder, "the folder holds no file that could be a log")

    def _note_closed_folder(self, error: OSError) -> None:
        self._skip(str(error.filename), f"the folder cannot be read: {error.strerror}")

    def _is_file(self, path: str) -> bool:
        """Whether ``path`` is a file that can be opened; a Skipped where not."""
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except FileNotFoundError:
            is_link = os.path.islink(path)  # noqa: PTH114
            self._skip(path, "the link points to nothing" if is_link else "there is no such file or folder")
            return False
        except (OSError, ValueError) as error:
            self._skip(path, f"it cannot be read: {getattr(error, 'strerror', None) or error}")
            return False
        reason = next((reason for is_kind, reason in _ODD_KINDS if is_kind(mode)), None)
        if reason is not None:
            self._skip(path, reason)
        return reason is None

    # --- from files to sources ------------------------------------------------------------------------------------

    def _read_file(self, path: str, place: str) -> None:
        rank = next(
            (
                rank
                for named, rank in self._ranks_by_place.items()
                if place == named or place.startswith(named.rstrip(os.sep) + os.sep)
            ),
            None,
        )
        try:
            size = os.stat(path).st_size  # noqa: PTH116
        except OSError as error:
            self._skip(path, f"it cannot be read: {error.strerror}")
            return
        self._expand(path, FileBytes(path), size, rank, torchrun_origin(place))

    def _read_stdin(self) -> None:
        stream = self._stdin if self._stdin is not None else sys.stdin.buffer
        opener, size = _spooled(stream)
        if size == 0:
            self._skip(STDIN_NAME, "nothing came in on standard input")
        else:
            self._expand(STDIN_NAME, opener, size, self._ranks.get("-"), Origin())

    def _read_remote(self, address: str) -> None:
        for item in remote.files_at(address):
            if isinstance(item, Skipped):
                self._skipped.append(item)
            elif item.name == address or could_be_log(item.name):
                self._expand(item.name, item.opener, item.size, self._ranks.get(address), Origin())

    def _expand(
        self, name: str, opener: Opener, size: int | None, rank: int | None, place: Origin, depth: int = 0
    ) -> None:
        """Unwrap compression and encodings, and walk into archives, until there are plain logs."""
        packed_size, exact_size = size, size
        for _ in range(MOST_LAYERS):
            try:
                with opener() as stream:
                    head = stream.read(HEAD_BYTES)
            except (OSError, EOFError, ValueError) as error:
                self._skip(name, f"it cannot be read: {getattr(error, 'strerror', None) or error}")
                return
            form = form_of(head)
            if form in _UNREADABLE_FORMS or form == "binary":
                self._skip(name, _UNREADABLE_FORMS.get(form, "it holds binary data and no log"))
                return
            if form == "zstd" and not zstd_is_available():
                self._skip(name, "Zstandard needs the package `zstandard`: pip install 'logsleuth[zstd]'")
                return
            if form in ("zip", "tar"):
                self._expand_archive(name, form, opener, packed_size, rank, place, depth)
                return
            if form in ("gzip", "bzip2", "xz", "zstd"):
                opener, exact_size = Decompressed(opener, form), None
                continue
            if form in ("utf-16-le", "utf-16-be"):
                opener, exact_size = AsUtf8(opener, form), None
            elif form == "utf-8-bom":
                opener, exact_size = SkippedBytes(opener, 3), None if exact_size is None else exact_size - 3
            break
        else:
            self._skip(name, f"it is compressed more than {MOST_LAYERS} times")
            return
        chosen = self._ranks.get(name, rank)
        origin = Origin.known("option", rank=chosen).merged(origin_of_path(name)).merged(place)
        self._sources.append(Source(id=name, name=name, opener=opener, origin=origin, size=exact_size))

    def _expand_archive(
        self, name: str, form: str, opener: Opener, packed_size: int | None, rank: int | None, place: Origin, depth: int
    ) -> None:
        if depth >= DEEPEST_ARCHIVE:
            self._skip(name, "it is an archive within an archive within an archive")
            return
        found = False
        for item in members_of(form, opener, name, packed_size):
            if isinstance(item, Skipped):
                self._skipped.append(item)
                found = True
            elif _member_could_be_log(item):
                self._expand(item.name, item.opener, item.size, rank, place, depth + 1)
                found = True
        if not found:
            self._skip(name, "the archive holds no file that could be a log")

    def _skip(self, name: str, reason: str) -> None:
        self._skipped.append(Skipped(name, reason))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _member_could_be_log(member: Member) -> bool:
    inside = member.name.rpartition("!")[2].split("/")
    return could_be_log(inside[-1]) and all(map(could_hold_logs, inside[:-1]))


def _spooled(stream: BinaryIO) -> tuple[Opener, int]:
    """All of a stream that can be read only once, kept so that it can be opened again and again."""
    held = stream.read(MOST_HELD_BYTES)
    if len(held) < MOST_HELD_BYTES:
        while chunk := stream.read(MOST_HELD_BYTES - len(held)):
            held += chunk
        if len(held) < MOST_HELD_BYTES:
            return HeldBytes(held), len(held)
    size = len(held)
    with tempfile.NamedTemporaryFile(prefix="logsleuth-", suffix=".stdin", delete=False) as spool:
        atexit.register(_remove, spool.name, os.getpid())
        spool.write(held)
        while chunk := stream.read(MOST_HELD_BYTES):
            spool.write(chunk)
            size += len(chunk)
    return FileBytes(spool.name), size


def _remove(path: str, owner_pid: int) -> None:
    """Delete the spooled input at exit, but not at the exit of a forked worker."""
    if os.getpid() == owner_pid:
        Path(path).unlink(missing_ok=True)
