"""Where logs name machines and people, whatever stands in front of the line.

Each place has literals that are in every line with it, so that no expression runs on other lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r"[A-Za-z0-9][\w.-]{0,250}[A-Za-z0-9]"
#: A host, or hosts as Slurm writes them: ``gpu[01-04,07],login1``.
_LIST = r"[A-Za-z0-9](?:[\w.-]|\[[\d,-]+\]|,(?=[A-Za-z]))*"
_QUOTE = r"[\"']?"


@dataclass(frozen=True, slots=True)
class Place:
    """The first group of ``expression`` is the name. ``sure``: nothing but a name can stand there."""

    literals: tuple[str, ...]
    expression: re.Pattern[str]
    sure: bool = True


def _place(literals: str | tuple[str, ...], expression: str, sure: bool = True) -> Place:
    return Place((literals,) if isinstance(literals, str) else literals, re.compile(expression), sure)


HOSTS = (
    # node-a:4711:4802 [3] NCCL INFO ..., also in the middle of a line
    _place(" NCCL ", rf"(?<![\w.:-])({_NAME}):\d{{1,7}}:\d{{1,7}} (?:\[-?\d+\] )?(?=\S* ?NCCL|\S+:\d+ )"),
    # ... Connect to node-a.cluster<29500> failed, of NCCL's sockets
    _place("<", rf"(?<![\w.:<-])({_NAME})<\d{{1,5}}>"),
    #   host      : node-a, of torchelastic's tables
    _place("host  ", rf"\bhost {{2,}}: ({_NAME})"),
    # The node 'node-a_4711_0' has failed to ..., of torchelastic's rendezvous
    _place("he node '", rf"[Tt]he node '({_NAME})_\d+_\d+'"),
    # [node-a]:29500, (node-a, 29500), of torch's sockets
    _place("]:", rf"\[({_NAME})\]:\d{{2,5}}\b"),
    _place("(", rf"\(({_NAME}), \d{{4,5}}\)", sure=False),
    # [node-a:04711] *** Process received signal ***, of Open MPI and UCX
    _place("[", rf"\[({_NAME}):\d{{3,7}}(?:\]| *:\d)"),
    # srun: error: gpu[01-02]: tasks 0-7: Killed
    _place(("srun:", "mpirun:", "slurmstepd:"), rf"(?:error|Warning): ({_LIST}): (?:task|tasks|host)\b"),
    _place("slurmstepd-", rf"slurmstepd-({_NAME}):"),
    # *** STEP 4711.0 ON gpu01 CANCELLED AT ..., Node failure on gpu01
    _place(" ON ", rf"(?:STEP|JOB) \S+ ON ({_LIST}) "),
    _place("ailure on ", rf"[Ff]ailure on ({_LIST})"),
    # SLURM_JOB_NODELIST=gpu[01-04], MASTER_ADDR: node-a, --rdzv-endpoint=node-a:29500
    _place(
        ("NODELIST", "NODENAME", "ADDR", "HOSTNAME", "NodeList", "NodeName", "BatchHost", "SLURMD", "HEAD_NODE"),
        rf"(?:NODELIST|NODENAME|_ADDR|HOSTNAME|NodeList|NodeName|BatchHost|HEAD_NODE){_QUOTE}\s*[=:]\s*{_QUOTE}({_LIST})",
    ),
    _place(
        ("endpoint", "master_addr", "master-addr", "nodelist", "hostname", "head_node"),
        rf"(?:rdzv[-_]endpoint|master[-_]addr|nodelist|hostname|head_node(?:_ip)?){_QUOTE}\s*[=: ]\s*{_QUOTE}({_LIST})",
        sure=False,
    ),
    _place(
        ("host", "Host", "node", "Node"),
        rf"\b(?:[Hh]ost|[Nn]ode)(?:_?name)?{_QUOTE}\s*[=:]\s*{_QUOTE}({_NAME})",
        sure=False,
    ),
    _place(("host=", "hostname="), rf"\bhost(?:name)?=({_NAME})"),
    # dinov2.node-a [stderr] ..., of milabench
    _place((" [stderr]", " [stdout]"), rf"^[\w-]+\.({_NAME}) \[std(?:err|out)\]"),
    # Could not resolve hostname node-a, ssh: connect to host node-a port 22
    _place(("resolve host", "to host "), rf"(?:resolve host(?:name)?:? |to host ){_QUOTE}({_NAME})"),
    _place(("connect to ", "connection to "), rf"connect(?:ion)? to {_QUOTE}({_NAME}):\d{{2,5}}\b"),
    # Linux node-a 5.15.0-91-generic
    _place("Linux ", rf"\bLinux ({_NAME}) \d+\.\d+\.\d+"),
    # {'node-a': [0, 1, 2, 3]} of DeepSpeed
    _place("': [", rf"'({_NAME})': \[\d", sure=False),
    # ip-10-1-2-3.ec2.internal
    _place("ip-", r"\b(ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w-]+)*)"),
    # gpu07.cluster.local
    _place(
        (".local", ".internal", ".lan"),
        r"(?<![\w./-])([A-Za-z0-9][\w-]{0,62}\d[\w-]{0,62}(?:\.[\w-]{1,63}){0,6}\.(?:local|internal|lan))\b",
    ),
    # alice@node-a:~/train$
    _place("@", rf"^(?:\([\w.-]+\) ?)?[\[(]?[A-Za-z_][\w.-]*@({_NAME})[:\s][^\n]*[$#%]"),
    _place("://", rf"\b(?:https?|tcp|grpc|wss?)://({_NAME}):\d{{2,5}}\b"),
)  # fmt: skip
#: Servers of URLs: a full name that is replaced as a whole, as its first word (``wandb``, ``git``) may be anything.
URLS = (
    _place("://", rf"\b(?:https?|wss?|ssh|git|ftp)://(?:[^\s/@\"']{{1,200}}@)?({_NAME}\.[A-Za-z]{{2,24}})(?![\w.-])"),
)

_USER = r"[A-Za-z_][\w.-]{0,63}"
#: Folders that hold one folder a user.
HOME = r"(?:home\d?|homes|Users|users)"
USERS = (
    # /home/alice, /mnt/home/alice, /Users/alice, /work/07543/alice of TACC
    _place(("/home", "/Users/", "/users/", "/homes/"), rf"/{HOME}/(?:\d{{5}}/)?({_USER})"),
    _place("/0", rf"/(?:work|scratch)\d?/\d{{5}}/({_USER})/"),
    _place("Users\\", rf"[A-Za-z]:\\{{1,2}}Users\\{{1,2}}({_USER})"),
    _place(("USER", "LOGNAME"), rf"\b(?:USER|LOGNAME|USERNAME){_QUOTE}\s*[=:]\s*{_QUOTE}({_USER})"),
    # UserId=alice(1000), uid=1000(alice)
    _place(("UserId=", "uid="), rf"(?:UserId=|uid=\d+\()({_USER})"),
    _place((" user ", " USER "), rf"(?:by|for|of) user ({_USER})", sure=False),
    # wandb: Currently logged in as: alice (team). https://wandb.ai/alice/project
    _place("logged in as", rf"logged in as:? ({_USER})"),
    _place("logged in as", rf"logged in as:? {_USER} \(({_USER})\)"),
    _place("wandb.ai/", rf"wandb\.ai/({_USER})/"),
    _place("@", rf"^(?:\([\w.-]+\) ?)?[\[(]?({_USER})@{_NAME}[:\s][^\n]*[$#%]"),
    # ssh://alice@node-a/
    _place("://", rf"://({_USER})@"),
    _place("sudo", rf"sudo(?:\[\d+\])?: +({_USER}) :"),
)

_SCHEMES = r"(?:s3[an]?|gs|gcs|abfss?|wasbs?|az|oci|oss|r2|b2|cos|tos|obs)"
#: Buckets, with what stands before and after the name.
BUCKETS = (
    _place("://", rf"\b{_SCHEMES}://([^/\s\"'`<>:,;(){{}}\[\]@\\]+)"),
    _place("amazonaws.com", r"([A-Za-z0-9][\w.-]*)\.s3[.-][\w.-]*amazonaws\.com"),
    _place("amazonaws.com", r"//s3[\w.-]*\.amazonaws\.com/([\w.-]+)"),
    _place("storage.googleapis.com", r"storage\.googleapis\.com/([\w.-]+)"),
    _place("core.windows.net", r"([a-z0-9]+)\.(?:blob|dfs)\.core\.windows\.net"),
)
