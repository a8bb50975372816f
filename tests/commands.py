"""The command line as a user starts it: in this process, where it is quick, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

from cases import ROOT, compiled_once

from logsleuth.cli.app import main

#: Variables that would change what is seen.
_COLOUR = ("NO_COLOR", "FORCE_COLOR")


@dataclass(frozen=True)
class Seen:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)  # type: ignore[no-any-return]


def command(*args: object, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Seen:
    """``logsleuth ARGS`` in this process, without a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    plain = {name: value for name, value in os.environ.items() if name not in _COLOUR}
    with (
        compiled_once(),
        mock.patch.dict(os.environ, {**plain, **(env or {})}, clear=True),
        mock.patch.multiple(
            sys,
            argv=["logsleuth", *map(str, args)],
            stdin=io.TextIOWrapper(io.BytesIO(stdin)),
            stdout=out,
            stderr=err,
        ),
    ):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
        else:
            code = 0
    assert code is None or isinstance(code, int)
    return Seen(int(code or 0), _written(out), _written(err))


def process(*args: object, stdin: bytes | None = None, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The same in a process of its own, in the checkout's folder."""
    plain = {name: value for name, value in os.environ.items() if name not in _COLOUR}
    return subprocess.run(
        [sys.executable, "-m", "logsleuth", *map(str, args)],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**plain, **env},
        check=False,
        timeout=120,
    )


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8")
