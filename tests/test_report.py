"""Reports as they are read: the first screen, Markdown and GitHub's log, in which no log line can do harm."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import FIXTURES, Case, analyze, known_gaps, leading, load_cases, report_of
from rich.cells import cell_len

from logsleuth.report.github import annotation, outputs, render_github, summary
from logsleuth.report.markdown import fenced, render_markdown
from logsleuth.report.schema import Diagnosis, Fix, Report
from logsleuth.report.terminal import render_terminal
from logsleuth.report.words import culprits_line, headline, near_place

CASES = load_cases()
FAILURES = [case for case in CASES if case.expect["cause"] != "no-failure"]
COLUMNS, ROWS = 80, 24


def letters(text: str) -> str:
    """Text without blanks and line breaks: a long path may be broken anywhere."""
    return "".join(text.split())


def screen(report: Report) -> list[str]:
    """What is on the screen before anybody scrolls."""
    return render_terminal(report, color=False, width=COLUMNS).split("\n")[:ROWS]


def first_fix(root: Diagnosis) -> Fix:
    """What to do first: a fix, else a workaround, else what to collect; for a mere symptom what its file puts first."""
    if root.owner == "unknown":
        return root.fixes[0]
    return min(root.fixes, key=lambda fix: ("fix", "workaround", "collect").index(fix.kind))


# --- the terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FAILURES, ids=lambda c: c.name)
def test_the_first_screen_holds_the_answer(case: Case) -> None:
    """What happened, who did it, how sure that is, what to do, and the file and line that prove it."""
    report = report_of(case.folder)
    root = leading(report)
    assert root is not None
    text = letters("".join(screen(report)))
    assert letters(headline(report)) in text
    assert letters(culprits_line(root)) in text
    assert letters(f"{root.confidence} confidence") in text
    assert letters(first_fix(root).title) in text
    proof = next(item for item in root.evidence if item.primary)
    assert any(near_place(proof) in line for line in screen(report))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_no_line_is_wider_than_the_screen(case: Case) -> None:
    """But commands, which are copied whole, and paths, which are clicked."""
    report = report_of(case.folder)
    sources = {source.name for source in report.coverage.sources}
    near = {near_place(item).rpartition(":")[0] for d in report.diagnoses for item in d.evidence}
    for line in render_terminal(report, color=False, width=COLUMNS).split("\n"):
        holds_a_path = any(name in line for name in sources | near if name)
        assert cell_len(line) <= COLUMNS or line.startswith("      ") or holds_a_path, line


_LEFT_BEHIND = re.compile(r"\brank ranks? |\{\w+\}|\ban unknown \w+|\bNone\b|\(\s*\)|\w\.\./")


@pytest.mark.parametrize("case", known_gaps(CASES, "known_gap_in_texts"))
def test_texts_are_whole_sentences(case: Case) -> None:
    """No placeholder, no doubled word, nothing that a template left behind."""
    for diagnosis in report_of(case.folder).diagnoses:
        for text in (diagnosis.title, diagnosis.summary, diagnosis.reason or "", *(e.why for e in diagnosis.evidence)):
            assert not _LEFT_BEHIND.search(text), text
        assert diagnosis.summary[:1].isupper() and diagnosis.summary.endswith((".", "?", "!")), diagnosis.summary


def test_colour_is_only_there_when_asked_for() -> None:
    report = report_of(CASES[0].folder)
    plain, coloured = (
        render_terminal(report, color=False, width=COLUMNS),
        render_terminal(report, color=True, width=COLUMNS),
    )
    assert "\x1b" not in plain and "\x1b[" in coloured


def test_control_codes_of_a_log_do_not_reach_the_terminal(hostile: Callable[[str], Report]) -> None:
    """A log may hold anything, also what clears a screen or sets a window's title."""
    text = render_terminal(hostile("\x1b[2J\x1b]0;owned\x07\x1b[31m"), color=False, width=COLUMNS)
    assert "\x1b" not in text and "\x07" not in text
    assert "owned" not in text.split("\n")[0]


# --- log lines that want to be more ----------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[[str], Report]:
    """A report whose leading exception says what it is given."""

    def report(said: str) -> Report:
        log = tmp_path / "rank0.log"
        frames = 'Traceback (most recent call last):\n  File "/x/train.py", line 3, in main\n    step()\n'
        log.write_bytes(f"step 1 loss 2.0\n{frames}ValueError: bad value {said}\n{said}\nError: {said}\n".encode())
        found = analyze([log])
        root = leading(found)
        assert root is not None and root.cause == "rank-exception"
        return found

    return report


COMMANDS = [
    "::error::pwned",
    "::set-output name=token::pwned",
    "::add-mask::pwned",
    "%0A::error::pwned",
    "%250A::warning::pwned",
    "x\r::error::pwned",
    "::stop-commands::pwned",
    "##[command]pwned",
]


@pytest.mark.parametrize("said", COMMANDS)
def test_no_log_line_becomes_a_workflow_command(hostile: Callable[[str], Report], said: str) -> None:
    text = render_github(hostile(said))
    # A runner reads lines ended by either character.
    lines = re.split(r"\r\n|\r|\n", text)
    begin = next(n for n, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[begin].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert re.fullmatch(r"[0-9a-f]{32}", token) and text.count(token) == 2
    outside = [line for line in (*lines[:begin], *lines[end + 1 :]) if line]
    assert len(outside) == 1 and outside[0].startswith("::error title=LogSleuth")
    assert not re.search(r"%0[AD]", outside[0]), "an escaped line break in the annotation"


@pytest.mark.parametrize("said", COMMANDS)
def test_the_annotation_is_one_command(hostile: Callable[[str], Report], said: str) -> None:
    line = annotation(hostile(said))
    assert line.endswith("\n") and line.count("\n") == 1 and "\r" not in line
    properties, _, message = line.removeprefix("::").partition("::")
    command, _, title = properties.partition(" title=")
    assert command == "error"
    assert not re.search(r"[:,\r\n]", title)
    assert message and not re.search(r"%(?!25)", message), "a percent sign that GitHub would decode"


def test_two_reports_never_share_a_token(hostile: Callable[[str], Report]) -> None:
    report = hostile("x")
    tokens = {re.search(r"stop-commands::(\w+)", render_github(report)) for _ in range(3)}
    assert len({match[1] for match in tokens if match}) == 3


def test_outputs_are_one_line_each(hostile: Callable[[str], Report]) -> None:
    text = outputs(hostile("x"), {"report-json": "/tmp/a\nverdict=no-failure"})
    names = [line.partition("=")[0] for line in text.splitlines()]
    assert names == ["verdict", "cause", "confidence", "culprit-ranks", "report-json"]


def test_a_step_summary_stays_below_githubs_limit() -> None:
    long = summary("ä" * 600_000)
    assert len(long.encode("utf-8")) < 1024 * 1024
    assert long.endswith("(cut: the whole report is in the JSON file)\n") and "\ufffd" not in long
    assert summary("short") == "short"


# --- Markdown --------------------------------------------------------------------------------------------------------


def blocks(markdown: str) -> list[tuple[str, list[str]]]:
    """(fence, lines) of every code block, as CommonMark closes them."""
    found: list[tuple[str, list[str]]] = []
    fence = ""
    for line in markdown.split("\n"):
        run = re.match(r" {0,3}(`{3,})", line)
        if fence:
            if run and len(run[1]) >= len(fence) and not line.strip("` "):
                fence = ""
            else:
                found[-1][1].append(line)
        elif run:
            fence = run[1]
            found.append((fence, []))
    assert not fence, "a block is never closed"
    return found


def outside_of_blocks(markdown: str) -> str:
    rest = markdown
    for fence, lines in blocks(markdown):
        rest = re.sub(rf"{fence}\w*\n" + re.escape("\n".join(lines)) + rf"\n{fence}", "", rest, count=1)
    return rest


@pytest.mark.parametrize("ticks", ["`", "```", "``````"])
def test_a_fence_is_longer_than_any_run_of_backticks(hostile: Callable[[str], Report], ticks: str) -> None:
    assert next(iter(fenced([f"a {ticks} b"]))) == "`" * max(3, len(ticks) + 1) + "text"
    markdown = render_markdown(hostile(f"{ticks}\n{ticks} <img src=x>"))
    holding = [lines for _, lines in blocks(markdown) if any(ticks in line for line in lines)]
    assert holding, "the proof shows the line"
    assert "<img" not in outside_of_blocks(markdown)


@pytest.mark.parametrize(
    "said",
    [
        "<script>alert(1)</script>",
        "| a | b |",
        "[click](http://x)",
        "![x](http://x)",
        "</details>",
        "# big",
        "@everyone",
    ],
)
def test_markup_of_a_log_is_shown_and_not_obeyed(hostile: Callable[[str], Report], said: str) -> None:
    rest = outside_of_blocks(render_markdown(hostile(said)))
    rest = re.sub(r"</?(?:details|summary)>", "", rest)
    assert not re.search(r"(?<!\\)<(?:script|/details)", rest)
    assert not re.search(r"(?<!\\)!?\[\w+\\?\]\(http", rest)
    for row in (line for line in rest.split("\n") if line.startswith("| ")):
        assert len(re.findall(r"(?<!\\)\|", row)) == 8, row


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_markdown_says_the_same(case: Case) -> None:
    report = report_of(case.folder)
    markdown = render_markdown(report)
    assert markdown.count("<details>") == markdown.count("</details>")
    root = leading(report)
    if root is None:
        assert markdown.startswith(("## No failure", "## Inconclusive"))
        return
    assert f"`{root.cause}`" in markdown
    assert letters(headline(report)).replace("\\", "") in letters(markdown).replace("\\", "")
    blocks(markdown)


# --- all formats -----------------------------------------------------------------------------------------------------


def test_a_report_without_anything_can_be_rendered(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    report = analyze([tmp_path / "empty.log"])
    assert "INCONCLUSIVE" in render_terminal(report, color=False, width=COLUMNS)
    assert render_markdown(report).startswith("## Inconclusive")
    assert annotation(report).startswith("::warning title=LogSleuth::")


def test_the_fingerprint_is_the_same_for_the_same_failure(tmp_path: Path) -> None:
    """Numbers, ranks and hosts of another run do not change it; another exception does."""
    text = (FIXTURES / "death" / "exception-rank5-table-blames-rank0" / "stdout-stderr.log").read_text(encoding="utf-8")

    def fingerprint(name: str, changed: str) -> str:
        (tmp_path / name).write_text(changed, encoding="utf-8")
        root = leading(analyze([tmp_path / name]))
        assert root is not None
        return root.fingerprint

    one = fingerprint("a.log", text)
    assert fingerprint("b.log", text.replace("52011", "77001").replace("p4d-117", "p4d-204")) == one
    assert fingerprint("c.log", text.replace("KeyError: 'arxiv_v2'", "IndexError: list index out of range")) != one
