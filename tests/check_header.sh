#!/usr/bin/env bash
# The public header compiles alone, twice over, as strict C99 and C++11. Usage: check_header.sh HEADER
set -eu
header=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf '#include "transformer.h"\n#include "transformer.h"\nextern int unit; int unit = TFM_OK;\n' > "$tmp/unit.c"
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$(dirname "$header")"
tried=0

try() # COMPILER LANGUAGE STANDARD
{
    if ! command -v "$1" > /dev/null; then
        echo "$1 is not installed"
        return
    fi
    "$1" $flags -x "$2" "-std=$3" "$tmp/unit.c"
    echo "$1 -std=$3: clean"
    tried=$((tried + 1))
}

try gcc c c99
try g++ c++ c++11
try clang c c99
try clang++ c++ c++11

# The check has teeth: C++ style comments and a C11 keyword must be refused.
printf '#include "transformer.h"\n// no\n' > "$tmp/unit.c"
if gcc $flags -x c -std=c90 "$tmp/unit.c" 2> /dev/null; then
    echo "a planted fault was not refused"
    exit 1
fi
[ "$tried" -ge 2 ] || { echo "needs a C and a C++ compiler"; exit 1; }
