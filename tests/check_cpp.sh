#!/usr/bin/env bash
# transformer.hpp compiles without a warning, leaves no symbol of its own, and reaches every function of transformer.h;
# the library builds without a C++ compiler. Usage: check_cpp.sh SOURCE_ROOT TEST_PROGRAM...
set -eu
export LC_ALL=C
root=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

printf '#include "transformer.hpp"\n#include "transformer.hpp"\n' > "$tmp/unit.cpp"
for cxx in g++ clang++; do
    command -v $cxx > /dev/null || { echo "$cxx is not installed"; continue; }
    for std in c++17 c++20; do
        # The tests instantiate what templates the header has.
        for source in "$tmp/unit.cpp" "$root"/tests/test_cpp*.cpp; do
            $cxx -std=$std $warnings -I"$root/include" -fsyntax-only "$source"
        done
        echo "$cxx -std=$std: clean"
    done
done
# A function that lacks "inline" would clash when two files include the header.
g++ -std=c++17 -I"$root/include" -c -o "$tmp/unit.o" "$tmp/unit.cpp"
if nm -g --defined-only "$tmp/unit.o" | grep .; then fail "the header defines these symbols"; fi

# What the header declares and the programs do not call; their sources call nothing of C themselves.
missing() # HEADER PROGRAM...
{
    sed -n 's/^TFM_API [^(]*\b\(tfm_[a-z0-9_]*\)(.*/\1/p' "$1" | sort -u > "$tmp/declared"
    shift
    nm -D --undefined-only "$@" | sed -n 's/^ *U \(tfm_[a-z0-9_]*\).*/\1/p' | sort -u > "$tmp/called"
    comm -23 "$tmp/declared" "$tmp/called" | grep .
}

{ cat "$root/include/transformer.h" && echo 'TFM_API const char *tfm_planted(void);'; } > "$tmp/planted.h"
[ "$(missing "$tmp/planted.h" "$@" | tail -n 1)" = tfm_planted ] || fail "self-test: a forgotten function is not found"
if missing "$root/include/transformer.h" "$@"; then fail "transformer.hpp or its tests do not reach these functions"; fi
if grep -nE '\btfm_[a-z0-9_]+\(' "$root"/tests/*cpp*.[ch]pp; then fail "these calls bypass transformer.hpp"; fi
echo "$(wc -l < "$tmp/declared") functions"

CXX=$tmp/absent meson setup "$tmp/plain" "$root" > "$tmp/log" 2>&1 ||
    { tail -n 5 "$tmp/log"; fail "needs a C++ compiler"; }
meson introspect --targets "$tmp/plain" > "$tmp/targets"
grep -q '"name": "transformer"' "$tmp/targets" || fail "no library without a C++ compiler"
if grep -q '"name": "test_cpp"' "$tmp/targets"; then fail "a C++ compiler was found: this proves nothing"; fi
echo "without a C++ compiler: configured"
