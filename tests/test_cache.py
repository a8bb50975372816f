"""What is kept between runs only saves time: stale, cut, foreign or unwritable, the answer is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import FIXTURES
from typer.testing import CliRunner

from logsleuth import cache
from logsleuth.catalog import load
from logsleuth.catalog.load import load_catalog
from logsleuth.cli.app import app
from logsleuth.errors import CatalogError
from logsleuth.scan.prefilter import prefilter

CASE = FIXTURES / "death" / "segfault-rank6" / "nohup.out"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the entries of this test lie; not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "logsleuth"


def answer() -> str:
    done = CliRunner().invoke(app, ["analyze", str(CASE), "--format", "json"])
    assert done.exit_code == 0
    return done.stdout


def flip(entry: Path) -> None:
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 0xFF
    entry.write_bytes(content)


#: What can befall an entry.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda entry: entry.write_bytes(b""),
    "cut": lambda entry: entry.write_bytes(entry.read_bytes()[:-7]),
    "changed": flip,
    "of another program": lambda entry: entry.write_bytes(b'{"patterns": {}, "causes": {}, "data": {}}'),
    "a folder": lambda entry: (entry.unlink(), entry.mkdir()),
    "gone": lambda entry: entry.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_changes_no_answer(damage: Callable[[Path], object], folder: Path) -> None:
    first = answer()
    entries = list(folder.iterdir())
    assert {entry.name.partition("-")[0] for entry in entries} >= {"catalog", "samples"}
    for entry in entries:
        damage(entry)
    assert answer() == first
    assert answer() == first


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff", b"not json"])
def test_an_entry_that_is_whole_but_no_catalog_is_read_anew(content: bytes, folder: Path) -> None:
    expected = load_catalog()
    for entry in folder.glob("catalog-*"):
        cache.keep("catalog", entry.name.partition("-")[2], content)
    assert load_catalog() == expected


def test_an_entry_that_hyperscan_refuses_is_compiled_anew(folder: Path) -> None:
    pytest.importorskip("hyperscan")
    prefilter([b"anchor"], "hyperscan")
    (entry,) = folder.glob("anchors-*")
    cache.keep("anchors", entry.name.partition("-")[2], b"no database")
    assert prefilter([b"anchor"], "hyperscan").find(b"an anchor", 0, 9) == [(3, 0)]


def test_a_kept_database_finds_the_same(folder: Path) -> None:
    pytest.importorskip("hyperscan")
    text = b"NCCL WARN and again: NCCL WARN"
    compiled, kept = (prefilter([b"NCCL WARN", b"again"], "hyperscan") for _ in range(2))
    assert compiled.find(text, 0, len(text)) == kept.find(text, 0, len(text)) == [(0, 0), (14, 1), (21, 0)]


def test_without_a_place_to_keep_anything_the_answer_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer()
    monkeypatch.setenv("XDG_CACHE_HOME", str(CASE))
    assert answer() == first


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_nothing_is_believed_where_others_may_write(folder: Path) -> None:
    cache.keep("thing", "key", b"content")
    assert cache.recall("thing", "key") == b"content"
    folder.chmod(0o777)
    assert cache.recall("thing", "key") is None
    cache.keep("other", "key", b"content")
    assert [entry.name for entry in folder.iterdir()] == ["thing-key"]


def test_an_entry_is_not_taken_for_another(folder: Path) -> None:
    cache.keep("thing", "old", b"content")
    (folder / "thing-old").rename(folder / "thing-new")
    assert cache.recall("thing", "new") is None


def test_old_entries_make_room_for_new_ones(folder: Path) -> None:
    for number in range(cache.MOST_ENTRIES + 3):
        cache.keep("thing", f"{number:02}", b"content")
        os.utime(folder / f"thing-{number:02}", ns=(number, number))
    cache.keep("thing", "last", b"content")
    assert len(list(folder.iterdir())) == cache.MOST_ENTRIES
    assert cache.recall("thing", "last") == b"content"
    assert cache.recall("thing", "00") is None


def test_a_changed_file_is_read_anew(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "patterns" / "family"
    copy.mkdir(parents=True)
    monkeypatch.setattr(load, "builtin_folder", lambda: copy.parent)
    pattern = (
        "id: own-line\ntitle: {}\nevent: note\nrole: benign\nanchors: ['a line']\nregex: 'a line'\n"
        "samples: [{{line: 'a line'}}]\n"
    )
    (copy / "own-line.yaml").write_text(pattern.format("Before"), encoding="utf-8")
    assert load_catalog().patterns["own-line"].title == "Before"
    (copy / "own-line.yaml").write_text(pattern.format("Afterwards"), encoding="utf-8")
    assert load_catalog().patterns["own-line"].title == "Afterwards"


def test_a_link_to_nothing_is_a_fault_of_its_own(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "own" / "family").mkdir(parents=True)
    (tmp_path / "own" / "family" / "gone.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CatalogError, match=r"gone\.yaml: cannot be read"):
        load_catalog([tmp_path / "own"])


def test_an_installation_without_patterns_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "builtin_folder", lambda: tmp_path / "nowhere")
    with pytest.raises(CatalogError, match="no pattern files"):
        load_catalog()


def test_an_analysis_leaves_the_samples_where_they_are() -> None:
    whole, lean = load_catalog(), load_catalog(samples=False)
    assert all(pattern.samples for pattern in whole.patterns.values())
    assert not any(pattern.samples or pattern.near_misses for pattern in lean.patterns.values())
    assert lean.causes == whole.causes


def test_an_analysis_with_a_warm_cache_neither_reads_nor_validates_yaml(folder: Path) -> None:
    code = f"import logsleuth; logsleuth.analyze([{str(CASE)!r}])\nimport sys\nprint(' '.join(sys.modules))"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"yaml", "pydantic", "typer", "rich"} & set(done.stdout.split()) == set()
