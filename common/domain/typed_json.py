"""Frozen data to JSON-ready data and back. What comes back is checked against the annotations field by field: it may
have been written by another release, or by anyone.
"""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
_EXACT: Final = 2**53


def to_json(value: Any) -> Any:  # noqa: ANN401 - any of the kinds that `reader_of` reads
    """The value as JSON-ready data: dataclasses and named tuples as objects, other tuples as lists."""
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    names = _fields_of(type(value))
    if names:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return value


def _fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass or a named tuple; none of any other kind."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return getattr(kind, "_fields", ()) if issubclass(kind, tuple) else ()


@cache
def reader_of(kind: Any) -> Reader:  # noqa: ANN401 - an annotation
    """Reads what `to_json` made of a value of this kind, and raises ValueError for anything else.

    Kinds are dataclasses, named tuples, tuples, Literals of texts, unions, mappings by text, str, int, float, bool and
    None. Raises TypeError for any other kind.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is Literal and all(isinstance(part, str) for part in parts):
        return _word(parts)
    if origin in {Union, types.UnionType}:
        return _union([reader_of(part) for part in parts])
    if origin is tuple and parts[-1] is Ellipsis:
        return _row(reader_of(parts[0]))
    if origin is tuple:
        return _columns([reader_of(part) for part in parts])
    if origin is Mapping and parts[0] is str:
        return _mapping(reader_of(parts[1]))
    if isinstance(kind, type) and _fields_of(kind):
        return _object(kind)
    raise TypeError(f"{kind} has no JSON form here")


def _refuse(data: object, wanted: str) -> ValueError:
    return ValueError(f"a {type(data).__name__} is not {wanted}")


def _exactly(kind: type) -> Reader:
    def read(data: Any) -> Any:  # noqa: ANN401 - what JSON holds
        if type(data) is not kind:
            raise _refuse(data, kind.__name__)
        return data

    return read


def _number(data: Any) -> float:  # noqa: ANN401 - what JSON holds
    if (type(data) is float and math.isfinite(data)) or (type(data) is int and abs(data) <= _EXACT):
        return float(data)
    raise _refuse(data, "a finite number")


_PLAIN: Final[dict[Any, Reader]] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _number,
    type(None): _exactly(type(None)),
}


def _word(words: tuple[str, ...]) -> Reader:
    def read(data: Any) -> Any:  # noqa: ANN401 - what JSON holds
        if not isinstance(data, str) or data not in words:
            raise _refuse(data, f"one of {', '.join(words)}")
        return data

    return read


def _union(readers: list[Reader]) -> Reader:
    def read(data: Any) -> Any:  # noqa: ANN401 - what JSON holds
        for reader in readers:
            try:
                return reader(data)
            except ValueError:
                continue
        raise _refuse(data, "any of the kinds")

    return read


def _items(data: object) -> list[Any]:
    if not isinstance(data, list):
        raise _refuse(data, "a list")
    return data


def _row(reader: Reader) -> Reader:
    return lambda data: tuple(reader(item) for item in _items(data))


def _columns(readers: list[Reader]) -> Reader:
    def read(data: Any) -> Any:  # noqa: ANN401 - what JSON holds
        if len(_items(data)) != len(readers):
            raise _refuse(data, f"a list of {len(readers)}")
        return tuple(reader(item) for reader, item in zip(readers, data, strict=True))

    return read


def _names(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _refuse(data, "an object")
    return data


def _mapping(reader: Reader) -> Reader:
    return lambda data: {name: reader(item) for name, item in _names(data).items()}


def _object(kind: type) -> Reader:
    hints = get_type_hints(kind)
    readers = {name: reader_of(hints[name]) for name in _fields_of(kind)}

    def read(data: Any) -> Any:  # noqa: ANN401 - what JSON holds
        if _names(data).keys() != readers.keys():
            raise _refuse(data, f"a {kind.__name__}: its fields differ")
        return kind(**{name: reader(data[name]) for name, reader in readers.items()})

    return read
