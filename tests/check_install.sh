#!/usr/bin/env bash
# Installs into an empty folder and builds an example against that alone, as a user would.
# Usage: check_install.sh SOURCE_ROOT BUILD_ROOT COMPILER
set -eu
source=$1 build=$2 cc=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }

DESTDIR=$tmp/root meson install -C "$build" --no-rebuild --quiet
pc=$(find "$tmp/root" -name libtransformer.pc)
[ -n "$pc" ] || fail "libtransformer.pc is not installed"
lib=$(dirname "$(dirname "$pc")")
prefix=$tmp/root$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH=$lib/pkgconfig
query() { pkg-config --define-variable="prefix=$prefix" "$@" libtransformer; }

version=$(sed -En 's/^#define TFM_VERSION_[A-Z]+ ([0-9]+).*/\1/p' "$prefix/include/transformer.h" | paste -sd.)
[ "$(query --modversion)" = "$version" ] || fail "version of the .pc: $(query --modversion), of the header: $version"
cmp "$source/include/transformer.hpp" "$prefix/include/transformer.hpp" || fail "transformer.hpp is not installed"
[ "$(readlink "$lib/libtransformer.so")" = libtransformer.so.0 ] || fail "libtransformer.so does not lead to .so.0"
[ -e "$lib/libtransformer.so.0" ] || fail "libtransformer.so.0 leads nowhere"
readelf -d "$lib/libtransformer.so.0" | grep -q 'SONAME.*\[libtransformer\.so\.0\]' || fail "the soname is not libtransformer.so.0"

# Shared: only flags of pkg-config, only the installed object at run time.
"$cc" -o "$tmp/hello" "$source/examples/hello.c" $(query --cflags --libs)
export LD_LIBRARY_PATH=$lib
ldd "$tmp/hello" | grep -F "libtransformer.so.0 => $lib/" || fail "another libtransformer is found"
(cd "$tmp" && ./hello)

# Static: a folder with nothing but the archive.
mkdir "$tmp/static"
cp "$lib/libtransformer.a" "$tmp/static"
"$cc" -o "$tmp/hello_static" "$source/examples/hello.c" -L"$tmp/static" \
    $(query --static --define-variable="libdir=$tmp/static" --cflags --libs)
if ldd "$tmp/hello_static" | grep libtransformer; then fail "the static program loads the shared object"; fi
(cd "$tmp" && ./hello_static)

# The program finds the installed library and says the version.
"$prefix/bin/tfm" --version | grep -F "$version" || fail "tfm --version does not say $version"
echo "version $version, $(find "$prefix" -type f | wc -l) files"
