"""What an origin knows, as tests compare it."""

from __future__ import annotations

from dataclasses import fields

from logsleuth.model.origin import Origin


def known_fields(origin: Origin) -> dict[str, object]:
    """The known fields alone."""
    return {
        field.name: value
        for field in fields(origin)
        if field.name != "learnt" and (value := getattr(origin, field.name)) is not None
    }
