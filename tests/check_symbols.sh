#!/usr/bin/env bash
# Header, doc/symbols, version script and shared object have the same functions, of the same versions; header and doc/symbols
# the same constants, of the same values; the archive keeps to the prefix; and the shared object is small and needs little.
# Usage: check_symbols.sh SOURCE_ROOT SHARED_OBJECT ARCHIVE COMPILER
set -eu
export LC_ALL=C
root=$1 shared=$2 archive=$3 cc=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Each prints "NAME VERSION" or "NAME VERSION VALUE", sorted. The header knows no version: it takes that of the table.
declared() # HEADER: functions
{
    "$cc" -E -P -x c "$1" | tr '\n' ' ' | tr ';' '\n' | grep -F 'visibility("default")' |
        sed 's/.*visibility("default")))//; s/(.*//; s/[ *]*$//; s/.*[ *]//' | sort -u
}

constants() # HEADER: NAME VALUE
{
    "$cc" -E -dM -x c "$1" | sed -En 's/^#define (TFM_[A-Z0-9_]+) (-?[0-9]+)$/\1 \2/p' | grep -v ^TFM_VERSION_ || true
    "$cc" -E -P -x c "$1" | tr ',{}' '\n\n\n' | sed -En 's/^ *(TFM_[A-Z0-9_]+) *= *(-?[0-9]+) *$/\1 \2/p'
}

table() # SYMBOLS: functions
{
    grep '^tfm_' "$1" | sort
}

scripted() # VERSION_SCRIPT
{
    awk '$2 == "{" { sub(/^TFM_/, "", $1); version = $1 } /^ *tfm_[a-z0-9_]*;$/ { sub(/;/, "", $1); print $1, version }' "$1" | sort
}

exported() # SHARED_OBJECT
{
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@@?TFM_/, " ", $3); print $3 }' | sort
}

stray() # ARCHIVE: its global symbols outside the prefix
{
    nm -g --defined-only "$1" | awk 'NF == 3 && $3 !~ /^tfm_/ { print $3 }' | grep .
}

# compare HEADER SYMBOLS VERSION_SCRIPT SHARED_OBJECT: says what differs.
compare()
{
    declared "$1" > "$tmp/declared"
    table "$2" > "$tmp/table"
    scripted "$3" > "$tmp/scripted"
    exported "$4" > "$tmp/exported"
    constants "$1" | sort > "$tmp/constants"
    grep '^TFM_' "$2" | cut -d ' ' -f 1,3 | sort > "$tmp/listed" || true
    echo "< declared in the header, > listed in the table" && cut -d ' ' -f 1 "$tmp/table" | diff "$tmp/declared" - &&
        diff "$tmp/constants" "$tmp/listed" &&
        echo "< listed in the table, > in the version script" && diff "$tmp/table" "$tmp/scripted" &&
        echo "< listed in the table, > exported" && diff "$tmp/table" "$tmp/exported"
}

# Planted: for each of the four, one that forgets a function or has one too many, another version, another value.
plant() # DIRECTORY: right ones
{
    mkdir "$1"
    printf '__attribute__((visibility("default"))) int tfm_a(void (*f)(int), int *n);\n#define TFM_ONE 1\ntypedef enum e { TFM_TWO = -2 } e;\n__attribute__((visibility("default"))) const char *tfm_b(void);\n' > "$1/header.h"
    printf 'TFM_ONE 0.1 1\nTFM_TWO 0.1 -2\ntfm_a 0.1\ntfm_b 0.2\n' > "$1/symbols"
    printf 'TFM_0.1 {\n    global:\n        tfm_a;\n    local:\n        *;\n};\nTFM_0.2 {\n    global:\n        tfm_b;\n} TFM_0.1;\n' > "$1/map"
    printf 'int tfm_a(void (*f)(int), int *n) { f(*n); return 0; }\nconst char *tfm_b(void) { return ""; }\nint stray(void) { return 0; }\n' > "$1/code.c"
}
try() # DIRECTORY
{
    "$cc" -shared -fPIC -Wl,--version-script="$1/${2-map}" -o "$1/library.so" "$1/code.c"
    compare "$1/header.h" "$1/symbols" "$1/map" "$1/library.so" > "$tmp/said" 2>&1
}
plant "$tmp/right"
try "$tmp/right" || { echo "self-test: a right library is refused"; cat "$tmp/said"; exit 1; }
for wrong in '/tfm_b/d header.h' '/TFM_ONE/s/1$/3/ header.h' '/TFM_ONE/d symbols' '/TWO/s/-2/2/ symbols' '/tfm_a/d symbols' \
    's/tfm_b 0.2/tfm_b 0.1/ symbols' 's/TFM_0.2/TFM_0.3/ map' 's/tfm_b;/tfm_b; stray;/ map'; do
    rm -rf "$tmp/wrong"
    plant "$tmp/wrong"
    sed -i "${wrong% *}" "$tmp/wrong/${wrong##* }"
    if try "$tmp/wrong"; then echo "self-test: accepted: $wrong"; exit 1; fi
done
plant "$tmp/loose"
sed 's/tfm_b;/tfm_b; stray;/' "$tmp/loose/map" > "$tmp/loose/open"
if try "$tmp/loose" open; then echo "self-test: a stray export is accepted"; exit 1; fi
stray "$tmp/loose/library.so" > /dev/null || { echo "self-test: a stray symbol is not found"; exit 1; }

compare "$root/include/transformer.h" "$root/doc/symbols" "$root/lib/api/libtransformer.map" "$shared"
if stray "$archive"; then
    echo "global symbols of $(basename "$archive") without the prefix tfm_"
    exit 1
fi

# What a program loads beside it, and how much of it there is.
needed=$(readelf -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | paste -sd' ')
for name in $needed; do
    case $name in
    libc.so.6 | libm.so.6 | libpthread.so.0 | ld-linux-*) ;;
    libjansson.so.4 | libutf8proc.so.2 | libz.so.1) ;;
    libasan.so.* | libubsan.so.*) exit 77 ;; # a build to find faults with
    *) echo "the shared object needs $name"; exit 1 ;;
    esac
done
strip --strip-unneeded -o "$tmp/stripped.so" "$shared"
size=$(stat -c %s "$tmp/stripped.so")
echo "$(wc -l < "$tmp/declared") functions, $(wc -l < "$tmp/constants") constants, $size bytes; needs $needed"
[ "$size" -le $((1024 * 1024)) ] || { echo "that is more than $((1024 * 1024)) bytes"; exit 1; }
