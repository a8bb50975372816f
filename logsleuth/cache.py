"""What was worked out once, kept in the user's cache folder: built catalogs, compiled databases.

An entry is trusted like the program itself, so it is read only from a folder that nobody else can write to, and only
whole: it begins with a digest of its name and content. Best effort: no home, no space, no permission, or an entry that
is stale, cut or changed costs time at the next start and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

#: Entries of one kind; more would only be left over from versions and checkouts that are no longer used.
MOST_ENTRIES = 8
_DIGEST_BYTES = 16


def key_of(*parts: bytes) -> str:
    """A name for what is made of ``parts``."""
    return hashlib.blake2b(
        b"".join(len(part).to_bytes(8, "little") + part for part in parts), digest_size=12
    ).hexdigest()


def recall(kind: str, key: str) -> bytes | None:
    """What was kept, or ``None``."""
    try:
        folder = _folder()
        if not _is_ours(folder):
            return None
        entry = (folder / _name(kind, key)).read_bytes()
    except (OSError, RuntimeError):
        return None
    digest, content = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
    return content if digest == _digest(kind, key, content) else None


def keep(kind: str, key: str, content: bytes) -> None:
    """Keep ``content`` for :func:`recall`, in place of the oldest of its kind where there are many."""
    import tempfile

    try:
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder):
            return
        others = sorted(folder.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
        for old in others[: max(0, len(others) - MOST_ENTRIES + 1)]:
            old.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as part:
            try:
                part.write(_digest(kind, key, content) + content)
                part.close()
                Path(part.name).replace(folder / _name(kind, key))
            except OSError:
                with contextlib.suppress(OSError):
                    Path(part.name).unlink()
    except (OSError, RuntimeError):
        return


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(root).expanduser() / "logsleuth"


def _is_ours(folder: Path) -> bool:
    """Whether only this user can write to ``folder``; where the system has no owners, the user's own folder is."""
    if not hasattr(os, "geteuid"):
        return True
    stat = folder.stat()
    return stat.st_uid == os.geteuid() and not stat.st_mode & 0o022


def _name(kind: str, key: str) -> str:
    return f"{kind}-{key}"


def _digest(kind: str, key: str, content: bytes) -> bytes:
    return hashlib.blake2b(_name(kind, key).encode() + b"\0" + content, digest_size=_DIGEST_BYTES).digest()
