"""``logsleuth redact PATH... --output-dir DIR``: copies that are safe to share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logsleuth.errors import InputError, UsageError

if TYPE_CHECKING:
    from logsleuth.redact.pseudonyms import Pseudonyms


def redact(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, globs, archives, or -.")],
    output_dir: Annotated[Path, typer.Option("--output-dir", "-o", help="A new or empty folder for the copies.")],
    map_file: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Write what was replaced by what; keep it to yourself.")
    ] = None,
) -> None:
    """Write copies of logs without host names, addresses, users, home folders, buckets, e-mail addresses and secrets.

    The same original is replaced by the same word in all files. Ranks, ports, pids, numbers and all messages stay, so
    that an analysis of the copies finds the same. Look through the copies before you share them: a name that stands
    only in free text is not recognised.
    """
    from logsleuth.redact.copies import write_copies, write_map
    from logsleuth.sources.discover import discover

    if map_file is not None and map_file.resolve().is_relative_to(output_dir.resolve()):
        raise UsageError(f"--map {map_file}: lies in the folder that is to be shared")
    sources, skipped = discover(paths, stdin=sys.stdin.buffer)
    for item in skipped:
        typer.echo(f"{item.name}: {item.reason}", err=True)
    if not sources:
        raise InputError("nothing to read", hint="give files, folders, globs, archives, or - for standard input")
    copies = write_copies(sources, output_dir)
    for item in copies.skipped:
        typer.echo(f"{item.name}: {item.reason}", err=True)
    if not copies.files:
        raise InputError("nothing of this could be read", hint="check the paths")
    if map_file is not None:
        write_map(copies.pseudonyms, map_file)
    typer.echo(f"{_count(len(copies.files), 'file')} in {output_dir}: {_replaced(copies.pseudonyms)}", err=True)


def _replaced(made: Pseudonyms) -> str:
    """``2 hosts, 3 addresses and 1 secret replaced``."""
    addresses = sum(old != new for old, new in made.addresses.items())
    counts = (
        (len(made.hosts), "host name"),
        (addresses, "address"),
        (len(made.users), "user name"),
        (len(made.buckets), "bucket"),
        (len(made.emails), "e-mail address"),
        (len(made.secrets), "secret"),
    )
    said = [_count(count, word) for count, word in counts if count]
    return f"{', '.join(said)} replaced" if said else "nothing had to be replaced"


def _count(number: int, word: str) -> str:
    return f"{number} {word if number == 1 else word + ('es' if word.endswith('s') else 's')}"
