#!/usr/bin/env python3
"""The table "Known faults of others" of doc/reliability.md is true: each test that a row names has its number, and each
number that a test has is in a row. Usage: check_behaviours.py SOURCE_ROOT"""
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
SOURCES = [path for pattern in ("tests/*.c", "tests/*.cpp", "tests/cli_*.sh", "bindings/python/tests/*.py")
           for path in ROOT.glob(pattern)]
NUMBER = re.compile(r"(?<![A-Za-z0-9])c(\d\d)(?=[_ ])")

numbers = {}  # of each program; Python has modules of the same names
for path in SOURCES:
    numbers.setdefault(path.stem, set()).update(NUMBER.findall(path.read_text()))
table = (ROOT / "doc/reliability.md").read_text().split("## Known faults of others")[1]
rows = {number: re.findall(r"`(\w+)`", tests)
        for number, tests in re.findall(r"^\| c(\d\d) \|.*\|([^|]*)\|$", table, re.M)}

wrong = [f"c{number}: {test} has no test of this number" for number, tests in rows.items()
         for test in tests if number not in numbers.get(test, ())]
wrong += [f"c{number}: no test" for number, tests in rows.items() if not tests]
wrong += [f"{test}: name it in the row c{number} of doc/reliability.md" for test, found in numbers.items()
          for number in found if test not in rows.get(number, ())]
if wrong or len(rows) < 20:
    sys.exit("\n".join(sorted(wrong)) or f"only {len(rows)} rows")
print(f"{len(rows)} behaviours, {sum(map(len, rows.values()))} tests")
