"""Reads transformer.h: constants, structs, callbacks and functions, as the header's regular style writes them.

Nothing is skipped in silence: a line that fits no rule is an error, so that the bindings cannot miss a declaration.
"""
import re
from dataclasses import dataclass
from typing import Dict, List, Tuple

MARK = re.compile("\x01(\\d+)\x02")  # stands for a comment while the code around it is read


@dataclass(frozen=True)
class CType:
    """`const char *` is CType("char", 1, True): a base, how often it is pointed to, and whether the base is const."""

    base: str
    stars: int = 0
    const: bool = False


@dataclass(frozen=True)
class Value:
    """A named number: a constant of the preprocessor, or one of an enum."""

    name: str
    value: int
    doc: str = ""


@dataclass(frozen=True)
class Callback:
    """The type of a pointer to a function; its name is empty when it has none of its own."""

    name: str
    result: CType
    arguments: Tuple[CType, ...]


@dataclass(frozen=True)
class Field:
    """A member of a struct; callback is set instead of type when it is an anonymous pointer to a function."""

    name: str
    type: CType
    count: int  # of an array; 0: no array
    doc: str
    callback: "Callback | None" = None


@dataclass(frozen=True)
class Struct:
    """A struct with members."""

    name: str
    fields: Tuple[Field, ...]
    doc: str


@dataclass(frozen=True)
class Function:
    """A function of the public interface."""

    name: str
    result: CType
    arguments: Tuple[CType, ...]


class Header:
    """All declarations of a header, in its order."""

    def __init__(self, text: str) -> None:
        self.constants: List[Value] = []
        self.enums: Dict[str, List[Value]] = {}
        self.structs: List[Struct] = []
        self.opaque: List[str] = []
        self.callbacks: List[Callback] = []
        self.functions: List[Function] = []
        self._comments: List[str] = []
        code = re.sub(r"/\*.*?\*/|//[^\n]*", self._take_comment, text, flags=re.S)
        code = re.sub(r'#ifdef __cplusplus\n(extern "C" \{|\})\n#endif', "", code)
        self._read_statements(self._read_preprocessor(code))

    def _take_comment(self, match: "re.Match[str]") -> str:
        self._comments.append(plain(match.group()))
        return f"\x01{len(self._comments) - 1}\x02"

    def _doc(self, code: str) -> str:
        return " ".join(self._comments[int(mark)] for mark in MARK.findall(code)).strip()

    def _read_preprocessor(self, code: str) -> str:
        rest = []
        for line in code.split("\n"):
            match = re.fullmatch(r"#define (TFM_\w+) +\(?(-?\d+)\)?\s*(\x01\d+\x02)?\s*", line)
            if match:
                self.constants.append(Value(match[1], int(match[2]), self._doc(match[3] or "")))
            elif not line.startswith("#"):
                rest.append(line)
        return "\n".join(rest)

    def _read_statements(self, code: str) -> None:
        rules = {
            r"typedef enum (\w+) \{(.*)\} \1": self._read_enum,
            r"typedef struct (\w+) \{(.*)\} \1": self._read_struct,
            r"typedef struct (\w+) \1": lambda match, doc: self.opaque.append(match[1]),
            r"typedef (.+)\(\*(\w+)\)\((.*)\)": self._read_callback,
            r"TFM_API (.+?)(\w+)\((.*)\)": self._read_function,
        }
        for statement in split_statements(code):
            lead = re.match(r"(\s|\x01\d+\x02)*", statement)
            assert lead  # it matches nothing as well
            body = statement[lead.end():]
            if "{" not in body:
                body = " ".join(MARK.sub(" ", body).split())
            for rule, read in rules.items():
                match = re.fullmatch(rule, body, flags=re.S)
                if match:
                    read(match, self._doc(lead.group()[lead.group().rfind("\x01"):]))
                    break
            else:
                if body:
                    raise SyntaxError(f"transformer.h: no rule reads: {body}")

    def _read_enum(self, match: "re.Match[str]", doc: str) -> None:
        values = re.findall(r"(TFM_\w+)\s*=\s*(-?\d+),?\s*(\x01\d+\x02)?", match[2])
        self.enums[match[1]] = [Value(name, int(value), self._doc(mark)) for name, value, mark in values]

    def _read_struct(self, match: "re.Match[str]", doc: str) -> None:
        fields: List[Field] = []
        pieces = match[2].split(";")
        for piece, after in zip(pieces, pieces[1:]):
            trailing = re.match(r"[ \t]*(\x01\d+\x02)", after)
            declaration = re.sub(r"^[ \t]*\x01\d+\x02", "", piece)
            inside = self._doc(declaration)
            declaration = " ".join(MARK.sub(" ", declaration).split())
            fields += read_fields(declaration, self._doc(trailing[1]) if trailing else inside)
        self.structs.append(Struct(match[1], tuple(fields), doc))

    def _read_callback(self, match: "re.Match[str]", doc: str) -> None:
        self.callbacks.append(Callback(match[2], read_type(match[1]), read_arguments(match[3])))

    def _read_function(self, match: "re.Match[str]", doc: str) -> None:
        self.functions.append(Function(match[2], read_type(match[1]), read_arguments(match[3])))


def plain(comment: str) -> str:
    """The words of a comment, on one line."""
    words = re.sub(r"^/\*+<?|\*/$|^//+<?|^\s*\*(?!\w)", " ", comment, flags=re.M)
    return " ".join(words.split())


def split_statements(code: str) -> List[str]:
    """Cuts at each semicolon outside braces."""
    statements, depth, begin = [], 0, 0
    for at, character in enumerate(code):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth == 0:
            statements.append(code[begin:at])
            begin = at + 1
    return statements + [code[begin:]]


def read_type(text: str) -> CType:
    """The type in `const tfm_text *const *`."""
    words = text.replace("*", " * ").split()
    names = [word for word in words if word not in ("const", "*")]
    if len(names) != 1:
        raise SyntaxError(f"transformer.h: no type: {text}")
    return CType(names[0], words.count("*"), words[0] == "const")


def read_arguments(text: str) -> Tuple[CType, ...]:
    """The types in `(const char *path, size_t n)`."""
    if text.strip() == "void":
        return ()
    return tuple(read_type(re.sub(r"\w+\s*$", "", argument)) for argument in text.split(","))


def read_fields(declaration: str, doc: str) -> List[Field]:
    """The members in `float beta1, beta2` or `uint64_t matches[8]` or `void *(*resize)(void *user)`."""
    match = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", declaration)
    if match:
        callback = Callback("", read_type(match[1]), read_arguments(match[3]))
        return [Field(match[2], CType("void", 1), 0, doc, callback)]
    match = re.fullmatch(r"((?:const )?\w+ ?\**)\s*(\w+(?:\[\d+\])?(?:, ?\w+(?:\[\d+\])?)*)", declaration)
    if not match:
        raise SyntaxError(f"transformer.h: no member: {declaration}")
    fields = []
    for name, count in re.findall(r"(\w+)(?:\[(\d+)\])?", match[2]):
        fields.append(Field(name, read_type(match[1]), int(count or 0), doc))
    return fields
