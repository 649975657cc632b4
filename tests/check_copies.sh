#!/usr/bin/env bash
# Two copies in one process: the archive inside a plugin, the shared object in the program that loads it. Neither sees the other.
# Usage: check_copies.sh SOURCE_ROOT SHARED_OBJECT ARCHIVE COMPILER
set -eu
root=$1 shared=$(realpath "$2") archive=$3 cc=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }

flags=(-Wall -Wextra -Werror -I"$root/include" "$root/tests/plugin.c")
deps=$(pkg-config --libs jansson libutf8proc zlib)
# shellcheck disable=SC2086 # a list
"$cc" -DPLUGIN -fPIC -shared "${flags[@]}" -o "$tmp/plugin.so" "$archive" $deps -lm -pthread
"$cc" "${flags[@]}" -o "$tmp/host" "$shared" -Wl,-rpath,"$(dirname "$shared")" -ldl

exports=$(nm -D --defined-only "$tmp/plugin.so" | awk '{ print $3 }' | paste -sd' ')
[ "$exports" = plugin_visit ] || fail "the plugin exports $exports"
"$tmp/host" "$tmp/plugin.so" || fail "two copies in one process do not work"

# Planted: a plugin that has no copy of its own.
"$cc" -DPLUGIN -fPIC -shared "${flags[@]}" -o "$tmp/none.so"
if said=$("$tmp/host" "$tmp/none.so"); then fail "self-test: a plugin without a copy is accepted"; fi
[ "$said" = "the plugin uses the host's copy" ] || fail "self-test: '$said'"
echo "two copies, each for itself"
