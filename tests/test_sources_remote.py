"""Logs behind an address, and what is told where they cannot be had."""

from __future__ import annotations

import functools
import importlib
import io
import pickle
import tarfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from logsleuth.sources import remote
from logsleuth.sources.discover import discover

TEXT = b"[rank3]: text\n"


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3://bucket/run/rank3.log", True),
        ("https://logs.cluster.local/rank3.log", True),
        ("rank3.log", False),
        ("/data/x:/y", False),
        ("-", False),
    ],
)
def test_an_address_is_told_from_a_path(path: str, address: bool) -> None:
    assert remote.is_address(path) is address


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    sources, skipped = discover(["s3://bucket/run"])
    assert sources == []
    assert "logsleuth[remote]" in skipped[0].reason


def test_without_a_driver_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        @staticmethod
        def url_to_fs(address: str) -> object:
            raise ImportError("driver")

    monkeypatch.setattr(remote, "_fsspec", lambda: type("fsspec", (), {"core": Core}))
    assert discover(["s3://bucket/run"])[1][0].reason == "s3:// needs its driver for fsspec: pip install s3fs"


def test_a_remote_folder_is_read_like_a_local_one() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in ("rank3.log", "rank4.log", "model.pt"):
        memory.pipe(f"/run/{name}", TEXT)
    sources, skipped = discover(["memory://run"])
    assert [source.name for source in sources] == ["memory:///run/rank3.log", "memory:///run/rank4.log"]
    assert [source.origin.rank for source in sources] == [3, 4]
    for source in sources:
        with pickle.loads(pickle.dumps(source)).opener() as stream:
            assert stream.read() == TEXT
    assert skipped == []


def test_logs_behind_http_are_read_like_local_ones(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    (tmp_path / "rank3.log").write_bytes(TEXT)
    (tmp_path / "logs.tar.gz").write_bytes(_tar_gz({"rank4.log": TEXT}))
    serve = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        sources, skipped = discover([f"{base}/rank3.log", f"{base}/logs.tar.gz", f"{base}/missing.log"])
        read = []
        for source in sources:
            with source.opener() as stream:
                read.append((source.name.removeprefix(base), source.origin.rank, stream.read()))
        server.shutdown()
    assert sorted(read) == [("/logs.tar.gz!rank4.log", 4, TEXT), ("/rank3.log", 3, TEXT)]
    assert [item.name for item in skipped] == [f"{base}/missing.log"]


def _tar_gz(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()
