"""``explain`` and the pages made of the catalog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from logsleuth.catalog.spec import Catalog, DecidedBy
from logsleuth.cli.app import app
from logsleuth.cli.explain import judgements
from logsleuth.patterncheck.describe import JUDGEMENT_HEADINGS, headings_of, rule_in_words
from logsleuth.patterncheck.pages import GENERATED, pages, stale, write_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def made(catalog: Catalog) -> dict[str, str]:
    return pages(catalog, judgements())


def explained(name: str) -> str:
    done = CliRunner().invoke(app, ["explain", name])
    assert done.exit_code == 0, done.exception
    return done.stdout


# --- pages -----------------------------------------------------------------------------------------------------------


def test_the_pages_are_current(made: dict[str, str]) -> None:
    outdated = [path.relative_to(ROOT).as_posix() for path in stale(made, DOCS)]
    assert outdated == [], "run: logsleuth patterns docs --write docs/"


def test_every_link_between_pages_leads_somewhere(made: dict[str, str]) -> None:
    targets = {target for text in made.values() for target in re.findall(r"\]\(([\w-]+\.md)\)", text)}
    assert targets
    assert [target for target in sorted(targets) if f"causes/{target}" not in made] == []


def test_every_cause_and_pattern_is_listed(made: dict[str, str], catalog: Catalog) -> None:
    index, patterns = made["causes/README.md"], made["patterns.md"]
    assert [name for name in catalog.causes if f"({name}.md)" not in index] == []
    assert [name for name in catalog.patterns if f"| `{name}` |" not in patterns] == []


def test_pages_of_causes_that_are_gone_are_removed_and_others_are_kept(made: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "causes").mkdir()
    gone, own = tmp_path / "causes" / "gone.md", tmp_path / "causes" / "own.md"
    gone.write_text(f"{GENERATED}\n\n# gone\n")
    own.write_text("# own\n")
    assert gone in write_pages(made, tmp_path)
    assert not gone.exists()
    assert own.exists()
    assert write_pages(made, tmp_path) == []


# --- explain ---------------------------------------------------------------------------------------------------------


def test_a_cause_that_an_event_decides_says_which_one(catalog: Catalog) -> None:
    text = explained("port-in-use")
    assert text.startswith("# port-in-use: ")
    assert catalog.causes["port-in-use"].decisive in text
    assert "store-error with what = address-in-use, from a cause line: high confidence, blames no rank" in text
    assert "read by store-address-in-use" in text
    assert "## References\n- https://" in text


def test_a_cause_that_is_judged_says_how(catalog: Catalog) -> None:
    text = explained("rank-missing-collective")
    assert "## How it is judged\n- Concludes: rank-missing-collective" in text
    assert "- Mistaken for: " in text


def test_causes_that_give_way_name_the_others(catalog: Catalog) -> None:
    cause = next(cause for cause in catalog.causes.values() if cause.yields_to)
    section = explained(cause.id).partition("## Gives way to\n")[2].partition("\n\n")[0]
    assert [line.split(":")[0] for line in section.splitlines()] == [f"- {name}" for name in cause.yields_to]


def test_a_pattern_shows_how_it_reads(catalog: Catalog) -> None:
    text = explained("store-address-in-use")
    pattern = catalog.patterns["store-address-in-use"]
    assert f"Yields {pattern.event} ({pattern.role})" in text
    for heading in ("Fields", "Anchors", "Regex", "Samples", "Can decide"):
        assert f"\n## {heading}\n" in text
    assert all(f"- `{anchor}`" in text for anchor in pattern.anchors)
    assert "- port-in-use: " in text


def test_everything_can_be_explained(catalog: Catalog, made: dict[str, str]) -> None:
    headings = {line for text in made.values() for line in text.splitlines() if re.match(r"## ", line)}
    for cause in catalog.causes.values():
        text = made[f"causes/{cause.id}.md"]
        assert "\n## What it means\n" in text
        assert "\n## What decides it\n" in text
    assert {"## Fixes", "## Workarounds", "## Collect next time", "## Look-alikes", "## References"} <= headings


def test_an_unknown_name_gets_suggestions() -> None:
    error = CliRunner().invoke(app, ["explain", "port-in-us"]).exception
    assert "no such cause or pattern" in str(error)
    assert "port-in-use" in str(getattr(error, "hint", ""))


def test_rules_are_told_in_words() -> None:
    rule = DecidedBy(
        "process-exit", {"signal": ("SIGSEGV", None)}, ("cause", "symptom"), "field:rank+other_rank", "medium", ""
    )
    assert rule_in_words(rule) == (
        "process-exit with signal = SIGSEGV or nothing, from a cause or symptom line: medium confidence, "
        "blames the ranks in rank, other_rank"
    )


def test_the_headings_of_every_judgement_are_found() -> None:
    for cause, docstring in judgements().items():
        assert tuple(headings_of(docstring)) == JUDGEMENT_HEADINGS, cause
