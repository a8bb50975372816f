"""The command line: every command, and what errors look like to a user."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from logsleuth import __version__
from logsleuth.cli.action import action
from logsleuth.cli.analyze import analyze, stdin
from logsleuth.cli.events import events
from logsleuth.cli.exits import Exit
from logsleuth.cli.explain import explain
from logsleuth.cli.patterns import patterns_app
from logsleuth.cli.redact import redact
from logsleuth.errors import CatalogError, InputError, LogSleuthError

app = typer.Typer(
    name="logsleuth",
    help="Rank logs in; the rank that broke the job, and the fix, out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(analyze)
app.command()(stdin)
app.command()(explain)
app.command()(events)
app.command()(redact)
app.command()(action)
app.add_typer(patterns_app, name="patterns")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"logsleuth {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Rank logs in; the rank that broke the job, and the fix, out."""


def main() -> None:
    """Run the command line; every error of ours becomes a sentence on standard error and an exit code."""
    try:
        app()
    except InputError as error:
        _fail(error, Exit.NO_INPUT)
    except CatalogError as error:
        _fail(error, Exit.USAGE)
    except LogSleuthError as error:
        _fail(error, Exit.USAGE)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:
        if os.environ.get("LOGSLEUTH_TRACEBACK"):
            raise
        sys.stderr.write(f"logsleuth: internal error: {type(error).__name__}: {error}\n")
        sys.stderr.write("This is a bug in logsleuth; please report it with the command that you ran.\n")
        sys.exit(Exit.INTERNAL)


def _fail(error: LogSleuthError, code: Exit) -> None:
    sys.stderr.write(f"logsleuth: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
