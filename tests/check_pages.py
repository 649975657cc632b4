#!/usr/bin/env python3
"""Runs every code block of a page as its reader would, in an empty folder, against an installed copy of the library.

Usage: check_pages.py SOURCE_ROOT BUILD_ROOT C_COMPILER PAGE

All blocks of a page share a folder and a shell.
    ```sh               runs; it ends at the first command that fails
    ```c, cpp, python   is the file that its first line names in a comment; a later shell block must use it
    ```text             is the output of the shell block above it; "..." stands for anything
    <!-- test: ... -->      shell commands that the page does not show: they make the reader's files, or check results.
                            $source and $build are the roots, and functions defined here stay
    <!-- untested: why -->  the next block is only shown
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$|^<!-- (test|untested):\s(.*?)-->$", re.M | re.S)
NAMED = re.compile(r"^(?:/\*|//|#) ([\w.-]+\.(?:c|cpp|py))\b")


class Fault(Exception):
    """What is wrong with a page, for its author."""


def parts(text):
    """(kind, text) of the blocks and comments of a page, without those that are only shown."""
    rest = FENCE.sub("", text)
    if re.search(r"^ {4,}\S", re.sub(r"<!--.*?-->", "", rest, flags=re.S), re.M):
        raise Fault("an indented line outside of a block: nothing would run it")
    if "```" in rest or "<!--" in rest:
        raise Fault("a block or comment that is not closed, or of another form")
    shown = False
    for found in FENCE.finditer(text):
        language, block, comment, commands = found.groups()
        if comment == "untested":
            shown = True
            continue
        if not shown:
            yield (comment or language), (commands or block)
        shown = False


class Session:
    """The shell script that a page amounts to; its files are made in folder."""

    def __init__(self, folder):
        self.folder = folder
        self.script = "set -eu -o pipefail\n"
        self.shown = []  # commands, and what they must print or None
        self.unused = {}

    def add(self, kind, text):
        if kind == "test":
            self.script += text + "\n"
        elif kind == "sh":
            self.run(text)
        elif kind == "text":
            if not self.shown or self.shown[-1][1] is not None:
                raise Fault(f"an output without a command above it:\n{text}")
            self.shown[-1][1] = text
        elif kind in ("c", "cpp", "python"):
            self.save(text)
        else:
            raise Fault(f"a block of an unknown language '{kind}':\n{text}")

    def run(self, text):
        number = len(self.shown)
        self.shown.append([text, None])
        self.script += f"exec 3>&1 4>&2 >.out.{number} 2>&1\n{text}\nexec >&3 2>&4 3>&- 4>&-\n"
        for name in [name for name in self.unused if name in text]:
            del self.unused[name]

    def save(self, text):
        named = NAMED.match(text)
        if not named:
            raise Fault(f"the first line of a program names no file:\n{text}")
        self.script += f"cat > {named[1]} << 'END OF BLOCK'\n{text}END OF BLOCK\n"
        self.unused[named[1]] = True

    def output(self, number):
        path = self.folder / f".out.{number}"
        return path.read_text(errors="replace") if path.exists() else None

    def execute(self, environment):
        for name in self.unused:
            raise Fault(f"no command uses {name}")
        done = subprocess.run(["bash", "-c", self.script], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            last = [i for i in range(len(self.shown)) if self.output(i) is not None]
            where = f"{self.shown[last[-1]][0]}{self.output(last[-1])}" if last else ""
            raise Fault(f"exit code {done.returncode} at or after:\n{where}\n{done.stdout}")
        for number, (text, wanted) in enumerate(self.shown):
            if wanted is not None and not matches(wanted, self.output(number)):
                raise Fault(f"{text}prints\n{self.output(number)}instead of\n{wanted}")


def matches(wanted, got):
    pattern = re.escape(wanted.strip()).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, got.strip(), re.S) is not None


def check(text, environment):
    """How many blocks of a page ran; raises Fault."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(pathlib.Path(folder))
        for kind, block in parts(text):
            session.add(kind, block)
        session.execute(environment)
        return len(session.shown)


WRONG = {
    "fails": "```sh\nfalse\n```\n",
    "fails in a pipe": "```sh\nfalse | true\n```\n",
    "prints something else": "```sh\necho a\n```\n```text\nb\n```\n",
    "has an unnamed program": "```c\nint x;\n```\n",
    "has an unused program": "```c\n/* a.c */\n```\n",
    "does not compile": "```c\n/* a.c */\nint x\n```\n```sh\ncc -c a.c\n```\n",
    "has an indented block": "text\n\n    cc -c a.c\n",
    "is not closed": "```sh\nfalse\n",
    "has a language of its own": "```perl\n1\n```\n",
    "fails out of sight": "<!-- test: false -->\n",
}
RIGHT = ("<!-- test: b() { echo b; } -->\n```c\n/* a.c */\nint x;\n```\n```sh\ncc -c a.c\necho a\nb\n```\n"
         "```text\n...\nb\n```\n<!-- untested: no -->\n```sh\nfalse\n```\n<!-- test: test -e a.o -->\n")


def test_itself(environment):
    check(RIGHT, environment)
    for name, text in WRONG.items():
        try:
            check(text, environment)
        except Fault:
            continue
        sys.exit(f"self-test: a page that {name} is accepted")


def install(build, folder):
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder / "root"], check=True)
    return next((folder / "root").rglob("libtransformer.pc")).parent.parent


def reader(source, build, compiler, folder):
    """The environment of somebody who has installed the library, with a folder of tools in front."""
    libraries = install(build, folder)
    tools = folder / "tools"
    tools.mkdir()
    (tools / "cc").symlink_to(shutil.which(compiler))
    programs = next((folder / "root").rglob("bin/tfm")).parent
    return dict(os.environ, source=str(source), build=str(build), LC_ALL="C.UTF-8",
                PATH=f"{tools}:{programs}:{os.environ['PATH']}", LD_LIBRARY_PATH=str(libraries),
                PKG_CONFIG_PATH=str(libraries / "pkgconfig"), PKG_CONFIG_SYSROOT_DIR=str(folder / "root"),
                PYTHONPATH=str(source / "bindings/python"), PYTHONDONTWRITEBYTECODE="1")


def main(source, build, compiler, page):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    with tempfile.TemporaryDirectory() as folder:
        environment = reader(source, build, compiler, pathlib.Path(folder))
        test_itself(environment)
        try:
            count = check((source / page).read_text(), environment)
        except Fault as fault:
            sys.exit(f"{page}: {fault}")
    if not count:
        sys.exit(f"{page}: no command in it runs")
    print(f"{page}: {count} blocks of commands")


if __name__ == "__main__":
    main(*sys.argv[1:])
