"""Between Python's values and C's: text, ids, paths, options, records."""
import difflib
import itertools
import operator
import os
from array import array
from ctypes import Array, Structure, byref, c_char_p, c_double, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from ctypes import cast, sizeof, string_at
from dataclasses import fields
from math import isfinite
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Type, TypeVar, Union

from ._abi import tfm_ids, tfm_text
from .errors import InvalidError
from .options import MEMBERS

Line = Union[str, bytes]  # bytes are UTF-8, or what the library shall judge as such
Ids = Sequence[int]
Path = Union[str, bytes, "os.PathLike[str]"]
Record = TypeVar("Record")
Pointers = TypeVar("Pointers")

_WHOLE = (c_int32, c_uint32, c_uint64, c_size_t)


def encoded(line: Line) -> bytes:
    """The bytes of a line."""
    if isinstance(line, str):
        return line.encode("utf-8")
    if isinstance(line, bytes):
        return line
    raise TypeError(f"a line is str or bytes, not {type(line).__name__}")


def decoded(text: tfm_text) -> str:
    """The text that C lends. A model may produce half a character: U+FFFD stands for it."""
    return string_at(text.data, text.size).decode("utf-8", "replace") if text.size else ""


def texts(lines: Iterable[Line], name: str) -> Any:
    """The lines as C reads them; the result keeps their bytes."""
    if isinstance(lines, (str, bytes)):
        raise TypeError(f"{name} is one {type(lines).__name__}: give a list of lines")
    pieces = [encoded(line) for line in lines]
    blob = b"".join(pieces)
    begin = cast(c_char_p(blob), c_void_p).value or 0
    ends = itertools.accumulate(map(len, pieces))
    where: Any = ((begin + end - len(piece), len(piece)) for piece, end in zip(pieces, ends))
    return keeping((tfm_text * len(pieces))(*where), blob)


def listed(groups: Iterable[Iterable[Any]], name: str) -> List[List[Any]]:
    """A list for each line, where a string would be taken for a list of letters."""
    lists = []
    for group in [groups] if isinstance(groups, (str, bytes)) else groups:
        if isinstance(group, (str, bytes)):
            raise TypeError(f"{name} has {group!r}: give a list for each line")
        lists.append(list(group))
    return lists


def text(line: Line) -> tfm_text:
    """A line as C reads it; the result keeps its bytes."""
    both = texts([line], "line")
    return keeping(tfm_text(both[0].data, both[0].size), both)


def sequences(lines: Iterable[Ids], name: str) -> Any:
    """Sequences of ids as C reads them; the result keeps the numbers."""
    pieces = [id_array(line, name) for line in lines]
    every = array("i", itertools.chain.from_iterable(pieces))
    begin, size = every.buffer_info()[0], every.itemsize
    ends = itertools.accumulate(map(len, pieces))
    where: Any = ((begin + size * (end - len(piece)), len(piece)) for piece, end in zip(pieces, ends))
    return keeping((tfm_ids * len(pieces))(*where), every)


def sequence(line: Ids) -> tfm_ids:
    """A sequence of ids as C reads it; the result keeps the numbers."""
    numbers = id_array(line, "ids")
    return keeping(tfm_ids(*numbers.buffer_info()), numbers)


def keeping(pointers: Pointers, owner: Any) -> Pointers:
    """A C object that keeps alive what it points to."""
    pointers.keep = owner  # type: ignore[attr-defined]
    return pointers


def id_array(line: Ids, name: str) -> "array[int]":
    """The ids as 32-bit numbers."""
    if isinstance(line, (str, bytes, bytearray)):  # bytes would be read as the memory of numbers
        raise TypeError(f"{name}: ids are whole numbers, not {type(line).__name__}")
    try:
        return array("i", line)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name}: ids are whole numbers of 32 bits: {error}") from None


def numbers_of(ids: tfm_ids) -> List[int]:
    """The ids that C lends."""
    return list((c_int32 * ids.size).from_address(ids.data)) if ids.size else []


def same_length(first: Any, second: Any, names: str) -> int:
    """The number of pairs."""
    if len(first) != len(second):
        raise InvalidError(f"{names} are not as many: {len(first)} and {len(second)}")
    return len(first)


def path_bytes(path: Path) -> bytes:
    """A path as the operating system wants it."""
    return c_string("a path", os.fsencode(path))


def c_string(name: str, line: Line) -> bytes:
    """A string of C, which would end at a NUL."""
    string = encoded(line)
    if b"\0" in string:
        raise InvalidError(f"{name} has a NUL at byte {string.index(0)}: {string[:100]!r}")
    return string


def fill(struct: Structure, options: Mapping[str, Any], allowed: Iterable[str], who: str) -> None:
    """Sets fields of a struct of options by their names."""
    for name, value in options.items():
        check_name(name, allowed, who)
        set_field(struct, name, value)


def take_function(options: Dict[str, Any], name: str) -> Any:
    """Takes a callback out of the options; None if there is none."""
    function = options.pop(name, None)
    if function is not None and not callable(function):
        raise TypeError(f"{name} is a function, not {function!r}")
    return function


def check_name(name: str, allowed: Iterable[str], who: str) -> None:
    """Raises for a name that is no option."""
    known = list(allowed)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        raise TypeError(f"{name} is no option of {who}" + (f": is it {near[0]}?" if near else ""))


def index(name: str, value: Any, wanted: str = "a whole number") -> int:
    """A whole number of any size."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {wanted}, not {value!r}") from None


def whole(name: str, value: Any, kind: Any = c_uint32, wanted: str = "a whole number") -> int:
    """A number for C, of which ctypes alone would take the lowest bits."""
    number, sign = index(name, value, wanted), int(kind(-1).value < 0)
    most = 2 ** (8 * sizeof(kind) - sign) - 1
    if kind(number).value != number:
        raise InvalidError(f"{name} is {number}, not in {-sign * (most + 1)}..{most}")
    return number


def real(name: str, value: Any, kind: Any = c_float) -> float:
    """A number for C that need not be whole, and that does not become 0 or infinite there."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a number, not {value!r}") from None
    rounded = kind(number).value
    if isfinite(number) and (not isfinite(rounded) or bool(number) != bool(rounded)):
        raise InvalidError(f"{name} is {number}, too {'small' if isfinite(rounded) else 'large'} for a number of 32 bits")
    return number


def set_field(struct: Structure, name: str, value: Any) -> None:
    """Sets a field."""
    kind: Any = next(field[1] for field in struct._fields_ if field[0] == name)
    if kind in _WHOLE:
        setattr(struct, name, whole(name, value, kind, _wanted(struct, name)))
    elif kind in (c_float, c_double):
        setattr(struct, name, real(name, value, kind))
    else:
        setattr(struct, name, path_bytes(value) if kind is c_char_p and value is not None else value)


def _wanted(struct: Structure, name: str) -> str:
    members = MEMBERS.get((type(struct).__name__, name))
    return f"a member of {members.__name__} ({', '.join(m.name for m in members)})" if members else "a whole number"


def plain(value: Any) -> Any:
    """A member of a struct in Python's own types."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return tuple(value) if isinstance(value, Array) else value


def record(kind: Type[Record], struct: Structure) -> Record:
    """A dataclass of the members that it names."""
    return kind(**{field.name: plain(getattr(struct, field.name)) for field in fields(kind)})


def written(kind: Any, guess: int, write: Callable[[Any, int, Any], None]) -> Any:
    """What write(buffer, capacity, size) gives; guess is an upper bound in most cases."""
    size, buffer = c_size_t(), (kind * guess)()
    write(buffer, guess, byref(size))
    if size.value > guess:
        buffer = (kind * size.value)()
        write(buffer, size.value, byref(size))
    return buffer[:size.value]
