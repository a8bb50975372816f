"""Is a Python exception a cause, or does it only tell of something that happened elsewhere?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logsleuth.catalog.spec import Catalog
from logsleuth.model.events import Event, PythonException
from logsleuth.model.job import JobView

PROGRAM = "program"


def reading(fact: PythonException, catalog: Catalog) -> str:
    """``communication``, ``launcher``, ``interrupt``, ``teardown`` or ``program``: see
    patterns/data/exceptions.yaml."""
    table: Mapping[str, Mapping[str, Any]] = catalog.data.get("exceptions", {})
    name = (fact.type or "").rpartition(".")[2]
    message = fact.message or ""
    for reading_name, entry in table.items():
        if name in entry["types"] or any(words in message for words in entry["messages"]):
            return reading_name
    return PROGRAM


def program_exceptions(job: JobView, catalog: Catalog) -> list[tuple[Event, PythonException]]:
    """Exceptions that no other pattern reads better, that are not about others, and that did end something.

    A chained exception counts as what it was raised from, when that was about others. What one rank handled and
    survived is handled on the others too.
    """
    better = {
        event.locator.place for event in job.events if event.kind != "exception" and event.role in ("cause", "symptom")
    }
    found = []
    for event, fact in job.of(PythonException):
        if event.locator.place in better or reading(fact, catalog) != PROGRAM:
            continue
        if fact.chained and fact.root_type is not None:
            root = PythonException(type=fact.root_type, message=fact.root_message)
            if reading(root, catalog) != PROGRAM:
                continue
        found.append((event, fact))
    handled = {(f.type, f.where) for e, f in found if f.where is not None and job.went_on(e)}
    return [(e, f) for e, f in found if (f.type, f.where) not in handled and not job.went_on(e)]
