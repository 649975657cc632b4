#!/usr/bin/env bash
# The functions and types of the header are those of the latest release in doc/abi, or additions to them. The code of lib/api alone is
# compiled, with debug information and without optimisation, so that compilers' choices do not show.
# Usage: check_abi.sh SOURCE_ROOT COMPILER [--write]     --write: makes the dump of a new release instead
set -eu
export LC_ALL=C
root=$1 cc=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }

copy() # NAME: header and version script, to be changed
{
    mkdir -p "$tmp/$1/include"
    cp "$root/include/transformer.h" "$tmp/$1/include"
    cp "$root/lib/api/libtransformer.map" "$tmp/$1"
}

build() # NAME: the shared object of a copy; what lib/api calls elsewhere stays open
{
    "$cc" -std=gnu11 -D_GNU_SOURCE -w -g -O0 -fPIC -fvisibility=hidden -shared -Wl,-z,lazy \
        -Wl,--version-script="$tmp/$1/libtransformer.map" -Wl,-soname,libtransformer.so.0 \
        -I"$tmp/$1/include" -I"$root/lib" -o "$tmp/$1/library.so" "$root"/lib/api/*.c
}

dump() # NAME
{
    abidw --headers-dir "$tmp/$1/include" --drop-private-types --no-show-locs --no-corpus-path --no-comp-dir-path \
        --no-elf-needed --out-file "$tmp/$1/abi" "$tmp/$1/library.so"
}

# Whether a copy is as the dump, or adds to it. The suppressions, which let structs grow at their end, also hide fields that
# changed places, names or types: those are looked for in the full report.
same() # DUMP NAME
{
    dump "$2"
    if abidiff --no-added-syms "$1" "$tmp/$2/abi"; then return 0; fi > "$tmp/report"
    if grep -E 'data member deletion|offset changed|name of .* changed|type name changed' "$tmp/report"; then return 1; fi
    abidiff --no-added-syms --suppressions "$root/doc/abi/growth.suppr" "$1" "$tmp/$2/abi"
}

copy now
build now
if [ "${3-}" = --write ]; then
    version=$(sed -En 's/^#define TFM_VERSION_[A-Z]+ ([0-9]+).*/\1/p' "$root/include/transformer.h" | paste -sd.)
    dump now
    cp "$tmp/now/abi" "$root/doc/abi/libtransformer-$version.abi"
    exit
fi
release=$(find "$root/doc/abi" -name '*.abi' | sort -V | tail -n 1)
[ -n "$release" ] || fail "doc/abi has no dump"
same "$release" now || fail "the ABI is not that of $(basename "$release" .abi) any more"

# Planted, against the dump of now: what must be refused, and what is allowed.
plant() # NAME FILE SED_SCRIPT
{
    copy "$1"
    sed -i "$3" "$tmp/$1/$2"
    if cmp -s "$tmp/$1/$2" "$tmp/now/$2"; then fail "self-test: nothing to plant for $1"; fi
    build "$1"
}
plant reordered include/transformer.h '/^    uint32_t beam; /{h;d};/^    float    alpha; /{G}'
plant exchanged include/transformer.h '/^    uint32_t beam; /{h;d};/^    uint32_t n_best; /{G}'
plant removed libtransformer.map '/ tfm_model_load;/d'
plant inserted include/transformer.h 's/^    uint32_t beam; /    uint32_t early;\n&/'
plant retyped include/transformer.h 's/^    uint64_t max_steps; /    uint32_t max_steps; uint32_t unused; /'
plant renumbered include/transformer.h 's/^    TFM_E_IO  .*/    TFM_E_IO = -13,/'
plant shrunk include/transformer.h 's/^    uint32_t compound_split; //'
plant grown include/transformer.h 's/^} tfm_\(decoder_options\|progress\);/    uint64_t later;\n&/'
for name in reordered exchanged removed inserted retyped shrunk renumbered; do
    if same "$tmp/now/abi" "$name" > "$tmp/said"; then fail "self-test: $name is accepted"; fi
done
same "$tmp/now/abi" grown > "$tmp/said" || { cat "$tmp/said"; fail "self-test: a struct that grew at its end is refused"; }
echo "as $(basename "$release" .abi); seven breaks are seen"
