#!/usr/bin/env python3
"""Every relative link and picture of the pages leads to a file, and to a heading where it names one; every page can be
reached from README.md. Usage: check_links.py SOURCE_ROOT"""
import os
import pathlib
import re
import sys
import tempfile

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|<!--.*?-->", re.M | re.S)


def anchors(page):
    """What GitHub makes of the headings."""
    titles = re.findall(r"^#+ +(.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def links(page):
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield target, pathlib.Path(os.path.normpath(page.parent / path)) if path else page, anchor


def broken(pages):
    for page in pages:
        for target, path, anchor in links(page):
            if not path.exists() or (anchor and (path.suffix != ".md" or anchor not in anchors(path))):
                yield f"{page}: {target} leads nowhere"


def lost(pages, start):
    reached, waiting = set(), [start]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [path for _, path, _ in links(page) if path.suffix == ".md" and path.exists()]
    return [f"{page}: no page leads to it" for page in pages if page not in reached]


def faults(root):
    folders = ("doc", "examples", "bindings")
    pages = [root / "README.md", *sorted(page for folder in folders for page in root.glob(folder + "/**/*.md"))]
    return [*broken(pages), *lost(pages, pages[0])]


def misjudged():
    """Whether a tree with one fault of each kind, and right links beside them, gives other faults than these."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "doc").mkdir()
        (root / "README.md").write_text("# A title\n[a](doc/a.md#b-c) [t](#a-title) [w](https://w) [x](doc/x.md) `[y](y)`\n")
        (root / "doc/a.md").write_text("# B: C\n[up](../README.md) [title](../README.md#b) ![p](p.svg)\n")
        (root / "doc/lost.md").write_text("[a](a.md)\n")
        found = [fault.removeprefix(folder + "/") for fault in faults(root)]
    return found != ["README.md: doc/x.md leads nowhere", "doc/a.md: ../README.md#b leads nowhere",
                     "doc/a.md: p.svg leads nowhere", "doc/lost.md: no page leads to it"]


if misjudged():
    sys.exit("self-test: planted faults are not found")
sys.exit("\n".join(faults(pathlib.Path(sys.argv[1]).resolve())) or None)
