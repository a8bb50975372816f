"""LogSleuth's reading of logs where nearly every line is a hit, against ``grep -c`` with the catalog's anchors, in the
same run.

    python bench/hit_heavy.py [RANKS] [RUNS]

Prints processor seconds, as they are steadier than wall times where every line is Python's work: of a console into
which all ranks print, and of one file a rank. grep knows where a literal is; what is read there costs the rest.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from literals import write_literals

HERE = Path(__file__).resolve().parent


def cpu_s(command: list[str]) -> float:
    """Processor seconds that a command takes as a whole process; it must not fail."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{command[0]} failed with {done.returncode}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    ranks = sys.argv[1] if len(sys.argv) > 1 else "1024"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if shutil.which("grep") is None:
        sys.exit("grep is not installed; nothing to compare with")
    with tempfile.TemporaryDirectory() as folder:
        console, files, anchors = Path(folder, "console.txt"), Path(folder, "logs"), Path(folder, "anchors.txt")
        files.mkdir()
        for out in (console, files):
            subprocess.run([sys.executable, str(HERE / "make_console.py"), str(out), ranks], check=True)
        write_literals(anchors)
        lines = console.read_bytes().count(b"\n")
        for name, log in (("one console", console), ("one file a rank", files)):
            ours = [sys.executable, "-m", "logsleuth", "events", "--format", "jsonl", str(log)]
            theirs = ["grep", "-rcF", "-f", str(anchors), str(log)]
            times = [(cpu_s(ours), cpu_s(theirs)) for _ in range(runs)]
            best, other = min(t[0] for t in times), min(t[1] for t in times)
            print(f"{ranks} ranks, {lines} lines, {name}, best of {runs}: logsleuth {best:.2f} s, grep {other:.2f} s")
            print(f"ratio {best / other:.1f}, {1e6 * best / lines:.0f} us a line")


if __name__ == "__main__":
    main()
