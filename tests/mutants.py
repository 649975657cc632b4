#!/usr/bin/env python3
"""Plants the bugs of tests/mutants.txt one at a time in a copy of the tree and runs tests until one fails.

Usage: tests/mutants.py [--first] [NAME...]     NAME: of a bug, default all; --first: only the tests named with it
Prints which test caught each; exit code 1 when a bug was not caught, 2 when one cannot be planted.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TREE, BUILD = ROOT / "build/mutants/tree", ROOT / "build/mutants/build"
COPIED = ["meson.build", "meson_options.txt", "LICENSE", "lib", "include", "examples", "bindings", "doc", "tests"]
OPTIONS = ["buildtype=plain", "optimization=1", "b_ndebug=false", "tests=enabled", "docs=disabled", "blis=disabled"]
SUITES = ["unit", "data", "cli"]  # in the order in which the rest is run
LONGER = 10  # a test hangs when it takes so many times as long as without the bug
MOST_SECONDS = 300  # the same where that is not known
SKIPPED = 77


class Mutant(NamedTuple):
    name: str
    kind: str
    file: str  # in lib/
    first: list[str]  # tests most likely to catch it
    old: str
    new: str


class Stop(Exception):
    """The list or the build is not as it should be."""


def read_mutants(path: Path) -> list[Mutant]:
    mutants = []
    for entry in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in entry.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        head = [part.strip() for part in lines[0].split("|")]
        if len(head) != 4 or any(line[:2] not in ("- ", "+ ") for line in lines[1:]):
            raise Stop(f"not an entry: {lines[0]}")
        old, new = ("\n".join(line[2:] for line in lines[1:] if line[0] == sign) for sign in "-+")
        mutants.append(Mutant(*head[:3], head[3].split(), old, new))
    return mutants


def planted(mutant: Mutant, text: str) -> str:
    found = text.count(mutant.old)
    if found != 1:
        raise Stop(f"{mutant.name}: its old text was found {found} times in lib/{mutant.file}, not once")
    return text.replace(mutant.old, mutant.new)


def write_changed(path: Path, content: bytes) -> None:
    """Leaves what is there already as it is, so that it is not compiled again."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def copy_tree() -> None:
    for name in COPIED:
        source = ROOT / name
        for path in [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file()):
            content = path.read_bytes()
            if path.name == "meson.build":
                content = content.replace(b"'-O3'", b"'-O1'")  # kernels: half the time to compile, and fast enough
            target = TREE / path.relative_to(ROOT)
            write_changed(target, content)
            target.chmod(path.stat().st_mode)


class Suite:
    """The build of the copy and its tests."""

    def __init__(self) -> None:
        data = os.environ.get("TFM_TEST_DATA", str(ROOT.parent / "shared/data"))
        again = ["--reconfigure"] if (BUILD / "build.ninja").exists() else []
        options = [f"-D{option}" for option in [*OPTIONS, f"test_data={data}"]]
        self.run(["meson", "setup", *again, str(BUILD), str(TREE), *options])
        info = BUILD / "meson-info"
        targets = {t["id"]: t["filename"] for t in json.loads((info / "intro-targets.json").read_text())}
        self.tests = {}
        for test in json.loads((info / "intro-tests.json").read_text()):
            suite = next((s for s in SUITES if any(name.endswith(":" + s) for name in test["suite"])), None)
            if suite:
                test["needs"] = [os.path.relpath(f, BUILD) for id in test["depends"] for f in targets[id]]
                test["rank"] = SUITES.index(suite)
                self.tests[test["name"]] = test
        self.seconds: dict[str, float] = {}  # of the tests that pass without a bug

    @staticmethod
    def run(command: list[str]) -> None:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Stop(f"{' '.join(command)}\n{done.stdout[-4000:]}")

    def build(self, name: str) -> None:
        self.run(["ninja", "-C", str(BUILD), *self.tests[name]["needs"]])

    def failure(self, name: str, most: float) -> str | None:
        """What fails when a test is run for at most so many seconds; None: nothing."""
        test = self.tests[name]
        process = subprocess.Popen(test["cmd"], cwd=test["workdir"] or BUILD, env={**os.environ, **test["env"]},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output = process.communicate(timeout=most)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            return f"{name} (hangs)"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode in (0, SKIPPED):
            return None
        case = re.search(r"^[^:\n]+:\d+:[FE]:[^:]*:([^:]+):", output, re.MULTILINE)
        return f"{name}: {case.group(1)}" if case else name

    def passes(self, name: str) -> None:
        """Makes sure that a test passes without a bug; a busy machine may have a second try."""
        if name in self.seconds:
            return
        self.build(name)
        for _ in range(2):
            began = time.monotonic()
            failed = self.failure(name, MOST_SECONDS)
            if not failed:
                self.seconds[name] = time.monotonic() - began
                return
        raise Stop(f"{failed} fails without any bug")

    def catch(self, mutant: Mutant, all_tests: bool) -> str | None:
        """The first test that fails."""
        rest = sorted(self.tests, key=lambda name: self.tests[name]["rank"]) if all_tests else []
        for name in [*mutant.first, *(n for n in rest if n not in mutant.first)]:
            self.build(name)
            known = self.seconds.get(name)
            failed = self.failure(name, MOST_SECONDS if known is None else LONGER * known + 10)
            if failed:
                return failed
        return None


def try_mutant(suite: Suite, mutant: Mutant, all_tests: bool) -> bool:
    path = TREE / "lib" / mutant.file
    clean = path.read_text()
    began = time.monotonic()
    try:
        path.write_text(planted(mutant, clean))
        by = suite.catch(mutant, all_tests)
    finally:
        path.write_text(clean)
    if by:
        suite.passes(re.split("[: ]", by)[0])
    seconds = time.monotonic() - began
    found = by or "NOT CAUGHT"
    print(f"{mutant.name:<30} {mutant.kind:<18} {mutant.file:<30} {found:<70} {seconds:6.1f} s", flush=True)
    return by is not None


def main(arguments: list[str]) -> int:
    os.nice(5)
    names = [argument for argument in arguments if argument != "--first"]
    mutants = read_mutants(ROOT / "tests/mutants.txt")
    unknown = set(names) - {m.name for m in mutants}
    if unknown:
        raise Stop(f"no bug has the name {', '.join(sorted(unknown))}")
    for mutant in mutants:  # all of them, before anything takes time
        planted(mutant, (ROOT / "lib" / mutant.file).read_text())
    mutants = [m for m in mutants if not names or m.name in names]
    copy_tree()
    suite = Suite()
    missed = [m.name for m in mutants if not try_mutant(suite, m, len(names) == len(arguments))]
    print(f"{len(mutants)} planted, {len(mutants) - len(missed)} caught", *[f"not caught: {m}" for m in missed], sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        print(stop, file=sys.stderr)
        sys.exit(2)
