"""The whole analysis of a small case against importing the libraries that command lines are made of, in the same run.

    python bench/start_up.py [RUNS]

Prints the ratios of the best wall times; both sides find their bytecode and LogSleuth its cache. A ratio of 1 means: an
analysis, its own start included, takes as long as ``import pydantic, typer, rich.console`` alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

CASE = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "death" / "segfault-rank6" / "nohup.out"
YARDSTICK = "import pydantic, typer, rich.console"
COMMANDS = {
    "analyze": ["-m", "logsleuth", "analyze", str(CASE)],
    "analyze -f json": ["-m", "logsleuth", "analyze", "--format", "json", str(CASE)],
    "--version": ["-m", "logsleuth", "--version"],
    "from Python": ["-c", f"import logsleuth; logsleuth.analyze([{str(CASE)!r}])"],
    YARDSTICK: ["-c", YARDSTICK],
}


def wall_s(arguments: list[str]) -> float:
    """Seconds that a Python process takes; it must not fail."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - begin


def main() -> None:
    """By turns, so that whatever else the machine does hits all of them."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for arguments in COMMANDS.values():
        wall_s(arguments)
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], wall_s(arguments))
    for name, seconds in best.items():
        print(f"{1000 * seconds:6.0f} ms  {seconds / best[YARDSTICK]:5.2f}  {name}")


if __name__ == "__main__":
    main()
