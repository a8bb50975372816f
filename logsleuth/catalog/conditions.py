"""Conditions that the catalog puts on a job's environment: a version in a range, a GPU by its name, a setting."""

from __future__ import annotations

import re

from logsleuth.model.job import Environment

#: Told by a name and not by a version.
_NAMED = frozenset({"gpu", "cpu", "os", "plugin", "network"})


def fits(name: str, value: str, want: str) -> bool:
    """Whether ``value`` meets ``want``: a name by regex, everything else by version range.

    A vendor's build (``2.1.0a0+nv23``) counts as its version. A range that cannot be read is met by nothing.
    """
    if name in _NAMED:
        return re.search(want, value) is not None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    match = re.match(r"\d+(?:\.\d+)*", value)
    if match is None:
        return False
    try:
        return SpecifierSet(want).contains(Version(match.group()), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False


def is_set(environment: Environment, want: str) -> bool:
    """Whether the logs show the setting ``NAME``, or ``NAME=value``."""
    variable, _, value = want.partition("=")
    values = environment.settings.get(variable, ())
    return bool(values) and (not value or value in values)
