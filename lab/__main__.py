"""Command line of the lab: ``python -m lab run`` and ``python -m lab score``."""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex
import shutil
import sys
import time
from dataclasses import asdict

from lab.accuracy import tables, write_between_markers
from lab.case import load
from lab.interpreter import REASONS, NoTorchError, find_interpreter
from lab.measure import cases_in, measure, measure_baselines
from lab.plan import DEFAULT_SEED, plan
from lab.run import relabel, run_all


def main(argv: list[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    return int(args.act(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description="Labelled logs of torchrun jobs that fail.")
    commands = parser.add_subparsers(required=True)

    run = commands.add_parser("run", help="start the jobs and write case folders; finished cases are kept")
    run.add_argument("--out", type=pathlib.Path, required=True, help="folder for <family>/<case-id>/")
    run.add_argument("--only", default="", metavar="SUBSTR", help="runs whose family/id contains this")
    run.add_argument("--torchrun", metavar="PATH", help="torchrun script; the python beside it must have torch")
    run.add_argument("--backend", choices=("gloo", "nccl"), default="gloo")
    run.add_argument("--seed", type=int, default=DEFAULT_SEED)
    run.add_argument("--list", action="store_true", help="name the planned runs and start nothing")
    run.set_defaults(act=_run)

    again = commands.add_parser("relabel", help="work out the labels of finished cases again, without running them")
    again.add_argument("--out", type=pathlib.Path, required=True)
    again.add_argument("--backend", choices=("gloo", "nccl"), default="gloo")
    again.add_argument("--seed", type=int, default=DEFAULT_SEED)
    again.set_defaults(act=_relabel)

    score = commands.add_parser("score", help="run an analyzer on case folders and print how right it was")
    score.add_argument("dir", type=pathlib.Path, help="folder with case folders, at any depth")
    score.add_argument("--cmd", default="logsleuth analyze --format json", help="command that prints the JSON report")
    score.add_argument("--only", default="", metavar="SUBSTR", help="cases whose family/id contains this")
    score.add_argument("--write", type=pathlib.Path, metavar="FILE", help="put the tables between the file's markers")
    score.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write one row for each case")
    score.add_argument("--jobs", type=int, default=2, help="cases at a time")
    score.add_argument("--timeout-s", type=float, default=60.0, help="for each case")
    score.set_defaults(act=_score)
    return parser


def _run(args: argparse.Namespace) -> int:
    runs = plan(args.seed, args.backend, args.only)
    if args.list:
        for run in runs:
            print(f"{run.family}/{run.id}")
        return 0
    try:
        interpreter = find_interpreter(args.torchrun)
    except NoTorchError as error:
        print(f"nothing run: {error}", file=sys.stderr)
        return 2
    if args.backend == "nccl" and "gpu-nccl" not in interpreter.provides:
        print(f"nothing run: {REASONS['gpu-nccl']}")
        return 0
    begin = time.monotonic()
    results = run_all(runs, args.out, interpreter, args.seed)
    counts = {state: sum(it.state == state for it in results) for state in ("made", "kept", "skipped", "spoiled")}
    print(", ".join(f"{count} {state}" for state, count in counts.items()), f"in {time.monotonic() - begin:.0f} s")
    return 1 if counts["spoiled"] else 0


def _relabel(args: argparse.Namespace) -> int:
    changed = relabel(plan(args.seed, args.backend), args.out)
    print("\n".join([*changed, f"{len(changed)} labels changed"]))
    return 0


def _score(args: argparse.Namespace) -> int:
    folders = cases_in(args.dir, args.only)
    if not folders or shutil.which(shlex.split(args.cmd)[0]) is None:
        print(f"no case.json in {args.dir}" if not folders else f"no such command: {args.cmd}", file=sys.stderr)
        return 2
    rows = measure(folders, args.cmd, jobs=args.jobs, timeout_s=args.timeout_s)
    for row in rows:
        sign = "ok " if row.marks["strict"] else "~  " if row.marks["lenient"] else "XX "
        marks = " ".join(f"{key}={value:g}" for key, value in row.marks.items())
        print(f"{sign} {row.case:52s} want {row.want:30s} got {row.error or row.got:30.100s} {marks}")
    torch = ", ".join(sorted({str(load(folder)[0].get("torch")) for folder in folders}))
    content = tables(rows, measure_baselines(folders), args.cmd, torch)
    print("\n" + content)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if args.write:
        write_between_markers(args.write, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
