#!/usr/bin/env bash
# Builds the fuzzers with clang under AddressSanitizer and UBSan in build/fuzz, and runs each for a time, as many at
# once as there are processors.
# Usage: tests/fuzz/run.sh SECONDS [NAME...]     NAME: model, text ...; all without one
# What it learns stays in build/fuzz/corpus, so that the next run goes on from there. An input that breaks something is kept in
# build/fuzz/finds: mend the fault, and add the input to tests/fuzz/regressions/NAME.
# Prints a line for each, and "N passed, N failed"; exit code 1 when one failed.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
case "${1-}" in
'' | *[!0-9]*) echo "usage: $0 SECONDS [NAME...]" >&2; exit 2 ;;
esac
seconds=$1
shift
cd "$root"
"$root/examples/install_missing.sh" clang-14=clang-14 gcc=gcc /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build \
    "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-$(uname -m).a=libclang-rt-14-dev" \
    pkg-config=pkg-config libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev zlib.pc=zlib1g-dev

dir=build/fuzz
mkdir -p "$dir"
if [ ! -e "$dir/build.ninja" ]; then
    CC=clang-14 meson setup "$dir" -Dfuzz=enabled -Dtests=disabled -Ddocs=disabled -Dblis=disabled -Ddefault_library=static \
        -Ddebug=true -Doptimization=1 -Db_ndebug=false -Db_sanitize=address,undefined -Db_lundef=false \
        -Dc_args=-fno-sanitize-recover=all > "$dir.log" 2>&1 || { tail -n 40 "$dir.log"; exit 1; }
fi
ninja -C "$dir" fuzz > "$dir.log" 2>&1 || { grep -vE '^\[[0-9]+/' "$dir.log" | tail -n 40; exit 1; }

names=$*
[ -n "$names" ] || names=$(find "$dir/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -executable -printf '%f\n' | sed 's/^fuzz_//' | sort)
mkdir -p "$dir/finds"
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
seed=0 # a new one each time
[ "$seconds" -ge 60 ] || seed=1 # a short run is a test: it goes the same way wherever it runs

# One fuzzer; its line, and what it found, in build/fuzz/NAME.out.
fuzz() # NAME
{
    local corpus=$dir/corpus/$1 regressions=tests/fuzz/regressions/$1 log=$dir/$1.log code=0
    mkdir -p "$corpus"
    [ -d "$regressions" ] || regressions=
    # shellcheck disable=SC2086 # a list
    "$dir/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -seed="$seed" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=128 \
        -print_final_stats=1 -close_fd_mask=3 -artifact_prefix="$dir/finds/$1-" \
        "$corpus" "$dir/tests/fuzz/seeds_made/$1" $regressions > "$log" 2>&1 || code=$?
    [ $code -eq 0 ] || grep -E '^SUMMARY|Test unit written|^==[0-9]+== ?ERROR' "$log" || tail -n 20 "$log"
    awk -v name="$1" '/ cov: / { for (i = 1; i < NF; i++) v[$i] = $(i + 1); split(v["corp:"], c, "/") }
        /stat::number_of_executed_units/ { n = $2 }
        END { printf "%-12s %12d %8d %10d %8d\n", name, n, v["cov:"], v["ft:"], c[1] }' "$log"
    return $code
}

passed=0 failed=0
for name in $names; do
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n || true
    { fuzz "$name" && echo passed || echo failed; } > "$dir/$name.out" &
done
wait
printf '%-12s %12s %8s %10s %8s\n' fuzzer executions edges features corpus
for name in $names; do
    sed '$d' "$dir/$name.out"
    if [ "$(tail -n 1 "$dir/$name.out")" = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
