"""The house keeps its plan: who may import whom, and what a command loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "logsleuth"
FILES = sorted(PACKAGE.rglob("*.py"))

#: room -> (our rooms it may import, third-party packages it may import)
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "record": (set(), {"typing_extensions"}),
    "cache": (set(), set()),
    "model": ({"record"}, set()),
    # packaging: the catalog's own conditions on versions, which diagnose and report both ask for.
    "catalog": ({"model", "errors", "cache", "record", ""}, {"pydantic", "yaml", "packaging"}),
    "sources": ({"model", "errors"}, {"zstandard", "fsspec"}),
    "scan": ({"model", "catalog", "sources", "cache"}, {"regex", "hyperscan", "ahocorasick_rs"}),
    "execute": ({"model", "sources", "scan"}, {"dask", "distributed"}),
    "correlate": ({"model"}, set()),
    "diagnose": ({"model", "catalog"}, set()),
    "report": ({"model", "catalog", "record", ""}, {"rich"}),
    "patterncheck": ({"model", "catalog", "sources", "scan"}, {"regex"}),
    "redact": ({"model", "errors", "sources"}, set()),
}
#: Within ``report`` only these know the model; only ``terminal`` knows rich.
REPORT_BUILD = {"build.py", "jobview.py", "texts.py"}
KNOWS_ALL = {"cli", "__init__", "__main__"}


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def imports(path: Path) -> list[str]:
    """Every module that a file imports, at the top or inside a function."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [f"{node.module}.{a.name}" if node.module == "logsleuth" else node.module for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append("logsleuth.<relative import>")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    name = room(path)
    if name in KNOWS_ALL:
        return
    ours, third = ALLOWED[name]
    for module in imports(path):
        top = module.partition(".")[0]
        if top == "logsleuth":
            other = [*module.split("."), ""][1]
            other = "" if other == "__version__" else other
            assert other == name or other in ours, f"{path.name} may not import {module}"
        elif top not in sys.stdlib_module_names:
            assert top in third, f"{path.name} may not import {module}"
        if name == "report" and path.name not in REPORT_BUILD:
            assert not module.startswith(("logsleuth.model", "logsleuth.catalog")), f"{path.name} may not know {module}"
        if top == "rich":
            assert path.name == "terminal.py"
        if top in ("dask", "distributed"):
            assert path.name == "dask.py"


def test_no_code_names_a_pattern(catalog) -> None:
    """A new wording is one YAML file and no Python."""
    named = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in catalog.patterns:
                named.append(f"{path.name}:{node.lineno} names the pattern {node.value}")
    assert named == []


def test_pattern_and_cause_ids_are_disjoint(catalog) -> None:
    assert not set(catalog.patterns) & set(catalog.causes)


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import logsleuth", {"typer", "rich", "yaml", "pydantic", "regex", "hyperscan"}),
        ("import logsleuth.cli.app", {"rich.table", "pydantic", "hyperscan", "regex"}),
    ],
    ids=["the package", "the command line"],
)
def test_importing_loads_nothing_heavy(statement: str, forbidden: set[str]) -> None:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert forbidden & set(done.stdout.split()) == set()


#: Long because they list a closed set, item by item.
VOCABULARIES = {"events.py", "schema.py", "grammars.py"}
JUDGEMENTS = sorted(p for p in (PACKAGE / "diagnose" / "judgements").glob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("path", JUDGEMENTS, ids=lambda p: p.stem)
def test_a_judgement_says_what_it_concludes(path: Path, catalog) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    doc = ast.get_docstring(tree) or ""
    for heading in ("Concludes:", "Evidence:", "Mistaken for:", "Example:"):
        assert heading in doc, f"{path.name}: no {heading}"
    assert path.stem.replace("_", "-") in catalog.causes


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_holds_one_concept(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 320 or path.name in VOCABULARIES
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.name == "__main__.py"
