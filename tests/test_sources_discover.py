"""What the user points at: files, folders, globs, archives, standard input; and a sentence for what is not read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from origins import known_fields

from logsleuth.model.source import Source
from logsleuth.sources import archives, filenames
from logsleuth.sources import discover as discover_module
from logsleuth.sources.discover import discover

TEXT = b"[rank3]: first\n[rank3]: last\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, data: bytes = TEXT) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(data)


def content(source: Source) -> bytes:
    with source.opener() as stream:
        return stream.read()


def names(*paths: str) -> list[str]:
    return [source.name for source in discover(paths)[0]]


def reason(*paths: str) -> str:
    sources, skipped = discover(paths)
    assert not sources and len(skipped) == 1
    return skipped[0].reason


def test_files_come_in_natural_order_whatever_the_order_of_the_arguments(here: Path) -> None:
    given_names = [f"rank{rank}.log" for rank in (10, 2, 0, 1)]
    for name in given_names:
        write(name)
    shuffled = random.Random(7).sample(given_names, k=4)
    assert names(*given_names) == names(*shuffled) == ["rank0.log", "rank1.log", "rank2.log", "rank10.log"]


def test_a_file_named_twice_is_read_once(here: Path) -> None:
    write("logs/a.log")
    Path("b.log").symlink_to("logs/a.log")
    assert len(names("logs", "logs/a.log", "./logs/a.log", "*.log", "b.log")) == 1


def test_a_folder_is_walked_for_what_could_be_a_log(here: Path) -> None:
    for path in ("run/rank0.log", "run/deep/er/stderr", "run/notes.txt", "run/error.json"):
        write(path)
    for path in (
        "run/.hidden/x.log",
        "run/.x.log",
        "run/model.safetensors",
        "run/plot.png",
        "run/train.py",
        "run/cfg.yaml",
    ):
        write(path)
    sources, skipped = discover(["run"])
    assert [s.name for s in sources] == ["run/deep/er/stderr", "run/error.json", "run/notes.txt", "run/rank0.log"]
    assert skipped == []


def test_the_path_gives_the_origin_and_an_option_overrules_it(here: Path) -> None:
    write("rank3.log")
    write("logs/rank5.log")
    (by_path,), _ = discover(["rank3.log"])
    assert (by_path.origin.rank, by_path.origin.how("rank")) == (3, "path")
    (five, three), _ = discover(["rank3.log"], ranks={"./rank3.log": 7, "logs": 8})
    assert (three.origin.rank, three.origin.how("rank")) == (7, "option")
    assert (five.origin.rank, five.origin.how("rank")) == (8, "option")


def test_torchruns_folders_are_known_from_within(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("log/job_1/attempt_0/5/stderr.log")
    monkeypatch.chdir("log/job_1/attempt_0/5")
    (source,), _ = discover(["stderr.log"])
    assert known_fields(source.origin) == {"local_rank": 5, "attempt": 0, "stream": "stderr"}


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        pytest.param(gzip.compress, "a.log.gz", id="gzip"),
        pytest.param(bz2.compress, "a.log.bz2", id="bzip2"),
        pytest.param(lzma.compress, "a.log.xz", id="xz"),
        pytest.param(gzip.compress, "a.log", id="gzip-under-a-plain-name"),
        pytest.param(lambda data: gzip.compress(data) + gzip.compress(b""), "a.log.gz", id="two-gzip-streams"),
        pytest.param(lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le"), "a.log", id="utf-16-le"),
        pytest.param(lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"), "a.log", id="utf-16-be"),
        pytest.param(lambda data: b"\xef\xbb\xbf" + data, "a.log", id="utf-8-with-mark"),
        pytest.param(lambda data: gzip.compress(b"\xef\xbb\xbf" + data), "a.log.gz", id="mark-within-gzip"),
    ],
)  # fmt: skip
def test_packed_and_foreign_text_reads_like_plain_text(here: Path, pack, name: str) -> None:
    write(name, pack(TEXT))
    (source,), skipped = discover([name])
    assert (source.name, content(source), content(source), skipped) == (name, TEXT, TEXT, [])
    assert source.size in (None, len(TEXT))


def test_zstandard_is_read_where_it_can_be(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    write("a.log.zst", zstandard.ZstdCompressor().compress(TEXT))
    (source,), _ = discover(["a.log.zst"])
    assert content(source) == TEXT


def test_without_zstandard_the_package_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.log.zst", b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    monkeypatch.setattr(discover_module, "zstd_is_available", lambda: False)
    assert "zstandard" in reason("a.log.zst")


def test_a_gzip_file_that_was_cut_off_yields_what_is_there(here: Path) -> None:
    lines = b"".join(b"%d %d\n" % (number, random.Random(number).getrandbits(60)) for number in range(20_000))
    write("a.log.gz", gzip.compress(lines)[:100_000])
    (source,), _ = discover(["a.log.gz"])
    read = content(source)
    assert len(read) > 50_000 and lines.startswith(read)


def _zip(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return held.getvalue()


def _tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(_zip, id="zip"),
        pytest.param(_tar, id="tar"),
        pytest.param(lambda files: _tar(files, "w:gz"), id="tar.gz"),
        pytest.param(lambda files: _tar(files, "w:xz"), id="tar.xz"),
    ],
)
def test_members_of_an_archive_are_sources(here: Path, pack) -> None:
    files = {f"job/rank{rank}.log": TEXT * (rank + 1) for rank in (2, 0, 1)}
    write("logs.bin.x", pack({**files, "job/model.pt": b"\0", "__MACOSX/._rank0.log": b"\0"}))
    sources, skipped = discover(["logs.bin.x"])
    assert [s.name for s in sources] == [f"logs.bin.x!job/rank{rank}.log" for rank in range(3)]
    assert [s.origin.rank for s in sources] == [0, 1, 2]
    for _ in range(2):
        assert [content(s) for s in sources] == [TEXT, TEXT * 2, TEXT * 3]
    assert skipped == []


def test_sources_can_be_sent_to_another_process(here: Path) -> None:
    write("logs.tar.gz", _tar({"rank0.log": TEXT, "x.zip": _zip({"rank1.log.gz": gzip.compress(TEXT)})}, "w:gz"))
    sources, _ = discover(["logs.tar.gz"])
    assert [s.name for s in sources] == ["logs.tar.gz!rank0.log", "logs.tar.gz!x.zip!rank1.log.gz"]
    assert [content(pickle.loads(pickle.dumps(source))) for source in sources] == [TEXT, TEXT]


def test_archives_are_opened_one_level_deep(here: Path) -> None:
    inner = _zip({"deepest.zip": _zip({"a.log": TEXT})})
    write("logs.zip", _zip({"inner.zip": inner}))
    sources, skipped = discover(["logs.zip"])
    assert sources == []
    assert [item.name for item in skipped] == ["logs.zip!inner.zip!deepest.zip"]


@pytest.mark.parametrize("packed", [True, False], ids=["archive", "folder"])
def test_githubs_whole_job_is_left_out_where_its_steps_are_there(here: Path, packed: bool) -> None:
    files = {"0_train.txt": TEXT, "train/1_Set up job.txt": TEXT, "train/2_Run.txt": TEXT, "1_lint.txt": TEXT}
    if packed:
        write("run", _zip(files))
    else:
        for name, data in files.items():
            write(f"run/{name}", data)
    sources, skipped = discover(["run"])
    kept = [s.name.replace("!", "/") for s in sources]
    assert kept == ["run/1_lint.txt", "run/train/1_Set up job.txt", "run/train/2_Run.txt"]
    assert [item.reason for item in skipped] == [filenames.REPEATS_STEPS]


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [("MOST_MEMBERS", 2, "more than 2 files"), ("MOST_TOTAL_BYTES", 1024**2, "unpacks to more than")],
)
@pytest.mark.parametrize("pack", [_zip, lambda files: _tar(files, "w:gz")], ids=["zip", "tar.gz"])
def test_an_archive_is_read_up_to_a_limit(here: Path, monkeypatch, pack, limit: str, value: int, words: str) -> None:
    write("logs", pack({f"rank{rank}.log": b"x" * 600_000 for rank in range(4)}))
    monkeypatch.setattr(archives, limit, value)
    sources, skipped = discover(["logs"])
    assert 0 < len(sources) < 4
    assert words in skipped[0].reason


@pytest.mark.parametrize("pack", [_zip, lambda files: _tar(files, "w:gz")], ids=["zip", "tar.gz"])
def test_a_bomb_is_not_unpacked(here: Path, monkeypatch: pytest.MonkeyPatch, pack) -> None:
    write("logs", pack({"rank0.log": b"\0" * 5_000_000}))
    monkeypatch.setattr(archives, "HARMLESS_BYTES", 1024)
    assert "suspicious" in reason("logs")


@pytest.mark.parametrize("pack", [_zip, _tar, lambda files: _tar(files, "w:gz")], ids=["zip", "tar", "tar.gz"])
def test_a_damaged_archive_is_told_and_never_raises(here: Path, pack) -> None:
    data = pack({f"rank{rank}.log": random.Random(rank).randbytes(4000) for rank in range(8)})
    write("logs", data[: len(data) // 2])
    sources, skipped = discover(["logs"])
    assert any("damaged" in item.reason for item in skipped)
    assert [content(source)[:10] for source in sources[:-1]] == [
        random.Random(rank).randbytes(4000)[:10] for rank in range(len(sources) - 1)
    ]


def test_an_encrypted_member_is_told(here: Path) -> None:
    data = bytearray(_zip({"rank0.log": TEXT}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 8] |= 1
    write("logs.zip", bytes(data))
    assert reason("logs.zip") == "it is encrypted"


def test_standard_input_can_be_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for most_held in (10_000, 16, len(TEXT)):
        monkeypatch.setattr(discover_module, "MOST_HELD_BYTES", most_held)
        (source,), skipped = discover(["-", "-"], stdin=io.BytesIO(TEXT))
        assert (source.name, content(source), content(source), skipped) == ("stdin", TEXT, TEXT, [])
        assert content(pickle.loads(pickle.dumps(source))) == TEXT


def test_an_archive_on_standard_input_is_opened() -> None:
    sources, _ = discover(["-"], stdin=io.BytesIO(_zip({"rank0.log": TEXT})))
    assert [source.name for source in sources] == ["stdin!rank0.log"]


def test_nothing_on_standard_input_is_told() -> None:
    assert discover(["-"], stdin=io.BytesIO(b""))[1][0].reason == "nothing came in on standard input"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing.log", "no such file"),
        ("rank*.log", "no file matches"),
        ("empty", "no file that could be a log"),
        ("broken.log", "link points to nothing"),
        ("pipe", "named pipe"),
        ("/dev/null", "device"),
        ("model.pt", "binary"),
        ("tool", "binary"),
        ("a.7z", "7z"),
        ("x" * 5000, "cannot be read"),
        ("no\0name", "cannot be read"),
        ("missing://bucket/x", ""),
    ],
)
def test_what_is_not_read_is_told_in_one_sentence(here: Path, path: str, words: str) -> None:
    Path("empty").mkdir()
    Path("broken.log").symlink_to("nowhere")
    os.mkfifo("pipe")
    write("model.pt")
    write("tool", b"\x7fELF" + b"\0" * 100)
    write("a.7z", b"7z\xbc\xaf\x27\x1c")
    assert words in reason(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_closed_file_is_told(here: Path) -> None:
    write("closed.log")
    Path("closed.log").chmod(0)
    assert "Permission denied" in reason("closed.log")


def test_an_empty_file_is_a_source(here: Path) -> None:
    write("rank3.log", b"")
    (source,), skipped = discover(["rank3.log"])
    assert (source.size, content(source), skipped) == (0, b"", [])


def test_a_file_that_vanishes_fails_only_when_it_is_opened(here: Path) -> None:
    write("rank3.log")
    (source,), _ = discover(["rank3.log"])
    Path("rank3.log").unlink()
    with pytest.raises(FileNotFoundError):
        source.opener()


@settings(max_examples=60)
@given(
    st.binary(max_size=700),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\xff\xfe"]),
)
def test_any_bytes_are_survived(data: bytes, magic: bytes) -> None:
    for packed in (magic + data, gzip.compress(data), _zip({"a.log": data})[:-3] + data):
        sources, skipped = discover(["-"], stdin=io.BytesIO(packed))
        assert sources or skipped
        for source in sources:
            try:
                content(source)
            except OSError as error:
                assert str(error)
