"""LogSleuth's whole analysis of a large log against ripgrep counting the catalog's anchors in it, in the same run.

    python bench/against_ripgrep.py [MEGABYTES] [RUNS]

Prints the ratio of the best wall times. ripgrep (``rg``) must be on the PATH; the file is read once before, so both
find it in the page cache. A ratio of 1 means: it takes as long as ripgrep needs to find the same literals.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from literals import write_literals

HERE = Path(__file__).resolve().parent


def wall_s(command: list[str]) -> float:
    """Seconds that a command takes as a whole process; it must not fail."""
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{command[0]} failed with {done.returncode}")
    return time.perf_counter() - begin


def main() -> None:
    megabytes = sys.argv[1] if len(sys.argv) > 1 else "1000"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if shutil.which("rg") is None:
        sys.exit("ripgrep (rg) is not installed; nothing to compare with")
    with tempfile.TemporaryDirectory() as folder:
        log, anchors = Path(folder, "rank3.log"), Path(folder, "anchors.txt")
        subprocess.run([sys.executable, str(HERE / "make_log.py"), str(log), megabytes], check=True)
        literals = write_literals(anchors)
        ours = [sys.executable, "-m", "logsleuth", "analyze", "--format", "json", str(log)]
        theirs = ["rg", "--count", "--fixed-strings", "--file", str(anchors), str(log)]
        wall_s(["cat", str(log)])
        times = [(wall_s(ours), wall_s(theirs)) for _ in range(runs)]
    best, other = min(t[0] for t in times), min(t[1] for t in times)
    print(f"{megabytes} MB, {literals} literals, best of {runs}: logsleuth {best:.2f} s, ripgrep {other:.2f} s")
    print(f"ratio {best / other:.2f}")


if __name__ == "__main__":
    main()
