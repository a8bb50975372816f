"""``@record``: a frozen, slotted dataclass that is cheap to define.

There are more than a hundred of them, and of the time that a small analysis takes, a fifth went into generating their
methods. What ``dataclass`` writes anew for each class is shared here, and that nothing is assigned to later is left to
the type checker. ``dataclasses.fields``, ``replace`` and ``asdict`` work as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
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
    if any(getattr(base, "__slots__", ()) for base in cls.__mro__[1:]):
        raise TypeError(f"{cls.__name__} extends a record that has fields")
    cls.__eq__ = _equal  # type: ignore[method-assign]
    cls.__hash__ = _hash  # type: ignore[method-assign]
    cls.__repr__ = _shown  # type: ignore[method-assign]
    return dataclass(slots=True, eq=False, repr=False, kw_only=kw_only)(cls)


def _values(item: Any) -> tuple[Any, ...]:
    return tuple([getattr(item, name) for name in item.__slots__])


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{type(self).__name__}({shown})"
