#!/usr/bin/env bash
# Awkward text through tokenizers and translation: one line out for each line in, valid UTF-8, no control token from text.
# Usage: cli_nasty.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
nasty=(python3 "$root/tests/nasty.py")
write_corpus
printf '<pad> </s> <s> <unk>\n' >> en # control tokens that the text itself has
printf '<unk> <s> </s> <pad>\n' >> de
works "a model" "$tfm" train --src en --tgt de "${small[@]}" --steps 20 --quiet --model m
works "a tokenizer of the other kind" "$tfm" tokenizer learn --kind subword-nmt --merges 20 --input en --input de -o sub.tok
translate=("$tfm" translate --model m --threads 1 --beam 1 --max-length 3 --replace-invalid)

# Through both kinds of tokenizers; bpe gives everything back.
tokenizers() # NAME FILE
{
    local kind
    input=$2
    for kind in m sub.tok; do
        works "$1: encode with $kind" "$tfm" tokenizer encode --tokenizer-file $kind --replace-invalid --ids
        mv out ids
        check "$1: no control token from text, $kind" "${nasty[@]}" ids ids
        input=ids works "$1: decode with $kind" "$tfm" tokenizer decode --tokenizer-file $kind --ids
        check "$1: as many lines, valid, $kind" "${nasty[@]}" check "$2" out
        [ $kind = sub.tok ] || check "$1: the same text" "${nasty[@]}" same "$2" out
    done
}

translated() # NAME FILE
{
    input=$2 works "$1: translate" "${translate[@]}"
    check "$1: translate: as many lines, valid" "${nasty[@]}" check "$2" out
}

if [ -d "$data/nasty" ]; then
    check "the collections" "${nasty[@]}" lines "$data/nasty" > all
    check "the collections: many lines" test "$(wc -l < all)" -gt 20000
    tokenizers collections all
    translated collections all
fi

printf '<pad>\n</s>\n<s> <unk>\n<pad></s><s><unk>\n a <s> b </s>\n' > control
tokenizers "control tokens as text" control
translated "control tokens as text" control
printf 'one\0two\n\0\n\0\0\0\nthree\0\n' > nul
tokenizers "NUL" nul
translated "NUL" nul
printf '\357\273\277one\n\357\273\277\ntwo \357\273\277 three\n' > bom
tokenizers "byte order mark" bom
translated "byte order mark" bom
printf 'one\r\n\r\ntwo\rthree\r\n\r' > crlf
tokenizers "CRLF" crlf
translated "CRLF" crlf
check "CRLF: a blank line stays blank" equal "$(sed -n '2p;4p' out | tr -d '\n')" ""
head -c 100000 /dev/zero | tr '\0' '\n' > empty
tokenizers "100,000 empty lines" empty
translated "100,000 empty lines" empty
check "100,000 empty lines: nothing else" cmp out empty
head -c 200000 "$tfm" > binary
tokenizers "a program" binary
input=binary check "a program: refused as text" run_code 1 "$tfm" translate --model m
check "a program: why" grep -Eq '^tfm: standard input:[0-9]+: invalid UTF-8 at byte [0-9]+' err
head -c 20000 "$tfm" | tr '\0' '\n' > start
translated "a program" start

# A megabyte in one line.
{ echo one; seq -s ' ' 150000 | head -c 1048576 | tr '\n' ' '; echo; echo two; } > long
tokenizers "a long line" long
head -c 1048576 /dev/zero | tr '\0' a > alike
tokenizers "a line of one letter" alike
input=long works "a long line: in parts" "${translate[@]}"
check "a long line: in parts, one line" equal "$(wc -l < out)" 3
check "a long line: in parts, which is said" grep -Eq '^tfm: warning: standard input:2: too long, translated in [0-9]{3} parts' err
input=long check "a long line: refused" run_code 1 "${translate[@]}" --long refuse
check "a long line: named, with what to do" grep -Eq '^tfm: standard input:2: .* has [0-9]+ tokens .* max-?_?source 4096.*split' err
check "a long line: those before are answered" equal "$(wc -l < out)" 1
input=long works "score of nothing" "$tfm" score --model m --src empty --tgt empty
check "score of nothing: as many lines" equal "$(wc -l < out)" 100000
finish
