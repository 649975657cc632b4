#!/usr/bin/env bash
# Runs the tests of the Python package with the library of this build; skipped where pytest is not installed.
# Usage: check_python.sh SOURCE_ROOT SHARED_OBJECT COMPILER [PACKAGE_WITH_COPY]
set -eu
source=$1 shared=$2
export CC=$3 TFM_PYTHON_COPY=${4-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Debian's Python has Debian's pytest; another one may come first in PATH.
for python in python3 /usr/bin/python3 none; do
    if "$python" -c 'import pytest' 2> /dev/null; then break; fi
done
[ "$python" != none ] || { echo "no python3 has pytest"; exit 77; }

LD_LIBRARY_PATH=$(cd "$(dirname "$shared")" && pwd)
export LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source/bindings/python
cd "$source/bindings/python"
"$python" -m pytest -q -ra -p no:cacheprovider --basetemp="$tmp/pytest"
