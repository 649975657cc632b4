#!/usr/bin/env bash
# What doc/format.md says computes the checksums of a model file does so, and the tokenizer it shows is one.
# Usage: check_format.sh SOURCE_ROOT HELLO TFM
set -eu
page=$1/doc/format.md hello=$(realpath "$2") tfm=$(realpath "$3")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
"$hello" model.safetensors > /dev/null

block() # FIRST_LINE: the indented lines of the page from there on
{
    awk -v first="$1" 'index($0, first) { on = 1 } on && /^[^ ]/ { exit } on { print substr($0, 5) }' "$page"
}

n=$(od -An -t u8 -N 8 model.safetensors | tr -d ' ')
metadata() { tail -c +9 model.safetensors | head -c "$n" | python3 -c 'import json, sys; print(json.load(sys.stdin)["__metadata__"][sys.argv[1]])' "$1"; }
same() # WHAT DOCUMENTED WRITTEN
{
    [ -n "$2" ] && [ "$2" = "$3" ] || { echo "$1: doc/format.md gives '$2', the file says '$3'"; exit 1; }
}

{ block 'def checksum(data):'; echo 'import sys; print(checksum(open(sys.argv[1], "rb").read()[int(sys.argv[2]) + 8:]))'; } > checksum.py
same checksum "$(python3 checksum.py model.safetensors "$n")" "$(metadata checksum)"
block "tail -c +9 model.safetensors | head -c \$n | sed 's/" > header.sh
same header_checksum "crc32:$(n=$n bash header.sh | tr -d ' ')" "$(metadata header_checksum)"

block 'tfm-tokenizer 1' | sed '/^$/d' > tokenizer
words=$(echo 'the low' | "$tfm" tokenizer encode --tokenizer-file tokenizer)
[ "$words" = 'th@@ e lo@@ w' ] || { echo "the tokenizer of doc/format.md makes '$words' of 'the low'"; exit 1; }
echo "both checksums and the tokenizer are as documented"
