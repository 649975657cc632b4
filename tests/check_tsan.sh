#!/usr/bin/env bash
# Builds the tests that have to do with threads under ThreadSanitizer in build/tsan and runs them. Takes about ten minutes, most
# of them to compile. Usage: tests/check_tsan.sh [NAME...]     NAME: threads, sharing ...; all below without one
# Ends with "N passed, N failed"; exit code 1 when one failed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
names=${*:-threads sharing decoder training_bits ranks trainer_loop attention}
"$root/examples/install_missing.sh" gcc=gcc /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build pkg-config=pkg-config \
    check.pc=check libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev zlib.pc=zlib1g-dev
cd "$root"
dir=build/tsan
mkdir -p build
if [ ! -e "$dir/build.ninja" ]; then
    meson setup "$dir" -Dbuildtype=debugoptimized -Db_ndebug=false -Db_sanitize=thread -Db_lundef=false -Dtests=enabled \
        -Ddocs=disabled -Dblis=disabled -Ddefault_library=both > "$dir.log" 2>&1 || { tail -n 40 "$dir.log"; exit 1; }
fi
targets=$(for name in $names; do echo "tests/test_$name"; done)
# shellcheck disable=SC2086 # a list
ninja -C "$dir" $targets > "$dir.log" 2>&1 || { grep -vE '^\[[0-9]+/' "$dir.log" | tail -n 40; exit 1; }

# A child of a process with threads may have threads of its own: that is among what is tested.
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0 CK_DEFAULT_TIMEOUT=1800
passed=0 failed=0
for name in $names; do
    log=$dir/$name.log
    if "$dir/tests/test_$name" > "$log" 2>&1 && ! grep -q 'WARNING: ThreadSanitizer' "$log"; then
        passed=$((passed + 1))
        echo "$name: $(grep '^100%' "$log")"
    else
        failed=$((failed + 1))
        echo "$name: FAILED"
        tail -n 60 "$log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
