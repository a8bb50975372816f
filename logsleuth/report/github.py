"""GitHub Actions: one error annotation and the report, in which log text can never become a workflow command."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from logsleuth.report.schema import Report
from logsleuth.report.terminal import render_terminal
from logsleuth.report.words import headline

#: Annotations are cut by GitHub; a summary must stay below 1 MiB.
LONGEST_ANNOTATION = 1000
LARGEST_SUMMARY = 900 * 1024


def render_github(report: Report) -> str:
    """For standard output of a step: the annotation, then the terminal report with workflow commands stopped."""
    token = secrets.token_hex(16)
    text = render_terminal(report, color=False)
    return f"{annotation(report)}::stop-commands::{token}\n{text}\n::{token}::\n"


def annotation(report: Report) -> str:
    """One ``::error`` (a failure), ``::warning`` (inconclusive) or ``::notice`` line."""
    command = {"failure": "error", "inconclusive": "warning", "no-failure": "notice"}[report.verdict]
    roots = report.root_causes
    title = f"LogSleuth: {roots[0].title}" if roots else "LogSleuth"
    return f"::{command} title={_property(title)}::{_message(headline(report)[:LONGEST_ANNOTATION])}\n"


def summary(markdown: str) -> str:
    """Markdown cut to what a step summary may hold."""
    data = markdown.encode("utf-8")
    if len(data) <= LARGEST_SUMMARY:
        return markdown
    kept = data[:LARGEST_SUMMARY].decode("utf-8", "ignore")
    return kept + "\n\n(cut: the whole report is in the JSON file)\n"


def outputs(report: Report, files: Mapping[str, str]) -> str:
    """Lines for ``$GITHUB_OUTPUT``: short values on one line each, so that none can start another."""
    roots = report.root_causes
    values = {
        "verdict": report.verdict,
        "cause": roots[0].cause if roots else "",
        "confidence": roots[0].confidence if roots else "",
        "culprit-ranks": ",".join(map(str, roots[0].ranks)) if roots else "",
        **files,
    }
    return "".join(f"{name}={' '.join(value.split())}\n" for name, value in values.items())


def _message(text: str) -> str:
    return " ".join(text.split()).replace("%", "%25")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
