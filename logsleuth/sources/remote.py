"""Logs behind an address (``s3://``, ``gs://``, ``hf://``, ``https://``), through fsspec and the user's driver."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from logsleuth.model.source import Opener, Skipped

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
#: The package that reads a protocol, where fsspec's own error does not name it.
_DRIVERS = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp",
            "abfs": "adlfs", "az": "adlfs", "oci": "ocifs", "ssh": "sshfs", "sftp": "paramiko"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind an address. ``size`` in bytes, ``None`` where the server does not say."""

    name: str
    opener: Opener
    size: int | None


@dataclass(frozen=True, slots=True)
class RemoteBytes:
    """Opens an address. What goes wrong on the way is an OSError, whatever the driver calls it."""

    address: str

    def __call__(self) -> BinaryIO:
        try:
            return cast(BinaryIO, _fsspec().open(self.address, "rb").open())
        except OSError:
            raise
        except Exception as error:  # drivers have error trees of their own
            raise OSError(f"{type(error).__name__}: {error}") from error


def is_address(path: str) -> bool:
    """Whether ``path`` is an address and not a place on this machine."""
    return _ADDRESS.match(path) is not None


def files_at(address: str) -> Iterator[RemoteFile | Skipped]:
    """The file, or the files of the folder or pattern, behind ``address``. Never raises."""
    protocol = address.partition("://")[0].lower()
    try:
        fsspec = _fsspec()
    except ImportError:
        yield Skipped(address, "addresses need the package `fsspec`: pip install 'logsleuth[remote]'")
        return
    try:
        system, path = fsspec.core.url_to_fs(address)
        if any(char in path for char in "*?["):
            found = sorted(system.glob(path))
        elif system.isdir(path):
            found = sorted(system.find(path))
        else:
            found = [path]
        if not found:
            yield Skipped(address, "there is nothing behind this address")
        for place in found:
            name = address if place == path else str(system.unstrip_protocol(place))
            yield RemoteFile(name, RemoteBytes(name), _size(system, place))
    except ImportError:
        driver = _DRIVERS.get(protocol)
        hint = f": pip install {driver}" if driver else ""
        yield Skipped(address, f"{protocol}:// needs its driver for fsspec{hint}")
    except Exception as error:  # drivers have error trees of their own
        yield Skipped(address, f"it cannot be read: {type(error).__name__}: {error}")


def _fsspec() -> Any:
    return importlib.import_module("fsspec")


def _size(system: Any, place: str) -> int | None:
    try:
        size = system.size(place)
    except Exception:
        return None
    return int(size) if size is not None else None
