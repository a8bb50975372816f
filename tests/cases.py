"""Labelled failures as test cases: a folder with ``case.json`` and the logs as a user would give them.

``case.json`` says what an expert concludes from these logs alone; ``expect`` holds

    cause, also_ok    the first root cause must be ``cause`` (``no-failure``: a verdict); ``also_ok`` only where the
                      logs leave it open
    never             causes that no root cause may name
    culprit_ranks     the ranks to be accused, as a set, or several sets of which any is right; empty: nobody
    root_ranks        the ranks that all root causes together accuse
    attempt           the restart that the answer is about
    contributing      causes that must be named as contributing
    facts             values that must appear in the job part or in the evidence
    fix_mentions      at least one of these words stands in the fixes

``known_gap`` says in a sentence why the tool does not get the case right yet, ``known_gap_without_a_log`` the same of
the case with one innocent rank's log less, ``known_gap_collected`` of the case behind the collectors that it names,
``known_gap_in_texts`` of what its report says in words.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import logsleuth
from logsleuth.catalog.load import load_catalog
from logsleuth.catalog.spec import Catalog
from logsleuth.report.schema import Diagnosis, Report
from logsleuth.scan.index import PatternIndex, build_index

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"


@dataclass(frozen=True)
class Case:
    """One labelled failure."""

    folder: Path
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.data['family']}/{self.data['id']}"

    @property
    def expect(self) -> dict[str, Any]:
        return self.data["expect"]  # type: ignore[no-any-return]

    @property
    def logs(self) -> list[Path]:
        return sorted(p for p in self.folder.rglob("*") if p.is_file() and p.name != "case.json")

    @property
    def hung(self) -> bool:
        return "--hung" in self.data.get("args", [])

    @property
    def accused(self) -> list[set[int]]:
        """The sets of ranks of which one is to be accused; the empty set where nobody is."""
        ranks = self.expect["culprit_ranks"]
        if not ranks:
            return [set()]
        return [set(each) for each in ranks] if isinstance(ranks[0], list) else [set(ranks)]


def load_cases(root: Path = FIXTURES) -> list[Case]:
    """Every case below ``root`` but those of the fault lab, which has a test of its own."""
    files = sorted(p for p in root.rglob("case.json") if "lab" not in p.relative_to(root).parts)
    return [Case(p.parent, json.loads(p.read_text(encoding="utf-8"))) for p in files]


def known_gaps(cases: Sequence[Case], field: str = "known_gap") -> list[Any]:
    """One parameter a case; what is known to be answered wrongly must be so, or its label is out of date."""
    return [
        pytest.param(
            case,
            id=case.name,
            marks=pytest.mark.xfail(strict=True, reason=case.data[field], raises=AssertionError)
            if case.data.get(field)
            else (),
        )
        for case in cases
    ]


@functools.cache
def shared_catalog() -> Catalog:
    return load_catalog()


@functools.cache
def shared_index(engine: str | None = None) -> PatternIndex:
    return build_index(shared_catalog().patterns.values(), engine)


@contextlib.contextmanager
def compiled_once() -> Iterator[None]:
    """Within it, an analysis takes the catalog and its compiled index from a cache: the same answer, much sooner."""
    with (
        mock.patch("logsleuth.catalog.load.load_catalog", lambda *_, **__: shared_catalog()),
        mock.patch("logsleuth.scan.index.build_index", lambda *_: shared_index()),
    ):
        yield


def analyze(paths: Sequence[Path], *, hung: bool = False) -> Report:
    """What the public API says of ``paths``."""
    with compiled_once():
        return logsleuth.analyze([str(path) for path in paths], hung=hung)


@functools.cache
def report_of(folder: Path) -> Report:
    """The report of an unchanged case."""
    case = Case(folder, json.loads((folder / "case.json").read_text(encoding="utf-8")))
    return analyze(case.logs, hung=case.hung)


def answer(report: Report) -> tuple[str, tuple[int, ...]]:
    """What must not change where nothing that matters changes: the leading cause, or the verdict, and its ranks."""
    root = leading(report)
    return (root.cause, tuple(root.ranks)) if root else (report.verdict, ())


def leading(report: Report) -> Diagnosis | None:
    return next(iter(report.root_causes), None)
