"""The paper's attention on matrices of the caller, and what an alignment links."""
from ctypes import POINTER, byref, c_char, c_float, cast, sizeof
from typing import TYPE_CHECKING, Any, Tuple

from ._abi import tfm_attention_options
from ._arrays import FloatArray, given, new
from ._convert import fill, real, written
from ._library import lib
from .errors import InvalidError, checked
from .options import AttentionOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


def attention(q: Any, k: Any, v: Any, **options: "Unpack[AttentionOptions]") -> "Tuple[FloatArray, FloatArray]":
    """Scaled dot-product attention: softmax(q k^T * scale + mask) v, and its weights [n_queries][n_keys].

    q [n_queries][d_k], k [n_keys][d_k], v [n_keys][d_v]: NumPy arrays of float32 are not copied; other arrays and
    nested lists are. The options are the fields of AttentionOptions; mask is such a matrix too.
    """
    queries, keys, values = given(q, (2,), "q"), given(k, (2,), "k"), given(v, (2,), "v")
    (n_queries, d_k), n_keys, d_v = queries.shape, keys.shape[0], values.shape[1]
    if keys.shape[1] != d_k or values.shape[0] != n_keys:
        raise InvalidError(f"q {queries.shape}, k {keys.shape} and v {values.shape} do not fit")
    out, weights = new(n_queries, d_v), new(n_queries, n_keys)
    struct, rest = tfm_attention_options(), dict(options)
    mask = rest.pop("mask", None)
    lib.tfm_attention_options_init(byref(struct), sizeof(struct))
    fill(struct, rest, AttentionOptions.__annotations__, "attention()")
    if mask is not None:
        added = given(mask, (2,), "mask")
        if added.shape != weights.shape:
            raise InvalidError(f"mask is {added.shape}, not {weights.shape}")
        struct.mask = cast(added.base, POINTER(c_float))
    checked(lib.tfm_attention, out.base, weights.base, queries.base, keys.base, values.base, n_queries, n_keys, d_k,
            d_v, byref(struct))
    return out.view(), weights.view()


def alignment_links(weights: Any, threshold: float = 0.0) -> str:
    """Links of an alignment in Pharaoh's format: "0-0 2-1", source-target.

    threshold: 0: of each row the largest weight; above 0: all weights of at least this
    """
    if not len(weights):
        return ""
    matrix = given(weights, (2,), "weights")

    def write(buffer: Any, capacity: int, size: Any) -> None:
        checked(lib.tfm_alignment_links, buffer, capacity, size, matrix.base, *matrix.shape,
                real("threshold", threshold))
    return bytes(written(c_char, 16 * matrix.shape[0], write)).decode()
