#!/usr/bin/env bash
# Programs that were compiled with the header of an older or of a newer version: shorter structs do what they did, longer ones too
# while what this library does not know is zero, and are refused otherwise.
# Usage: check_clients.sh SOURCE_ROOT SHARED_OBJECT COMPILER
set -eu
root=$1 shared=$(realpath "$2") cc=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if readelf -d "$shared" | grep -q 'NEEDED.*libasan'; then exit 77; fi
fail() { echo "$*"; exit 1; }

client() # NAME FLAGS... : compiled with the header in tmp/NAME.h; prints what it says, and its exit code
{
    local name=$1
    shift
    mkdir "$tmp/$name"
    mv "$tmp/$name.h" "$tmp/$name/transformer.h"
    "$cc" -Wall -Wextra -Werror "$@" -I"$tmp/$name" -o "$tmp/$name/client" "$root/tests/client.c" "$shared" \
        -Wl,-rpath,"$(dirname "$shared")"
    "$tmp/$name/client" || echo "exit code $?"
}

cut_struct() # STRUCT FIELD: leaves out that field and all behind it
{
    sed "/^typedef struct $1 {/,/^} $1;/{/\b$2;/,/^} $1;/{/^} $1;/!d}}"
}

grow() # every struct that begins with struct_size
{
    sed -E 's/^\} (tfm_(model|decoder|trainer)_options|tfm_progress);/    uint64_t later;\n&/'
}

header=$root/include/transformer.h
cp "$header" "$tmp/now.h"
cut_struct tfm_decoder_options min_length < "$header" | cut_struct tfm_trainer_options memory | cut_struct tfm_progress valid_nll > "$tmp/older.h"
grow < "$header" > "$tmp/newer.h"
cp "$tmp/newer.h" "$tmp/unknown.h"
size=$(wc -l < "$tmp/now.h")
[ "$(wc -l < "$tmp/older.h")" -lt $((size - 8)) ] || fail "the older header is not shorter"
[ "$(wc -l < "$tmp/newer.h")" -eq $((size + 4)) ] || fail "the newer header is not longer"

want=$(client now)
[ "$(wc -l <<< "$want")" -eq 2 ] || fail "the client of today says '$want'"
got=$(client older)
[ "$got" = "$want" ] || fail "an older client says '$got', not '$want'"
got=$(client newer -DLATER=0)
[ "$got" = "$want" ] || fail "a newer client says '$got', not '$want'"
got=$(client unknown -DLATER=1)
grep -q 'newer than this library' <<< "$got" || fail "a newer client with an unknown option says '$got'"
echo "$want"
