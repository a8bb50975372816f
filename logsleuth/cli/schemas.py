"""JSON Schemas of what users write and read: patterns, causes and reports, made of the types that hold them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

NAMES = ("report", "pattern", "cause")
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(name: str) -> str:
    """One of NAMES as the text of its file."""
    made = {"report": _report, "pattern": _pattern, "cause": _cause}[name]()
    return json.dumps({"$schema": DRAFT, **made}, indent=2, ensure_ascii=False) + "\n"


def _report() -> dict[str, Any]:
    """As it is written: every field is there, and null where unknown."""
    from pydantic import TypeAdapter

    from logsleuth.report.schema import SCHEMA_VERSION, Report

    made = _tidy(TypeAdapter(Report).json_schema(mode="serialization"))
    made["properties"]["schema_version"] = {"type": "string", "const": SCHEMA_VERSION}
    made["$defs"] = {name: _closed(item) for name, item in sorted(made["$defs"].items())}
    return {"title": "LogSleuth report", **_closed(made)}


def _closed(item: dict[str, Any]) -> dict[str, Any]:
    """An item in which every field is there, and nothing else."""
    for field in item["properties"].values():
        field.pop("default", None)
    closed = {"additionalProperties": False, **item, "required": list(item["properties"])}
    return {name: closed[name] for name in ("$defs", *sorted(closed)) if name in closed}


def _pattern() -> dict[str, Any]:
    from logsleuth.catalog.schema import PatternFile
    from logsleuth.scan.parsers import PARSERS

    made = _tidy(PatternFile.model_json_schema())
    properties = made["properties"]
    properties["event"] = _events()
    properties["parser"] = {"enum": [*sorted(PARSERS), None]}
    return {"title": "LogSleuth pattern", **made, "allOf": _by_event("fields")}


def _cause() -> dict[str, Any]:
    from logsleuth.catalog.schema import CauseFile

    made = _tidy(CauseFile.model_json_schema())
    rule = made["$defs"]["DecidedByFile"]
    rule["properties"]["event"] = _events()
    rule["allOf"] = _by_event("where")
    return {"title": "LogSleuth cause", **made}


def _events() -> dict[str, Any]:
    from logsleuth.model.events import KINDS

    return {"type": "string", "enum": sorted(KINDS)}


def _by_event(key: str) -> list[dict[str, Any]]:
    """Under ``key`` only fields of the event's kind."""
    from logsleuth.model.events import KINDS

    return [
        {
            "if": {"properties": {"event": {"const": kind}}},
            "then": {
                "properties": {key: {"propertyNames": {"enum": [f.name for f in dataclasses.fields(KINDS[kind])]}}}
            },
        }
        for kind in sorted(KINDS)
    ]


def _tidy(node: Any, *, in_properties: bool = False) -> Any:
    """Without the titles that pydantic makes of names, and with docstrings on one line."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy: dict[str, Any] = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and not in_properties:
            continue
        if key == "description" and isinstance(value, str) and not in_properties:
            tidy[key] = " ".join(value.split())
        else:
            tidy[key] = _tidy(value, in_properties=key in ("properties", "$defs") and not in_properties)
    return tidy
