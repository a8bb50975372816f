"""What file names alone tell of their content, and the order of names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_BINARY = re.compile(
    r"\.(?:pth?|ckpt|safetensors|bin|np[yz]|h5|hdf5|parquet|arrow|feather|tfrecord|lmdb|mdb|db|sqlite3?|idx|onnx|engine"
    r"|gguf|ggml|distcp|png|jpe?g|gif|bmp|webp|ico|pdf|mp[34]|wav|flac|avi|so|o|a|pyc|whl|egg|exe|dll|class|jar|woff2?|ttf"
    r"|nsys-rep|qdrep|ncu-rep|wandb|deb|rpm|iso)$|^events\.out\.tfevents\.|^core\.\d+$",
    re.IGNORECASE,
)
#: Text, but no logs: left out of folders, read where the user names them.
_NO_LOG = re.compile(
    r"\.(?:pyi?|ipynb|c|cc|cpp|cuh?|h|hpp|rs|go|java|js|ts|css|html|ya?ml|toml|ini|cfg|svg|lock|tsv|sh|cmake|tex|rst|map|patch"
    r"|diff)$",
    re.IGNORECASE,
)
#: A pickle may be a flight recorder's dump; it then says so.
_PICKLE = re.compile(r"\.(?:pkl|pickle)$", re.IGNORECASE)
_RECORDER_DUMP = re.compile(r"trace|dump|flight|nccl|comm_lib|rank", re.IGNORECASE)


def could_be_log(path: str) -> bool:
    """Whether a file that was found, not named by the user, may be a log: not hidden, not binary, no source code."""
    name = Path(path).name
    return name != "" and not name.startswith(".") and not is_binary_name(name) and _NO_LOG.search(name) is None


def could_hold_logs(folder: str) -> bool:
    """The same for a folder, by its name alone."""
    return not folder.startswith(".") and folder not in ("__pycache__", "node_modules", "site-packages", "__MACOSX")


def is_binary_name(path: str) -> bool:
    """Whether a file is named like one that holds no text."""
    name = Path(path).name
    if _PICKLE.search(name):
        return _RECORDER_DUMP.search(name) is None
    return _BINARY.search(name) is not None


#: ``0_train.txt`` at the top of GitHub's logs of a run repeats what ``train/1_Set up job.txt`` .. hold.
_WHOLE_JOB = re.compile(r"(?P<folder>.*/)?-?\d+_(?P<job>[^/]+)\.txt")
_STEP = re.compile(r"(?P<job>.+)/\d+_[^/]*\.txt")
REPEATS_STEPS = "it repeats the logs of the job's steps, which are read instead"
REPEATED_BY_JOB = "the log of the whole job holds it and more, and is read instead"
#: GitHub cuts long names of jobs; shorter ones must be equal.
SHORTEST_CUT_NAME = 24
#: Steps that hold less of the job than this are not all there.
ALL_STEPS = 0.9


def repeated(sizes: Mapping[str, int]) -> dict[str, str]:
    """Which of the files in a GitHub run's logs are not read, as others hold the same lines, and why.

    ``sizes`` maps paths to bytes. The steps tell more by their names; where some of them are missing, as in newer
    archives, the log of the whole job is read.
    """
    steps: dict[str, list[str]] = {}
    for path in sizes:
        if match := _STEP.fullmatch(path):
            steps.setdefault(match["job"], []).append(path)
    found: dict[str, str] = {}
    for path, size in sizes.items():
        match = _WHOLE_JOB.fullmatch(path)
        job = f"{match['folder'] or ''}{match['job']}" if match else ""
        of_job = [step for name in steps if job and _is_same_job(name, job) for step in steps[name]]
        if not of_job:
            continue
        if sum(sizes[step] for step in of_job) >= ALL_STEPS * size:
            found[path] = REPEATS_STEPS
        else:
            found.update(dict.fromkeys(of_job, REPEATED_BY_JOB))
    return found


def _is_same_job(one: str, other: str) -> bool:
    """Whether two paths name one job, one of them perhaps cut."""
    (folder, _, name), (other_folder, _, other_name) = one.rpartition("/"), other.rpartition("/")
    if folder != other_folder:
        return False
    shorter, longer = sorted((name, other_name), key=len)
    return longer == shorter or (len(shorter) >= SHORTEST_CUT_NAME and longer.startswith(shorter.rstrip(" .")))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts ``rank2.log`` before ``rank10.log``."""
    return tuple(
        (0, int(part), part) if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part
    )
