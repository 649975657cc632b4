#!/usr/bin/env bash
# The shared object exports the functions that the header declares and nothing else; the archive keeps to the prefix.
# Usage: check_symbols.sh HEADER SHARED_OBJECT ARCHIVE COMPILER
set -eu
export LC_ALL=C
header=$1 shared=$2 archive=$3 cc=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

declared() # HEADER: one name a line
{
    "$cc" -E -P -x c "$1" | tr '\n' ' ' | tr ';' '\n' | grep -F 'visibility("default")' |
        sed 's/.*visibility("default")))//; s/(.*//; s/[ *]*$//; s/.*[ *]//' | sort -u
}

exported() # SHARED_OBJECT
{
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

same() # HEADER SHARED_OBJECT
{
    declared "$1" > "$tmp/declared"
    exported "$2" > "$tmp/exported"
    diff "$tmp/declared" "$tmp/exported"
}

stray() # ARCHIVE: its global symbols outside the prefix
{
    nm -g --defined-only "$1" | awk 'NF == 3 && $3 !~ /^tfm_/ { print $3 }' | grep . 
}

# Planted: a library that forgets one declared function and exports a stray one.
printf '__attribute__((visibility("default"))) int tfm_a(void (*f)(int), int *n);\n__attribute__((visibility("default"))) const char *tfm_b(void);\n' > "$tmp/planted.h"
printf 'int tfm_a(void (*f)(int), int *n) { f(*n); return 0; }\n' > "$tmp/a.c"
printf 'const char *tfm_b(void) { return ""; }\n' > "$tmp/b.c"
printf 'int stray(void) { return 0; }\n' > "$tmp/stray.c"
build() { "$cc" -shared -fPIC -o "$@"; }
build "$tmp/right.so" "$tmp/a.c" "$tmp/b.c"
build "$tmp/short.so" "$tmp/a.c"
build "$tmp/long.so" "$tmp/a.c" "$tmp/b.c" "$tmp/stray.c"
same "$tmp/planted.h" "$tmp/right.so" > /dev/null || { echo "self-test: a right library is refused"; exit 1; }
for wrong in short long; do
    if same "$tmp/planted.h" "$tmp/$wrong.so" > /dev/null; then echo "self-test: $wrong.so is accepted"; exit 1; fi
done
stray "$tmp/long.so" > /dev/null || { echo "self-test: a stray symbol is not found"; exit 1; }

echo "< declared in $(basename "$header"), > exported by $(basename "$shared")"
same "$header" "$shared"
if stray "$archive"; then
    echo "global symbols of $(basename "$archive") without the prefix tfm_"
    exit 1
fi
echo "$(wc -l < "$tmp/declared") functions"
