"""Line prefixes: who printed a line, when, and where its message begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from origins import known_fields

from logsleuth.sources.prefixes import read_prefix

_CPP = "[E606 12:57:33.123456789 ProcessGroupNCCL.cpp:607] "


@pytest.mark.parametrize(
    ("line", "text", "known"),
    [
        pytest.param("[rank3]: Traceback (x)", "Traceback (x)", {"rank": 3}, id="torch-excepthook"),
        pytest.param("[rank3]:   File x", "  File x", {"rank": 3}, id="torch-excepthook-indented"),
        pytest.param(f"[rank3]:{_CPP}[Rank 1] Watchdog", "[Rank 1] Watchdog", {"rank": 3}, id="torch-cpp"),
        pytest.param("[E ProcessGroupNCCL.cpp:828] [Rank 1] x", "[Rank 1] x", {}, id="torch-cpp-old"),
        pytest.param("2026-01-21 19:39:45,311 INFO train: [rank 1] x", "x", {"rank": 1}, id="users-logger"),
        pytest.param("2026-01-21 19:39:45,311 [INFO] [rank 2] x", "x", {"rank": 2}, id="users-logger-no-name"),
        pytest.param("2026-01-21 19:39:45,311 - lm - INFO - [rank3] x", "x", {"rank": 3}, id="users-logger-dashes"),
        pytest.param(
            "W0606 08:12:47.123000 4711 torch/distributed/run.py:757] x", "x", {"pid": 4711, "role": "agent"},
            id="torchrun-logger",
        ),
        pytest.param(
            "[rank5]:W0606 08:12:47.123000 4711 torch/_inductor/x.py:7] x", "x", {"rank": 5, "pid": 4711},
            id="torch-python-logger",
        ),
        pytest.param(
            "W0606 08:12:47.123000 140284459448128 torch/distributed/run.py:7] x", "x", {"role": "agent"},
            id="thread-identity-is-no-pid",
        ),
        pytest.param("E0206 12:34:56.123456  4711 ProcessGroupNCCL.cpp:5] x", "x", {}, id="glog"),
        pytest.param(
            "[2024-03-01 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1)",
            "failed (exitcode: 1)", {"role": "agent"}, id="torch-2.1-logger",
        ),
        pytest.param(
            "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 7",
            "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 7", {"role": "agent"},
            id="torch-1.9-logger-stays",
        ),
        pytest.param("[default3]:x", "x", {"local_rank": 3}, id="tee"),
        pytest.param("[trainer0|0]:x", "x", {"local_rank": 0}, id="tee-with-two-numbers"),
        pytest.param("[rank: 1] Received SIGTERM: 15", "Received SIGTERM: 15", {"local_rank": 1}, id="lightning"),
        pytest.param("[RANK 3] Detected kernel", "Detected kernel", {"rank": 3}, id="accelerate"),
        pytest.param(" 3: x", "x", {"task": 3}, id="srun-label"),
        pytest.param("[1,3]<stdout>:x", "x", {"task": 3, "stream": "stdout"}, id="open-mpi"),
        pytest.param("[prterun-n1-77@1,3]<stderr>: x", "x", {"task": 3, "stream": "stderr"}, id="open-mpi-5"),
        pytest.param(
            "[1,mpirank:3,algo-2]<stderr>:x", "x", {"task": 3, "host": "algo-2", "stream": "stderr"}, id="sagemaker"
        ),
        pytest.param("[3]<stderr>:x", "x", {"task": 3, "stream": "stderr"}, id="horovod"),
        pytest.param("node-a: x", "x", {"host": "node-a"}, id="pdsh"),
        pytest.param("g002:   File x", "  File x", {"host": "g002"}, id="pdsh-short-name"),
        pytest.param("10.0.0.2: x", "x", {"host": "10.0.0.2"}, id="pdsh-address"),
        pytest.param("nid001234 17: x", "x", {"host": "nid001234", "task": 17}, id="cray"),
        pytest.param(
            "(RayTrainWorker pid=4711, ip=10.0.0.2) x", "x",
            {"actor": "RayTrainWorker", "pid": 4711, "host": "10.0.0.2"}, id="ray",
        ),
        pytest.param(
            "(abc_1:13 WorkerDict pid=7, ip=[2001:db8::2]) x", "x",
            {"actor": "abc_1:13 WorkerDict", "pid": 7, "host": "2001:db8::2"}, id="ray-ipv6",
        ),
        pytest.param("(pid=4711) x", "x", {"pid": 4711}, id="ray-without-a-name"),
        pytest.param("(Policy[rank=8] pid=7) x", "x", {"actor": "Policy", "rank": 8, "pid": 7}, id="ray-with-a-rank"),
        pytest.param("(raylet, ip=10.0.0.2) x", "x", {"actor": "raylet", "host": "10.0.0.2", "role": "daemon"},
                     id="raylet"),
        pytest.param("(VllmWorker rank=3 pid=7) x", "x", {"actor": "VllmWorker", "rank": 3, "pid": 7}, id="vllm"),
        pytest.param("(Worker_TP0 pid=7) x", "x", {"actor": "Worker_TP0", "pid": 7}, id="vllm-TP0-is-no-rank"),
        pytest.param("INFO 09-23 13:55:24 [core.py:502]   x", "  x", {}, id="vllm-logger"),
        pytest.param("[2025-02-26 11:16:37 DP0 TP5] x", "x", {"actor": "DP0 TP5"}, id="sglang"),
        pytest.param("vllm-1  | x", "x", {"actor": "vllm-1"}, id="docker-compose"),
        pytest.param("  | x", "x", {}, id="docker-compose-cut"),
        pytest.param("[pod/llm-worker-1/pytorch] x", "x", {"host": "llm-worker-1"}, id="kubectl"),
        pytest.param("llm-worker-1 pytorch x", "x", {"host": "llm-worker-1"}, id="stern"),
        pytest.param("2026-03-01T10:00:05.123456789Z stderr F x", "x", {"stream": "stderr"}, id="cri"),
        pytest.param(
            '{"log":"  x\\n","stream":"stderr","time":"2026-03-01T10:00:05.1Z"}', "  x", {"stream": "stderr"},
            id="docker-json",
        ),
        pytest.param("2026-03-01T10:00:05.1234567Z x", "x", {}, id="github"),
        pytest.param("train\tRun training\t2026-03-01T10:00:05.1234567Z x", "x", {}, id="gh-run-view"),
        pytest.param("  | 2026-03-01T10:00:05.123Z | x", "x", {}, id="cloudwatch-table"),
        pytest.param("[2026-03-01T10:00:05.1Z] 1a2b3c4d [rank=4] ||   x", "  x", {"actor": "1a2b3c4d", "rank": 4},
                     id="determined"),
        pytest.param("[task 2026-03-01T10:00:05.004+00:00] [train] x", "x", {}, id="taskcluster"),
        pytest.param("node-a:4711:4802 [3] NCCL INFO x", "NCCL INFO x", {"host": "node-a", "pid": 4711}, id="nccl"),
        pytest.param(
            "[2026-05-05 06:16:47] node-a:4711:4802 [3] misc/socket.cc:50 NCCL WARN x",
            "misc/socket.cc:50 NCCL WARN x", {"host": "node-a", "pid": 4711}, id="nccl-warn",
        ),
        pytest.param("[2026-03-01 10:00:05,441] [INFO] [logging.py:96:log_dist] [Rank 0] x", "x", {"rank": 0},
                     id="deepspeed"),
        pytest.param("[2026-03-01 10:00:05,441] [INFO] [launch.py:315:sigkill_handler] x", "x", {"role": "agent"},
                     id="deepspeed-launcher"),
        pytest.param("[2026-03-01 10:00:05,441] [INFO] [axolotl.train:54] [PID:77] [RANK:1] x", "x",
                     {"pid": 77, "local_rank": 1}, id="axolotl-prints-the-local-rank"),
        pytest.param("2026-03-01 10:00:05,441: rank3[77][MainThread]: INFO: composer.trainer: x", "x",
                     {"rank": 3, "pid": 77}, id="composer"),
        pytest.param("2026-03-01 10:00:05,441 [INFO] [node-a] [workload:11(3) infra:1(0)] launcher.py:1 x",
                     "launcher.py:1 x", {"host": "node-a", "rank": 11, "local_rank": 3}, id="nvrx"),
        pytest.param("[NeMo W 2026-03-01 10:00:05 nemo_logging:349] x", "x", {}, id="nemo"),
        pytest.param("2026-03-01 10:00:05.123 | INFO     | train:main:12 - x", "x", {}, id="loguru"),
        pytest.param("[titan] 2026-03-01 10:00:05,441 - root - INFO - x", "x", {}, id="torchtitan"),
        pytest.param("[INFO|trainer.py:22] 2026-03-01 10:00:05,441 >> x", "x", {}, id="transformers"),
        pytest.param("03/01/2026 10:00:05 [INFO|DP=0|PP=1|TP=0|node-a]: x", "x",
                     {"actor": "DP=0|PP=1|TP=0", "host": "node-a"}, id="nanotron"),
        pytest.param("bench.node-a [stderr] x", "x", {"actor": "bench.node-a", "host": "node-a", "stream": "stderr"},
                     id="milabench"),
        pytest.param("Oct  1 12:00:00 node-a kernel: [ 12.345678] NVRM: x", "NVRM: x",
                     {"host": "node-a", "role": "kernel"}, id="syslog-kernel"),
        pytest.param("kern  :warn  : 2026-03-01T10:00:05,283302+00:00 NVRM: x", "NVRM: x", {"role": "kernel"},
                     id="dmesg-x"),
        pytest.param("[12345.678901] NVRM: x", "NVRM: x", {"role": "kernel"}, id="dmesg"),
        pytest.param("[node-a:04711] *** Process received signal ***", "*** Process received signal ***",
                     {"host": "node-a", "pid": 4711}, id="open-mpi-crash"),
        pytest.param("logs/rank3.log:120:x", "x", {"rank": 3}, id="grep"),
        pytest.param("> [rank3]: x", "x", {"rank": 3}, id="quoted"),
        pytest.param(f"[80746] [rank3]:{_CPP}x", "x", {"rank": 3}, id="viewer-line-numbers"),
        pytest.param("\x1b[36m(Worker pid=7)\x1b[0m x", "x", {"actor": "Worker", "pid": 7}, id="colours"),
        pytest.param("[36m(Worker pid=7)[0m x", "x", {"actor": "Worker", "pid": 7}, id="colours-without-escape"),
        pytest.param("srun: error: node-a: task 3: Killed", "srun: error: node-a: task 3: Killed", {"role": "agent"},
                     id="srun-speaks"),
        pytest.param("slurmstepd-node-a: error: x", "slurmstepd-node-a: error: x",
                     {"role": "agent", "host": "node-a"}, id="slurmstepd-speaks"),
    ],
)  # fmt: skip
def test_a_prefix_is_taken_off_and_understood(line: str, text: str, known: dict[str, object]) -> None:
    prefixed = read_prefix(line)
    assert prefixed.text == text
    assert known_fields(prefixed.origin) == known
    assert {clue for _, clue in prefixed.origin.learnt} <= {"prefix"}


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: out of memory",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:77",
        "ncclInternalError: Internal check failed.",
        "wandb: Run history:",
        "Epoch 1: 50%",
        "step100: loss 0.1",
        "eth0: link down",
        "2: eth0: <BROADCAST,MULTICAST,UP>",
        "[1] is setting up NCCL communicator",
        "[Rank 5] (after 20 iterations) memory (MB)",
        "[step3]: x",
        "[0]:",
        "  rank      : 3 (local_rank: 3)",
        "  host      : node-a",
        "frame #0: c10::Error::Error() + 0x57",
        "| NVIDIA-SMI 570.10     Driver Version: 570.10 |",
        '  File "/opt/train/train.py", line 12, in main',
        "    loss = model(batch)",
        "",
    ],
)
def test_a_message_is_no_prefix(line: str) -> None:
    prefixed = read_prefix(line)
    assert (prefixed.text, prefixed.key, known_fields(prefixed.origin)) == (line, "", {})


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        pytest.param(f"2026-06-06T10:57:34.1Z [rank3]:{_CPP}x", "606 12:57:33.123456789", id="own-over-collector"),
        pytest.param(f"18:11:06.680 [rank3]:{_CPP}x", "606 12:57:33.123456789", id="with-a-date-over-without"),
        pytest.param("2026-06-06T10:57:34.1Z 12:57:33 INFO x", "2026-06-06T10:57:34.1Z", id="collector-with-a-date"),
        pytest.param("2026-06-06T10:57:34.1Z [2026-06-06 12:57:33] x", "2026-06-06 12:57:33", id="inner-over-outer"),
    ],
)
def test_the_best_time_is_taken(line: str, printed: str) -> None:
    stamp = read_prefix(line).stamp
    assert stamp is not None and stamp.text == printed


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        pytest.param("2026-03-01T10:00:05.1Z x", "2026-03-01T10:00:06.1Z   y", True, id="times"),
        pytest.param("[80746] [rank0]: x", "[80747] [rank0]: y", True, id="viewer-line-numbers"),
        pytest.param("[rank0]: x", "[rank0]:", True, id="empty-line"),
        pytest.param("[rank0]: x", "[rank1]: x", False, id="ranks"),
        pytest.param("[default0]: x", f"[default0]:[rank8]:{_CPP}y", True, id="header-of-a-message-and-its-lines"),
        pytest.param("(W pid=1) x", "(W pid=2) x", False, id="processes"),
        pytest.param("node-a:1:2 [0] NCCL INFO x", "[2026-05-05 06:16:47] node-a:1:9 [1] x.cc:5 NCCL WARN y", True,
                     id="threads-of-one-process"),
        pytest.param("node-a: x", "node-b: x", False, id="hosts"),
        pytest.param("ERROR 11-08 11:01:30 [core.py:502] x", "ERROR 11-08 11:01:31 [core.py:502]   y", True, id="vllm"),
        pytest.param("x", "    y", True, id="no-prefix"),
    ],
)  # fmt: skip
def test_lines_of_one_origin_have_one_key(first: str, second: str, equal: bool) -> None:
    assert (read_prefix(first).key == read_prefix(second).key) is equal


def test_rays_repetition_is_counted_and_taken_off() -> None:
    prefixed = read_prefix("(Worker pid=7) connection lost [repeated 5x across cluster]")
    assert (prefixed.text, prefixed.repeated) == ("connection lost", 5)


_OUTER = {
    "2026-03-01T10:00:05.1234567Z ": {},
    "[pod/llm-worker-1/pytorch] ": {"host": "llm-worker-1"},
    "(Actor pid=77, ip=10.0.0.9) ": {"pid": 77, "host": "10.0.0.9", "actor": "Actor"},
    "[1,5]<stderr>:": {"task": 5, "stream": "stderr"},
    "node-b: ": {"host": "node-b"},
    "[default2]:": {"local_rank": 2},
    "4: ": {"task": 4},
}
_INNER = {
    "[rank10]: ": {"rank": 10},
    "[rank10]:[E606 12:57:33.123456789 ProcessGroupNCCL.cpp:607] ": {"rank": 10},
    "[2026-03-01 10:00:00,123] [INFO] [x.py:5:main] ": {},
    "": {},
}


@given(st.lists(st.sampled_from(sorted(_OUTER)), max_size=4, unique=True), st.sampled_from(sorted(_INNER)))
def test_prefixes_stack_in_any_order(outer: list[str], inner: str) -> None:
    prefixed = read_prefix("".join(outer) + inner + "message of the process")
    known: dict[str, object] = {}
    for prefix in outer:
        known |= _OUTER[prefix]
    assert prefixed.text == "message of the process"
    assert known_fields(prefixed.origin) == known | _INNER[inner]


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    assert read_prefix(text).repeated == 1 or "repeated" in text


@given(
    st.lists(st.sampled_from([*_OUTER, *_INNER, "[", "]", ":", "|", "(", "\x1b[0m", "\0", "\t", " ", "{", '{"log":"']))
)
def test_any_pile_of_prefixes_is_survived(parts: list[str]) -> None:
    line = "".join(parts)
    assert len(read_prefix(line).text) <= len(line)
