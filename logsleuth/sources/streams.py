"""Byte streams made of other streams: unpacked, cut out of an archive, in another encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import os
import threading
import zipfile
import zlib
from collections.abc import Callable, Hashable
from typing import Any, BinaryIO, cast

#: No source yields more than this; a bomb ends here.
MOST_UNPACKED_BYTES = 64 * 1024**3
#: Open streams that are kept for the next member of a compressed archive.
MOST_PARKED = 4
BUFFER = 1024 * 1024
#: Layers of one stream that are asked for damage.
MOST_LAYERED = 16
#: What decompressors raise on damaged input.
DAMAGE: tuple[type[Exception], ...] = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, RuntimeError)


class Layer(io.RawIOBase):
    """A readable stream made of pieces; ``_next`` gives at most ``size`` bytes, none at the end."""

    def readable(self) -> bool:
        return True

    def _next(self, size: int) -> bytes:
        raise NotImplementedError

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Tolerant(Layer):
    """A decompressor's stream that ends where its input is cut off or damaged, instead of losing what came before."""

    def __init__(self, stream: BinaryIO, *also_close: BinaryIO, crc: int | None = None) -> None:
        """``crc``: the checksum that the whole must have; what differs from it is given all the same, and told."""
        self._stream = stream
        self._also_close = also_close
        self._expected_crc = crc
        self._crc = 0
        self._given = 0
        self._ended = False
        #: What was wrong where the stream ended too early.
        self.damage: str | None = None

    def _next(self, size: int) -> bytes:
        if self._ended:
            return b""
        try:
            data = _read1(self._stream)(size)
        except DAMAGE as error:
            self._ended = True
            reason = str(error) or type(error).__name__
            self.damage = f"it is damaged or cut off ({reason}); what lies behind the damage is not read"
            if not self._given:
                raise OSError(f"cannot be unpacked: {error}") from error
            return b""
        self._check(data, size)
        self._given += len(data)
        if self._given > MOST_UNPACKED_BYTES:
            raise OSError(f"unpacks to more than {MOST_UNPACKED_BYTES // 1024**3} GiB")
        return data

    def _check(self, data: bytes, size: int) -> None:
        if self._expected_crc is None:
            return
        if data:
            self._crc = zlib.crc32(data, self._crc)
        elif size and self._crc != self._expected_crc:
            self.damage = "its checksum is wrong; some of what is read of it may be garbled"

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Back only where the decompressor can start again; forward by reading."""
        self._ended = False
        self._expected_crc = None  # no longer everything is read, once
        if whence == io.SEEK_CUR:
            offset += self.tell()
        try:
            if whence != io.SEEK_END and offset >= self.tell():
                while (missing := offset - self.tell()) > 0 and self._next(min(missing, BUFFER)):
                    pass
            else:
                self._stream.seek(offset, whence)
            return self.tell()
        except DAMAGE as error:
            raise OSError(f"cannot be unpacked: {error}") from error

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        if not self.closed:
            for stream in (self._stream, *self._also_close):
                stream.close()
        super().close()


class Slice(Layer):
    """``size`` bytes of ``stream``, which stands at ``offset``. Closing parks it for the next member where asked to."""

    def __init__(self, stream: BinaryIO, offset: int, size: int, park_as: Hashable | None = None) -> None:
        self._park_as = park_as
        self._stream = stream
        self._start = offset
        self._at = offset
        self._end = offset + size

    def _next(self, size: int) -> bytes:
        data = self._stream.read(max(0, min(size, self._end - self._at)))
        self._at += len(data)
        return data

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: self._start, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = self._stream.seek(max(self._start, base + offset))
        return self.tell()

    def tell(self) -> int:
        return self._at - self._start

    def close(self) -> None:
        if not self.closed:
            if self._park_as is not None:
                parked.put(self._park_as, self._stream, self._at)
            else:
                self._stream.close()
        super().close()


class Transcoded(Layer):
    """Decodes a stream and encodes it as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._ready = b""

    def _next(self, size: int) -> bytes:
        while not self._ready:
            raw = self._stream.read(BUFFER)
            text = self._decoder.decode(raw, final=not raw)
            self._ready = text.lstrip("\ufeff").encode("utf-8", "replace")
            if not raw:
                break
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()


def buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, BUFFER))


def damage_of(stream: object) -> str | None:
    """Why a stream, or one that it is made of, ended before its end; ``None`` where nothing was lost."""
    for _ in range(MOST_LAYERED):
        if isinstance(stream, Tolerant) and stream.damage is not None:
            return stream.damage
        inner = getattr(stream, "raw", None) or getattr(stream, "_stream", None)
        if inner is None:
            return None
        stream = inner
    return None


def _read1(stream: BinaryIO) -> Callable[[int], bytes]:
    """``read1`` gives what is unpacked so far before it meets the damage; ``read`` would lose it."""
    return getattr(stream, "read1", stream.read)


class Parked:
    """Streams of compressed archives, kept where the last reader left them.

    Members follow each other; opening each from the archive's beginning would unpack it as often as it has members.
    One stream per archive and process; a stream belongs to one reader at a time.
    """

    def __init__(self) -> None:
        self._streams: dict[tuple[int, Hashable], tuple[BinaryIO, int]] = {}
        self._lock = threading.Lock()

    def take(self, name: Hashable, offset: int) -> BinaryIO | None:
        """The stream kept under ``name``, if it stands at or before ``offset``."""
        key = (os.getpid(), name)
        with self._lock:
            stream, at = self._streams.get(key, (None, 0))
            if stream is not None and at <= offset:
                del self._streams[key]
                return stream
        return None

    def put(self, name: Hashable, stream: BinaryIO, at: int) -> None:
        """Keep ``stream``, which stands at ``at``, for the next reader; the longest kept one gives way."""
        key = (os.getpid(), name)
        with self._lock:
            given_up = [self._streams.pop(key)] if key in self._streams else []
            while len(self._streams) >= MOST_PARKED:
                given_up.append(self._streams.pop(next(iter(self._streams))))
            self._streams[key] = (stream, at)
        for old, _ in given_up:
            old.close()


parked = Parked()


def zstd_is_available() -> bool:
    """Python 3.14 reads Zstandard by itself; before, the ``zstandard`` package does."""
    try:
        _zstd_module()
    except ImportError:
        return False
    return True


def _zstd_module() -> Any:
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("zstandard")


def _open_zstd(stream: BinaryIO) -> BinaryIO:
    module = _zstd_module()
    if hasattr(module, "ZstdFile"):
        return cast(BinaryIO, module.ZstdFile(stream))
    return cast(BinaryIO, module.ZstdDecompressor().stream_reader(stream, read_across_frames=True))


def _open_xz(stream: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lzma.LZMAFile(stream))


DECOMPRESSORS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    "gzip": lambda stream: cast(BinaryIO, gzip.GzipFile(fileobj=stream)),
    "bzip2": lambda stream: cast(BinaryIO, bz2.BZ2File(stream)),
    "xz": _open_xz,
    "zstd": _open_zstd,
}
