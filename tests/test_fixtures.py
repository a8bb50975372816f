"""What LogSleuth answers on hand-written failures of every kind: cause, culprits, restraint, fixes, proof."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from cases import ROOT, Case, analyze, known_gaps, leading, load_cases, report_of
from pydantic import TypeAdapter

from logsleuth.catalog.spec import Catalog
from logsleuth.report.json import render_json
from logsleuth.report.schema import Diagnosis, Evidence, Item, Report

CASES = load_cases()
#: Labelled real cases beside the checkout, where there are any; they are read and never copied.
NEIGHBOURS = [
    Case(p.parent, data)
    for p in sorted(ROOT.parent.glob("*/cases/*/*/case.json"))
    if "expect" in (data := json.loads(p.read_text(encoding="utf-8")))
]
VERDICTS = {"no-failure", "inconclusive"}


@pytest.mark.parametrize("case", known_gaps(CASES))
def test_the_answer_is_an_experts(case: Case) -> None:
    report = report_of(case.folder)
    root = leading(report)
    said = f"{case.data['why']}; the answer was: {root.summary if root else report.verdict}"
    right = {case.expect["cause"], *case.expect["also_ok"]}
    assert (root.cause if root else report.verdict) in right, said
    assert not {d.cause for d in report.root_causes} & set(case.expect["never"]), said
    assert set(root.ranks if root else ()) in case.accused, said
    if "root_ranks" in case.expect:
        assert {rank for d in report.root_causes for rank in d.ranks} == set(case.expect["root_ranks"]), said
    if "attempt" in case.expect:
        assert root is not None and root.attempt == case.expect["attempt"], said
    contributing = {d.cause for d in report.diagnoses if d.role == "contributing"}
    assert contributing >= set(case.expect.get("contributing", ())), said
    _mentions_a_fix(case, root)
    _shows_the_facts(case, report)


def _as_json(items: Sequence[Item]) -> str:
    return json.dumps([item.as_data() for item in items], ensure_ascii=False)


def _mentions_a_fix(case: Case, root: Diagnosis | None) -> None:
    words = case.expect["fix_mentions"]
    if words:
        assert root is not None
        text = _as_json(root.fixes).lower()
        assert any(word.lower() in text for word in words), f"the fixes name none of {words}"


def _shows_the_facts(case: Case, report: Report) -> None:
    shown = _as_json([report.job, *(e for d in report.diagnoses for e in d.evidence)])
    # Compared as JSON prints it, so that quotes and backslashes are equal on both sides.
    for name, value in case.expect["facts"].items():
        assert json.dumps(str(value), ensure_ascii=False)[1:-1].lower() in shown.lower(), f"{name} is not shown"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_high_confidence_is_right(case: Case) -> None:
    """``high`` is a promise, kept also where the answer of a case is a known gap."""
    right = {case.expect["cause"], *case.expect["also_ok"]}
    assert {d.cause for d in report_of(case.folder).root_causes if d.confidence == "high"} <= right


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_nobody_innocent_is_accused(case: Case) -> None:
    """A gap may leave the culprit unnamed; it never names another rank."""
    guilty = set().union(*case.accused) | set(case.expect.get("root_ranks", ()))
    assert {rank for d in report_of(case.folder).root_causes for rank in d.ranks} <= guilty


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_claim_is_on_the_line_it_cites(case: Case) -> None:
    report = report_of(case.folder)
    assert not any("was left out" in note for note in report.notes), report.notes
    for diagnosis in report.diagnoses:
        assert [e.primary for e in diagnosis.evidence].count(True) == 1, f"{diagnosis.cause} has no primary evidence"
        for item in diagnosis.evidence:
            _stands_there(item)


def _stands_there(item: Evidence) -> None:
    assert item.line is not None and item.end_line is not None and item.why
    lines = Path(item.source).read_bytes().decode("utf-8", "replace").split("\n")
    assert 1 <= item.line <= item.end_line <= len(lines)
    cited = "\n".join(lines[item.line - 1 :])
    whole = "".join(lines[item.line - 1 : item.end_line])
    for part in filter(None, (part.strip() for part in item.text.splitlines())):
        if item.end_line > item.line and _is_mended(part, whole):
            continue
        # A prefix in front of the message may have been peeled, and lines of other ranks may stand in between.
        assert part in _without_colour(cited), f"{item.source}:{item.line} does not hold {part!r}"
    first = item.text.strip().splitlines()[0].strip()
    assert first in _without_colour(lines[item.line - 1]) or item.end_line > item.line


def _is_mended(text: str, whole: str) -> bool:
    """Whether ``text`` is a line that was broken: what is left of ``whole`` without what stands between its pieces."""
    letters = iter("".join(whole.split()))
    return all(letter in letters for letter in "".join(text.split()))


def _without_colour(text: str) -> str:
    return text.replace("\x1b[36m", "").replace("\x1b[39m", "").replace("\x1b[0m", "")


def test_every_judgement_has_a_case(catalog: Catalog) -> None:
    """A judgement without a realistic log that it decides, alone or as a companion, is not finished."""
    judged = {p.stem.replace("_", "-") for p in (ROOT / "logsleuth" / "diagnose" / "judgements").glob("[a-z]*.py")}
    named = {cause for case in CASES for cause in (case.expect["cause"], *case.expect.get("contributing", ()))}
    assert judged <= set(catalog.causes)
    assert judged - named == set()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_case_is_labelled_in_the_catalogs_words(case: Case, catalog: Catalog) -> None:
    expect = case.expect
    assert case.folder.name == case.data["id"] and case.folder.parent.name == case.data["family"]
    assert case.data["origin"].startswith("hand-written in the formats of torch ") and case.data["why"]
    named = {expect["cause"], *expect["also_ok"], *expect["never"], *expect.get("contributing", ())}
    assert named <= set(catalog.causes) | VERDICTS
    assert not {expect["cause"], *expect["also_ok"]} & set(expect["never"])
    assert case.logs


@pytest.mark.skipif(
    not NEIGHBOURS, reason="no labelled cases lie beside this checkout; the fixtures are complete without"
)
@pytest.mark.parametrize("case", NEIGHBOURS, ids=lambda c: c.name)
def test_neighbouring_cases_give_a_valid_report(case: Case) -> None:
    """Messy real logs: whatever the answer, the report is whole and no judgement crashes."""
    report = analyze(case.logs, hung=case.hung)
    assert TypeAdapter(Report).validate_json(render_json(report)) == report
    assert not any("was left out" in note for note in report.notes), report.notes
    assert report.coverage.sources
