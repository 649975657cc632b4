"""How fast parts of the library are on this machine, each by itself."""
from ctypes import byref, c_size_t, sizeof
from typing import TYPE_CHECKING, Any, Mapping

from ._abi import tfm_measure_options, tfm_measurement
from ._convert import fill, record, whole
from ._library import lib
from .errors import checked
from .options import MeasureOptions
from .records import Measurement

if TYPE_CHECKING:
    from typing_extensions import Unpack


def kernel_count() -> int:
    """Number of inner loops that can be measured."""
    return int(lib.tfm_measure_kernel_count())


def twin_count() -> int:
    """Number of instruction sets that they are compiled for: 0 is portable C, the last one is what the library uses."""
    return int(lib.tfm_measure_twin_count())


def kernel(number: int, twin: int, **options: "Unpack[MeasureOptions]") -> Measurement:
    """One inner loop on operands in the caches, on the calling thread."""
    return _measured(lib.tfm_measure_kernel, {"number": number, "twin": twin}, options, "measure.kernel()")


def product(m: int, n: int, k: int, **options: "Unpack[MeasureOptions]") -> Measurement:
    """The product of a linear layer, c [m][n] = a [m][k] b^T with b [n][k]."""
    return _measured(lib.tfm_measure_product, {"m": m, "n": n, "k": k}, options, "measure.product()")


def _measured(function: Any, what: Mapping[str, int], options: Mapping[str, Any], who: str) -> Measurement:
    struct, result = tfm_measure_options(), tfm_measurement()
    lib.tfm_measure_options_init(byref(struct), sizeof(struct))
    fill(struct, options, MeasureOptions.__annotations__, who)
    numbers = (whole(name, value, c_size_t) for name, value in what.items())
    checked(function, byref(result), sizeof(result), *numbers, byref(struct))
    return record(Measurement, result)
