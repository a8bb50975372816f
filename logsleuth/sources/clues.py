"""What the named groups of a line prefix cannot say by themselves: roles, nested fields, whether it is a prefix at all.

Each function takes a match and gives fields of an Origin; ``None`` means that the text is no such prefix after all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from logsleuth.sources.hosts import could_name_host, is_numbered_thing, is_pod_name, names_host
from logsleuth.sources.layouts import origin_of_path

Values = Mapping[str, int | str | None]

#: Linux gives no larger process id (PID_MAX_LIMIT); a larger number in that place is a thread's identity.
LARGEST_PID = 4_194_304
_AGENT_MODULE = re.compile(
    r"torch[./]distributed[./](?:run|launch|launcher|elastic)(?![./]multiprocessing[./]errors)(?:[.:/]|$)"
)
_RAY_FIELD = re.compile(r"(?<![a-z_])(pid|ip|rank)=(\[[^\]\s]*\]|[^\s,\])]+)")
#: Words in ``[word3]:`` that are users' own, not the role of a torchrun worker group; ``[rank3]:`` is torch's.
_NO_ROLES = frozenset(
    [
        *("rank", "gpu", "cuda", "device", "dp", "tp", "pp", "cp", "ep", "pg", "node", "host"),
        *("step", "epoch", "iter", "iteration", "layer", "stage", "batch", "line", "seed", "fold", "err"),
    ]
)


def speaks_for_agent(module: str) -> bool:
    """Whether a module of torch, by path or dotted name, runs in torchrun itself and not in its workers."""
    return _AGENT_MODULE.search(module) is not None


def of_python_record(match: re.Match[str]) -> Values:
    """torch >= 2.5 prints the pid before the path, 2.3 and 2.4 a thread's identity."""
    number = int(match["id"])
    agent = match["rank"] is None and speaks_for_agent(match["file"])
    return {"pid": number if number <= LARGEST_PID else None, "role": "agent" if agent else None}


def of_logger(match: re.Match[str]) -> Values:
    return {"role": "agent" if speaks_for_agent(match["logger"]) else None}


def of_deepspeed(match: re.Match[str]) -> Values:
    return {"role": "agent" if match["file"] in ("launch.py", "runner.py") else None}


def of_tee(match: re.Match[str]) -> Values | None:
    return None if match["word"].lower().strip("_-") in _NO_ROLES else {}


def of_ray(match: re.Match[str]) -> Values:
    """``Worker pid=4711, ip=10.0.0.2``, ``VllmWorker rank=3 pid=4711``, ``Policy[rank=8] pid=4711``, ``raylet``."""
    inside = match["ray"]
    found = {key: value.strip("[]") for key, value in _RAY_FIELD.findall(inside)}
    pid, rank = found.get("pid", ""), found.get("rank", "")
    name = re.sub(r"\s*\[?\b(?:rank|ip|pid)=\S*|,.*$|\s*\+\d+s$", "", inside).strip()
    daemon = name.startswith(("raylet", "autoscaler", "gcs_server")) or pid in ("raylet", "gcs_server")
    return {
        "pid": int(pid) if pid.isdecimal() and len(pid) < 10 else None,
        "host": found.get("ip"),
        "rank": int(rank) if rank.isdecimal() and len(rank) < 8 else None,
        "actor": name or None,
        "role": "daemon" if daemon else None,
    }


def of_syslog(match: re.Match[str]) -> Values:
    return {"role": "kernel" if match["program"] == "kernel" else None}


def of_kernel(_match: re.Match[str]) -> Values:
    return {"role": "kernel"}


def of_daemon(_match: re.Match[str]) -> Values:
    return {"role": "daemon"}


def of_host(match: re.Match[str]) -> Values | None:
    return {} if could_name_host(match["host"]) else None


def of_pod(match: re.Match[str]) -> Values | None:
    return {} if is_pod_name(match["host"]) else None


def of_service(match: re.Match[str]) -> Values | None:
    """A container of docker compose, and not the first column of a table."""
    return None if is_numbered_thing(match["actor"]) or match["actor"].isdecimal() else {}


def of_tag(match: re.Match[str]) -> Values:
    """milabench: ``<benchmark>.<node or device>``."""
    last = match["actor"].rpartition(".")[2]
    return {"host": last if names_host(last) else None}


def of_file(match: re.Match[str]) -> Values:
    """A file name that grep or tail put before the line tells what the file's path would."""
    origin = origin_of_path(match["path"])
    return {name: getattr(origin, name) for name in ("rank", "local_rank", "task", "host", "pid", "stream", "role")}


def of_nanotron(match: re.Match[str]) -> Values:
    return {"host": match["where"] if match["where"] and could_name_host(match["where"]) else None}
