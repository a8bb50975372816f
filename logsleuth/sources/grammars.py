"""The line prefixes that launchers, collectors and loggers print, as one expression each.

Named groups that are fields of an Origin fill it; ``t`` is a time stamp; ``n`` and ``n2`` are numbers that differ from
line to line of one message; ``cut`` is only there on some lines of a process. ``kind``: who prints it and how often:

    OUTER   a launcher or collector, on every line             [default3]:   node-a:   2024-03-01T10:00:00Z
    INNER   the process, on every line                         [rank3]:
    RECORD  a logger, on every line of a message               W0606 08:12:47.123000 4711 torch/distributed/run.py:757]
    HEADER  a logger, on the first line of a message           [E606 08:12:47.123456789 ProcessGroupNCCL.cpp:607]
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from logsleuth.sources import clues
from logsleuth.sources.clock import ISO_STAMP, WORD_STAMP
from logsleuth.sources.late import late


class Kind(enum.Enum):
    OUTER = enum.auto()
    INNER = enum.auto()
    RECORD = enum.auto()
    HEADER = enum.auto()


More = Callable[[re.Match[str]], clues.Values | None]


@dataclass(frozen=True, slots=True)
class Grammar:
    """One prefix. ``weak``: only believed in front of everything that the process prints. ``more``: see clues.

    ``first``: where that is few, the letters that it can begin with; another one need not be tried.
    """

    kind: Kind
    expression: re.Pattern[str]
    weak: bool = False
    more: More | None = None
    first: str = ""


def _outer(expression: str, more: More | None = None, weak: bool = False, first: str = "") -> Grammar:
    return Grammar(Kind.OUTER, late(expression), weak, more, first)


def _inner(expression: str, weak: bool = False) -> Grammar:
    return Grammar(Kind.INNER, late(expression), weak)


def _record(expression: str, more: More | None = None, first: str = "") -> Grammar:
    return Grammar(Kind.RECORD, late(expression), False, more, first)


def _header(expression: str, more: More | None = None, first: str = "") -> Grammar:
    return Grammar(Kind.HEADER, late(expression), False, more, first)


_T = f"(?P<t>{ISO_STAMP})"
_CLOCK = r"\d\d:\d\d:\d\d"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SUCCESS)(?!\w)"
#: The first letters of levels, and of the names of days and months.
_OF_LEVELS = "TDINWECFS"
_OF_DAYS_AND_MONTHS = "MTWFSJAOND"
_RANK = r"(?:\[rank(?P<rank>\d{1,7})\]:)?"

# W0606 08:12:47.123000 1245483 torch/distributed/run.py:757] ...
_PYTHON_RECORD = _record(
    rf"{_RANK}(?P<t>[FEWIVC]\d{{4}} {_CLOCK}\.\d{{6}})\s+(?P<id>\d{{1,20}}) (?P<file>[^\s\]]+\.py):(?P<n>\d+)\] ?",
    clues.of_python_record,
    first="FEWIVC[",
)
# E0206 12:34:56.123456  4711 ProcessGroupNCCL.cpp:523] ...
_GLOG = _header(rf"{_RANK}(?P<t>[FEWIVC]\d{{4}} {_CLOCK}\.\d{{6,9}})\s+\d+ [^\s\]]+:\d+\] ?", first="FEWIVC[")
# node-a:4711:4802 [3] NCCL INFO ...   [2026-05-05 06:16:47] node-a:4711:4802 [3] misc/socket.cc:50 NCCL WARN ...
_NCCL = _record(
    rf"(?P<cut>\[?{_T}\]? )?(?P<host>[\w.-]+):(?P<pid>\d{{1,7}}):(?P<n>\d+) (?P<n2>\[-?\d+\] )?"
    r"(?=NCCL [A-Z]|[\w./+-]+:\d+ (?:\(\w+\) )?NCCL [A-Z]|\d+\.\d+ \S+ NCCL TRACE)"
)

#: Names of machines, services and files; believed at the beginning of a line only.
_NAMES = (
    # vllm-1  | ... of docker compose
    _outer(r"(?P<actor>[A-Za-z0-9][\w.]*[-_0-9][\w.-]*) +\|(?: |$)", clues.of_service, weak=True),
    # rank3.log:120:... of grep
    _outer(r"(?P<path>[\w./@+-]+\.(?:log|txt|out|err)):(?:(?P<n>\d+)[:-])?(?! \S)", clues.of_file, weak=True),
    # dinov2.node-a [stderr] ... of milabench
    _outer(r"(?P<actor>[\w.-]+) \[(?P<stream>stdout|stderr)\] ", clues.of_tag, weak=True),
    # node-a: ... of pdsh, clush, DeepSpeed   nid001234 17: ... of Cray's launchers   node-a<TAB>... of parallel --tag
    _outer(r"(?P<host>[A-Za-z0-9][\w.-]*)(?: (?P<task>\d{1,7}))?:(?: |$)", clues.of_host, weak=True),
    _outer(r"(?P<host>[A-Za-z0-9][\w.-]*)\t", clues.of_host, weak=True),
    # llm-worker-1 pytorch ... of stern   default/llm-worker-1[pytorch]: ... of kail
    _outer(r"(?P<host>[a-z0-9][a-z0-9-]*-\d+) [a-z0-9][a-z0-9-]* ", clues.of_pod, weak=True),
    _outer(r"[a-z0-9-]+/(?P<host>[a-z0-9][a-z0-9.-]*)\[[a-z0-9-]+\]: ", weak=True),
)

# [2024-03-01 10:00:00] [INFO] ...   [Feb 25 2025 13:59:45] [INFO] [tid 1803] ...
_LEVELLED = _header(
    rf"\[(?P<t>{ISO_STAMP}|[A-Z][a-z]{{2}} \d\d \d{{4}} {_CLOCK})\] (?:\[{_LEVEL}\]|{_LEVEL}):?(?: \[tid \d+\])? "
)
# [node-a:04711] *** Process received signal ***   [node-a:4711 :0:4802] Caught signal 11 ...
_CRASHED = _record(
    r"\[(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d{1,7})[ ]*(?P<n>(?::\d+)*)\] "
    r"(?=\*\*\*|Signal|Failing at|\[ ?\d+\]|PMIX|Caught signal|mca[_:])"
)

_BRACKETED_STAMP = (
    _NCCL,
    # [2024-02-27T21:35:28.893536Z] 1a2b3c4d [rank=4] || ... of Determined
    _outer(rf"\[{_T}\] +(?:(?P<actor>[0-9a-f]{{8}}) )?(?:\[rank=(?P<rank>\d{{1,7}})\] )?\|\| ?"),
    # [2025-02-26 11:16:37 DP0 TP5] ... of SGLang
    _header(rf"\[{_T} (?P<actor>[A-Z]{{2,4}}(?:_[A-Z]+)?\d{{1,5}}(?: [A-Z]{{2,4}}(?:_[A-Z]+)?\d{{1,5}})*)\] ?"),
    # [2023-08-01 01:04:13,441] [INFO] [axolotl.train:54] [PID:4711] [RANK:0] ... of Axolotl: RANK is LOCAL_RANK
    _header(rf"\[{_T}\] \[{_LEVEL}\] \[[^\]\s]+\] \[PID:(?P<pid>\d{{1,7}})\] (?:\[RANK:(?P<local_rank>\d{{1,7}})\] )?"),
    # [2023-08-01 01:04:13,441] [INFO] [logging.py:96:log_dist] [Rank 0] ... of DeepSpeed, where Rank is global
    _header(
        rf"\[{_T}\] \[{_LEVEL}\] \[(?P<file>[\w.<>/-]+):\d+:[\w<>]+\] (?:\[Rank (?:-1|(?P<rank>\d{{1,7}}))\] )?",
        clues.of_deepspeed,
    ),
    # [2024-03-01 10:00:00,123][torch.distributed][INFO] - ... of Hydra
    _header(rf"\[{_T}\]\[(?P<logger>[\w.]+)\]\[{_LEVEL}\] - ", clues.of_logger),
    # [2024-03-01 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] ... of torch 2.1 and 2.2
    _record(rf"\[{_T}\] (?P<logger>[A-Za-z_][\w.]*): \[{_LEVEL}\] ?", clues.of_logger),
    _LEVELLED,
    # [2025-12-07 09:57:19,206 E 4711 4802] (raylet) node_manager.cc:3277: ... of Ray's own processes
    _header(rf"\[{_T} [TDIWEF] (?P<pid>\d{{1,7}}) \d+\] \((?P<actor>[\w ]+)\) ", clues.of_daemon),
    _outer(rf"\[{_T}\] ?"),
)

_BRACKETED_NUMBER = (
    # [1,3]<stderr>:...   [1,mpirank:3,algo-2]<stdout>:...   [prterun-node-a-4711@1,3]<stderr>: ...   of Open MPI
    _outer(r"\[\d+,(?:mpirank:)?(?P<task>\d{1,7})(?:,(?P<host>[\w.-]+))?\]<(?:(?P<stream>stdout|stderr)|stddiag)>:"),
    # [3]<stdout>:... of horovodrun
    _outer(r"\[(?P<task>\d{1,7})\]<(?P<stream>stdout|stderr)>:"),
    # [3]:... of a torchrun prefix template; only the template knows whether that is a global or a local rank
    _outer(r"\[\d{1,7}\]:(?=.*\S)", weak=True),
    _outer(r"(?P<t>\[ *\d{1,8}\.\d{6}\])(?:\[ *[TC]\d+\])? ?", clues.of_kernel),
    # [1721380813.194737] [node-a:4711 :0]  parser.c:2036 UCX  WARN ...
    _record(r"(?P<t>\[1\d{9}\.\d{1,9}\]) (?:\[(?P<host>[\w.-]+):(?P<pid>\d{1,7})[ ]*(?P<n>(?::\d+)*)\] *)?"),
    # [80746] [rank0]:[E... : the line numbers of a log viewer
    _outer(r"\[(?P<n>\d{3,9})\] ", weak=True),
    _outer(r"\[(?P<n>\d{1,2})\] (?=\[(?:rank\d|default\d|trainer\d|[FEWI][ \d])|\d{4}-\d\d-\d\d)", weak=True),
    # [15:58:29] WARNING  ...   [03/01/24 15:58:29] INFO  ... of rich   [10/06 12:00:00 d2.engine]: ... of detectron2
    _header(rf"(?P<t>\[(?:\d\d/\d\d/\d\d )?{_CLOCK}(?:[.,]\d{{1,6}})?\]) +(?:{_LEVEL}:? +)?"),
    _header(rf"(?P<t>\[\d\d/\d\d {_CLOCK}) [\w.]+\]:? (?:{_LEVEL}: )?"),
    _CRASHED,
)

_BRACKETED_WORD = (
    # [rank3]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] ...   [E ProcessGroupNCCL.cpp:828] ...
    _header(
        rf"{_RANK}(?P<t>\[[FEWIVC](?:\d{{3,4}} {_CLOCK}\.\d{{1,9}})?) [\w./+-]+\.(?:cpp|cc|cu|cuh|h|hpp|cxx):\d+\] ?"
    ),
    _PYTHON_RECORD,
    _GLOG,
    # [rank3]: Traceback ...   and users' own [rank 3] ..., [rank_3] ...
    _inner(r"\[rank(?P<rank>\d{1,7})\]: ?"),
    _inner(r"\[rank[ _=-]?(?P<rank>\d{1,7})\]:? (?!\|\|)", weak=True),
    # [RANK 3] ... of accelerate >= 1.13
    _inner(r"\[RANK (?P<rank>\d{1,7})\] "),
    # [rank: 1] ... of Lightning: the rank on its node
    _inner(r"\[rank: (?P<local_rank>\d{1,7})\] "),
    # [default3]:...   [trainer0|0]:...   of torchrun --tee
    _outer(r"\[(?P<word>[A-Za-z_][A-Za-z_.-]*)(?P<local_rank>\d{1,5})(?:\|\d{1,7})?\]:", clues.of_tee),
    _outer(r"\[[\w.-]+@\d+,(?P<task>\d{1,7})\]<(?:(?P<stream>stdout|stderr)|stddiag)>: ?"),
    # [pod/llm-worker-1/pytorch] ... of kubectl logs --prefix
    _outer(r"\[pod/(?P<host>[^/\]\s]+)/[^\]\s]+\] ?"),
    # [task 2025-07-01T05:06:30.004+00:00] [train] ... of Taskcluster
    _outer(rf"\[task {_T}\] (?:\[[\w.-]+\] )?"),
    _outer(r"\[rank=(?P<rank>\d{1,7})\] \|\| ?"),
    # [NeMo W 2024-03-01 10:00:00 nemo_logging:349] ...
    _header(rf"\[NeMo [A-Z] {_T} [\w.]+:\d+\] ?"),
    # [INFO|trainer.py:2209] 2024-12-03 16:08:45,725 >> ...   [INFO|2024-12-03 16:08:45] loader:157 >> ...
    _header(rf"\[{_LEVEL}\|[^\]\n]{{1,120}}\] {_T} >> "),
    _header(rf"\[{_LEVEL}\|{_T}\] [\w.]+:\d+ >> "),
    # [INFO 2024-03-01 10:00:00,123 train.py:12] ...
    _header(rf"\[(?:{_LEVEL}|[IWEDF]) {_T}(?: [^\]\n]{{1,80}})?\] ?"),
    _LEVELLED,
    # [Tue Oct  1 12:00:00 2024] NVRM: ... of dmesg -T   [12345.678901] NVRM: ...   [12345.678901][ T4711] NVRM: ...
    _outer(rf"\[(?P<t>{WORD_STAMP})\] ?", clues.of_kernel),
    _CRASHED,
    # [titan] 2024-11-01 10:00:00,123 - root - INFO - ...
    _header(rf"\[[\w.-]{{1,40}}\] ?(?={ISO_STAMP})"),
    _outer(r"\[(?P<stream>stdout|stderr)\] "),
)

_STAMP = (
    # 2024-03-01T10:00:00.123456789Z stdout F ... of the kubelet (CRI)   ... 01O ... of a GitLab runner
    _outer(rf"{_T} (?P<stream>stdout|stderr) [FP](?: |$)"),
    _outer(rf"{_T} [0-9a-f]{{2}}[OE](?:[+ ]|$)"),
    _NCCL,
    # 2022-06-29 11:22:26,152: rank0[4711][MainThread]: INFO: composer.trainer: ... of Composer and LLM Foundry
    _header(rf"{_T}: rank(?P<rank>\d{{1,7}})\[(?P<pid>\d{{1,7}})\]\[[^\]\n]*\]: {_LEVEL}: (?:[\w.]+: )?"),
    # 2026-01-10 10:00:00,123 [INFO] [node-a] [workload:11(3) infra:1(0)] launcher.py:120 ... of NVRx
    _header(
        rf"{_T} \[{_LEVEL}\] \[(?P<host>[\w.-]+)\] "
        r"\[workload:(?:(?P<rank>\d{1,7})|[^\s(]*)\((?:(?P<local_rank>\d{1,7})|[^\s)]*)\) infra:[^\]\n]*\] "
    ),
    # 2024-03-01 10:00:00.123 | INFO     | train:main:12 - ... of loguru
    _header(rf"{_T} ?\| ?{_LEVEL} *\| *(?:[\w.<>]+:[\w.<>]+:\d+ - )?"),
    _outer(rf"{_T} *\|(?: |$)"),
    # 2024-03-01 10:00:00,123 INFO train: [rank 3] ...   ... - train - INFO - [rank3] ... of users' own loggers
    _header(
        rf"{_T}(?: -)?[ \t]+(?:[\w.]{{1,40}} - )?\[?{_LEVEL}\]?:?(?: -)?[ \t]+(?:[\w.]{{1,40}}: )?"
        r"\[rank[ _=-]?(?P<rank>\d{1,7})\]:?[ \t]"
    ),
    # 2024-11-01 10:00:00,123 - root - INFO - ...
    _header(rf"{_T}(?: - [\w.<>\[\]:/-]{{1,60}}){{0,3}}? - \[?{_LEVEL}\]?(?: - [\w.:]{{1,60}}(?= - ))? ?(?:- |: )"),
    # 2024-03-01 10:00:00.123456: E external/xla/x.cc:12] ...
    _header(rf"{_T}: [IWEF] [^\s\]]+:\d+\] ?"),
    # 2024-10-01T12:00:00+0000 node-a kernel: ...   ... node-a slurmd[4711]: ...
    _outer(
        rf"{_T} (?P<host>[\w.-]+) (?P<program>kernel|[\w./@-]+(?=\[))(?:\[(?P<pid>\d{{1,7}})\])?: ?", clues.of_syslog
    ),
    # 2024-03-01 10:00:00,123 INFO worker.py:1786 -- ...
    _header(
        rf"{_T}[ \t]+(?:\[?[\w.:-]{{1,40}}\]?[ \t]+)?\[?{_LEVEL}\]?:?(?:[ \t]+|$)"
        r"(?:\[[^\]\n]{1,80}\]:? |[\w./-]+\.(?:py|cc|cpp):\d+\]? (?:-- )?"
        r"|(?:[a-z_]\w*\.)+[a-z_]\w*(?::\d+)?(?:: | - ))?"
    ),
    _outer(rf"{_T}:?(?:[ \t]|$)"),
)

_DIGIT = (
    _NCCL,
    # 08/31/2024 14:37:22 [INFO|DP=0|PP=0|TP=0|node-a]: ... of nanotron   08/31/2024 14:37:22 - INFO - train - ...
    _header(
        rf"(?P<t>\d\d/\d\d/\d{{4}} {_CLOCK}(?:[.,]\d{{1,6}})?) "
        r"\[[A-Z]+\|(?P<actor>[A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|(?P<where>[\w.-]+))?\]: ?",
        clues.of_nanotron,
    ),
    _header(rf"(?P<t>\d\d/\d\d/\d{{4}} {_CLOCK}(?:[.,]\d{{1,6}})?) (?:- {_LEVEL} - (?:[\w.]{{1,60}} - )?)?"),
    # 12:13:46    INFO ...   18:11:06.680 ...
    _header(rf"(?P<t>{_CLOCK}(?:[.,]\d{{1,6}})?)[ \t]+\[?{_LEVEL}\]?:?[ \t]+"),
    _header(rf"(?P<t>{_CLOCK}[.,]\d{{1,6}})[ \t]+"),
    # 3: ... of srun --label, flux and aprun; not ``2: eth0: <BROADCAST,..`` of ip
    _outer(r"(?P<task>\d{1,5}):(?: (?!\w+(?:@\w+)?: <)|$)", weak=True),
    _outer(r"(?P<host>(?:\d{1,3}\.){3}\d{1,3}):(?: |$)", weak=True),
    # the line numbers of cat -n
    _outer(r"(?P<n>\d{1,9})\t", weak=True),
    *_NAMES,
)

_LETTER = (
    _PYTHON_RECORD,
    _GLOG,
    _NCCL,
    # INFO 09-23 13:55:24 [core.py:502] ...   ERROR 07-01 13:54:43 multiproc_worker_utils.py:120] ... of vLLM
    _record(
        rf"(?P<t>{_LEVEL} \d\d-\d\d {_CLOCK}(?:[.,]\d{{1,6}})?) (?:\[|\| ?)?[\w./-]+:(?P<n>\d+)\] ?", first=_OF_LEVELS
    ),
    _header(rf"{_LEVEL}[ :-]+\[?{_T}\]?[ :,-]*", first=_OF_LEVELS),
    # submitit WARNING (2022-08-12 02:06:11,453) - ...
    _header(rf"submitit {_LEVEL} \({_T}\) - ", first="s"),
    # Oct  1 12:00:00 node-a kernel: ...   Oct  1 12:00:00 node-a slurmd[4711]: ...   Jul 25 04:11:56 ...
    _outer(
        rf"(?P<t>{WORD_STAMP}) (?P<host>[\w.-]+) "
        r"(?P<program>kernel|[\w./@-]+(?=\[)|systemd|slurmd|slurmstepd|kubelet|dockerd|containerd|nv-fabricmanager)"
        r"(?:\[(?P<pid>\d{1,7})\])?: ?",
        clues.of_syslog,
        first=_OF_DAYS_AND_MONTHS,
    ),
    _outer(rf"(?P<t>{WORD_STAMP})(?: |$|(?=\[))", first=_OF_DAYS_AND_MONTHS),
    # kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: ... of dmesg -x
    _outer(r"kern *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: ", clues.of_kernel, first="k"),
    # rank3: ... of users
    _inner(r"rank[ _-]?(?P<rank>\d{1,7})(?::| \|)(?: |$)", weak=True),
    *_NAMES,
)

_PARENTHESIS = (
    # (RayTrainWorker pid=4711, ip=10.0.0.2) ...   (VllmWorker rank=3 pid=4711) ...   (raylet) ...
    _outer(
        r"\((?P<ray>(?:[^()\n]{1,120}[ ,])?pid=\w+(?:, ?[^()\n]{1,80})?|(?:raylet|gcs_server)(?:,[^()\n]{1,60})?"
        r"|autoscaler(?P<n>[^()\n]{0,20}))\)(?: |$)",
        clues.of_ray,
    ),
)

_OTHER: Mapping[str, tuple[Grammar, ...]] = {
    "(": _PARENTHESIS,
    # a table of CloudWatch, a compose log whose names were cut off, an exception group; not a box that ends in a bar
    "|": (_outer(rf"\| *{_T} *\|(?: |$)"), _outer(r"\|(?: |$)(?!.*\|\s*$)", weak=True)),
    ">": (_outer(r"(?:> ?){1,3}", weak=True),),
    # <6>[12345.678901] ...   <6>1 2024-10-01T12:00:00.000Z node-a kernel - - - ...
    "<": (
        _outer(
            rf"<\d{{1,3}}>1 {_T} (?P<host>[\w.-]+) (?P<program>\S+) (?:(?P<pid>\d{{1,7}})|\S+) \S+ (?:-|\[[^\]]*\]) ?",
            clues.of_syslog,
        ),
        _outer(r"<\d{1,3}>(?=\[ *\d)", clues.of_kernel),
    ),
    "\ufeff": (_outer("\ufeff"),),
}


_ISO = late(r"\[?\d{4}[-/]\d\d[-/]\d\d[T _]")


def grammars_for(line: str, at: int) -> tuple[Grammar, ...]:
    """The grammars that can begin at that place."""
    first = line[at : at + 1]
    if first == "[":
        second = line[at + 1 : at + 2]
        if not (second.isdecimal() or second == " "):
            return _BRACKETED_WORD
        return _BRACKETED_STAMP if _ISO.match(line, at) else _BRACKETED_NUMBER
    if first.isdecimal():
        return _STAMP if _ISO.match(line, at) else _DIGIT
    return _that_begin_with(first) if first.isalpha() else _OTHER.get(first, ())


@functools.lru_cache(maxsize=256)
def _that_begin_with(letter: str) -> tuple[Grammar, ...]:
    return tuple(grammar for grammar in _LETTER if not grammar.first or letter in grammar.first)
