"""Metrics of translations."""
from ctypes import POINTER, byref, cast, sizeof
from typing import TYPE_CHECKING, List, Sequence, Union

from ._abi import tfm_bleu_options, tfm_bleu_result, tfm_text
from ._convert import Line, fill, record, same_length, texts
from ._library import lib
from .errors import checked
from .options import BleuOptions
from .records import BleuResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


def bleu(hypotheses: Sequence[Line], references: Union[Sequence[Line], Sequence[Sequence[Line]]],
         **options: "Unpack[BleuOptions]") -> BleuResult:
    """Corpus BLEU; references: one line for each hypothesis, or a list of such lists.

    The options are the fields of BleuOptions.
    """
    struct, result = tfm_bleu_options(), tfm_bleu_result()
    lib.tfm_bleu_options_init(byref(struct), sizeof(struct))
    fill(struct, options, BleuOptions.__annotations__, "bleu()")
    lines = texts(hypotheses, "hypotheses")
    columns = [texts(column, "references") for column in _columns(references)]
    for column in columns:
        same_length(lines, column, "hypotheses and references")
    pointers = (POINTER(tfm_text) * len(columns))(*(cast(column, POINTER(tfm_text)) for column in columns))
    checked(lib.tfm_bleu, byref(result), sizeof(result), lines, len(lines), pointers, len(columns), byref(struct))
    return record(BleuResult, result)


def _columns(references: Union[Sequence[Line], Sequence[Sequence[Line]]]) -> List[Sequence[Line]]:
    if isinstance(references, (str, bytes)) or all(isinstance(line, (str, bytes)) for line in references):
        return [references]  # type: ignore[list-item]
    return list(references)  # type: ignore[arg-type]
