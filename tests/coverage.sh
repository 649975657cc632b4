#!/usr/bin/env bash
# Builds with gcov, runs the tests of the library and of the program, and reports which lines and branches of lib/ ran,
# by file, by folder and in all. A kernel's line counts once, whichever of its twins ran it.
# Usage: tests/coverage.sh [--again]     --again: only a report of the runs so far, those of a test by hand included
# Exit code 1 when a test failed or fewer than 98 % of the lines ran. build/coverage.lines lists those that did not.
set -eu
least=98
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/examples/install_missing.sh" gcc=gcc g++=g++ /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build \
    pkg-config=pkg-config python3=python3 check.pc=check libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev \
    zlib.pc=zlib1g-dev gcovr=gcovr
cd "$root"
dir=build/coverage
mkdir -p build

run_tests()
{
    [ -e "$dir/build.ninja" ] || meson setup "$dir" -Dbuildtype=debug -Doptimization=1 -Db_ndebug=false \
        -Db_coverage=true -Dc_args=-fprofile-update=atomic -Dtests=enabled -Ddocs=disabled -Dblis=disabled \
        ${TFM_TEST_DATA:+"-Dtest_data=$TFM_TEST_DATA"} > "$dir.log" 2>&1 || { tail -n 40 "$dir.log"; exit 1; }
    ninja -C "$dir" > "$dir.log" 2>&1 || { grep -vE '^\[[0-9]+/' "$dir.log" | tail -n 40; exit 1; }
    find "$dir" -name '*.gcda' -delete
    # Two tests fill disks that gcov writes to as well, of which it complains, and one looks at speeds, which gcov spoils:
    # their lines count, their results do not.
    local names
    names=$(meson test -C "$dir" --list --suite unit --suite data --suite cli | sed -n 's|.* / ||p')
    # shellcheck disable=SC2046 # names
    meson test -C "$dir" --no-rebuild -t 10 $(grep -E '^cli_(disk|errors|bench)$' <<< "$names") > "$dir.log" || true
    # shellcheck disable=SC2046 # names
    meson test -C "$dir" --no-rebuild -t 10 --print-errorlogs $(grep -vE '^cli_(disk|errors|bench)$' <<< "$names") |
        grep -vE '^(\[[0-9]+/|ninja: |Full log|$)'
    return "${PIPESTATUS[0]}"
}

# A line of figures for each name that the awk expression KEY makes of a file's name.
figures() # KEY
{
    awk -F, 'NR > 1 {
            f = $1
            '"$1"'
            lines[f] += $2; ran[f] += $3; branches[f] += $5; taken[f] += $6
        }
        function percent(n, of) { return of ? sprintf("%.1f %%", 100 * n / of) : "-" }
        END {
            for (f in lines)
                printf "%-36s %6d %6d %8s %8d %6d %8s\n", f, lines[f], ran[f], percent(ran[f], lines[f]),
                    branches[f], taken[f], percent(taken[f], branches[f])
        }' "$dir.csv" | sort
}

failed=0
[ "${1-}" = --again ] || run_tests || failed=1
gcovr --root . --filter lib/ --object-directory "$dir" --exclude-unreachable-branches --csv "$dir.csv" \
    --txt "$dir.lines" --fail-under-line $least "$dir" || failed=1
printf '%-36s %6s %6s %8s %8s %6s %8s\n' file lines ran '' branches taken ''
figures ''
echo
figures 'sub("/[^/]*$", "", f)'
echo
figures 'f = "all of lib"'
exit $failed
