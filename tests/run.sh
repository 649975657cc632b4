#!/usr/bin/env bash
# Builds with warnings as errors and runs every test, plain and under AddressSanitizer and UBSan.
# Usage: tests/run.sh [--quick]     --quick: the plain unit tests only
# TFM_TEST_DATA names the folder of test data when it is not at its usual place.
# Ends with "N passed, N failed"; exit code 1 when one failed, or when one was skipped and CI=true.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
quick=
case "${1-}" in
'') ;;
--quick) quick=1 ;;
*) echo "usage: $0 [--quick]" >&2; exit 2 ;;
esac

"$root/examples/install_missing.sh" gcc=gcc g++=g++ /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build \
    pkg-config=pkg-config python3=python3 check.pc=check libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev \
    zlib.pc=zlib1g-dev abidw=abigail-tools cmake=cmake make=make qemu-x86_64=qemu-user groff=groff-base doxygen=doxygen spm_train=sentencepiece \
    /usr/lib/python3/dist-packages/pytest=python3-pytest \
    /usr/lib/python3/dist-packages/numpy=python3-numpy /usr/lib/python3/dist-packages/pip=python3-pip \
    chromium=chromium node=nodejs npm=npm \
    /usr/lib/python3/dist-packages/tqdm=python3-tqdm /usr/lib/python3/dist-packages/mypy=mypy
cd "$root"
passed=0 failed=0 skipped=0

# Adds the results in a meson log: each Check test counts, a program without any counts as one, 77 is a skip.
count() # LOG
{
    read -r p f s < <(awk '
        function flush() {
            if (!name) return
            if (checks) { pass += checks - bad; fail += bad; if (!bad && status) fail++ }
            else if (!status) pass++
            else if (status == 77) skip++
            else fail++
            name = ""
        }
        /^=+ [0-9]+\/[0-9]+ =+$/ { flush(); checks = bad = 0; status = 1 }
        /^test: / { name = $2 }
        /^result: / { status = $0 ~ /exit status [0-9]+/ ? $NF : 1 }
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ { checks += $3; bad += $5 + $7 }
        END { flush(); print pass + 0, fail + 0, skip + 0 }' "$1")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# Builds in build/NAME and runs what the further arguments of "meson test" select.
run() # NAME "SETUP OPTIONS" TEST_OPTIONS...
{
    local dir=build/$1 log setup=$2
    shift 2
    echo "== $dir"
    # shellcheck disable=SC2046,SC2086 # lists
    if ! meson setup $([ -e "$dir/build.ninja" ] && echo --reconfigure) "$dir" -Dwerror=true -Dtests=enabled \
        ${TFM_TEST_DATA:+"-Dtest_data=$TFM_TEST_DATA"} $setup > "$dir.log" 2>&1 ||
        { [ -z "$quick" ] && ! ninja -C "$dir" > "$dir.log" 2>&1; }; then
        grep -vE '^\[[0-9]+/' "$dir.log" | tail -n 40
        failed=$((failed + 1))
        return
    fi
    rm -f "$dir"/meson-logs/testlog*
    meson test -C "$dir" --print-errorlogs "$@" | grep -vE '^(\[[0-9]+/|ninja: |Full log|(Expected Fail|Unexpected Pass|Timeout): +0|$)' || true
    log=$(find "$dir/meson-logs" -name "testlog*.txt" -size +0)
    if [ -n "$log" ]; then count "$log"; else failed=$((failed + 1)); fi
}

# Each fuzzer for 20 seconds, which tells that it works; tests/fuzz/run.sh 600 is for finding faults.
fuzz()
{
    local p f
    echo "== build/fuzz"
    tests/fuzz/run.sh 20 > build/fuzz-run.log || true
    cat build/fuzz-run.log
    read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' build/fuzz-run.log) || { p=0 f=1; }
    passed=$((passed + p)) failed=$((failed + f))
}

mkdir -p build
plain='-Dbuildtype=debugoptimized -Db_ndebug=false -Dpython_copy=true'
if [ -n "$quick" ]; then
    run plain "$plain" --suite unit
else
    run plain "$plain"
    # On a CPU without AVX, the tests that an emulator runs in seconds; tests/old_cpu.sh runs all of them.
    run plain "$plain" --setup old_cpu test_kernels test_autograd test_step test_goldens test_base test_rng \
        test_threads test_checksum test_safetensors test_utf8 test_choice test_beam test_model_options test_model_api
    export ASAN_OPTIONS=abort_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    run sanitize '-Dblis=disabled -Ddebug=true -Doptimization=1 -Db_ndebug=false -Db_sanitize=address,undefined
        -Db_lundef=false -Dc_args=-fno-sanitize-recover=all' --no-suite script --no-suite long
    fuzz
fi

summary="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then
    summary="$summary, $skipped skipped"
    if [ "${CI-}" = true ]; then
        echo "CI=true: no test may be skipped; is the test data at its place?"
        echo "$summary"
        exit 1
    fi
fi
echo "$summary"
[ "$failed" -eq 0 ]
