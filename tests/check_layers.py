#!/usr/bin/env python3
"""Fails when a file includes what its layer may not see. Usage: check_layers.py SOURCE_ROOT"""
import pathlib
import re
import sys
import tempfile

MAY_INCLUDE = {  # module of lib/: the modules it may include besides itself
    "base": "",
    "tensor": "base",
    "kernels": "base",
    "text": "base",
    "eval": "base",
    "format": "base tensor",
    "autograd": "base tensor kernels",
    "model": "base tensor autograd format",
    "train": "base tensor kernels autograd model format",
    "decode": "base tensor autograd model",
    "api": "base tensor kernels text eval format autograd model train decode",
}
INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
SIMD = re.compile(r"\w*intrin\.h|arm_\w+\.h")

# A tree with one violation of each kind; the rules are worth something when all of them are found.
PLANTED = {
    "lib/base/a.c": '#include "kernels/k.h"\n',
    "lib/text/b.c": '#include "tensor/tensor.h"\n',
    "lib/train/c.c": '#include "decode/beam.h"\n',
    "lib/model/d.c": "#include <immintrin.h>\n",
    "lib/decode/e.c": "TFM_API void tfm_e(void) {}\n",
    "lib/other/f.c": "",
    "lib/api/g.c": '#include "../train/step.h"\n',
    "examples/h.c": '#include "base/base.h"\n',
    "examples/h.cpp": '#include "base/base.h"\n',
    "examples/cli/i.c": '#include "../../lib/base/base.h"\n',
}
ALLOWED = {
    "lib/api/ok.c": '#include "train/step.h"\nTFM_API int x;\n',
    "lib/kernels/ok.c": '#include <immintrin.h>\n#include "transformer.h"\n',
    "examples/cli/cli.h": "",
    "examples/ok.cpp": '#include "transformer.hpp"\n',
    "examples/cli/ok.c": '#include "cli.h"\n#include <transformer.h>\n',
}


def library_faults(path, module, text):
    if module not in MAY_INCLUDE:
        yield 1, f"lib/{module} is not a module of the library"
        return
    seen = {module, *MAY_INCLUDE[module].split()}
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found and found[1] == '"' and found[2] != "transformer.h" and found[2].split("/")[0] not in seen:
            yield number, f"{module} may not include {found[2]}"
        if found and SIMD.fullmatch(found[2]) and module != "kernels":
            yield number, f"{module} may not include {found[2]}: SIMD stays in lib/kernels"
        if re.search(r"\bTFM_API\b", line) and module != "api":
            yield number, f"{module} defines a public symbol: those live in lib/api"


def example_faults(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found and found[1] == '"' and found[2] not in ("transformer.h", "transformer.hpp"):
            if "/" in found[2] or not (path.parent / found[2]).exists():
                yield number, f"an example may not include {found[2]}: it uses the public header alone"


def faults(root):
    for path in sorted(root.glob("lib/**/*.[ch]")):
        module = path.relative_to(root / "lib").parts[0]
        yield from ((path, *fault) for fault in library_faults(path, module, path.read_text()))
    for path in sorted(root.glob("examples/**/*.[ch]*")):
        yield from ((path, *fault) for fault in example_faults(path, path.read_text()))


def missed():
    """Names of planted violations that were not found, and of allowed files that were."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**PLANTED, **ALLOWED}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return {str(path.relative_to(root)) for path, *_ in faults(root)} ^ set(PLANTED)


wrong = sorted(missed())
if wrong:
    print("the rules misjudge the planted", *wrong)
root = pathlib.Path(sys.argv[1])
found = list(faults(root))
for path, number, text in found:
    print(f"{path.relative_to(root)}:{number}: {text}")
if not any(root.glob("lib/*/*.c")):
    sys.exit(f"no sources under {root}/lib")
sys.exit(bool(found or wrong))
