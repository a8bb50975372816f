"""``--format json``: the contract as it is."""

from __future__ import annotations

import json

from logsleuth.report.schema import Report


def render_json(report: Report) -> str:
    """Indented JSON, UTF-8, ending with a newline."""
    return json.dumps(report.as_data(), indent=2, ensure_ascii=False) + "\n"
