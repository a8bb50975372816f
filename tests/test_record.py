"""Records are dataclasses to everybody who uses them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, field, fields, is_dataclass, replace

import pytest

from logsleuth.record import named_record, record


@record
class Place:
    """Where."""

    source: str
    start: int = 0
    lines: list[str] = field(default_factory=list, repr=False)

    @property
    def key(self) -> tuple[str, int]:
        return self.source, self.start


@record
class Other:
    source: str
    start: int = 0


@named_record
class Named:
    optional: int | None = None
    needed: str


def test_it_is_a_dataclass_with_slots() -> None:
    place = Place("a.log", 3)
    assert is_dataclass(place) and [f.name for f in fields(place)] == ["source", "start", "lines"]
    assert asdict(place) == {"source": "a.log", "start": 3, "lines": []}
    assert replace(place, start=4) == Place("a.log", 4) and place.key == ("a.log", 3)
    assert not hasattr(place, "__dict__") and Place.__doc__ == "Where."


def test_equal_values_of_one_kind_are_equal() -> None:
    assert Place("a.log") == Place("a.log") != Place("b.log")
    assert Other("a.log") != Place("a.log")
    assert hash(Other("a.log", 1)) == hash(Other("a.log", 1))
    assert len({Other("a.log"), Other("a.log"), Other("b.log")}) == 2
    with pytest.raises(TypeError):
        hash(Place("a.log"))


def test_its_text_is_that_of_a_dataclass() -> None:
    assert repr(Place("a.log", 3, ["hidden"])) == "Place(source='a.log', start=3)"


def test_it_can_be_copied_and_sent_to_another_process() -> None:
    place = Place("a.log", 3, ["one"])
    assert pickle.loads(pickle.dumps(place)) == place
    copied = copy.deepcopy(place)
    assert copied == place and copied.lines is not place.lines


def test_fields_by_name_only() -> None:
    assert Named(needed="it") == Named(optional=None, needed="it") != Named(needed="another")
    with pytest.raises(TypeError):
        Named(1, "it")  # type: ignore[misc]
    with pytest.raises(TypeError):
        Named()  # type: ignore[call-arg]


def test_a_record_can_extend_another() -> None:
    @record
    class More(Other):
        more: int = 0

    assert More("a.log", 1, 2) == More("a.log", 1, 2) != More("a.log", 2, 2)
    assert More("a.log") != Other("a.log")


def test_what_is_not_compared_makes_no_difference() -> None:
    @record
    class Remembering:
        name: str
        _derived: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    first, second = Remembering("it"), Remembering("it")
    first._derived["a"] = 1
    assert first == second and hash(first) == hash(second) and repr(first).endswith("Remembering(name='it')")


def test_records_without_fields_are_equal() -> None:
    @record
    class Nothing:
        pass

    assert Nothing() == Nothing() and len({Nothing(), Nothing()}) == 1
