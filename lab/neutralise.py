"""Takes the traces of one machine out of collected logs: paths, host names, addresses, the user. Nothing else changes.

Longer names are replaced first, so that ``/tmp/lab-x/train`` does not become half of ``/tmp/lab-x``. A host name is
replaced where it stands as a word of its own; ``localhost`` and loopback addresses stay.
"""

from __future__ import annotations

import getpass
import pathlib
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

TRAIN = "/opt/train"
VENV = "/opt/venv"
PYTHON = "/usr/local"
HOME = "/home/user"
_LOCAL_HOSTS = {"localhost", "localhost.localdomain", "127.0.0.1", "::1", ""}


@dataclass(frozen=True, slots=True)
class Names:
    """What to replace: path prefixes, host names and addresses (both as words of their own)."""

    paths: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None

    def on_host(self, neutral: str) -> Names:
        """The same names, with this machine called ``neutral``: one machine plays several nodes."""
        return Names(self.paths, dict.fromkeys(self.hosts, neutral), self.user)


def names_of_this_machine(sandbox: pathlib.Path, prefix: str, base_prefix: str) -> Names:
    """``prefix`` and ``base_prefix`` are sys.prefix and sys.base_prefix of the interpreter that runs the jobs."""
    paths = {
        str(sandbox / "train"): TRAIN,
        str(sandbox / "tmp"): "/tmp",
        str(sandbox / "home"): HOME,
        str(sandbox): "/scratch",
        prefix: VENV,
        base_prefix: VENV if base_prefix == prefix else PYTHON,
        str(pathlib.Path.home()): HOME,
    }
    hosts = {name for name in (socket.gethostname(), socket.getfqdn()) if name not in _LOCAL_HOSTS}
    hosts |= {name.split(".")[0] for name in hosts} | _own_addresses()
    return Names(paths, dict.fromkeys(hosts, "node-a"), getpass.getuser())


def _own_addresses() -> set[str]:
    """The addresses of this machine other than loopback, as far as its name resolves to them."""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return set()
    return {address for address in found if not address.startswith("127.") and address not in _LOCAL_HOSTS}


def neutralise(text: str, names: Names) -> str:
    """``text`` without the names of one machine."""
    for path in sorted(names.paths, key=len, reverse=True):
        if len(path) > 1:
            text = re.sub(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", lambda _, to=names.paths[path]: to, text)  # type: ignore[misc]
    for host in sorted(names.hosts, key=len, reverse=True):
        to = _neutral_address(names.hosts[host]) if _is_address(host) else names.hosts[host]
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", to, text)
        # The rendezvous names a node "<host>_<pid>_<n>".
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?=_\d+_\d)", to, text)
    if names.user and names.user != "root":
        text = re.sub(rf"(?<=/home/){re.escape(names.user)}\b", "user", text)
        text = re.sub(rf"(?<![\w.-]){re.escape(names.user)}(?=@)", "user", text)
    return text


def _is_address(host: str) -> bool:
    return re.fullmatch(r"[\d.]+|[\da-fA-F:]+:[\da-fA-F:]*", host) is not None


def _neutral_address(host: str) -> str:
    """``node-a`` is 10.0.0.1, ``node-b`` is 10.0.0.2."""
    return f"10.0.0.{ord(host[-1]) - ord('a') + 1}"


def read(path: pathlib.Path) -> str:
    """The file byte for byte: bytes that are no UTF-8 survive the round trip, carriage returns stay."""
    return path.read_bytes().decode("utf-8", errors="surrogateescape")


def write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
