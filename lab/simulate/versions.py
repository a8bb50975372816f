"""The torch versions that can be simulated: which lines each prints, when, and in which form.

Wordings, source lines and defaults were read in the sources of these versions or in public logs of them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Stamp(enum.Enum):
    """What stands before a line of C++ code."""

    BARE = "bare"  # [E file.cpp:1]
    RANK = "rank"  # [rank3]:[E file.cpp:1]
    DATED = "dated"  # [rank3]:[E1206 18:44:12.715298746 file.cpp:1]


class Naming(enum.Enum):
    """How a process group is named in the lines that speak of its state."""

    NONE = "none"  # [Rank 1]
    PG = "pg"  # [PG 0 Rank 1]
    DESCRIBED = "described"  # [PG 0 (default_pg) Rank 1]
    ID = "id"  # [PG ID 0 PG GUID 0(default_pg) Rank 1]


class Status(enum.Enum):
    """The line that says where the group stands."""

    NONE = "none"
    TIMEOUT = "timeout"  # Timeout at NCCL work: ..
    EXCEPTION = "exception"  # Exception (either an error or timeout) detected .. and Timeout at NCCL work: ..
    FAILURE = "failure"  # failure detected by watchdog at work sequence id: ..
    STARTED = "started"  # the same with "last started work"


class PythonLog(enum.Enum):
    """The form of torch's Python log lines."""

    NAMED = "named"  # WARNING:torch.distributed...:text
    BRACKETED = "bracketed"  # [2024-03-01 10:00:00,123] torch...: [WARNING] text
    THREAD = "thread"  # W0606 08:12:47.123000 140284459448128 torch/...py:757] text
    PID = "pid"  # the same with the process id


@dataclass(frozen=True, slots=True)
class Torch:
    """One version. ``lines``: source lines by purpose of the message. ``dump``: timed-out ranks signal the others."""

    name: str
    year: int
    nccl: str
    cuda: str
    python: str
    stamp: Stamp
    naming: Naming
    status: Status
    python_log: PythonLog
    timeout_s: int
    dump: bool
    dump_wait_s: float
    heartbeat_s: int
    poll_s: float
    agent_poll_s: float
    lines: dict[str, int] = field(default_factory=dict)
    agent_lines: tuple[int, int, int] = (0, 0, 0)
    sequence: bool = True
    sizes: bool = True
    in_two_lines: bool = True
    lists_terminated: bool = False

    @property
    def tags_python(self) -> bool:
        """Whether tracebacks of ranks carry ``[rank3]: `` on every line."""
        return self.stamp is Stamp.DATED

    @property
    def watchdog_name(self) -> str:
        return "NCCL" if self.status is Status.NONE else "Process group"

    @property
    def peer_error(self) -> str:
        """What torch says when NCCL lost a peer. ncclRemoteError came with torch 2.0."""
        kind = "remote process exited or there was a network error" if self.at_least(2, 0) else "unhandled system error"
        return f"NCCL error: {kind}, NCCL version {self.nccl}"

    def at_least(self, *version: int) -> bool:
        return tuple(int(part) for part in self.name.split(".")) >= version


VERSIONS: dict[str, Torch] = {
    torch.name: torch
    for torch in (
        Torch(
            "1.9", 2021, "2.7.8", "11.1", "3.8", Stamp.BARE, Naming.NONE, Status.NONE, PythonLog.NAMED,
            1800, False, 0, 0, 5.0, 5.0, {"caught": 566, "teardown": 325, "throw": 568},
            sequence=False, sizes=False, in_two_lines=False,
        ),
        Torch(
            "1.13", 2022, "2.14.3", "11.7", "3.9", Stamp.BARE, Naming.NONE, Status.NONE, PythonLog.NAMED,
            1800, False, 0, 0, 5.0, 5.0, {"caught": 821, "teardown": 456, "down": 461, "throw": 823}, sizes=False,
        ),
        Torch(
            "2.1", 2023, "2.18.1", "12.1", "3.10", Stamp.BARE, Naming.NONE, Status.NONE, PythonLog.BRACKETED,
            1800, False, 0, 0, 1.0, 5.0,
            {"caught": 474, "teardown": 488, "down": 494, "ended": 915, "throw": 476, "async": 447},
        ),
        Torch(
            "2.3", 2024, "2.20.5", "12.1", "3.10", Stamp.RANK, Naming.PG, Status.TIMEOUT, PythonLog.THREAD,
            600, False, 0, 600, 0.1, 5.0,
            {"caught": 563, "timeout": 1537, "teardown": 577, "down": 583, "ended": 1414, "throw": 565, "async": 553,
             "stuck": 1169, "monitor": 1316},
            (851, 826, 731),
        ),
        Torch(
            "2.4", 2024, "2.20.5", "12.1", "3.10", Stamp.DATED, Naming.DESCRIBED, Status.EXCEPTION, PythonLog.THREAD,
            600, False, 0, 600, 0.1, 0.1,
            {"caught": 607, "status": 1664, "timeout": 1709, "teardown": 621, "down": 627, "ended": 1515, "throw": 609,
             "async": 569, "stuck": 1225, "monitor": 1383, "received": 1346, "global": 1391, "observed": 1370,
             "prepare": 1153},
            (858, 833, 734),
        ),
        Torch(
            "2.5", 2024, "2.21.5", "12.4", "3.11", Stamp.DATED, Naming.ID, Status.EXCEPTION, PythonLog.PID,
            600, False, 0, 480, 0.1, 0.1,
            {"caught": 616, "status": 1785, "timeout": 1834, "teardown": 630, "down": 636, "ended": 1595, "throw": 618,
             "async": 542, "stuck": 1375, "monitor": 1383, "barrier": 4115},
            (897, 869, 704),
        ),
        Torch(
            "2.6", 2025, "2.21.5", "12.4", "3.11", Stamp.DATED, Naming.ID, Status.FAILURE, PythonLog.PID,
            600, False, 1.0, 480, 0.1, 0.1,
            {"caught": 629, "status": 2168, "stack": 667, "teardown": 681, "down": 695, "ended": 1895, "throw": 632,
             "async": 555, "stuck": 1484, "barrier": 4561},
            (897, 869, 719),
        ),
        Torch(
            "2.7", 2025, "2.26.2", "12.6", "3.12", Stamp.DATED, Naming.ID, Status.FAILURE, PythonLog.PID,
            600, True, 1.0, 480, 0.1, 0.1,
            {"caught": 632, "status": 2271, "stack": 670, "first": 2106, "teardown": 684, "down": 698, "ended": 1895,
             "throw": 635, "async": 556, "received": 1746, "prepare": 1536, "observed": 1682, "terminate": 1557,
             "store": 1659, "stuck": 1746, "barrier": 4715},
            (900, 874, 719),
        ),
        Torch(
            "2.8", 2025, "2.27.3", "12.8", "3.12", Stamp.DATED, Naming.ID, Status.FAILURE, PythonLog.PID,
            600, True, 60.0, 480, 0.1, 0.1,
            {"caught": 683, "status": 2241, "stack": 730, "first": 2573, "teardown": 744, "down": 758, "ended": 2057,
             "throw": 686, "async": 607, "received": 1858, "prepare": 1594, "observed": 1794, "terminate": 1617,
             "store": 1771, "stuck": 1858, "barrier": 5023},
            (900, 874, 723),
        ),
        Torch(
            "2.12", 2026, "2.28.9", "13.0", "3.13", Stamp.DATED, Naming.ID, Status.FAILURE, PythonLog.PID,
            600, True, 60.0, 480, 0.1, 0.1,
            {"caught": 757, "status": 2395, "stack": 801, "first": 2732, "teardown": 815, "down": 829, "ended": 2189,
             "throw": 760, "async": 678, "received": 1987, "prepare": 1700, "observed": 1922, "terminate": 1725,
             "store": 1899, "stuck": 1987},
            (1010, 984, 735), lists_terminated=True,
        ),
        Torch(
            "2.14", 2026, "2.30.7", "13.0", "3.13", Stamp.DATED, Naming.ID, Status.STARTED, PythonLog.PID,
            600, True, 60.0, 480, 0.1, 0.1,
            {"caught": 790, "status": 2431, "stack": 834, "first": 2768, "teardown": 848, "down": 862, "ended": 2225,
             "throw": 793, "async": 711, "received": 2023, "prepare": 1736, "observed": 1958, "terminate": 1761,
             "store": 1970, "stuck": 2023},
            (1028, 1002, 753), lists_terminated=True,
        ),
    )
}  # fmt: skip
#: Not released when this was written: the wording of the main branch, which names the group in the first line too.
MAIN = "2.14"
