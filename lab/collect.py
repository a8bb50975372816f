"""Takes from a finished run what its user would have kept, without the names of this machine."""

from __future__ import annotations

import pathlib

from lab.command import Sandbox
from lab.logs import Logs
from lab.neutralise import Names, neutralise, read
from lab.spec import Layout, Run


def collect(run: Run, sandbox: Sandbox, names: Names) -> Logs:
    """The output files, and the --log-dir tree under ``logs/`` where it was kept; each node under its own name."""
    files = {path.name: path for path in sandbox.output.iterdir()}
    if run.layout is Layout.LOG_DIR:
        tree = [path for path in sandbox.log_dir.rglob("*") if path.is_file()]
        files |= {f"logs/{path.relative_to(sandbox.log_dir)}": path for path in tree}
    return Logs({name: neutralise(read(path), _names_for(name, names)) for name, path in files.items()})


def _names_for(file: str, names: Names) -> Names:
    return names.on_host("node-b") if pathlib.PurePath(file).stem == "node-b" else names
