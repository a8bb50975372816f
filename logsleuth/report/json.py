"""``--format json``: the contract as it is."""

from __future__ import annotations

from logsleuth.report.schema import Report


def render_json(report: Report) -> str:
    """Indented JSON, UTF-8, ending with a newline."""
    return report.model_dump_json(indent=2) + "\n"
