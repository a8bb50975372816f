"""``@record``: a frozen, slotted dataclass that is cheap to define.

There are more than a hundred of them, and of the time that a small analysis takes, a fifth went into generating their
methods. What ``dataclass`` writes anew for each class is shared here, and that nothing is assigned to later is left to
the type checker. ``dataclasses.fields``, ``replace`` and ``asdict`` work as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """For type checkers alone; ``typing`` has it from Python 3.11 on."""
        return lambda decorator: decorator


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """The fields by place or by name."""
    return _made(cls, kw_only=False)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def named_record(cls: type[T]) -> type[T]:
    """The fields by name only, those with a default in between the others."""
    return _made(cls, kw_only=True)


def _made(cls: type[T], *, kw_only: bool) -> type[T]:
    cls.__eq__ = _equal  # type: ignore[method-assign]
    cls.__hash__ = _hash  # type: ignore[method-assign]
    cls.__repr__ = _shown  # type: ignore[method-assign]
    made = dataclass(slots=True, eq=False, repr=False, kw_only=kw_only)(cls)
    compared = [item.name for item in fields(made) if item.compare]  # type: ignore[arg-type]
    made._values_of = attrgetter(*compared) if compared else staticmethod(_nothing)  # type: ignore[attr-defined]
    return made


def _nothing(_: object) -> None:
    """What records without fields hold."""


def _equal(self: Any, other: Any) -> bool:
    return self._values_of(self) == self._values_of(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._values_of(self))


def _shown(self: Any) -> str:
    shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{type(self).__name__}({shown})"
