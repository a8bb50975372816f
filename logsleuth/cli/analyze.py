"""``logsleuth analyze PATH...`` and ``logsleuth stdin``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from logsleuth.cli.exits import FAIL_ON, Exit, fails
from logsleuth.cli.output import FORMATS, write
from logsleuth.errors import UsageError

#: Progress is shown after this long, and only to a person.
PATIENCE_S = 1.0

Format = Annotated[str | None, typer.Option("--format", "-f", help=f"One of {', '.join(FORMATS)}.")]
Output = Annotated[
    list[str] | None, typer.Option("--output", "-o", help="Write to FILE (repeatable, - is standard output).")
]
Hung = Annotated[bool, typer.Option("--hung", help="The job hangs; no error line is to be expected.")]
World = Annotated[int | None, typer.Option("--world-size", min=1, help="Number of ranks, where the logs do not tell.")]
Ranks = Annotated[
    list[str] | None, typer.Option("--rank", metavar="N=PATH", help="PATH is the log of rank N (repeatable).")
]
TryNumber = Annotated[int | None, typer.Option("--attempt", min=0, help="Look at this restart (0 is the first).")]
Patterns = Annotated[
    list[Path] | None, typer.Option("--patterns", help="Folder of own patterns and causes (repeatable).")
]
FailOn = Annotated[str | None, typer.Option("--fail-on", help="failure or inconclusive: exit 1 on that verdict.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say why judgements did not fire.")]


def analyze(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files, folders, globs, archives, or -.")
    ] = None,
    format_name: Format = None,
    output: Output = None,
    hung: Hung = False,
    world_size: World = None,
    rank: Ranks = None,
    attempt: TryNumber = None,
    patterns: Patterns = None,
    fail_on: FailOn = None,
    verbose: Verbose = False,
) -> None:
    """Say what broke the job: the root cause, the rank that caused it, and the fix.

    Exits 0 whatever is found, unless --fail-on is given.
    """
    ranks = _ranks(rank or [])
    given = [*(paths or []), *ranks]
    if not given:
        if sys.stdin.isatty():
            raise UsageError(
                "no log files given", hint="logsleuth analyze rank*.log, or pipe text into logsleuth stdin"
            )
        given = ["-"]
    run(given, format_name, output, hung, world_size, ranks, attempt, patterns, fail_on, verbose)


def stdin(
    format_name: Format = None,
    output: Output = None,
    hung: Hung = False,
    world_size: World = None,
    patterns: Patterns = None,
    fail_on: FailOn = None,
    verbose: Verbose = False,
) -> None:
    """Analyze what is pasted or piped."""
    if sys.stdin.isatty():
        ending = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D on an empty line"
        print(f"Paste the log, then end it with {ending}.", file=sys.stderr)  # noqa: T201
    run(["-"], format_name, output, hung, world_size, {}, None, patterns, fail_on, verbose)


def run(
    paths: list[str],
    format_name: str | None,
    output: list[str] | None,
    hung: bool,
    world_size: int | None,
    ranks: dict[str, int],
    attempt: int | None,
    patterns: list[Path] | None,
    fail_on: str | None,
    verbose: bool,
) -> None:
    """Analyze, write the report, and leave with the right code."""
    import logsleuth
    from logsleuth.execute.interruption import Interruption

    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"--format {format_name}: not one of {', '.join(FORMATS)}")
    if fail_on not in (None, *FAIL_ON):
        raise UsageError(f"--fail-on {fail_on}: not one of {', '.join(FAIL_ON)}")
    interruption = Interruption()
    report = logsleuth.analyze(
        paths,
        stdin=sys.stdin.buffer,
        ranks=ranks,
        world_size=world_size,
        attempt=attempt,
        hung=hung,
        patterns=tuple(patterns or ()),
        on_source=_progress(),
        interruption=interruption,
    )
    write(report, format_name, list(output or []), verbose=verbose)
    if interruption.asked:
        print("logsleuth: interrupted; this is the answer of what was read until then", file=sys.stderr)  # noqa: T201
        raise typer.Exit(Exit.INTERRUPTED)
    if fails(report.verdict, fail_on):
        raise typer.Exit(Exit.FOUND)


def _ranks(given: list[str]) -> dict[str, int]:
    """``3=logs/c.txt`` -> {"logs/c.txt": 3}."""
    ranks: dict[str, int] = {}
    for item in given:
        number, _, path = item.partition("=")
        if not number.isdigit() or not path:
            raise UsageError(f"--rank {item}: expected N=PATH, such as 3=logs/c.txt")
        ranks[path] = int(number)
    return ranks


def _progress() -> Callable[[str, int], None] | None:
    """A callback that counts sources on standard error, for a person who has waited long enough."""
    if not sys.stderr.isatty():
        return None
    begin = time.monotonic()
    done = [0, 0]

    def told(name: str, size: int) -> None:
        done[0] += 1
        done[1] += size
        if time.monotonic() - begin > PATIENCE_S:
            sys.stderr.write(f"\r\x1b[Kread {done[0]} sources, {done[1] / 1e6:.0f} MB")
            sys.stderr.flush()

    return told
