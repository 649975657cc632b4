"""Trains and runs the encoder-decoder Transformer of "Attention Is All You Need" on CPUs: the C library libtransformer.

    from libtransformer import Model, Translator
    with Translator(Model.load("de-en.tfm")) as translator:
        print(translator.translate(["Guten Morgen!"])[0])

Keyword options are the fields of the library's structs: TokenizerOptions, ModelOptions, LoadOptions, TranslatorOptions,
TrainerOptions, AttentionOptions, BleuOptions, ChrfOptions, TerOptions, MeasureOptions, PretokenizeOptions list them. Every
failure is a TransformerError.
"""
from ctypes import c_int32 as _c_int32

from . import measure
from ._convert import whole as _whole
from ._library import lib as _lib
from .constants import (Activation, AlignmentStep, AlignmentUnit, AttentionKind, BleuSmooth, BleuTokenize, Dtype,
                        Event, Export, Init, Language, LengthNorm, LogLevel, LongSource, MetricKind, NormOrder,
                        ParsevalStatus, Positions, ProfileKind, Sharing, Smoothing, Special, Start, Status, StopRule,
                        TokenizerKind)
from .errors import (BusyError, CancelledError, ClosedError, FileError, FormatError, InvalidError, OutOfMemoryError,
                     TransformerError, UnsupportedError)
from .evaluation import bleu, chrf, compare, parseval, ter
from .mathematics import alignment_links, attention
from .model import Model, Parameters, model_costs
from .options import (AttentionOptions, BleuOptions, ChrfOptions, LoadOptions, MeasureOptions, ModelOptions,
                      PretokenizeOptions, TerOptions, TokenizerOptions, TrainerOptions, TranslatorOptions)
from .records import (BleuResult, Comparison, DataReport, Measurement, MetricResult, Metrics, ModelCosts,
                      ParsevalResult, ParsevalRow, ProfileEntry, SpecialIds)
from .tokenizer import Tokenizer, detokenize, pretokenize, utf8_check, utf8_repair
from .trainer import Trainer
from .translator import Hypothesis, Partial, Score, Translator

__all__ = [
    "Activation", "AlignmentStep", "AlignmentUnit", "AttentionKind", "AttentionOptions", "BleuOptions", "BleuResult",
    "BleuSmooth", "BleuTokenize",
    "BusyError", "CancelledError", "ChrfOptions", "ClosedError", "Comparison", "DataReport", "Dtype", "Event", "Export",
    "FileError", "FormatError", "Hypothesis", "Init", "InvalidError", "Language", "LengthNorm", "LoadOptions",
    "LogLevel", "LongSource", "MeasureOptions", "Measurement", "MetricKind", "MetricResult", "Metrics", "Model",
    "ModelCosts", "ModelOptions", "NormOrder", "OutOfMemoryError", "Parameters", "ParsevalResult", "ParsevalRow",
    "ParsevalStatus", "Partial", "Positions", "PretokenizeOptions", "ProfileEntry", "ProfileKind", "Score", "Sharing", "Smoothing",
    "Special", "SpecialIds", "Start", "Status", "StopRule", "TerOptions", "Tokenizer", "TokenizerKind",
    "TokenizerOptions", "Trainer", "TrainerOptions", "TransformerError", "Translator", "TranslatorOptions",
    "UnsupportedError", "alignment_links", "attention", "bleu", "chrf", "compare", "detokenize", "measure",
    "model_costs", "parseval", "pretokenize", "status_name", "ter", "utf8_check", "utf8_repair", "version",
]
__version__: str = _lib.tfm_version().decode()


def version() -> str:
    """The version of the library that was loaded: "0.2.0"."""
    return __version__


def status_name(status: int) -> str:
    """"invalid argument" and so on."""
    return str(_lib.tfm_status_name(_whole("status", status, _c_int32)).decode())
