#!/usr/bin/env bash
# Every unit test on an emulated x86-64 CPU that has SSE2 and nothing later, then, built for it, on an emulated 64-bit ARM. This takes
# the better part of an hour; tests/run.sh runs the quick ones on the former.
# Usage: tests/old_cpu.sh [TEST...]     default: the whole suite "unit"
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
install=$root/examples/install_missing.sh
arm=/usr/lib/aarch64-linux-gnu
"$install" gcc=gcc meson=meson ninja=ninja-build pkg-config=pkg-config check.pc=check libutf8proc.pc=libutf8proc-dev \
    jansson.pc=libjansson-dev zlib.pc=zlib1g-dev qemu-x86_64=qemu-user aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu
if [ ! -e $arm/libjansson.so ]; then
    $([ "$(id -u)" = 0 ] || echo sudo) dpkg --add-architecture arm64
    "$install" $arm/pkgconfig/jansson.pc=libjansson-dev:arm64 $arm/pkgconfig/libutf8proc.pc=libutf8proc-dev:arm64 \
        $arm/pkgconfig/zlib.pc=zlib1g-dev:arm64 $arm/pkgconfig/check.pc=check:arm64
fi

[ $# -gt 0 ] || set -- --suite unit
options=(-Dwerror=true -Dtests=enabled -Ddocs=disabled -Dbuildtype=debugoptimized -Db_ndebug=false)
cd "$root"
failed=0
prepare() # DIRECTORY OPTIONS...
{
    local dir=$1
    shift
    echo "== $dir"
    [ -e "$dir/build.ninja" ] || meson setup "$dir" "${options[@]}" "$@" > /dev/null
}
mkdir -p build
prepare build/plain
meson test -C build/plain --setup old_cpu "${@}" || failed=1
prepare build/aarch64 --cross-file tests/aarch64.ini
meson test -C build/aarch64 -t 20 "${@}" || failed=1
exit $failed
