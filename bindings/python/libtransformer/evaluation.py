"""Metrics of translations."""
from ctypes import POINTER, Array, Structure, byref, c_uint64, c_void_p, cast, sizeof
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Type, Union

from ._abi import (tfm_bleu_options, tfm_bleu_result, tfm_chrf_options, tfm_comparison, tfm_metric_result,
                   tfm_parseval_options, tfm_parseval_result, tfm_parseval_row, tfm_ter_options, tfm_text)
from ._convert import Line, c_string, fill, record, same_length, texts, whole
from ._library import lib
from .constants import MetricKind
from .errors import checked
from .options import BleuOptions, ChrfOptions, TerOptions
from .records import BleuResult, Comparison, MetricResult, ParsevalResult, ParsevalRow

if TYPE_CHECKING:
    from typing_extensions import Unpack

References = Union[Sequence[Line], Sequence[Sequence[Line]]]

_OPTIONS: Dict[MetricKind, Tuple[Type[Structure], Any, Any]] = {
    MetricKind.BLEU: (tfm_bleu_options, lib.tfm_bleu_options_init, BleuOptions),
    MetricKind.CHRF: (tfm_chrf_options, lib.tfm_chrf_options_init, ChrfOptions),
    MetricKind.TER: (tfm_ter_options, lib.tfm_ter_options_init, TerOptions),
}


def bleu(hypotheses: Sequence[Line], references: References, **options: "Unpack[BleuOptions]") -> BleuResult:
    """Corpus BLEU; references: one line for each hypothesis, or a list of such lists.

    The options are the fields of BleuOptions.
    """
    result = tfm_bleu_result()
    _judge(lib.tfm_bleu, result, hypotheses, references, _filled(MetricKind.BLEU, dict(options), "bleu()"))
    return record(BleuResult, result)


def chrf(hypotheses: Sequence[Line], references: References, **options: "Unpack[ChrfOptions]") -> MetricResult:
    """chrF of a corpus, or with word_order=2 chrF++; references as bleu(). The options are the fields of ChrfOptions."""
    result = tfm_metric_result()
    _judge(lib.tfm_chrf, result, hypotheses, references, _filled(MetricKind.CHRF, dict(options), "chrf()"))
    return record(MetricResult, result)


def ter(hypotheses: Sequence[Line], references: References, **options: "Unpack[TerOptions]") -> MetricResult:
    """Translation edit rate of a corpus; references as bleu(). The options are the fields of TerOptions."""
    result = tfm_metric_result()
    _judge(lib.tfm_ter, result, hypotheses, references, _filled(MetricKind.TER, dict(options), "ter()"))
    return record(MetricResult, result)


def parseval(parses: Sequence[Line], gold: Sequence[Line],
             parameters: Optional[Line] = None) -> Tuple[ParsevalResult, List[ParsevalRow]]:
    """Labelled recall, precision and F1 of parses as EVALB computes them, and the row of each.

    parameters: the text of one of EVALB's parameter files, COLLINS.prm unless given.
    """
    lines, trees = texts(parses, "parses"), texts(gold, "gold")
    same_length(lines, trees, "parses and gold trees")
    result, rows, struct = tfm_parseval_result(), (tfm_parseval_row * len(lines))(), tfm_parseval_options()
    lib.tfm_parseval_options_init(byref(struct), sizeof(struct))
    struct.parameters = None if parameters is None else c_string("parameters", parameters)
    checked(lib.tfm_parseval, byref(result), sizeof(result), rows, lines, trees, len(lines), byref(struct))
    return record(ParsevalResult, result), [record(ParsevalRow, row) for row in rows]


def compare(baseline: Sequence[Line], hypotheses: Sequence[Line], references: References, metric: MetricKind = MetricKind.BLEU,
            n_samples: int = 1000, seed: int = 12345, **options: Any) -> Comparison:
    """Whether the hypotheses are better than a baseline's: paired bootstrap resampling. The options are those of the metric."""
    result, struct = tfm_comparison(), _filled(MetricKind(metric), options, "compare()")
    lines, others, columns = texts(hypotheses, "hypotheses"), texts(baseline, "baseline"), _columns(references)
    same_length(others, lines, "baseline and hypotheses")
    pointers, _kept = _pointers(lines, columns)
    checked(lib.tfm_compare, byref(result), sizeof(result), others, lines, len(lines), pointers, len(columns), int(metric),
            cast(byref(struct), c_void_p), whole("n_samples", n_samples), whole("seed", seed, c_uint64))
    return record(Comparison, result)


def _filled(metric: MetricKind, options: Dict[str, Any], who: str) -> Structure:
    kind, init, names = _OPTIONS[metric]
    struct = kind()
    init(byref(struct), sizeof(struct))
    fill(struct, options, names.__annotations__, who)
    return struct


def _judge(function: Any, result: Structure, hypotheses: Sequence[Line], references: References, options: Structure) -> None:
    lines, columns = texts(hypotheses, "hypotheses"), _columns(references)
    pointers, _kept = _pointers(lines, columns)
    checked(function, byref(result), sizeof(result), lines, len(lines), pointers, len(columns), byref(options))


def _pointers(lines: Sequence[Any], columns: List[Sequence[Line]]) -> "Tuple[Array[Any], List[Any]]":
    kept = [texts(column, "references") for column in columns]
    for column in kept:
        same_length(lines, column, "hypotheses and references")
    return (POINTER(tfm_text) * len(kept))(*(cast(column, POINTER(tfm_text)) for column in kept)), kept


def _columns(references: References) -> List[Sequence[Line]]:
    if isinstance(references, (str, bytes)) or all(isinstance(line, (str, bytes)) for line in references):
        return [references]  # type: ignore[list-item]
    return list(references)  # type: ignore[arg-type]
