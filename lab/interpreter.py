"""What the interpreter that runs the jobs can do: its torch, tqdm, a GPU with NCCL; and what this user may do."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from dataclasses import dataclass

_QUESTIONS = """
import importlib.util, json, platform, sys
facts = {"python": platform.python_version(), "prefix": sys.prefix, "base_prefix": sys.base_prefix}
facts["tqdm"] = importlib.util.find_spec("tqdm") is not None
try:
    import torch, torch.distributed as dist
    facts["torch"] = torch.__version__
    facts["gpu"] = torch.cuda.is_available()
    facts["nccl"] = dist.is_available() and dist.is_nccl_available()
except ImportError as error:
    facts["torch"] = None
print(json.dumps(facts))
"""

REASONS = {
    "tqdm": "tqdm is not installed beside torch",
    "mounts": "private mounts need root and unshare",
    "gpu-nccl": "there is no GPU, or torch was built without NCCL",
    "cpu-only": "a GPU is present, so the backend is available",
}


class NoTorchError(Exception):
    """The interpreter cannot import torch, or is not there."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A python with torch, the torchrun beside it, and the set of things that runs may need."""

    python: str
    torchrun: str
    torch_version: str
    python_version: str
    prefix: str
    base_prefix: str
    provides: frozenset[str]

    def missing(self, needs: frozenset[str]) -> str | None:
        """The first need that is not met, as a reason; ``None`` when all are."""
        for need in sorted(needs - self.provides):
            return REASONS[need]
        return None


def find_interpreter(torchrun: str | None) -> Interpreter:
    """``torchrun``: path of the script; the python in the same folder runs the jobs. Raises NoTorchError."""
    script = shutil.which(torchrun or "torchrun")
    if script is None:
        raise NoTorchError(f"no {torchrun or 'torchrun'} found: give --torchrun PATH")
    python = str(pathlib.Path(script).parent / "python")
    try:
        done = subprocess.run([python, "-c", _QUESTIONS], capture_output=True, text=True, timeout=300)
    except OSError as error:
        raise NoTorchError(f"cannot run {python}: {error}") from error
    facts = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else {}
    if not facts.get("torch"):
        raise NoTorchError(f"{python} cannot import torch: {done.stderr.strip()[-200:] or 'not installed'}")
    provides = {"tqdm"} if facts["tqdm"] else set()
    provides.add("gpu-nccl" if facts["gpu"] and facts["nccl"] else "cpu-only")
    if _may_mount():
        provides.add("mounts")
    return Interpreter(
        python=python,
        torchrun=script,
        torch_version=facts["torch"],
        python_version=facts["python"],
        prefix=facts["prefix"],
        base_prefix=facts["base_prefix"],
        provides=frozenset(provides),
    )


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /dev/shm"]
    return subprocess.run(tried, capture_output=True).returncode == 0
