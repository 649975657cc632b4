#!/usr/bin/env python3
"""Doxygen makes the reference without a warning and without dead links; each function says since when it is there, and
what it returns.

Usage: check_reference.py SOURCE_ROOT VERSION
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Faults planted in copies of header and README: (what stands there, what takes its place).
PLANTED = {
    "a link of a page that leads nowhere": (r"\]\(doc/guide\.md\)", "](doc/guide.html)"),
    "a function without a comment": (r"/\* Ends a model.*?\*/", ""),
    "a field without a comment": (r"(uint32_t beam;) +/\*.*?\*/", r"\1"),
    "a constant without a comment": (r"(#define TFM_STOP_WORST 1) /\*.*?\*/", r"\1"),
    "a struct without a comment": (r"/\* How to search\..*?\*/\n", ""),
    "a function that does not say since when": (r" since 0\.2( \*/\nTFM_API void tfm_model_free)", r"\1"),
    "a status that is not explained": (r" \* returns TFM_OK, TFM_E_INVALID \(there is no such entry\)\.", " *"),
}


def make(root, version, out):
    """What Doxygen has to say, or None."""
    done = subprocess.run([root / "doc/make_reference.sh", root, version, out], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout or "Doxygen fails" if done.returncode or done.stdout.strip() else None


def functions(folder):
    for path in sorted(folder.glob("*.xml")):
        for member in xml.etree.ElementTree.parse(path).iter("memberdef"):
            if member.get("kind") == "function":
                yield member


def gaps(folder):
    count = 0
    for member in functions(folder):
        name = member.findtext("name")
        kinds = {section.get("kind") for section in member.iter("simplesect")}
        count += 1
        if "since" not in kinds:
            yield f"{name} does not say since when it is there"
        if "tfm_status" in "".join(member.find("type").itertext()).split() and "return" not in kinds:
            yield f"{name} does not say which status it returns"
    if not count:
        yield "there is no function in the reference"


def dead_links(folder):
    for path in sorted(folder.glob("*.html")):
        for target in re.findall(r'(?:href|src)="([^"#]+)', path.read_text()):
            if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
                yield f"{path.name}: {target} leads nowhere"


def faults(root, version):
    with tempfile.TemporaryDirectory() as out:
        said = make(root, version, out)
        out = pathlib.Path(out)
        return said or "\n".join([*gaps(out / "xml"), *dead_links(out / "html")])


def copy(root, to):
    """What Doxygen reads."""
    shutil.copytree(root / "doc", to / "doc")
    shutil.copytree(root / "include", to / "include")
    shutil.copy(root / "README.md", to)
    (to / "examples/experiments").mkdir(parents=True)
    for page in ("examples/README.md", "examples/experiments/README.md"):
        shutil.copy(root / page, to / page)


def test_itself(root, version):
    for name, (old, new) in PLANTED.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            copy(root, folder)
            changed = 0
            for path in (folder / "include/transformer.h", folder / "README.md"):
                text, n = re.subn(old, new, path.read_text(), count=1, flags=re.S)
                path.write_text(text)
                changed += n
            if not changed or not faults(folder, version):
                sys.exit(f"self-test: {name} is not found")


if __name__ == "__main__":
    source, number = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    sys.exit(faults(source, number) or test_itself(source, number))
