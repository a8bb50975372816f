"""What a path alone tells of rank, host and process; every layout that launchers and frameworks write.

    torchrun      <log_dir>/<id>/attempt_0/3/stderr.log         restart, LOCAL rank, stream
    DeepSpeed     20260301101500_rank3.log                      global rank
    NeMo          nemo_log_globalrank-11_localrank-3.txt        both
    Open MPI      1/rank.3/stderr                               global rank, stream
    submitit      48151_3_log.err                               task
    Slurm %N_%t   train-4711-node-a_3.err                       host, task
    Ray           worker-<id>-01000000-4711.out                 pid, stream
    NCCL          nccl.node-a.4711.log                          host, pid
    recorder      nccl_trace_rank_3, comm_lib_trace_rank_3      global rank
    Kubernetes    llm-worker-1.log, /var/log/pods/<ns>_<pod>_<uid>/..    the pod, as host

A number that is not clearly a rank gives none: ``3_train.txt`` of a GitHub archive counts steps, Slurm's ``%t`` tasks.
"""

from __future__ import annotations

import re

from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.sources.hosts import is_pod_name, names_host
from logsleuth.sources.late import late

_SEPARATORS = late(r"[/\\!]+")
#: File endings that are no part of a name: ``node-a.stdout.log.gz``.
_ENDINGS = late(
    r"(?:\.(?:log|txt|out|err|error|stdout|stderr|json|jsonl|pkl|pickle|gz|bz2|xz|zst|zip|tar|tgz)(?:\.\d{1,3}(?=\.|$))?)+$",
    re.IGNORECASE,
)
#: A number after ``rank``: not part of a range (``rank0-7.log``) and not a date.
_NUMBER = r"[-_.=]?(\d{1,6})(?!\d)(?!-\d{1,3}(?!\d))"
_LOCAL_RANK = late(rf"(?<![a-z])local[-_]?rank{_NUMBER}|(?:^|[-_.])local[-_]?(\d{{1,3}})(?=$|[-_.])", re.IGNORECASE)
_GLOBAL_RANK = late(
    rf"(?<![a-z])(?<!local[-_])(?<!node[-_])(?<!group[-_])(?:(?:global|world)[-_]?)?rank{_NUMBER}", re.IGNORECASE
)
#: A recorder's dump with a prefix of the user's own: TORCH_FR_DUMP_TEMP_FILE + rank.
_DUMP = late(r"(?:^|[-_.])(?:trace|dump)[-_](\d{1,6})(?:\.(?:pkl|pickle|json))?$", re.IGNORECASE)
_TASK = late(r"(?:^|[-_.])(?:task(?:id)?|procid)[-_=]?(\d{1,6})(?=$|[-_.])", re.IGNORECASE)
#: Slurm's ``%N_%t``; after a dash the number may be part of the host's name.
_HOST_AND_TASK = late(r"(?:^|.*?[-_.])(?P<host>[A-Za-z][A-Za-z0-9.-]*)_(?P<task>\d{1,5})$")
_SUBMITIT = late(r"\d+(?:_\d+)?_(\d{1,6})_log\.(?:out|err)$")
#: What may stand before a number in a folder's name.
_PLAIN_LEAD = late(r"(?:(?:logs?|worker|output|out|train|mpi|global|world)[-_.]?)?", re.IGNORECASE)
_ATTEMPT = late(r"(?:^|[-_.])attempt[-_]?(\d{1,4})(?=$|[-_.])|_cycle(\d{1,4})(?=$|[-_.])", re.IGNORECASE)
_TORCHRUN = late(r"(?:^|/)attempt_(\d{1,4})/(\d{1,4})(?:/|$)")
_OPEN_MPI = late(r"(?:^|/)rank\.(\d{1,6})/(?:stdout|stderr)$")
_RAY_WORKER = late(r"worker-[0-9a-f]{20,}-(?:[0-9a-f]+|-1)-(\d{1,7})\.(out|err)$")
_RAY_CORE = late(r"python-core-(?:worker|driver)-[0-9a-f]+_(\d{1,7})\.log")
_NCCL_FILE = late(
    r"nccl[a-z_]*[-_.](?:debug[-_.])?(?P<host>[A-Za-z][\w-]*?|(?:\d{1,3}[.-]){3}\d{1,3})[-_.](?P<pid>\d{2,7})$",
    re.IGNORECASE,
)
_POD_FOLDER = late(r"(?:^|/)pods/[a-z0-9-]+_([a-z0-9.-]+)_[0-9a-f-]{8,}/")
_POD_LOG_LINK = late(r"([a-z0-9][a-z0-9.-]*)_[a-z0-9-]+_[a-z0-9-]+-[0-9a-f]{64}\.log$")
_STREAM = late(r"(?:^|[-_./])(stdout|stderr)(?=$|[-_.])", re.IGNORECASE)
_KERNEL = late(r"(?:^|[-_.])(?:dmesg|kern|kmsg)(?=$|[-_.])", re.IGNORECASE)
_DAEMON = late(
    r"(?:raylet|gcs_server|dashboard(?:_agent)?|monitor|log_monitor|fabricmanager|nvidia-fabricmanager|slurmd|slurmctld|kubelet|containerd|nv-hostengine|dcgm)"
    r"(?:[-_.].*)?\.(?:log|out|err)",
    re.IGNORECASE,
)
#: Words around a host's name in a file name: ``train_node-a``, ``dmesg-node-a``, ``slurm-4711-node-a``.
_AROUND_HOST = late(
    r"^(?:(?:rank[-_.]?\d+|slurm|job|train(?:ing)?|log|logs|run|output|console|dmesg|kern|kmsg|messages|syslog|journal|nvidia-smi|\d+)[-_.])+"
    r"|(?:[-_.](?:log|logs|train(?:ing)?|output|console|dmesg|kern|kmsg|messages|syslog|journal|stdout|stderr|rank[-_.]?\d+|task[-_]?\d+|local[-_]?\d+))+$",
    re.IGNORECASE,
)


def origin_of_path(path: str) -> Origin:
    """What ``path`` tells of who wrote the file; archive members follow a ``!`` (``logs.zip!rank3.log``)."""
    parts = [part for part in _SEPARATORS.split(path) if part not in ("", ".", "..")]
    if not parts:
        return UNKNOWN
    name, joined = parts[-1], "/".join(parts)
    values: dict[str, int | str | None] = {
        "rank": _last(_GLOBAL_RANK, parts),
        "local_rank": _last(_LOCAL_RANK, parts),
        "task": _first_number(_SUBMITIT.match(name)) if _SUBMITIT.match(name) else _last(_TASK, parts),
        "attempt": _last(_ATTEMPT, parts),
        "stream": _stream(name),
        "role": _role(name),
    }
    host_and_task = _host_and_task(_ENDINGS.sub("", name))
    if host_and_task is not None and values["task"] is None:
        values["task"] = host_and_task[1]
    if (dump := _DUMP.search(name)) and values["rank"] is None:
        values["rank"] = int(dump[1])
    if torchrun := _TORCHRUN.search(joined):
        values["attempt"], values["local_rank"] = int(torchrun[1]), int(torchrun[2])
    if mpi := _OPEN_MPI.search(joined):
        values["rank"] = values["task"] = int(mpi[1])
    if ray := _RAY_WORKER.match(name):
        return Origin.known("path", pid=int(ray[1]), stream="stdout" if ray[2] == "out" else "stderr")
    if core := _RAY_CORE.match(name):
        return Origin.known("path", pid=int(core[1]))
    if nccl := _NCCL_FILE.match(_ENDINGS.sub("", name)):
        values["host"], values["pid"] = nccl["host"], int(nccl["pid"])
    else:
        values["host"] = host_and_task[0] if host_and_task is not None else _host(parts, joined)
    return Origin.known("path", **values)


def torchrun_origin(path: str) -> Origin:
    """Attempt and local rank alone, of torchrun's folders; safe on an absolute path whose upper part means nothing."""
    match = _TORCHRUN.search("/".join(_SEPARATORS.split(path)))
    return Origin.known("path", attempt=int(match[1]), local_rank=int(match[2])) if match else UNKNOWN


def _last(expression: re.Pattern[str], parts: list[str]) -> int | None:
    """The number in the file's name, else in the name of a near folder that says nothing else.

    ``rank3/train.log`` is rank 3's; ``oom-on-rank3/train.log`` is anybody's.
    """
    if match := expression.search(parts[-1]):
        return _first_number(match)
    for folder in parts[-2:-5:-1]:
        match = expression.search(folder)
        if match is not None and _PLAIN_LEAD.fullmatch(folder[: match.start()]) and match.end() == len(folder):
            return _first_number(match)
    return None


def _first_number(match: re.Match[str] | None) -> int | None:
    return next((int(group) for group in match.groups() if group is not None), None) if match else None


def _stream(name: str) -> str | None:
    if match := _STREAM.search(name):
        return match[1].lower()
    # ``.out`` alone may hold both streams; ``.err`` never does.
    return "stderr" if re.search(r"\.err(?:$|\.)", name, re.IGNORECASE) else None


def _host_and_task(stem: str) -> tuple[str, int] | None:
    """Host and task of ``train-4711-node-a_3``."""
    match = None if names_host(stem) else _HOST_AND_TASK.match(stem)
    if match is None:
        return None
    host = _AROUND_HOST.sub("", match["host"])
    # A pod's number is followed by that of its restart.
    return (host, int(match["task"])) if names_host(host) and not is_pod_name(host) else None


def _role(name: str) -> str | None:
    if _KERNEL.search(name):
        return "kernel"
    return "daemon" if _DAEMON.fullmatch(name) else None


def _host(parts: list[str], joined: str) -> str | None:
    if pod := _POD_FOLDER.search(joined):
        return pod[1]
    if link := _POD_LOG_LINK.match(parts[-1]):
        return link[1]
    stem = _ENDINGS.sub("", parts[-1])
    for word in (_AROUND_HOST.sub("", stem), stem):
        if names_host(word):
            return word
    # A folder per machine: only the nearest ones, the rest of a path is where the user happens to work. torchrun puts
    # three folders of its own below it.
    own = 3 if _TORCHRUN.search(joined) else 0
    return next((part for part in parts[-2 - own : -4 - own : -1] if names_host(part)), None)
