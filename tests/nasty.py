#!/usr/bin/env python3
"""Makes lines of text out of public collections of awkward ones, and judges what a program made of such lines.

Usage: nasty.py lines FOLDER       all lines of the collections, one after another, on standard output
       nasty.py check IN OUT       fails unless OUT has as many lines as IN and is UTF-8
       nasty.py same IN OUT        and unless it is IN, with each invalid sequence replaced by U+FFFD; a line may end in CRLF,
                                   the first begin with a byte order mark
       nasty.py ids IN             fails when a line of ids has one that only the library may put there
"""
import bz2
import gzip
import json
import sys
from pathlib import Path
from typing import Iterator, List

RESERVED = {"0", "1", "2"}  # padding, the end, the beginning


def normalization(folder: Path) -> Iterator[bytes]:
    """The five columns of each row, which are numbers of characters."""
    for row in bz2.decompress((folder / "NormalizationTest.txt.bz2").read_bytes()).decode().splitlines():
        if row and row[0] not in "#@":
            yield " ".join("".join(chr(int(c, 16)) for c in column.split()) for column in row.split(";")[:5]).encode()


def breaks(path: Path) -> Iterator[bytes]:
    """The characters of a test of breaks, their marks left out."""
    for row in gzip.decompress(path.read_bytes()).decode().splitlines():
        codes = [word for word in row.split("#")[0].split() if word not in "\u00f7\u00d7"]
        if codes:
            yield "".join(chr(int(c, 16)) for c in codes if not 0xD800 <= int(c, 16) <= 0xDFFF).encode()


def case_folding(path: Path) -> Iterator[bytes]:
    """Each character beside what it folds to."""
    for row in gzip.decompress(path.read_bytes()).decode().splitlines():
        if row and row[0] != "#":
            code, _, mapping = row.split("; ")[:3]
            yield (chr(int(code, 16)) + " " + "".join(chr(int(c, 16)) for c in mapping.split())).encode()


def lines(folder: Path) -> Iterator[bytes]:
    yield from (folder / "blns.txt").read_bytes().split(b"\n")
    yield from (s.encode("utf-8", "replace") for s in json.loads((folder / "blns.json").read_text("utf-8")))
    yield from (folder / "UTF-8-test.txt").read_bytes().split(b"\n")
    yield from (folder / "utf8tests" / "utf8tests.bin").read_bytes().split(b"\n")
    yield from normalization(folder)
    yield from breaks(folder / "GraphemeBreakTest.txt.gz")
    yield from breaks(folder / "WordBreakTest.txt.gz")
    yield from case_folding(folder / "CaseFolding.txt.gz")


def split(path: str) -> List[bytes]:
    data = Path(path).read_bytes()
    return (data[:-1] if data.endswith(b"\n") else data).split(b"\n") if data else []


def main(what: str, *names: str) -> None:
    if what == "lines":
        sys.stdout.buffer.write(b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines(Path(names[0]))))
        return
    if what == "ids":
        for number, line in enumerate(split(names[0]), 1):
            if RESERVED & set(line.decode().split()):
                sys.exit(f"line {number} has a control token: {line!r}")
        return
    given, got = split(names[0]), split(names[1])
    given[:1] = [line.removeprefix(b"\xef\xbb\xbf") for line in given[:1]]
    if len(given) != len(got):
        sys.exit(f"{len(got)} lines for {len(given)}")
    for number, (before, after) in enumerate(zip(given, got), 1):
        text = after.decode("utf-8")  # raises when it is not
        if what == "same" and text != before.removesuffix(b"\r").decode("utf-8", "replace"):
            sys.exit(f"line {number} was {before!r} and is {after!r}")


main(*sys.argv[1:])
