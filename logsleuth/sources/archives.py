"""What a file is, by its first bytes, and the members of archives, read in place."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from logsleuth.model.source import Opener, Skipped
from logsleuth.sources.filenames import repeated
from logsleuth.sources.openers import TarMember, ZipMember

#: Limits against bombs: members of one archive, their bytes together, and how much larger than its packed form one is.
MOST_MEMBERS = 20_000
MOST_TOTAL_BYTES = 256 * 1024**3
HIGHEST_RATIO = 500
#: A member that is not larger than this may have any ratio: an idle log packs very well.
HARMLESS_BYTES = 256 * 1024**2

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8-bom"),
    (b"\x7fELF", "binary"),
    (b"\x89PNG", "binary"),
    (b"\xff\xd8\xff", "binary"),
    (b"GIF8", "binary"),
    (b"%PDF", "binary"),
    (b"\x89HDF", "binary"),
    (b"PAR1", "binary"),
    (b"SQLite format 3\x00", "binary"),
    (b"MZ", "binary"),
    (b":W&B", "binary"),
)
_TAR_MAGIC_AT = 257
#: Fewer characters do not tell an encoding.
FEWEST_UTF_16_CHARACTERS = 8
#: Bytes that tell all of these apart.
HEAD_BYTES = 512


def form_of(head: bytes) -> str:
    """``gzip``, ``zip``, ``tar``, ``utf-16-le``, .. or ``plain``."""
    for magic, form in _MAGIC:
        if head.startswith(magic):
            # MZ and BZh are two and three letters: a log may begin with them.
            if (form == "bzip2" and head[4:10] != b"1AY&SY") or (magic == b"MZ" and b"\0" not in head):
                continue
            return form
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "tar"
    return _utf_16_without_mark(head) or "plain"


def _utf_16_without_mark(head: bytes) -> str | None:
    """Mostly ASCII text in UTF-16, as PowerShell's ``>>`` appends it: every other byte is zero."""
    count = len(head) // 2
    if count < FEWEST_UTF_16_CHARACTERS:
        return None
    zeros = [head[half : 2 * count : 2].count(0) / count for half in (0, 1)]
    # A sparse file is all zeros.
    if max(zeros) < 0.75 or min(zeros) > 0.02:
        return None
    return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive. ``size`` in bytes, unpacked."""

    name: str
    opener: Opener
    size: int


def members_of(form: str, opener: Opener, name: str, packed_size: int | None) -> Iterator[Member | Skipped]:
    """The files in an archive in its own order, and a Skipped for what is not read. Never raises."""
    total = count = 0
    try:
        walk = _zip_members(opener, name) if form == "zip" else _tar_members(opener, name, packed_size)
        for item in walk:
            if isinstance(item, Member):
                count, total = count + 1, total + item.size
                if count > MOST_MEMBERS:
                    yield Skipped(name, f"it holds more than {MOST_MEMBERS} files; the rest is not read")
                    return
                if total > MOST_TOTAL_BYTES:
                    yield Skipped(
                        name, f"it unpacks to more than {MOST_TOTAL_BYTES // 1024**3} GiB; the rest is not read"
                    )
                    return
            yield item
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        EOFError,
        zlib.error,
        OSError,
        ValueError,
        NotImplementedError,
    ) as error:
        yield Skipped(name, f"the archive is damaged ({error}); what lies behind the damage is not read")


def _zip_members(opener: Opener, name: str) -> Iterator[Member | Skipped]:
    with opener() as stream, zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    repeating = repeated({info.filename: info.file_size for info in infos if not info.is_dir()})
    for info in infos:
        full = f"{name}!{_printable(info.filename)}"
        if info.is_dir():
            continue
        if info.filename in repeating:
            yield Skipped(full, repeating[info.filename])
        elif info.flag_bits & 0x1:
            yield Skipped(full, "it is encrypted")
        elif _is_bomb(info.file_size, info.compress_size):
            yield Skipped(full, "it unpacks to a suspicious multiple of its size")
        else:
            packed = ZipMember(
                opener, info.header_offset, info.compress_type, info.compress_size, info.file_size, info.CRC
            )
            yield Member(full, packed, info.file_size)


def _tar_members(opener: Opener, name: str, packed_size: int | None) -> Iterator[Member | Skipped]:
    total = 0
    with opener() as stream, tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
        for info in archive:
            full = f"{name}!{_printable(info.name)}"
            if not info.isreg():
                continue
            total += info.size
            if info.issparse():
                yield Skipped(full, "it is stored as a sparse file")
            elif packed_size is not None and _is_bomb(total, packed_size):
                yield Skipped(name, "it unpacks to a suspicious multiple of its size; the rest is not read")
                return
            else:
                yield Member(full, TarMember(opener, info.offset_data, info.size), info.size)


def _is_bomb(size: int, packed_size: int) -> bool:
    return size > HARMLESS_BYTES and size > HIGHEST_RATIO * max(packed_size, 1)


def _printable(name: str) -> str:
    """A member's name is not ours: it may hold anything."""
    return "".join(char if char.isprintable() else "?" for char in name.removeprefix("./"))
