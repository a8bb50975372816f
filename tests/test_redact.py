"""Copies that are safe to share: what is replaced, what stays, and that an analysis of the copies finds the same."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Container
from pathlib import Path

import pytest
from cases import Case, analyze, load_cases
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from logsleuth.cli.app import app
from logsleuth.model.source import Source
from logsleuth.redact.copies import write_copies
from logsleuth.redact.hostlists import compressed, expanded
from logsleuth.redact.learn import learn
from logsleuth.redact.rewrite import Redactor
from logsleuth.report.schema import Report
from logsleuth.sources.discover import discover

PASSWORD = "hunter2" + "hunter2"


def redactor_for(text: str) -> Redactor:
    return Redactor(learn([Source("text", "", lambda: io.BytesIO(text.encode()))]))


def redacted(text: str) -> str:
    return redactor_for(text).redact(text)


# --- what is replaced ------------------------------------------------------------------------------------------------

HOSTS = {
    "NCCL": ("einstein:4711:4802 [3] NCCL INFO comm 0x1 rank 3", "machine-a:4711:4802 [3] NCCL INFO comm 0x1 rank 3"),
    "torchelastic's table": ("  host      : gpu07.hpc.example.de", "  host      : node-1.site-a.example"),
    "pdsh": ("gpu07: step 3", "node-1: step 3"),
    "Slurm's node list": ("SLURM_JOB_NODELIST=gpu[07-09,12],vis01", "SLURM_JOB_NODELIST=node-[1-4],srv0001"),
    "srun": ("srun: error: gpu[07-08]: tasks 0-15: Killed", "srun: error: node-[1-2]: tasks 0-15: Killed"),
    "a step": ("error: *** STEP 12.0 ON gpu07 CANCELLED AT", "error: *** STEP 12.0 ON node-1 CANCELLED AT"),
    "torch's sockets": ("trying to connect to (gpu12, 29500).", "trying to connect to (node-1, 29500)."),
    "NCCL's sockets": ("Connect to gpu07.lan<29500> failed", "Connect to node-1.site-a.internal<29500> failed"),
    "Open MPI": ("[gpu07:04711] *** Process received signal ***", "[node-1:04711] *** Process received signal ***"),
    "a pod": ("MASTER_ADDR=llm-worker-0", "MASTER_ADDR=job-worker-1"),
    "uname": ("Linux x3001c0s13b0n0 5.14.21-cray", "Linux machine-a 5.14.21-cray"),
    "EC2": ("peer ip-10-1-2-3.ec2.internal failed", "peer node-1.site-a.internal failed"),
    "a URL": ("wandb at https://wandb.acme.io/x", "wandb at https://machine-a.site-a.internal/x"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), HOSTS.values(), ids=HOSTS)
def test_hosts_are_learnt_from_the_structure_of_the_logs(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_a_host_is_replaced_wherever_it_stands() -> None:
    text = "gpu07:1:2 [0] NCCL INFO x\nlost gpu07, gpu07-ib0 and /logs/gpu07/a_gpu07.log; not gpu070 or mygpu07"
    assert (
        redacted(text).splitlines()[1] == "lost node-1, node-1-ib0 and /logs/node-1/a_node-1.log; not gpu070 or mygpu07"
    )


def test_a_host_behind_a_control_code_or_an_escape_is_found() -> None:
    text = 'gpu07:1:2 [0] NCCL INFO x\n\x1b[36mgpu07\x1b[0m {"log":"a\\ngpu07 x"}'
    assert redacted(text).splitlines()[1] == '\x1b[36mnode-1\x1b[0m {"log":"a\\nnode-1 x"}'


def test_a_replacement_is_never_the_name_of_another_host() -> None:
    text = "gpu07: a\nnode-1: b\nnode-2: c"
    assert redacted(text) == "node-3: a\nnode-4: b\nnode-5: c"


REPLACED = {
    "home": ('File "/home/alice/run/train.py"', 'File "/home/user-a/run/train.py"'),
    "the user elsewhere": ("USER=alice in /scratch/alice/x", "USER=user-a in /scratch/user-a/x"),
    "an everyday word as user": ('"/home/torch/x.py" torch.distributed', '"/home/user-a/x.py" torch.distributed'),
    "macOS": ("/Users/alice/x", "/Users/user-a/x"),
    "Windows": (r"C:\Users\alice\x", r"C:\Users\user-a\x"),
    "a prompt": ("alice@gpu07:~/x$ python a.py", "user-a@node-1:~/x$ python a.py"),
    "IPv4": ("10.3.4.7 10.3.4.8 10.3.5.1 192.168.1.7", "10.0.0.1 10.0.0.2 10.0.1.1 192.168.0.1"),
    "public IPv4": ("peer [8.8.8.8]:29500", "peer [198.18.0.1]:29500"),
    "mapped": ("[::ffff:10.3.4.7]:29500", "[::ffff:10.0.0.1]:29500"),
    "a range": ("10.3.4.7-10.3.4.9", "10.0.0.1-10.0.0.2"),
    "IPv6": ("[2a00:1450:4001::8]:29500 fe80::aaaa:1%eth0", "[2001:db8::1]:29500 fe80::1%eth0"),
    "an InfiniBand GID": ("fe80:0000:0000:0000:0002:c903:0029:7de1", "fe80:0000:0000:0000:0000:0000:0000:0001"),
    "e-mail": ("--mail-user=alice.b@corp.com", "--mail-user=mail-a@example.com"),
    "buckets": ("s3://acme-data/x gs://acme-ckpt/y acme-data", "s3://bucket-b/x gs://bucket-a/y bucket-b"),
    "S3 over HTTP": ("https://acme-data.s3.us-east-1.amazonaws.com/x", "https://bucket-a.s3.us-east-1.amazonaws.com/x"),
    "Hugging Face": ("login hf_" + "aB3" * 10, "login redacted-a"),
    "GitHub": ("clone ghp_" + "aB3" * 12, "clone redacted-a"),
    "AWS": ("AWS_ACCESS_KEY_ID=AKIA" + "ABCD1234" * 2, "AWS_ACCESS_KEY_ID=redacted-a"),
    "wandb": ("wandb login " + "0123456789" * 4, "wandb login redacted-a"),
    "a variable": ("export WANDB_API_KEY=" + "0a" * 20, "export WANDB_API_KEY=redacted-a"),
    "JSON": ('{"api_key": "abcdef123"}', '{"api_key": "redacted-a"}'),
    "bearer": ("Authorization: Bearer abc.def-123456789", "Authorization: Bearer redacted-a"),
    "a password in a URL": (f"https://ci:{PASSWORD}@github.com/x", "https://redacted-a@github.com/x"),
    "a signed URL": ("https://github.com/x?X-Amz-Signature=0a1b2c&n=1", "https://github.com/x?X-Amz-Signature=redacted-a&n=1"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REPLACED.values(), ids=REPLACED)
def test_people_addresses_and_secrets_are_replaced(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_a_private_key_is_replaced_line_by_line_even_across_pieces() -> None:
    redactor = redactor_for("")
    first = redactor.redact("-----BEGIN OPENSSH PRIVATE KEY-----\n" + "aB3+" * 16 + "\n")
    second = redactor.redact(
        "cD4/" * 16 + "\n-----END OPENSSH PRIVATE KEY-----\nstep 1 of a long_word_that_stays_there\n"
    )
    assert first == "-----BEGIN OPENSSH PRIVATE KEY-----\nredacted-a\n"
    assert second == "redacted-b\n-----END OPENSSH PRIVATE KEY-----\nstep 1 of a long_word_that_stays_there\n"


# --- what stays ------------------------------------------------------------------------------------------------------

KEPT = {
    "this machine": "127.0.0.1 localhost:29500 [::1]:29500 0.0.0.0 host=localhost",
    "Docker's bridge": "eth0:172.17.0.2<0>",
    "link-local": "169.254.10.1",
    "versions": "cudnn 8.9.2.26 nvidia-cublas-cu12==12.4.5.8 nvidia-cudnn-cu12   9.1.0.70 MLNX_OFED_LINUX-5.8-1.1.2.1",
    "C++": "c10d::detail::add torch::autograd",
    "a time": "2024-03-01 10:00:00 E0606 08:12:47.123000 4711 torch/distributed/run.py:757]",
    "a commit": "commit 0123456789abcdef0123456789abcdef01234567",
    "tokens of language models": 'pad_token: "<|endoftext|>" num_tokens=8192 tokens/s: 12345.6 eos_token_id: 128001',
    "accounts of images": "/root/train.py /home/ubuntu/train.py root@localhost:/# ls $",
    "public servers": "see https://pytorch.org/docs or https://github.com/NVIDIA/nccl/issues/1",
    "Python names": "threading.local torch.distributed.run train.py:12",
    "ranks, pids and PCI ids": "[rank3]: (pid: 4711) 0000:1b:00.0 exitcode -9 [1,3]<stderr>: ",
    "an empty value": "HF_TOKEN= api_key: None password=$PASSWORD secret_key=***",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_identifies_nobody_stays(text: str) -> None:
    assert redacted(text) == text


def test_an_everyday_word_that_is_a_host_stays() -> None:
    text = "train:4711:4802 [0] NCCL INFO x\ntrain.py: train the model"
    assert redacted(text) == text


def test_hostlists_are_expanded_and_compressed() -> None:
    assert list(expanded("gpu[07-09,12],login1")) == ["gpu07", "gpu08", "gpu09", "gpu12", "login1"]
    assert compressed(["node-1", "node-2", "node-4", "machine-a"]) == "machine-a,node-[1-2,4]"


NAMES = ["gpu07", "gpu07: ", "node-1", "10.3.4.7", "fe80::1", "/home/alice/", "alice", "@corp.com", "s3://acme-1/"]
PIECES = st.sampled_from([*NAMES, "\n", " ", "=", ":29500"])


@given(st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join))
def test_any_text_keeps_its_lines_and_redacting_is_deterministic(text: str) -> None:
    once = redacted(text)
    assert once.count("\n") == text.count("\n")
    assert redacted(text) == once


# --- files -----------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    """Exit code (or the error's name) and what was said."""
    done = CliRunner().invoke(app, ["redact", *arguments])
    said = str(done.exception) if done.exception and not isinstance(done.exception, SystemExit) else done.output
    return done.exit_code, said


def test_all_files_share_one_mapping_and_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "rank0.log").write_bytes(b"gpu07: a\r\nprogress\rgpu07\xff\xfe\n")
    (logs / "rank1.log").write_bytes(b"lost gpu07")
    map_file = tmp_path / "map.json"
    code, said = run(str(logs), "--output-dir", str(tmp_path / "out"), "--map", str(map_file))
    assert (code, said) == (0, f"2 files in {tmp_path / 'out'}: 1 host name replaced\n")
    assert (tmp_path / "out" / "rank0.log").read_bytes() == b"node-1: a\r\nprogress\rnode-1\xff\xfe\n"
    assert (tmp_path / "out" / "rank1.log").read_bytes() == b"lost node-1"
    assert json.loads(map_file.read_text())["hosts"] == {"gpu07": "node-1"}
    assert map_file.stat().st_mode & 0o077 == 0


def test_the_map_counts_secrets_and_does_not_tell_them(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"password={PASSWORD}\n")
    run(str(tmp_path / "a.log"), "-o", str(tmp_path / "out"), "--map", str(tmp_path / "map.json"))
    text = (tmp_path / "map.json").read_text()
    assert json.loads(text)["secrets"] == 1
    assert PASSWORD not in text + (tmp_path / "out" / "a.log").read_text()


def test_archives_become_plain_files_whose_names_are_redacted(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("gpu07/attempt_0/3/stderr.log", "gpu07: x\n")
        archive.writestr("gpu08/attempt_0/1/stderr.log.gz", gzip.compress(b"gpu08: x\n"))
    code, _ = run(str(tmp_path / "logs.zip"), "-o", str(tmp_path / "out"))
    out = sorted(p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert code == 0
    assert out == ["node-1/attempt_0/3/stderr.log", "node-2/attempt_0/1/stderr.log"]


def test_folders_that_tell_rank_and_attempt_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "alice" / "attempt_1" / "3"
    place.mkdir(parents=True)
    (place / "stderr.log").write_text("x\n")
    run(str(place / "stderr.log"), "-o", str(tmp_path / "out"))
    assert (tmp_path / "out" / "attempt_1" / "3" / "stderr.log").is_file()


def test_two_sources_of_one_name_get_two_files(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\n")
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"two\n"))
    run(str(tmp_path / "a.log"), str(tmp_path / "a.log.gz"), "-o", str(tmp_path / "out"))
    assert {p.name: p.read_text() for p in (tmp_path / "out").iterdir()} == {"a.log": "one\n", "a-2.log": "two\n"}


def test_binary_dumps_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"\x80\x04\x95gpu07")
    code, said = run(str(tmp_path / "a.log"), str(tmp_path / "nccl_trace_rank_0"), "-o", str(tmp_path / "out"))
    assert code == 0
    assert "nccl_trace_rank_0: it holds binary data" in said
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.log"]


def test_nothing_is_written_where_something_is_or_where_the_map_would_be_shared(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    assert "is not empty" in run(str(tmp_path / "a.log"), "-o", str(tmp_path))[1]
    out = tmp_path / "out"
    assert "is to be shared" in run(str(tmp_path / "a.log"), "-o", str(out), "--map", str(out / "map.json"))[1]
    assert not out.exists()
    assert "nothing to read" in run(str(tmp_path / "none.log"), "-o", str(out))[1]


# --- the analysis ----------------------------------------------------------------------------------------------------


def answer(report: Report, roles: Container[str]) -> tuple[object, ...]:
    return report.verdict, [(d.cause, d.role, d.ranks, d.confidence) for d in report.diagnoses if d.role in roles]


ROLES = ("root-cause", "contributing", "fallout", "hypothesis")


def assert_same_answer(files: list[Path], out: Path, *, hung: bool = False, roles: Container[str] = ROLES) -> Report:
    copies = write_copies(discover([str(path) for path in files])[0], out)
    for source, copy in copies.files.items():
        assert copy.read_bytes().count(b"\n") == Path(source).read_bytes().count(b"\n")
    original = analyze(sorted(map(Path, copies.files)), hung=hung)
    assert answer(analyze(sorted(copies.files.values()), hung=hung), roles) == answer(original, roles)
    return original


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_the_copies_of_a_case_get_the_same_answer(case: Case, tmp_path: Path) -> None:
    assert_same_answer(case.logs, tmp_path / "out", hung=case.hung)


@pytest.mark.parametrize("case", [c for c in load_cases() if len(c.logs) == 1], ids=lambda case: case.name)
def test_the_copy_of_a_wrapped_paste_gets_the_same_answer(case: Case, tmp_path: Path) -> None:
    """Names of another length change how long the broken lines are, and so which of the fallout's lines are read."""
    lines = case.logs[0].read_text(encoding="utf-8").split("\n")
    log = tmp_path / case.logs[0].name
    broken = (line[at : at + 120] for line in lines for at in range(0, max(len(line), 1), 120))
    log.write_text("\n".join(broken), encoding="utf-8")
    assert_same_answer([log], tmp_path / "out", hung=case.hung, roles=("root-cause", "contributing"))


#: One name of a machine for each way in which the analysis may take it.
@pytest.mark.parametrize(
    "host", ["node-a", "g002", "einstein", "gpu07.hpc.example.de", "llm-worker-3", "11f2a9c1b7d4", "10.3.4.7"]
)
def test_the_answer_does_not_depend_on_how_hosts_are_named(host: str, tmp_path: Path) -> None:
    table = f"""\
{host}:4711:4802 [1] NCCL INFO comm 0x55d0 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 1b000 commId 0x1 - Init COMPLETE
{host}: [rank1]: Traceback (most recent call last):
{host}: [rank1]:   File "/home/alice/train.py", line 12, in <module>
{host}: [rank1]: ValueError: bad batch of alice
Root Cause (first observed failure):
[0]:
  time      : 2024-03-01_10:00:00
  host      : {host}
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 4711)
  error_file: <N/A>
"""
    path = tmp_path / "job.log"
    path.write_text(table)
    assert assert_same_answer([path], tmp_path / "out").root_causes[0].ranks == [1]
    copy = (tmp_path / "out" / "job.log").read_text()
    assert host not in copy
    assert "alice" not in copy
