"""Openers: small picklable values that give a stream of a source's bytes, afresh at each call.

Compression, archives and encodings are layers around another opener; nothing is ever unpacked to disk.
"""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from logsleuth.model.source import Opener
from logsleuth.sources.streams import DAMAGE, DECOMPRESSORS, Slice, Tolerant, Transcoded, buffered, parked

_ZIP_HEADER_BYTES = 30


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file on disk."""

    path: str

    def __call__(self) -> BinaryIO:
        return Path(self.path).open("rb")


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes kept in memory, as standard input is."""

    data: bytes

    def __call__(self) -> BinaryIO:
        return io.BytesIO(self.data)


@dataclass(frozen=True, slots=True)
class Decompressed:
    """``how``: ``gzip``, ``bzip2``, ``xz`` or ``zstd``. A stream that was cut off yields what is there."""

    inner: Opener
    how: str

    def __call__(self) -> BinaryIO:
        packed = self.inner()
        return buffered(Tolerant(DECOMPRESSORS[self.how](packed), packed))


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One file of a zip archive, found by its local header: the directory of a large archive is slow to read again."""

    inner: Opener
    header_at: int
    method: int
    packed_size: int
    size: int
    crc: int

    def __call__(self) -> BinaryIO:
        packed = self.inner()
        try:
            packed.seek(self.header_at)
            header = packed.read(_ZIP_HEADER_BYTES)
            if len(header) < _ZIP_HEADER_BYTES or not header.startswith(b"PK\x03\x04"):
                raise OSError("the archive has changed: its member is not where the directory says")
            name_bytes, extra_bytes = struct.unpack_from("<HH", header, 26)
            packed.seek(name_bytes + extra_bytes, io.SEEK_CUR)
            info = zipfile.ZipInfo()
            info.compress_type, info.compress_size, info.file_size = self.method, self.packed_size, self.size
            info.CRC = self.crc
            member = zipfile.ZipExtFile(packed, "r", info)
            # zipfile would keep back the last piece read, often all of it, where the checksum is wrong.
            member._expected_crc = None  # type: ignore[attr-defined]
        except DAMAGE as error:
            packed.close()
            raise OSError(f"the archive cannot be read: {error}") from error
        return buffered(Tolerant(cast(BinaryIO, member), packed, crc=self.crc))


@dataclass(frozen=True, slots=True)
class TarMember:
    """One file of a tar archive, by its place in the unpacked archive."""

    inner: Opener
    offset: int
    size: int

    def __call__(self) -> BinaryIO:
        # Members follow each other: a stream that had to be unpacked up to the last one serves the next.
        park_as = self.inner if isinstance(self.inner, Decompressed) else None
        stream = (parked.take(park_as, self.offset) if park_as is not None else None) or self.inner()
        stream.seek(self.offset)
        return buffered(Slice(stream, self.offset, self.size, park_as))


@dataclass(frozen=True, slots=True)
class SkippedBytes:
    """Without the first ``count`` bytes, such as the byte order mark of UTF-8."""

    inner: Opener
    count: int

    def __call__(self) -> BinaryIO:
        stream = self.inner()
        stream.read(self.count)
        return stream


@dataclass(frozen=True, slots=True)
class AsUtf8:
    """Text in another encoding (``utf-16-le``, ``utf-16-be``) as UTF-8."""

    inner: Opener
    encoding: str

    def __call__(self) -> BinaryIO:
        return buffered(Transcoded(self.inner(), self.encoding))
