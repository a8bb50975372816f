"""What tests share: the catalog, and an analysis of texts as a user would give them."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsleuth
from logsleuth.catalog.load import load_catalog
from logsleuth.catalog.spec import Catalog
from logsleuth.report.schema import Report

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def analyze_texts(tmp_path: Path):
    """``analyze_texts({"rank0.log": "..."}, hung=True)`` -> Report."""

    def run(files: dict[str, str], **options: object) -> Report:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return logsleuth.analyze([str(tmp_path / name) for name in files], **options)  # type: ignore[arg-type]

    return run
