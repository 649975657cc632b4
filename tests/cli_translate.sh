#!/usr/bin/env bash
# Translating and scoring: one line in, one line out, whatever the lines are.
# Usage: cli_translate.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus
works "a model" "$tfm" train --src en --tgt de "${small[@]}" --batch-tokens 100 --dropout 0 --warmup 40 --lr-scale 0.3 \
    --steps 400 --checkpoint-every 400 --quiet --model m
translate=("$tfm" translate --model m --threads 1)

input=en works "translation" "${translate[@]}"
check "it has learned its phrases" cmp out de
cp out plain
input=en works "two threads" "${translate[@]}" --threads 2
check "two threads: the same text" cmp out plain
works "files" "${translate[@]}" --input en --output result --stats
check "files: the same text" cmp result plain
check "files: nothing else is left" test ! -e result.part
check "statistics" grep -Eq "^loaded in .* 42 sentences and [0-9]+ tokens in .* sentences/s, .* tokens/s" err
check "statistics: latency and memory" grep -Eq "^a sentence took [0-9.]+ ms \(median\), [0-9.]+ ms \(95 %\), [0-9.]+ ms \(99 %\); at most [0-9.]+ MB" err
check "statistics: phases" grep -Eq "^  decoder steps +[1-9]" err
mkdir far && echo old > far/real && ln -s far/real link && ln -s nowhere/at/all dangling
works "a link" "${translate[@]}" --input en --output link
check "a link: stays one, and its file is written" cmp far/real plain
check "a link: stays" test -L link
refused "a link to nowhere" 1 "cannot follow the link dangling" "${translate[@]}" --input en --output dangling
refused "no name" 1 "empty name" "${translate[@]}" --input en --output ''
cp en own.part && echo kept > own.part2
works "the input has the name of the part" "${translate[@]}" --input own.part --output own
check "the input has the name of the part: the same text" cmp own plain
check "the input has the name of the part: it stays" cmp own.part en
check "the input has the name of the part: another file stays" equal "$(cat own.part*)" "$(cat en; echo kept)"
check "the input has the name of the part: nothing else is left" equal "$(ls own*)" "$(printf '%s\n' own own.part own.part2)"
: > private && chmod 640 private
(umask 077 && "${translate[@]}" --input en --output private)
check "permissions stay" equal "$(stat -c %a private)" 640
long=$(printf 'x%.0s' $(seq 239))ü$(printf 'y%.0s' $(seq 14))
works "the longest name" "${translate[@]}" --input en --output "$long"
check "the longest name: the same text" cmp "$long" plain
printf '\xff\n' > broken.en
refused "nothing is translated" 1 "invalid UTF-8" "${translate[@]}" --input broken.en --output broken
check "nothing is translated: nothing is left" not test -e broken.part
printf 'one\n\xff\n' > broken.en
refused "stopped" 1 "invalid UTF-8" "${translate[@]}" --input broken.en --output broken
check "stopped: what was translated is left" equal "$(cat broken.part)" eins
cp en input.en
refused "the input as output" 2 "--output is ./input.en, the file of --input" "${translate[@]}" --input input.en --output ./input.en
ln input.en second.en
refused "the input by another name" 2 "--output is second.en" "${translate[@]}" --input input.en --output second.en
refused "the model as output" 2 "--output is m, the file of --model" "${translate[@]}" --input en --output m
gzip < en > en.gz
input=en.gz works "gzip on standard input" "${translate[@]}"
check "gzip: the same text" cmp out plain
sed 's/$/\r/' en > crlf
input=crlf works "CRLF" "${translate[@]}"
check "CRLF: the same text" cmp out plain
{ printf '\357\273\277'; cat en; } > marked.en
input=marked.en works "a byte order mark" "${translate[@]}"
check "a byte order mark: the same text" cmp out plain
gzip -k marked.en
input=marked.en.gz works "a byte order mark in gzip" "${translate[@]}"
check "a byte order mark in gzip: the same text" cmp out plain

# c28, c05: every line has its line.
printf '\n \none\n\nzzz-unknown' > odd
input=odd works "odd lines" "${translate[@]}"
check "c28 five lines" equal "$(wc -l < out)" 5
check "c28 blank lines stay blank" equal "$(sed -n '1p;2p;4p' out | tr -d '\n')" ""
check "c28 the others are not disturbed" equal "$(sed -n 3p out)" eins
printf 'one\342\200\250two\nthree\302\205four\0five\n' > breaks
input=breaks works "other line ends" "${translate[@]}"
check "c05 only a newline ends a line" equal "$(wc -l < out)" 2
for _ in $(seq 30); do cat en; done | head -n 1101 > many
input=many works "many lines" "${translate[@]}" --batch-tokens 500 --beam 2 --max-length 5
check "many lines: as many" equal "$(wc -l < out)" 1101
input=empty; : > empty
works "no line" "${translate[@]}"
check "no line: none" equal "$(wc -c < out)" 0
unset input

# Another program asks line by line and waits for each answer.
coproc answerer { exec "${translate[@]}" 2> err; }
answerer_pid=$answerer_PID # the variable goes when the program ends
for pair in one:eins two:zwei "three four:drei vier"; do
    echo "${pair%:*}" >&"${answerer[1]}"
    answer=
    read -r -t 20 answer <&"${answerer[0]}"
    check "an answer at once" equal "$answer" "${pair#*:}"
done
exec {answerer[1]}>&-
wait "$answerer_pid"

# Forms of the result.
head -n 2 en > two
input=two works "n-best" "${translate[@]}" --nbest 3 --beam 3
check "n-best: three of each" equal "$(cut -d ' ' -f 1 out | tr '\n' ' ')" "0 0 0 1 1 1 "
check "n-best: form" equal "$(grep -cEv '^[01] \|\|\| .* \|\|\| -[0-9]+\.[0-9]{6}$' out)" 0
check "n-best: the best first" equal "$(sed -n 's/ |||.*//; 1p' <(sed 's/^0 ||| //' out))" eins
check "n-best: scores fall" awk -F ' \\|\\|\\| ' '$1 == line && $3 > score { exit 1 } { line = $1; score = $3 }' out
input=two works "greedy" "${translate[@]}" --beam 1 --alpha 0 --scores
check "greedy: text behind a tab" equal "$(cut -f 2 out)" "$(head -n 2 de)"
cut -f 1 out > greedy
head -n 2 de > two.de
works "score" "$tfm" score --model m --src two --tgt two.de
check "score: what greedy search says" awk 'NR == FNR { want[NR] = $1; next } { d = $1 - want[FNR]; if (d * d > 1e-8) exit 1 }' \
    greedy out
cp out sums
works "score of each token" "$tfm" score --model m --src two --tgt two.de --per-token
check "they add up" awk -F '\t' '{ n = split($2, t, " "); s = 0; for (i = 1; i <= n; i++) s += t[i]; d = s - $1
    if (n < 2 || d * d > 1e-8) exit 1 }' out
check "perplexity" grep -Eq "^2 pairs, [0-9]+ target tokens, .* perplexity [0-9.]+" err
refused "score: unequal line counts" 1 "two has 2 lines and de has 42" "$tfm" score --model m --src two --tgt de
works "short" "${translate[@]}" --input two --max-length 1
check "short: two lines" equal "$(wc -l < out)" 2
works "the checkpoint as model" "$tfm" translate --model "$(ls -t m-*.ckpt | head -n 1)" --input two
check "the checkpoint as model: text" cmp out two.de

# Several models together.
works "another model" "$tfm" train --src en --tgt de "${small[@]}" --set d_model=16 --steps 20 --quiet --model other
works "a model of other words" "$tfm" train --src two --tgt two.de "${small[@]}" --vocab-size 270 --steps 1 --quiet --model foreign
works "ensemble" "${translate[@]}" --model other --weights 1,0 --input en
check "ensemble: one that counts nothing changes nothing" cmp out plain
pairs=(--src two --tgt two.de --per-token)
for models in "m" "other" "m --model other --weights 3,1"; do
    # shellcheck disable=SC2086 # words
    works "score by $models" "$tfm" score --model $models "${pairs[@]}"
    cut -f 2 out | tr ' ' '\n' > "by.${models%% *}.$(wc -w <<< "$models")"
done
check "score: the mean of probabilities" awk '{ d = exp($3) - (3 * exp($1) + exp($2)) / 4; if (d * d > 1e-10) exit 1 }' \
    <(paste by.m.1 by.other.1 by.m.5)
refused "weights of other models" 2 "is '1', not 2 numbers" "${translate[@]}" --model other --weights 1
refused "a weight that is none" 2 "is '1,x', not 2 numbers" "${translate[@]}" --model other --weights 1,x
refused "a weight below 0" 2 "is '2,-1', not 2 numbers" "${translate[@]}" --model other --weights 2,-1
refused "no weight" 1 "all 2 weights are 0" "${translate[@]}" --model other --weights 0,0
refused "other words" 1 "model 1 has 270 source and 270 target tokens, .* models that decode together" "${translate[@]}" --model foreign
refused "a model that is not there" 1 "missing" "${translate[@]}" --model missing

# Controls of what is produced.
input=two works "forbidden" "${translate[@]}" --forbid zwei --forbid-unknown
check "forbidden: the word is gone, the other line stays" equal "$(head -n 1 out) $(grep -c zwei out)" "eins 0"
input=two refused "nothing forbidden" 1 "'' is no phrase" "${translate[@]}" --forbid ""
input=two works "length by ratio" "${translate[@]}" --min-ratio 3 --max-ratio 3 --nbest 1 --no-repeat-ngram 1
check "length by ratio: longer than without" test "$(wc -c < out)" -gt "$(wc -c < two.de)"
input=two works "norm" "${translate[@]}" --length-norm none --scores
check "norm: as alpha 0" cmp <(cut -f 1 out) <("${translate[@]}" --alpha 0 --scores --input two 2> err | cut -f 1)
refused "norm: none, and an exponent" 2 "--alpha is for --length-norm" "${translate[@]}" --length-norm none --alpha 0.9
refused "norm: no such name" 2 "paper|marian|fairseq|none" "${translate[@]}" --length-norm opennmt

# Beginnings that are given.
printf 'zwei\n\n' > begins
works "prefixes" "${translate[@]}" --input two --prefixes begins
check "prefixes: the first line begins so, the second as it likes" equal \
    "$(head -n 1 out | cut -c 1-4) $(sed -n 2p out)" "zwei $(sed -n 2p two.de)"
head -n 1 begins > begin
refused "too few prefixes" 1 "begin has only 1 lines, fewer than two" "${translate[@]}" --input two --prefixes begin
cat two two > four
works "too many prefixes" "${translate[@]}" --input two --prefixes four
check "too many prefixes are a warning" grep -q "four has more lines than two, whose last is 2" err
refused "standard input twice" 1 "standard input is already read" "${translate[@]}" --prefixes -

# Words that must appear.
printf 'drei\tvier\n\n' > terms
works "terms" "${translate[@]}" --input two --terms terms --beam 12
check "terms: both are there, the other line is as ever" equal \
    "$(head -n 1 out | grep drei | grep -c vier) $(sed -n 2p out)" "1 $(sed -n 2p two.de)"

# Samples, and scores of tokens.
sample=("${translate[@]}" --input two --temperature 4 --nbest 6)
works "samples" "${sample[@]}" --seed 3
cp out samples
check "samples: six of each" equal "$(cut -d ' ' -f 1 out | tr -d '\n')" "000000111111"
check "samples: not all are equal" test "$(grep '^0' out | sort -u | wc -l)" -gt 1
works "samples again" "${sample[@]}" --seed 3 --threads 2
check "samples again: the same" cmp out samples
works "other samples" "${sample[@]}" --seed 4
check "other samples" test "$(cmp -s out samples; echo $?)" = 1
refused "a seed without temperature" 2 "--seed is for --temperature" "${translate[@]}" --input two --seed 5
refused "top-k without temperature" 1 "temperature is 0" "${translate[@]}" --input two --top-k 5
printf 'one {0}\ntwo\n{1} {0} <b>two</b>\n' > marked
works "placeholders" "${translate[@]}" --input marked --beam 24 --placeholder '\{[0-9]\}' --placeholder '</?b>'
check "placeholders: one in the first line" equal "$(sed -n 1p out | grep -o '{0}')" "{0}"
check "placeholders: none in the second" equal "$(sed -n 2p out)" zwei
check "placeholders: all in the third" equal "$(sed -n 3p out | grep -Eo '\{[01]\}|</?b>' | sort | tr '\n' ' ')" "</b> <b> {0} {1} "
printf '1 and 10\n' > numbers
works "numbers" "${translate[@]}" --input numbers --beam 24 --placeholder '[0-9]+'
check "numbers: one within another is not counted" equal "$(grep -Eo '[0-9]+' out | sort | tr '\n' ' ')" "1 10 "
printf 'one {0}\n%s\ntwo\n' "$(seq -s ' ' 65)" > crowded
works "too many placeholders" "${translate[@]}" --input crowded --beam 16 --placeholder '[0-9{}]+'
check "too many placeholders: every line is there" equal "$(wc -l < out) $(sed -n 3p out)" "3 zwei"
check "too many placeholders: a warning" grep -q "crowded:2: translated without its placeholders: .* more than 64" err
printf '%s\303\244\303\266\303\274\n' "$(printf %s {a..z} {A..Z} {0..9})" > word
works "a word's beginning" "${translate[@]}" --input word --beam 16 --placeholder '\<[[:alnum:]]'
check "a word's beginning: is one" not grep -q "more than 64" err
works "a word's characters" "${translate[@]}" --input word --beam 16 --placeholder '[[:alnum:]]'
check "a word's characters: are many" grep -q "more than 64" err
# AddressSanitizer's own regexec() looks for the end of the line each time.
yes '{0} a' | head -n "$(if grep -q __asan_init "$tfm"; then echo 5000; else echo 500000; fi)" | tr '\n' ' ' > endless
refused "a line of 3 MB" 1 "endless:1: " timeout 60 "${translate[@]}" --input endless --long refuse --placeholder '\{0\}' --placeholder b
printf 'drei\n\n%s\n' "$(seq -s "$(printf '\t')" 65)" > crowded.terms
works "too many terms" "${translate[@]}" --input crowded --beam 16 --terms crowded.terms
check "too many terms: every line is there" equal "$(wc -l < out) $(sed -n 3p out)" "3 zwei"
check "too many terms: a warning" grep -q "crowded:3: translated without its terms: " err
printf 'one 5 \342\202\254\n<\303\251>\0one <x>\n' > wide
works "characters of several bytes" "${translate[@]}" --input wide --beam 24 --placeholder $'[0-9]+ [\342\202\254$]' --placeholder '<.>'
check "characters of several bytes: whole" equal "$(sed -n 1p out | grep -o $'5 \342\202\254')" $'5 \342\202\254'
check "characters of several bytes: one is one, and NUL ends nothing" equal \
    "$(sed -n 2p out | grep -aoE $'<(x|\303\251)>' | sort | tr -d '\n')" $'<x><\303\251>'
if unshare -rm mount -t tmpfs none /usr/lib/locale 2> /dev/null; then
    # shellcheck disable=SC2016 # the inner shell's
    works "no locale" unshare -rm bash -c 'mount -t tmpfs none /usr/lib/locale && "$@"' - \
        "${translate[@]}" --input marked --beam 24 --placeholder '\{[0-9]\}'
    check "no locale: says so" grep -q "warning: the system's locale C.UTF-8 is missing" err
fi
for pattern in "" "x*" '^'; do
    refused "placeholder of nothing: '$pattern'" 2 "matches the empty string" "${translate[@]}" --input two --placeholder "$pattern"
done
refused "no pattern" 2 "is no pattern: " "${translate[@]}" --input marked --placeholder '('
works "coverage" "${translate[@]}" --input two --coverage 0.3 --scores
cut -f 2 out > covered
check "coverage: what is learned stays" cmp covered <(head -n 2 plain)
works "unknown words" "${translate[@]}" --input two --replace-unknown
check "unknown words: what is known stays" cmp out <(head -n 2 plain)
works "alignment" "${translate[@]}" --input two --alignment
check "alignment: a link for each word of the first line" equal "$(sed -n '1s/.* ||| //p' out | wc -w)" "$(sed -n '1s/ ||| .*//p' out | wc -w)"
check "alignment: links are pairs of numbers" grep -Eq ' \|\|\| [0-9]+-0( [0-9]+-[0-9]+)*$' out
works "alignment by a threshold" "${translate[@]}" --input two --alignment=1 --nbest 2 --alignment-step input --alignment-layer 1 --alignment-head 2
check "alignment: none is certain, and the score follows" grep -Eq '^0 \|\|\| [^|]* \|\|\|  \|\|\| -[0-9.]+$' out
works "alignment of given pairs" "$tfm" score --model m --src en --tgt de --alignment --per-token
check "alignment of given pairs: behind the scores" grep -Eq '^-[0-9.]+	.* \|\|\| 0-0$' out
refused "a threshold that is none" 2 "neither 'hard' nor" "${translate[@]}" --input two --alignment=2
works "the layer that coverage looks at" "${translate[@]}" --input two --coverage 0.3 --alignment-layer 1
works "the layer that unknown words are copied by" "${translate[@]}" --input two --replace-unknown --alignment-layer 1 --alignment-step input
refused "a step without alignments" 2 "--alignment-step is for" "${translate[@]}" --input two --coverage 0.3 --alignment-step input
refused "a layer without alignments" 2 "--alignment-layer is for" "${translate[@]}" --input two --alignment-layer 1
refused "a layer that is not there" 1 "alignment_layer is 9" "${translate[@]}" --input two --alignment --alignment-layer 9
works "token scores" "${translate[@]}" --input two --token-scores --scores --alpha 0
check "token scores add up" awk -F '\t| \\|\\|\\| ' '{ n = split($3, t, " "); s = 0; for (i = 1; i <= n; i++) s += t[i]; d = s - $1
    if (n < 2 || d * d > 1e-8) exit 1 }' out
# A model of huge weights has scores of some 40 digits.
python3 - << 'END'
import json, struct
data = bytearray(open("m", "rb").read())
size, = struct.unpack("<Q", data[:8])
for name, tensor in json.loads(data[8:8 + size]).items():
    if name.startswith("decoder.layers.0.feedforward.norm"):
        begin, end = (8 + size + at for at in tensor["data_offsets"])
        values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        data[begin:end] = struct.pack(f"<{len(values)}f", *(1e36 * v for v in values))
open("huge", "wb").write(data)
END
head -n 1 en > lone
printf '%s\n' {a..z}{a..z} | head -n 40 | paste -s -d '' > letters
works "huge scores" "$tfm" translate --model huge --skip-checksum --input lone --prefixes letters --max-extra 100 --token-scores
check "huge scores: one of each token" awk '{ sub(/.* \|\|\| /, ""); for (i = 1; i <= NF; i++) if (length($i) > 40) n++ }
    END { exit !(NF >= 80 && n > 40) }' out

# Text as it grows is the text.
for options in "--beam 1" "--beam 4" "--temperature 2 --seed 5" "--beam 3 --alignment --token-scores" "--max-source 6" \
    "--input two --beam 12 --prefixes begins --terms terms" "--beam 1 --max-length 2"; do
    # shellcheck disable=SC2086 # a list
    input=en works "at once: $options" "${translate[@]}" $options
    cp out complete
    # shellcheck disable=SC2086 # a list
    input=en works "as it grows: $options" "${translate[@]}" $options --stream
    check "as it grows: $options: the same bytes" cmp out complete
done
input=odd works "as it grows: odd lines" "${translate[@]}" --stream --output result
check "as it grows: blank lines stay blank" equal "$(sed -n '1p;2p;4p' result | tr -d '\n')$(wc -l < result)" 5
for option in "--nbest 1" --scores "--placeholder x" --replace-unknown; do
    # shellcheck disable=SC2086 # a list
    refused "as it grows: $option" 2 "^tfm: ${option% *} needs a translation that is complete" "${translate[@]}" --stream $option
done
endless=("${translate[@]}" --beam 1 --min-length 3000 --max-extra 3000)
echo one > one
input=one works "a long translation" "${endless[@]}"
cp out complete
coproc grower { exec env --default-signal=INT "${endless[@]}" --stream 2> err; }
grower_pid=$grower_PID
exec 5<&"${grower[0]}"
cat one >&"${grower[1]}"
read -r -N 4 -t 20 answer <&5
kill -INT "$grower_pid"
wait "$grower_pid"
check "Ctrl-C ends it" equal "$?" 130
{ printf %s "$answer" && cat <&5; } > begun
exec 5<&-
check "Ctrl-C: it had begun, and not ended" equal "$(wc -l < begun) $((${#answer} + 0))" "0 4"
check "Ctrl-C: what was there is how it begins" cmp -n "$(wc -c < begun)" begun complete
check "Ctrl-C: nothing is said" test ! -s err
check "as it grows: closed pipe" equal "$("${endless[@]}" --stream --input one 2> err | head -c 1 | cat; cat err)" \
    "$(head -c 1 complete; echo 'tfm: cannot write standard output: Broken pipe')"

# Failures in the middle.
{ cat en; printf 'bad \377\n'; cat en; } > half
input=half check "invalid line" run_code 1 "${translate[@]}"
check "invalid line: named" grep -q "^tfm: standard input:43: invalid UTF-8 at byte 5" err
check "invalid line: those before it are answered" cmp out plain
echo precious > kept
input=half check "invalid line: to a file" run_code 1 "${translate[@]}" --output kept
check "invalid line: the old file stays" equal "$(cat kept)" precious
input=half works "invalid line: replaced" "${translate[@]}" --replace-invalid
check "invalid line: replaced, all lines" equal "$(wc -l < out)" 85
{ cat en; seq -s ' ' 300; cat en; } > long
input=long check "long line" run_code 1 "${translate[@]}" --max-source 100 --long refuse
check "long line: named" grep -Eq "^tfm: standard input:43: .*100" err
check "long line: those before it are answered" cmp out plain
input=long works "long line, in parts" "${translate[@]}" --max-source 100 --stats
check "long line, in parts: named" grep -Eq "^tfm: warning: standard input:43: too long, translated in ([4-9]|1[0-9]) parts" err
check "long line, in parts: counted" grep -q "^1 sentences were too long and split, " err
check "long line, in parts: the others are as ever" cmp <(sed 43d out) <(cat plain plain)
check "long line, in parts: one line" equal "$(wc -l < out)" 85
printf 'one. two, three\nfour\n' > sentences
input=sentences works "sentences in parts" "${translate[@]}" --max-source 6
check "sentences in parts: joined by a space" equal "$(head -n 1 out)" "$(printf 'one.\ntwo, three\n' > parts
    "${translate[@]}" --input parts 2> err2 | paste -s -d ' ')"
works "cut off" "${translate[@]}" --input two --max-length 1 --stats
check "cut off: named" grep -q "^tfm: warning: two:2: the translation reached the longest length" err
check "cut off: counted" grep -q " 2 translations were cut off" err
check "closed pipe" equal "$("${translate[@]}" --input many 2> err | head -n 1 | cat; grep -c 'standard output: Broken pipe' err)" \
    "$(head -n 1 de; echo 1)"
finish
