"""Where a report goes: standard output or files, in any format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from logsleuth.errors import UsageError

if TYPE_CHECKING:
    from logsleuth.report.schema import Report

FORMATS = ("terminal", "json", "markdown", "github")
_BY_SUFFIX = {".json": "json", ".md": "markdown", ".txt": "terminal", ".log": "terminal"}


def render(report: Report, name: str, *, color: bool = False, width: int | None = None, verbose: bool = False) -> str:
    """The report in the format ``name``. Only the renderer that is asked for is imported."""
    if name == "json":
        from logsleuth.report.json import render_json

        return render_json(report)
    if name == "markdown":
        from logsleuth.report.markdown import render_markdown

        return render_markdown(report)
    if name == "github":
        from logsleuth.report.github import render_github

        return render_github(report)
    from logsleuth.report.terminal import render_terminal

    return render_terminal(report, color=color, width=width, verbose=verbose)


def write(report: Report, format_name: str | None, files: list[str], *, verbose: bool = False) -> None:
    """To each of ``files`` (``-`` is standard output), or to standard output alone."""
    for target in files or ["-"]:
        if target == "-":
            text = render(
                report,
                format_name or "terminal",
                color=use_color(),
                width=_columns(),
                verbose=verbose,
            )
            _print(text)
        else:
            chosen = format_name or _BY_SUFFIX.get(Path(target).suffix, "terminal")
            try:
                Path(target).write_text(render(report, chosen, verbose=verbose), encoding="utf-8")
            except OSError as error:
                raise UsageError(f"{target}: cannot be written: {error.strerror}") from error


def _columns() -> int | None:
    """The width of the terminal, at most 120: longer lines are hard to read. ``None`` without one."""
    if not sys.stdout.isatty():
        return None
    try:
        return min(120, os.get_terminal_size().columns)
    except OSError:
        return None


def use_color() -> bool:
    """NO_COLOR and FORCE_COLOR decide, else whether standard output is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _print(text: str) -> None:
    """Print whatever the terminal can show; a reader that closes the pipe early is no error."""
    data = text.encode(sys.stdout.encoding or "utf-8", "replace")
    try:
        sys.stdout.buffer.write(data if text.endswith("\n") else data + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
