"""The JSON Schemas are those of the models, and what the tool writes and reads fits them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from cases import Case, load_cases, report_of
from typer.testing import CliRunner

from logsleuth.catalog.spec import Catalog
from logsleuth.cli.app import app
from logsleuth.cli.schemas import DRAFT, NAMES, schema
from logsleuth.report.json import render_json
from logsleuth.report.schema import SCHEMA_VERSION

ROOT = Path(__file__).resolve().parent.parent


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema(name)))


def properties(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema with its path."""
    if isinstance(node, list):
        for item in node:
            yield from properties(item, where)
    elif isinstance(node, dict):
        for name, value in node.get("properties", {}).items():
            yield f"{where}.{name}", value
        for key, value in node.items():
            yield from properties(value, f"{where}.{key}" if key not in ("properties", "$defs") else where)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_current(name: str) -> None:
    path = ROOT / "schemas" / f"{name}.schema.json"
    assert path.read_text(encoding="utf-8") == schema(name), "run: logsleuth patterns schema --write schemas/"


def test_one_command_writes_them_all(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["patterns", "schema", "--write", str(tmp_path / "new")])
    assert done.exit_code == 0
    assert {p.name: p.read_text(encoding="utf-8") for p in (tmp_path / "new").iterdir()} == {
        f"{name}.schema.json": schema(name) for name in NAMES
    }
    assert CliRunner().invoke(app, ["patterns", "schema", "report"]).stdout == schema("report")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_schema_of_draft_2020_12(name: str) -> None:
    content = json.loads(schema(name))
    assert content["$schema"] == DRAFT
    jsonschema.Draft202012Validator.check_schema(content)


def test_every_item_of_a_report_is_typed_closed_and_always_there() -> None:
    content = json.loads(schema("report"))
    untyped = [
        where for where, value in properties(content) if not value.keys() & {"type", "$ref", "anyOf", "enum", "const"}
    ]
    assert untyped == []
    for definition in [content, *content["$defs"].values()]:
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False
            assert sorted(definition["required"]) == sorted(definition["properties"])
    line = content["$defs"]["Evidence"]["properties"]["line"]
    assert line["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert content["properties"]["schema_version"]["const"] == SCHEMA_VERSION


@pytest.mark.parametrize("case", load_cases()[::6], ids=lambda case: case.name)
def test_a_report_fits_its_schema(case: Case) -> None:
    report = json.loads(render_json(report_of(case.folder)))
    assert [error.message for error in validator("report").iter_errors(report)] == []


@pytest.mark.parametrize("name", ["pattern", "cause"])
def test_every_file_of_the_catalog_fits_its_schema(name: str, catalog: Catalog) -> None:
    fits = validator(name)
    items = catalog.patterns if name == "pattern" else catalog.causes
    faults = [
        f"{item.path}: {error.message}"
        for item in items.values()
        for error in fits.iter_errors(yaml.load(Path(item.path).read_text(encoding="utf-8"), yaml.CSafeLoader))
    ]
    assert faults == []


PATTERN = {"id": "x", "title": "X", "event": "note", "role": "context", "anchors": ["anchor"], "regex": "anchor", "samples": [{"line": "anchor"}]}  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    "change",
    [
        {"event": "nothing"},
        {"fields": {"exit_code": 1}},
        {"anchors": ["abc"]},
        {"anchors": []},
        {"samples": []},
        {"colour": "red"},
        {"parser": "none-such"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_pattern_does_not_fit(change: dict[str, Any]) -> None:
    assert validator("pattern").is_valid(PATTERN)
    assert not validator("pattern").is_valid({**PATTERN, **change})
