#!/usr/bin/env bash
# Installs into an empty prefix, removes the build, and lets Make, CMake and meson build the program of examples/downstream with what is
# there; then meson once more, with the sources as a subproject.
# Usage: check_downstream.sh SOURCE_ROOT BUILD_ROOT
set -eu
root=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }
quietly() { "$@" > "$tmp/log" 2>&1 || { cat "$tmp/log"; fail "failed: $*"; }; }

# The build with another prefix. Nothing is compiled again, as no command line changes.
mkdir "$tmp/build"
tar -C "$build" --exclude=./tests --exclude='*.o' -cf - . | tar -C "$tmp/build" -xf -
quietly meson setup --reconfigure --prefix="$tmp/prefix" "$tmp/build" "$root"
quietly meson install --no-rebuild -C "$tmp/build"
rm -rf "$tmp/build"

library=$(dirname "$(find "$tmp/prefix" -name libtransformer.so)")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library
version=$(pkg-config --modversion libtransformer)
for file in bin/tfm include/transformer.h include/transformer.hpp share/licenses/libtransformer/LICENSE share/man/man1/tfm-train.1; do
    [ -s "$tmp/prefix/$file" ] || fail "$file is not installed"
done
for file in "$tmp/prefix/bin/tfm" "$library/libtransformer.so"; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH'; then fail "$file knows a folder of the build"; fi
done
if grep -F "$build" "$library/pkgconfig/libtransformer.pc"; then fail "the .pc file names the build"; fi
"$tmp/prefix/bin/tfm" --version | grep -qF "$version" || fail "the installed tfm does not say $version"

want="libtransformer $version: weights 0.6698 0.3302, output 1.3302"
check() # WHAT PROGRAM LINKED: how many of the library's shared object it loads
{
    got=$("$2") || fail "$1: the program fails"
    [ "$got" = "$want" ] || fail "$1: the program says '$got', not '$want'"
    [ "$(ldd "$2" | grep -c 'libtransformer\.so\.0 =>')" -eq "$3" ] || { ldd "$2"; fail "$1: linked otherwise than wanted"; }
    echo "$1: $got"
}

cp -r "$root/examples/downstream" "$tmp/downstream"
cd "$tmp/downstream"
quietly make -C make
check make make/program 1
quietly make -C make clean
quietly make -C make STATIC=1
check "make, static" make/program 0
quietly cmake -S cmake -B cmake/build
quietly cmake --build cmake/build
check cmake cmake/build/program 1
quietly meson setup meson/build meson
quietly ninja -C meson/build
check meson meson/build/program 1

# Without an installed one. Optional parts are left out; what is slow to compile is so whatever the options.
unset PKG_CONFIG_PATH
mkdir meson/subprojects
ln -s "$root" meson/subprojects/libtransformer
quietly meson setup meson/sub meson --force-fallback-for=libtransformer --buildtype=debug \
    -Dlibtransformer:default_library=static
quietly ninja -C meson/sub
check "meson, subproject" meson/sub/program 0
