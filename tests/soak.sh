#!/usr/bin/env bash
# What takes long: MINUTES of random training and translation under AddressSanitizer and UBSan, then MINUTES without, then
# a training killed 100 times. Prints the figures; exit code 1 when bits differ or something is left behind or grows.
# Usage: tests/soak.sh MINUTES [SEED]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
minutes=${1?usage: tests/soak.sh MINUTES [SEED]} seed=${2-1}
"$root/examples/install_missing.sh" gcc=gcc g++=g++ meson=meson ninja=ninja-build pkg-config=pkg-config check.pc=check \
    libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev zlib.pc=zlib1g-dev
cd "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

soak() # BUILD "SETUP OPTIONS" TARGETS...
{
    local dir=build/soak-$1
    # shellcheck disable=SC2046,SC2086 # lists
    meson setup $([ -e "$dir/build.ninja" ] && echo --reconfigure) "$dir" -Dtests=enabled $2 > "$folder/log" 2>&1 &&
        ninja -C "$dir" "${@:3}" > "$folder/log" 2>&1 || { tail -n 40 "$folder/log"; exit 1; }
    echo "== $1"
    "$dir/tests/soak" "$minutes" "$folder" "$seed"
}

# What was freed stays a while with AddressSanitizer; not so long that it looks like growth.
export ASAN_OPTIONS=abort_on_error=1:quarantine_size_mb=8 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
soak sanitize '-Dbuildtype=debugoptimized -Doptimization=1 -Db_ndebug=false -Db_sanitize=address,undefined -Db_lundef=false
    -Dc_args=-fno-sanitize-recover=all' tests/soak
soak plain '-Dbuildtype=release' tests/soak examples/cli/tfm
echo "== kills"
tests/kill_training.sh build/soak-plain/examples/cli/tfm . 100 "$seed"
