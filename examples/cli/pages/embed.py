#!/usr/bin/env python3
"""Writes a page as C source: one text with its style sheets and scripts inside, in two parts around its data.

Usage: embed.py PAGE.html OUT.c
PAGE_before and PAGE_after of pages.h stand around what the page marks as "<!-- data -->".
"""
import pathlib
import re
import sys

STYLE = re.compile(r'<link rel="stylesheet" href="([\w.]+)">')
SCRIPT = re.compile(r'<script src="([\w.]+)"></script>')
MARK = "<!-- data -->"


def main(page, out):
    def inside(tag):
        return lambda found: f"<{tag}>\n{(page.parent / found[1]).read_text(encoding='utf-8')}</{tag}>"

    text = page.read_text(encoding="utf-8")
    text = SCRIPT.sub(inside("script"), STYLE.sub(inside("style"), text))
    if text.count(MARK) != 1 or re.search(r'(src|href)="(?!data:)', text):
        sys.exit(f"{page}: {MARK} must be there once, and no other file be named")
    with open(out, "w", encoding="ascii") as source:
        source.write('#include "pages.h"\n')
        for name, part in zip(("before", "after"), text.split(MARK)):
            numbers = ",".join(f"'\\x{byte:02x}'" for byte in part.encode() + b"\0")
            source.write(f"const char {page.stem}_{name}[] = {{\n{numbers}\n}};\n")


main(pathlib.Path(sys.argv[1]), sys.argv[2])
