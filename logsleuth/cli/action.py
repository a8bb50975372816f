"""``logsleuth action``: the logic of the GitHub Action. Inputs come from the environment, set by action.yml."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from logsleuth.cli.exits import FAIL_ON, Exit, fails
from logsleuth.cli.output import render
from logsleuth.errors import InputError, UsageError


def action() -> None:
    """Analyze the logs of a failed run inside GitHub Actions: step summary, one annotation, outputs.

    Reads LOGSLEUTH_LOGS (one path or glob a line), LOGSLEUTH_HUNG, LOGSLEUTH_WORLD_SIZE, LOGSLEUTH_FAIL_ON.
    """
    import logsleuth
    from logsleuth.report.github import outputs, summary

    paths = [line.strip() for line in os.environ.get("LOGSLEUTH_LOGS", "").splitlines() if line.strip()]
    flags = [path for path in paths if path.startswith("-")]
    if flags:
        raise UsageError(
            f"logs: {flags[0]!r} looks like an option; give paths and globs", hint="write ./-name for such a file"
        )
    if not paths:
        raise InputError("logs: no path given", hint="set the input `logs` to files, folders or globs, one a line")
    size = os.environ.get("LOGSLEUTH_WORLD_SIZE", "").strip()
    if size and not size.isdigit():
        raise UsageError(f"world-size: {size!r} is no number")
    fail_on = os.environ.get("LOGSLEUTH_FAIL_ON", "never").strip() or "never"
    if fail_on not in ("never", *FAIL_ON):
        raise UsageError(f"fail-on: {fail_on!r} is not one of never, {', '.join(FAIL_ON)}")
    hung = os.environ.get("LOGSLEUTH_HUNG", "").strip().lower() == "true"
    report = logsleuth.analyze(paths, hung=hung, world_size=int(size) if size else None)
    folder = Path(os.environ.get("RUNNER_TEMP", "."))
    files = {"report-json": folder / "logsleuth.json", "report-md": folder / "logsleuth.md"}
    files["report-json"].write_text(render(report, "json"), encoding="utf-8")
    markdown = render(report, "markdown")
    files["report-md"].write_text(markdown, encoding="utf-8")
    _append("GITHUB_STEP_SUMMARY", summary(markdown))
    _append("GITHUB_OUTPUT", outputs(report, {name: str(path) for name, path in files.items()}))
    sys.stdout.write(render(report, "github"))
    if fails(report.verdict, None if fail_on == "never" else fail_on):
        raise typer.Exit(Exit.FOUND)


def _append(variable: str, text: str) -> None:
    """Add to the file that a runner's variable names; nothing outside of a runner."""
    name = os.environ.get(variable)
    if name:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
