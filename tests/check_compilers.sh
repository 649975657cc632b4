#!/usr/bin/env bash
# Builds with gcc and clang, all of it at -O2 and at -O3, in build/compilers. Each build passes the tests of the kernels,
# the gradients and the golden numbers, and what tests/computed.c prints agrees with that of the first within bounds.
# Takes about twenty minutes, nearly all of them to compile.
# Usage: tests/check_compilers.sh [gcc-O2|gcc-O3|clang-14-O2|clang-14-O3...]     all four without one
# Prints how far each is off, and "N passed, N failed"; exit code 1 when one failed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
builds=${*:-gcc-O2 gcc-O3 clang-14-O2 clang-14-O3}
"$root/examples/install_missing.sh" gcc=gcc clang-14=clang-14 /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build \
    pkg-config=pkg-config check.pc=check libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev zlib.pc=zlib1g-dev
cd "$root"
mkdir -p build/compilers
rm -f build/compilers/model
tests='test_kernels test_gemm test_attention_kernel test_autograd test_goldens test_model_oracle'

# The level comes last on the command line, so that it is that of the kernels too.
build() # BUILD
{
    local dir=build/compilers/$1 wrapper=$root/build/compilers/cc-$1
    printf '#!/bin/sh\nexec %s "$@" -%s\n' "${1%-*}" "${1##*-}" > "$wrapper"
    chmod +x "$wrapper"
    [ -e "$dir/build.ninja" ] || CC=$wrapper meson setup "$dir" -Dbuildtype=release -Dtests=enabled -Ddocs=disabled \
        -Dblis=disabled -Ddefault_library=static || return 1
    # shellcheck disable=SC2046,SC2086 # lists
    ninja -C "$dir" tests/computed $(printf 'tests/%s ' $tests)
}

# The build, its tests, and what it computes with the model that the first one trains, in DIR.out.
build_and_test() # BUILD DIR
{
    local test
    build "$1" > "$2.log" 2>&1 || { grep -vE '^\[[0-9]+/' "$2.log" | tail -n 40; return 1; }
    for test in $tests; do
        "$2/tests/$test" > "$2.log" 2>&1 || { tail -n 40 "$2.log"; return 1; }
    done
    "$2/tests/computed" build/compilers/model > "$2.out"
}

# How far numbers are off, relative to their size or to 1. float32: a sum of some thousand products in another order.
# bfloat16 and int8 round to 8 bits, and where float32 is off by a bit, now and then to the other neighbour.
compare() # FIRST OTHER
{
    paste -d '|' "$1" "$2" | awk -F '|' '
        BEGIN {
            bound["f32_loss"] = 1e-6; bound["f32_norm"] = bound["f32_score"] = 1e-5
            bound["bf16_loss"] = 1e-2; bound["bf16_norm"] = bound["bf16_score"] = bound["int8_score"] = 3e-2
        }
        { split($1, a, " "); split($2, b, " "); kind = a[1]; n[kind]++ }
        kind ~ /_ids$/ { worst[kind] += $1 != $2; next }
        { size = a[2] < 0 ? -a[2] : a[2]; if (size < 1) size = 1
          off = (a[2] - b[2]) / size; if (off < 0) off = -off
          if (kind != b[1] || b[2] !~ /^-?[0-9]/) off = 1e9 # nan, inf, another line
          if (off > worst[kind]) worst[kind] = off }
        END {
            for (kind in n) {
                printf "%s: %d, off by at most %.2g, bound %g\n", kind, n[kind], worst[kind], bound[kind]
                if (!(worst[kind] <= bound[kind])) bad++
            }
            exit bad || !NR
        }' | sort
    [ "${PIPESTATUS[1]}" -eq 0 ]
}

passed=0 failed=0 first=
for name in $builds; do
    dir=build/compilers/$name
    echo "== $name"
    if build_and_test "$name" "$dir" && compare "${first:=$dir.out}" "$dir.out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
