#!/usr/bin/env python3
"""Writes what the Python package takes from transformer.h: layouts and prototypes, constants, options and records.

Usage: generate.py           writes libtransformer/{_abi,constants,options,records}.py
       generate.py --check   writes nothing, and fails when one of them is not what the header says
"""
import re
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

from read_header import Callback, CType, Field, Header, Struct, Value

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "include" / "transformer.h"

# Each constant belongs to one class: its members are what the pattern's group matches.
CLASSES = {
    "Dtype": (r"TFM_DTYPE_(\w+)", "Types of the operands of matrix products."),
    "LogLevel": (r"TFM_LOG_(\w+)", "How grave a message is."),
    "Special": (r"TFM_(PAD|EOS|BOS|UNK)", "Ids that every vocabulary reserves."),
    "TokenizerKind": (r"TFM_TOKENIZER_(\w+)", "How text is cut into tokens."),
    "Language": (r"TFM_LANGUAGE_(\w+)", "Languages with rules of their own for words."),
    "NormOrder": (r"TFM_(POST|PRE)_NORM", "Where layer normalisation stands."),
    "Positions": (r"TFM_POSITIONS_(\w+)", "How positions are encoded."),
    "Export": (r"TFM_EXPORT_(\w+)", "Formats of other systems that models are written in."),
    "Activation": (r"TFM_ACTIVATION_(\w+)", "What the feed-forward network applies."),
    "Sharing": (r"TFM_SHARE_(\w+)", "Which embeddings are one matrix."),
    "Start": (r"TFM_START_(\w+)", "What the decoder reads first."),
    "Init": (r"TFM_INIT_(\w+)", "Limits of the random weights."),
    "LengthNorm": (r"TFM_LENGTH_(\w+)", "What the score of a hypothesis is divided by."),
    "LongSource": (r"TFM_LONG_(\w+)", "What becomes of a line that is too long."),
    "AlignmentStep": (r"TFM_ALIGNMENT_(NONE|OUTPUT|INPUT)", "Whether and how tokens are aligned with those of their source."),
    "AlignmentUnit": (r"TFM_ALIGNMENT_(TOKENS|WORDS)", "What rows and columns of an alignment are."),
    "StopRule": (r"TFM_STOP_(\w+)", "When the search for a sentence ends."),
    "AttentionKind": (r"TFM_ATTENTION_(\w+)", "Which attention of the model."),
    "Smoothing": (r"TFM_SMOOTHING_(\w+)", "Where label smoothing puts its mass."),
    "Event": (r"TFM_EVENT_(\w+)", "What happened in a training."),
    "ProfileKind": (r"TFM_PROFILE_(\w+)", "What an entry of a profile counts."),
    "BleuTokenize": (r"TFM_BLEU_TOKENIZE_(\w+)", "How BLEU cuts its text."),
    "BleuSmooth": (r"TFM_BLEU_SMOOTH_(\w+)", "What BLEU makes of a precision of zero."),
    "ParsevalStatus": (r"TFM_PARSEVAL_(\w+)", "What became of a parse."),
    "MetricKind": (r"TFM_METRIC_(\w+)", "How translations are judged."),
}
VERSION = re.compile(r"TFM_VERSION_(MAJOR|MINOR|PATCH)")

# Structs that Python code fills by keywords, and those it receives as dataclasses; the rest stays inside the package.
OPTIONS = {
    "tfm_tokenizer_options": "TokenizerOptions",
    "tfm_pretokenize_options": "PretokenizeOptions",
    "tfm_model_options": "ModelOptions",
    "tfm_load_options": "LoadOptions",
    "tfm_decoder_options": "TranslatorOptions",
    "tfm_trainer_options": "TrainerOptions",
    "tfm_attention_options": "AttentionOptions",
    "tfm_bleu_options": "BleuOptions",
    "tfm_chrf_options": "ChrfOptions",
    "tfm_ter_options": "TerOptions",
    "tfm_measure_options": "MeasureOptions",
}
RECORDS = {
    "tfm_special_ids": "SpecialIds",
    "tfm_progress": "Metrics",
    "tfm_data_report": "DataReport",
    "tfm_model_costs": "ModelCosts",
    "tfm_profile_entry": "ProfileEntry",
    "tfm_bleu_result": "BleuResult",
    "tfm_metric_result": "MetricResult",
    "tfm_comparison": "Comparison",
    "tfm_measurement": "Measurement",
    "tfm_parseval_row": "ParsevalRow",
    "tfm_parseval_result": "ParsevalResult",
}
INTERNAL = {"tfm_error", "tfm_allocator", "tfm_text", "tfm_ids", "tfm_parameter", "tfm_request", "tfm_partial", "tfm_parseval_options"}
# The package owns these: memory comes from malloc, user pointers are closures, and a trainer is iterated.
NOT_OPTIONS = {"struct_size", "reserved", "reserved2", "reserved3", "allocator", "log_user", "progress_user", "reduce_user",
               "n_forbidden"}
NOT_OF = {"TrainerOptions": {"progress"}}

SCALARS = {
    "char": "c_char", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "tfm_status": "c_int",
    "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
}
PYTHON = {"float": "float", "double": "float"}
HINTS = {
    "tfm_log_fn": "Callable[[int, str], object]",
    "tfm_decode_progress_fn": "Callable[[int, int], object]",
    "tfm_reduce_fn": "Callable[[Any], object]",
    "tfm_ids": "Iterable[Sequence[int]]",
}
WIDTH = 120


class Writer:
    """Python text for the declarations of a header."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.opaque = set(header.opaque)
        known = set(OPTIONS) | set(RECORDS) | INTERNAL
        for struct in header.structs:
            if struct.name not in known:
                raise SyntaxError(f"{struct.name} is new: name it in OPTIONS, RECORDS or INTERNAL of generate.py")

    def ctype(self, t: CType, sized: bool = False) -> str:
        """The ctypes expression of a type; sized: a pointer to what has its size beside it, which is never followed."""
        if t.stars == 0:
            return "None" if t.base == "void" else SCALARS.get(t.base, t.base)
        if sized or t.base == "void" or t.base in self.opaque:
            return self._pointers("c_void_p", t.stars - 1)
        if t.base == "char" and t.stars == 1 and t.const:
            return "c_char_p"
        return self._pointers(SCALARS.get(t.base, t.base), t.stars)

    @staticmethod
    def _pointers(name: str, stars: int) -> str:
        return "POINTER(" * stars + name + ")" * stars

    def _callback(self, callback: Callback) -> str:
        return "CFUNCTYPE(" + ", ".join(self.ctype(t) for t in (callback.result, *callback.arguments)) + ")"

    def _members(self, struct: Struct) -> Iterator[str]:
        names = [field.name for field in struct.fields]
        for at, field in enumerate(struct.fields):
            sized = names[at + 1:at + 2] == ["size"]
            text = self._callback(field.callback) if field.callback else self.ctype(field.type, sized)
            yield f'        ("{field.name}", {text}{f" * {field.count}" if field.count else ""}),'

    def abi(self) -> str:
        """Layouts of structs, types of callbacks, prototypes of functions."""
        version = {c.name: c.value for c in self.header.constants}
        blocks = [
            '"""Layouts and prototypes of transformer.h. Written by generate.py: change the header, not this file."""',
            "# flake8: noqa: E501\n"
            "from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, "
            "c_size_t,\n                    c_uint32, c_uint64, c_void_p)\n"
            "from typing import Any, Dict, Tuple",
            "VERSION = (" + ", ".join(str(version["TFM_VERSION_" + part])
                                      for part in ("MAJOR", "MINOR", "PATCH")) + ")",
        ]
        waiting = list(self.header.callbacks)
        for struct in self.header.structs:
            waiting = self._write_callbacks(blocks, waiting, struct)
            blocks.append(f"\nclass {struct.name}(Structure):\n    _fields_ = [\n"
                          + "\n".join(self._members(struct)) + "\n    ]")
        blocks.append("\nPROTOTYPES: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {\n"
                      + "\n".join(self._prototypes()) + "\n}")
        return "\n\n".join(blocks) + "\n"

    def _write_callbacks(self, blocks: List[str], waiting: List[Callback], struct: Struct) -> List[Callback]:
        """Those that the struct is about to use; returns those that still wait."""
        used = {field.type.base for field in struct.fields}
        for callback in waiting:
            if callback.name in used:
                blocks.append(f"\n{callback.name} = {self._callback(callback)}")
        return [callback for callback in waiting if callback.name not in used]

    def _prototypes(self) -> Iterator[str]:
        for function in self.header.functions:
            types = "".join(self.ctype(t) + ", " for t in function.arguments)
            types = types[:-1] if len(function.arguments) == 1 else types[:-2]
            line = f'    "{function.name}": ({self.ctype(function.result)}, ({types})),'
            yield from textwrap.wrap(line, WIDTH, subsequent_indent=" " * 8, break_long_words=False)

    def constants(self) -> str:
        """An IntEnum for each group of constants."""
        groups: Dict[str, List[Value]] = {"Status": [
            Value(re.sub(r"TFM_(E_)?", "", v.name), v.value, v.doc) for v in self.header.enums["tfm_status"]]}
        for constant in self.header.constants:
            if not VERSION.fullmatch(constant.name):
                group, member = find_class(constant.name)
                groups.setdefault(group, []).append(Value(member, constant.value, constant.doc))
        blocks = ['"""Constants of transformer.h. Written by generate.py: change the header, not this file."""\n'
                  "from enum import IntEnum"]
        docs = {"Status": "Result of every call that can fail.", **{name: doc for name, (_, doc) in CLASSES.items()}}
        for name, values in groups.items():
            lines = [f"\nclass {name}(IntEnum):", *docstring(docs[name], [(v.name, v.doc) for v in values])]
            lines += [f"    {value.name} = {value.value}" for value in values]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks) + "\n"

    def options(self) -> str:
        """A TypedDict for each struct of options: what the keywords of a call may be."""
        blocks = ['"""Keyword options, each a field of a struct of transformer.h. Written by generate.py."""\n'
                  "import os\nfrom enum import IntEnum\n"
                  "from typing import Any, Callable, Dict, Iterable, Sequence, Tuple, Type, TypedDict, Union\n\n"
                  "from . import constants"]
        members = []
        for struct in self.header.structs:
            if struct.name in OPTIONS:
                name = OPTIONS[struct.name]
                fields = [f for f in struct.fields if f.name not in NOT_OPTIONS | NOT_OF.get(name, set())]
                blocks.append(self._class(f"{name}(TypedDict, total=False)", f"Fields of {struct.name}.", fields,
                                          partial(self._option_hint, struct.name)))
                members += [f'    ("{struct.name}", "{f.name}"): constants.{group},'
                            for f in fields for group in groups_in(f.doc)]
        blocks.append("\n# The class of constants that a field takes.\nMEMBERS: Dict[Tuple[str, str], Type[IntEnum]] = {\n"
                      + "\n".join(members) + "\n}")
        return "\n\n".join(blocks) + "\n"

    def records(self) -> str:
        """A frozen dataclass for each struct of results."""
        blocks = ['"""What the library reports, each a struct of transformer.h. Written by generate.py."""\n'
                  "from dataclasses import dataclass\nfrom typing import Optional, Tuple"]
        for struct in self.header.structs:
            if struct.name in RECORDS:
                fields = [f for f in struct.fields if f.name not in ("struct_size", "reserved")]
                doc = re.sub(r" (Lent for|Grows at|struct_size).*", "", struct.doc) or f"Fields of {struct.name}."
                text = self._class(RECORDS[struct.name], doc, fields, self._record_hint)
                blocks.append("\n@dataclass(frozen=True)" + text)
        return "\n\n".join(blocks) + "\n"

    @staticmethod
    def _class(head: str, doc: str, fields: List[Field], hint: Callable[[Field], str]) -> str:
        lines = [f"\nclass {head}:", *docstring(doc, [(field.name, field.doc) for field in fields])]
        return "\n".join(lines + [f"    {field.name}: {hint(field)}" for field in fields])

    @staticmethod
    def _option_hint(struct: str, field: Field) -> str:
        if field.type.base in HINTS:
            return HINTS[field.type.base]
        if field.type.stars:
            return "Union[str, bytes, os.PathLike[str]]" if field.type.base == "char" else "Any"
        if field.doc.startswith("TFM_") and struct == "tfm_model_options":
            return "Union[int, str]"  # tfm_model_options_set() knows names
        return PYTHON.get(field.type.base, "int")

    @staticmethod
    def _record_hint(field: Field) -> str:
        if field.type.base == "char":
            return "str" if field.count else "Optional[str]"
        kind = PYTHON.get(field.type.base, "int")
        return f"Tuple[{kind}, ...]" if field.count else kind


def find_class(name: str) -> Tuple[str, str]:
    """("Dtype", "F32") of TFM_DTYPE_F32."""
    for group, (pattern, _) in CLASSES.items():
        match = re.fullmatch(pattern, name)
        if match:
            return group, "V" + match[1] if match[1][0].isdigit() else match[1]
    raise SyntaxError(f"{name} is new: give it a class in CLASSES of generate.py")


def groups_in(doc: str) -> Dict[str, str]:
    """The classes whose constants a text names by "TFM_..._*", and these words."""
    found: Dict[str, str] = {}
    for group, (pattern, _) in CLASSES.items():
        words = pattern.split("(")[0] + "*"
        if words in doc and words not in found.values():
            found[group] = words
    return found


def docstring(doc: str, members: List[Tuple[str, str]]) -> List[str]:
    """What a class is, and what each member means, in the words of Python."""
    lines = [f'    """{doc}']
    for name, text in members:
        for group, words in groups_in(text).items():
            text = text.replace(words, group)
        text = re.sub(r"\bNULL\b", "None", text).replace("\\", "\\\\")
        if text:
            lines += textwrap.wrap(f"{name}: {text}", WIDTH, initial_indent="    ", subsequent_indent="        ")
    return [lines[0] + '"""', ""] if len(lines) == 1 else [lines[0], "", *lines[1:], '    """', ""]


def files(header_text: str) -> Dict[str, str]:
    """What each generated file should say."""
    writer = Writer(Header(header_text))
    return {"_abi.py": writer.abi(), "constants.py": writer.constants(), "options.py": writer.options(),
            "records.py": writer.records()}


def main(arguments: List[str]) -> int:
    """Writes the files, or says which of them are stale."""
    stale = 0
    for name, text in files(HEADER.read_text(encoding="utf-8")).items():
        path = HERE / "libtransformer" / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if arguments == ["--check"]:
            print(f"{path} is not what transformer.h says: run bindings/python/generate.py")
            stale = 1
        else:
            path.write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
