"""Command line of the simulator: ``python -m lab.simulate --out DIR --runs N --seed S``."""

from __future__ import annotations

import argparse
import pathlib
import sys

from lab.simulate.label import save
from lab.simulate.plan import plan
from lab.simulate.stage import simulate


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.simulate", description="Labelled logs of simulated jobs.")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for simulated/<case-id>/")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="SUBSTR", help="runs whose id contains this")
    args = parser.parse_args(argv)
    runs = plan(args.runs, args.seed, args.only)
    for run in runs:
        scene, outcome = simulate(run)
        save(args.out / "simulated" / run.id, scene, outcome)
    print(f"{len(runs)} cases in {args.out / 'simulated'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
