"""What a path tells: one producer's layout a case, and the look-alikes that tell nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from origins import known_fields

from logsleuth.sources.layouts import origin_of_path, torchrun_origin

_LONG_ID = "c0ffee" * 9 + "ab"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("rank3.log", {"rank": 3}),
        ("rank_3.txt", {"rank": 3}),
        ("rank-03.err", {"rank": 3, "stream": "stderr"}),
        ("log_rank3", {"rank": 3}),
        ("worker-rank-3", {"rank": 3}),
        ("train.rank003.out", {"rank": 3}),
        ("RANK_3.LOG", {"rank": 3}),
        ("logs/rank3/train.log", {"rank": 3}),
        ("logs/worker_rank_3/sub/train.log", {"rank": 3}),
        ("logs.zip!rank12.log.gz", {"rank": 12}),
        ("20260301101500_rank3.log", {"rank": 3}),
        ("nemo_log_globalrank-11_localrank-3.txt", {"rank": 11, "local_rank": 3}),
        ("1/rank.3/stderr", {"rank": 3, "task": 3, "stream": "stderr"}),
        ("nccl_trace_rank_3", {"rank": 3}),
        ("comm_lib_trace_rank_3", {"rank": 3}),
        ("comm_traces/rank_12", {"rank": 12}),
        ("recorder/my_dump_3", {"rank": 3}),
        ("job_x1y2/attempt_1/3/stderr.log", {"local_rank": 3, "attempt": 1, "stream": "stderr"}),
        ("agent-9f3-local0.stdout.log", {"local_rank": 0, "stream": "stdout"}),
        ("slurm-4711_task3.out", {"task": 3}),
        ("48151_3_log.err", {"task": 3, "stream": "stderr"}),
        ("48151_2_3_log.out", {"task": 3}),
        ("train-4711-node-a_3.err", {"task": 3, "host": "node-a", "stream": "stderr"}),
        ("4711_gpu07_12.out", {"task": 12, "host": "gpu07"}),
        ("launcher_cycle2.log", {"attempt": 2}),
        (f"worker-{_LONG_ID}-01000000-4711.out", {"pid": 4711, "stream": "stdout"}),
        ("nccl.node-a.4711.log", {"host": "node-a", "pid": 4711}),
        ("node-a.log", {"host": "node-a"}),
        ("node0.log", {"host": "node0"}),
        ("host-x.log", {"host": "host-x"}),
        ("10.0.0.7.log", {"host": "10.0.0.7"}),
        ("train_node-a.log", {"host": "node-a"}),
        ("node-b/rank3.log", {"rank": 3, "host": "node-b"}),
        ("rank7_node-a.log", {"rank": 7, "host": "node-a"}),
        ("llm-worker-1.log", {"host": "llm-worker-1"}),
        ("/var/log/pods/ml_llm-worker-1_0123abcd-77/pytorch/0.log", {"host": "llm-worker-1"}),
        ("dmesg-node-a.log", {"host": "node-a", "role": "kernel"}),
        ("kern.log", {"role": "kernel"}),
        ("fabricmanager.log", {"role": "daemon"}),
        ("raylet.out", {"role": "daemon"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_path_tells(path: str, known: dict[str, object]) -> None:
    origin = origin_of_path(path)
    assert known_fields(origin) == known
    assert {clue for _, clue in origin.learnt} == {"path"}


@pytest.mark.parametrize(
    "path",
    [
        "logs.zip!train/3_Run training.txt",  # GitHub counts steps
        "slurm-4711_4.out",  # an array index
        "slurm-4711-3.out",  # a task of %j-%t, or an array index
        "llm-worker-1_0.log",  # a container's restart
        "job.3",
        "rank0-7.log",  # several ranks
        "node_rank_1.log",
        "rank20260301.log",
        "frank3.log",
        "wandb/run-20260301_101500-ab12/files/output.log",
        "gpu3.log",  # a device
        "run01.log",
        "prefill-2.log",
        "node_modules/x.log",
        "train.log",
        "oom-on-rank3/train.log",  # a folder's title
        "rank3-hangs/train.log",
        "retry-attempt-2-of-task-5/train.log",
        "",
        "/",
    ],
)
def test_a_path_that_tells_nothing_is_not_guessed_at(path: str) -> None:
    assert known_fields(origin_of_path(path)) == {}


def test_of_an_absolute_path_torchruns_folders_alone_may_be_believed() -> None:
    assert known_fields(torchrun_origin("/data/rank9/node-a/j_1/attempt_0/5/stdout.log")) == {
        "local_rank": 5,
        "attempt": 0,
    }


@given(st.text(max_size=80))
def test_any_path_is_survived(path: str) -> None:
    assert origin_of_path(path).how("rank") in (None, "path")
