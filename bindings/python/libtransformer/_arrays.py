"""Float matrices: NumPy arrays where NumPy is installed, else memoryviews of the same shape."""
import importlib
import math
from ctypes import c_float
from typing import TYPE_CHECKING, Any, Iterator, List, Tuple

from .errors import InvalidError

if TYPE_CHECKING:
    import numpy
    FloatArray = numpy.ndarray[Any, numpy.dtype[numpy.float32]]
else:
    FloatArray = Any

np: Any
try:
    np = importlib.import_module("numpy")
except ImportError:
    np = None


class Floats:
    """A matrix of C floats: base holds them or points to them, shape says how many."""

    def __init__(self, base: Any, shape: Tuple[int, ...]) -> None:
        self.base = base
        self.shape = shape

    def view(self, writable: bool = True) -> "FloatArray":
        """The floats themselves, not a copy; the view keeps base, and what base keeps."""
        flat = memoryview(self.base).cast("B").cast("f", self.shape)
        view = flat if writable else flat.toreadonly()
        result: Any = np.asarray(view) if np else view
        return result  # type: ignore[no-any-return]


def new(*shape: int) -> Floats:
    """Zeros to be written by C."""
    return Floats((c_float * math.prod(shape))(), shape)


def lent(address: int, shape: Tuple[int, ...], owner: Any) -> Floats:
    """Floats that belong to a C object, which owner keeps alive."""
    base = (c_float * math.prod(shape)).from_address(address)
    base.owner = owner  # type: ignore[attr-defined]
    return Floats(base, shape)


def given(values: Any, ranks: Tuple[int, ...], name: str) -> Floats:
    """What the caller gives: an array, anything with the buffer protocol, or nested lists. Not copied when it is a
    NumPy array of C floats in row-major order."""
    try:
        floats = _given_array(values) if np else _given_lists(values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is no matrix of numbers: {error}") from None
    if len(floats.shape) not in ranks:
        raise InvalidError(f"{name} has {len(floats.shape)} dimensions, not {' or '.join(map(str, ranks))}")
    return floats


def _given_array(values: Any) -> Floats:
    matrix = np.ascontiguousarray(values, dtype=np.float32).reshape(np.shape(values))
    return lent(matrix.ctypes.data, tuple(matrix.shape), matrix)


def _given_lists(values: Any) -> Floats:
    if not isinstance(values, (list, tuple)):
        values = memoryview(values).tolist()
    shape = _shape(values)
    return Floats((c_float * math.prod(shape))(*_flatten(values, shape)), shape)


def _shape(values: Any) -> Tuple[int, ...]:
    shape: List[int] = []
    while isinstance(values, (list, tuple)):
        shape.append(len(values))
        values = values[0] if values else 0.0
    return tuple(shape)


def _flatten(values: Any, shape: Tuple[int, ...]) -> Iterator[float]:
    if not shape:
        yield float(values)
        return
    if len(values) != shape[0]:
        raise ValueError("its rows differ in length")
    for value in values:
        yield from _flatten(value, shape[1:])
