"""The package says what the header says: files, layouts, constants, and a counterpart for every function."""
import ast
import ctypes
import os
import re
import subprocess

import pytest
from conftest import PACKAGE, ROOT

import generate
import read_header
from libtransformer import _abi, constants

HEADER = (ROOT / "include" / "transformer.h").read_text(encoding="utf-8")
C_TYPES = {"uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32,
           "size_t": ctypes.c_size_t, "float": ctypes.c_float, "double": ctypes.c_double}


def c_layout(header, include, folder):
    """What a C compiler says: "struct.field offset size" and "CONSTANT value" lines."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{include}"', "int main(void) {"]
    for struct in header.structs:
        lines.append(f'printf("{struct.name} 0 %zu\\n", sizeof({struct.name}));')
        for field in struct.fields:
            member = f"{struct.name}, {field.name}"
            lines.append(f'printf("{struct.name}.{field.name} %zu %zu\\n", offsetof({member}), '
                         f"sizeof((({struct.name} *)0)->{field.name}));")
    for constant in header.constants + header.enums["tfm_status"]:
        lines.append(f'printf("{constant.name} %d\\n", (int){constant.name});')
    source, program = folder / "layout.c", folder / "layout"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run([os.environ.get("CC", "cc"), "-o", program, source], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def python_layout(header):
    """The same of the package."""
    for struct in header.structs:
        kind = getattr(_abi, struct.name)
        yield f"{struct.name} 0 {ctypes.sizeof(kind)}"
        for field in struct.fields:
            member = getattr(kind, field.name)
            yield f"{struct.name}.{field.name} {member.offset} {member.size}"
    version = dict(zip(("MAJOR", "MINOR", "PATCH"), _abi.VERSION))
    for constant in header.constants:
        match = generate.VERSION.fullmatch(constant.name)
        if match:
            yield f"{constant.name} {version[match[1]]}"
        else:
            group, member = generate.find_class(constant.name)
            yield f"{constant.name} {int(getattr(constants, group)[member])}"
    for status in header.enums["tfm_status"]:
        yield f"{status.name} {int(constants.Status[re.sub('TFM_(E_)?', '', status.name)])}"


def test_generated_files_are_what_the_header_says():
    for name, text in generate.files(HEADER).items():
        have = (PACKAGE / "libtransformer" / name).read_text(encoding="utf-8")
        assert have == text, "run bindings/python/generate.py"


def test_layouts_and_constants_are_those_of_c(tmp_path):
    header = read_header.Header(HEADER)
    assert list(python_layout(header)) == c_layout(header, ROOT / "include" / "transformer.h", tmp_path)


@pytest.mark.parametrize("old, new", [
    ("    uint32_t beam; ", "    uint64_t beam; "),
    ("    float    alpha; ", "    uint32_t another; float    alpha; "),
    ("#define TFM_EOS 1", "#define TFM_EOS 7"),
])
def test_a_changed_header_is_noticed(tmp_path, old, new):
    assert old in HEADER
    changed = tmp_path / "transformer.h"
    changed.write_text(HEADER.replace(old, new))
    assert list(python_layout(read_header.Header(HEADER))) != c_layout(read_header.Header(HEADER), changed, tmp_path)
    assert any((PACKAGE / "libtransformer" / name).read_text() != text
               for name, text in generate.files(changed.read_text()).items())


@pytest.mark.parametrize("addition, words", [
    ("TFM_API unusual tfm_new(;", "no rule reads"),
    ("typedef struct tfm_new { uint32_t a; } tfm_new;", "tfm_new is new"),
    ("#define TFM_NEW_THING 3\n", "TFM_NEW_THING is new"),
    ("typedef struct tfm_bits { uint32_t a : 3; } tfm_bits;", "no member"),
])
def test_a_declaration_of_no_known_form_is_an_error(addition, words):
    with pytest.raises(SyntaxError, match=words):
        generate.files(HEADER.replace("#ifdef __cplusplus\n}", addition + "\n#ifdef __cplusplus\n}"))


def functions_used():
    """Names like tfm_x that the hand-written modules call."""
    for path in (PACKAGE / "libtransformer").glob("*.py"):
        if path.name != "_abi.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("lib", "_lib"):
                    yield node.attr


def test_every_function_has_a_counterpart():
    declared = {function.name for function in read_header.Header(HEADER).functions}
    assert len(declared) == HEADER.count("\nTFM_API ")
    by_another = {"tfm_version", "tfm_decoder_create", "tfm_decoder_translate", "tfm_decoder_translate_ids"}
    assert declared == set(functions_used()) | by_another


def test_prototypes_are_those_of_the_header():
    for function in read_header.Header(HEADER).functions:
        result, arguments = _abi.PROTOTYPES[function.name]
        assert len(arguments) == len(function.arguments)
        for have, want in zip(arguments, function.arguments):
            if want.stars == 0 and want.base in C_TYPES:
                assert have is C_TYPES[want.base], function.name
        if function.result.stars == 0 and function.result.base in C_TYPES:
            assert result is C_TYPES[function.result.base], function.name
