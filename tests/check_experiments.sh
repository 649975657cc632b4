#!/usr/bin/env bash
# The experiments on a few lines of their data: each trains, goes on where it was stopped, scores, and writes its tables; an
# error is scored as it should be. Usage: check_experiments.sh TFM SOURCE_ROOT
set -eu
export LC_ALL=C TFM THREADS=1
TFM=$(realpath "$1") root=$2
data=${TFM_TEST_DATA:-$root/../shared/data}
[ -d "$data/multi30k" ] || { echo "no test data"; exit 77; }
experiments=$root/examples/experiments
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "$*"; tail -n 20 "$out/log"; exit 1; }
run() { "$experiments/$@" > "$out/log" 2>&1 || fail "$*"; }
lines() { [ "$(wc -l < "$1")" = "$2" ] || fail "$1 has not $2 lines"; }

# German from the corpus' own words, French from raw text; two seeds give two rows and their mean.
run multi30k.sh --dry-run --seeds '1 2' --out "$out/de" "$data/multi30k/tok"
lines "$out/de/dry-run/results.md" 5
grep -q '^| mean | [0-9.]* +- [0-9.]* |' "$out/de/dry-run/results.md" || fail "no mean: $(cat "$out/de/dry-run/results.md")"
run multi30k.sh --dry-run --to fr --out "$out/fr" "$data/multi30k/raw"
grep -q '^deux jeunes hommes blancs' "$out/fr/dry-run/train.fr" || fail "French words: $(sed 1q "$out/fr/dry-run/train.fr")"

# Without --dry-run every line is used.
mkdir "$out/few"
for set in train val test_2016_flickr test_2017_flickr test_2017_mscoco; do
    for language in en de; do
        { zcat "$data/multi30k/tok/$set.lc.norm.tok.$language.gz" || true; } 2> /dev/null | sed 70q > "$out/few/$set.lc.norm.tok.$language"
    done
done
run multi30k.sh --steps 1 --out "$out/whole" "$out/few" --merges 100
lines "$out/whole/train.en" 70
lines "$out/whole/results.md" 4

# A model that is there is not trained again; one that is not goes on from its checkpoint.
run multi30k.sh --dry-run --out "$out/de" "$data/multi30k/tok"
grep -q 'en-de-1.tfm exists: nothing to train' "$out/log" || fail "trained again"
stop_when() # WHAT COMMAND...
{
    setsid "$experiments/multi30k.sh" --dry-run --seeds 3 --out "$out/long" "$data/multi30k/tok" --steps 100000 > "$out/log" 2>&1 &
    until "${@:2}" > /dev/null; do
        kill -0 $! 2> /dev/null || fail "no $1"
        sleep 0.1
    done
    kill -TERM -- -$!
    wait $! || true
}
stop_when checkpoint compgen -G "$out/long/dry-run/en-de-3.tfm-*.ckpt"
stop_when resume grep 'goes on' "$out/log"

run ablations.sh --dry-run --rows '^(base|B1|D1)$' --out "$out/rows" "$data/multi30k/tok"
lines "$out/rows/dry-run/results.md" 5
run ablations.sh --dry-run --rows '^E$' --out "$out/rows" "$data/multi30k/tok"
lines "$out/rows/dry-run/results.md" 6
python3 -c 'import sys, xml.dom.minidom as x; sys.exit(len(x.parse(sys.argv[1]).getElementsByTagName("circle")) != 8)' \
    "$out/rows/dry-run/results.svg" || fail "results.svg"

# What a folder was made with is not mixed with something else.
mixed() # HAD HAS SCRIPT...
{
    if "$experiments/${@:3}" > "$out/log" 2>&1; then fail "${*:3} mixed"; fi
    grep -q -e "was made with.* $1.*, not.* $2.*; give another --out" "$out/log" || fail "${*:3}"
}
mixed '--seed 1' '--seed 2' ablations.sh --dry-run --rows '^E$' --seed 2 --out "$out/rows" "$data/multi30k/tok"
mixed '--steps 1' '--steps 2' multi30k.sh --steps 2 --out "$out/whole" "$out/few"
mixed '--steps 1' '--steps 1 .*--dropout 0.1' multi30k.sh --steps 1 --out "$out/whole" "$out/few" --dropout 0.1

sed 1d "$out/few/train.lc.norm.tok.de" > "$out/shorter"
mv "$out/shorter" "$out/few/train.lc.norm.tok.de"
mixed '--checksum [0-9]' '--checksum [0-9]' multi30k.sh --steps 1 --out "$out/whole" "$out/few" --merges 100
if "$experiments/ablations.sh" --dry-run --rows '(' --out "$out/rows" "$data/multi30k/tok" > "$out/log" 2>&1; then fail "no pattern"; fi
grep -q -e "--rows is '(', no regular expression" "$out/log" || fail "no pattern"
# Folders of any name, from where the command is given; and figures that are all alike.
(cd "$out" && run ablations.sh --dry-run --rows '^A1$' --out 'a=[1]' "$data/multi30k/tok")
grep -q '^| A1 | .* | 2 |' "$out/a=[1]/dry-run/results.md" || fail "no row: $(cat "$out/a=[1]/dry-run/results.md")"
grep -q stroke-dasharray "$out/a=[1]/dry-run/results.svg" && fail "a base that is not there"
[ "$(set --; . "$experiments/common.sh"; printf '0.1\n0.1\n0.1\n' | mean)" = '0.10 +- 0.00' ] || fail "the same three times"

g2p=$data/g2p/phonetisaurus_g014b2b
run g2p.sh --dry-run --out "$out/g2p" "$g2p"
# Half an answer is none: a translation that is stopped leaves no file that a later run would take for all of it.
cp "$out/g2p/dry-run/test.1.out" "$out/answers"
rm "$out/g2p/dry-run/test.1.out"
printf '#!/bin/sh\nif [ "$1" = translate ]; then sed -n 1,7p; exit 1; fi\nexec "$REAL" "$@"\n' > "$out/stopped"
chmod +x "$out/stopped"
if REAL=$TFM TFM=$out/stopped "$experiments/g2p.sh" --dry-run --out "$out/g2p" "$g2p" > "$out/log" 2>&1; then fail "half is enough"; fi
run g2p.sh --dry-run --out "$out/g2p" "$g2p"
cmp -s "$out/answers" "$out/g2p/dry-run/test.1.out" || fail "half of the answers"
# Answers put in by hand: every fourth word wrong by one phoneme too many.
cut -f 2 "$out/g2p/dry-run/test.ref" | awk 'NR % 4 { print; next } { print $0, "ZH" }' > "$out/g2p/dry-run/test.1.out"
wrong=$(awk 'NR % 4 == 0 { n++ } END { printf "%.2f", 100 * n / NR }' "$out/g2p/dry-run/test.ref")
run g2p.sh --dry-run --out "$out/g2p" "$g2p"
grep -q "^| $wrong % | [34]\.[0-9]* % | 500 |" "$out/g2p/dry-run/results.md" || fail "errors: $(tail -n 1 "$out/g2p/dry-run/results.md")"

for file in train words ref; do
    { zcat -f "$g2p/g014b2b.$file"* || true; } 2> /dev/null | sed 300q > "$out/few/g014b2b.$file"
done
run g2p.sh --steps 5 --out "$out/words" "$out/few"
grep -q '| 300 |$' "$out/words/results.md" || fail "not every word: $(tail -n 1 "$out/words/results.md")"

corpus=$data/corpora/onmt_ende10k
(unset THREADS; run wmt14.sh --dry-run --machines '1 2' --out "$out/wmt" "$corpus/src-train.txt.gz" "$corpus/tgt-train.txt.gz")
grep -q '^ *2 machines .* days' "$out/log" || fail "no estimate"
grep -q 'split:yes' "$out/log" || fail "not the paper's score"
grep -q '^checkpoints: 0.76 GB each, .* 4.5 GB' "$out/log" || fail "no room on the disk"
wmt=$out/wmt/dry-run
if grep -Fxf "$wmt/raw-test.en" "$wmt/raw.en" > "$out/both"; then [ ! -s "$out/both" ] || fail "trained on what is scored"; fi
cmp -s "$wmt/raw-test.de" "$wmt/test.de.text" || fail "not scored with the text as it was given"
cmp -s "$wmt/raw-test.de" "$wmt/test.de" && fail "words are not told from text"

# The fewest pairs, of which each part gets some (the program that fails stops it there); fewer, and files that are no pair.
zcat "$corpus/src-train.txt.gz" | sed -n 1,22p > "$out/few/22"
sed 1d "$out/few/22" > "$out/few/21"
if TFM=false "$experiments/wmt14.sh" --dry-run --out "$out/wmt" "$out/few/22" "$out/few/22" > "$out/log" 2>&1; then fail "without a program"; fi
lines "$wmt/raw.en" 20
lines "$wmt/raw-valid.de" 1
lines "$wmt/raw-test.de" 1
for first in 21 22; do
    if "$experiments/wmt14.sh" --dry-run --out "$out/wmt" "$out/few/$first" "$out/few/21" > "$out/log" 2>&1; then fail "$first and 21 lines"; fi
    grep -q "$first has $first and .*21 has 21; a dry run needs" "$out/log" || fail "$first and 21 lines"
done

for wrong in "--dry-run --estimate $out/few/22 $out/few/22" "--estimate --machines 0" "--estimate --gigabits 0"; do
    # shellcheck disable=SC2086 # a list
    if "$experiments/wmt14.sh" --out "$out/wmt" $wrong > "$out/log" 2>&1; then fail "wmt14.sh $wrong"; fi
done
grep -q -e "--gigabits is '0', not a number above 0" "$out/log" || fail "gigabits"

# Each dialect; then parses put in by hand: those of one part are perfect, those of the other have no constituents.
craft=$data/treebank/craft/craft.raw.tsv.xz
run parsing.sh --dry-run --parts 8 --dialect t2t --out "$out/t2t" "$craft"
run parsing.sh --dry-run --parts '8 4' --out "$out/trees" "$craft"
mixed '--test all' '--test 5' parsing.sh --dry-run --parts '8 4' --test 5 --out "$out/trees" "$craft"
cp "$out/trees/dry-run/part-8/test.trees" "$out/trees/dry-run/part-8/test.parsed"
sed 's/(\([^ ()]* (\)\{1,\}/(/g; s/)\{2,\}/)/g; s/.*/(TOP (S &))/' "$out/trees/dry-run/part-4/test.trees" > "$out/trees/dry-run/part-4/test.parsed"
run parsing.sh --dry-run --parts '8 4' --out "$out/trees" "$craft"
lines "$out/trees/dry-run/results.md" 4
grep -q '^| 200 | 100.00 | 100.00 | 100.00 | 100.00 | 100.00 | ' "$out/trees/dry-run/results.md" || fail "perfect: $(cat "$out/trees/dry-run/results.md")"
awk -F '|' 'NR == 4 { exit !($3 > 0 && $3 < 50 && $4 < $5) }' "$out/trees/dry-run/results.md" || fail "flat: $(cat "$out/trees/dry-run/results.md")"
python3 -c 'import sys, xml.dom.minidom as x; sys.exit(len(x.parse(sys.argv[1]).getElementsByTagName("path")) < 4)' \
    "$out/trees/dry-run/results.svg" || fail "results.svg of parsing"

mkdir "$out/table1"
echo precious > "$out/table1/results.md"
run table1.sh --dry-run --runs 3 --out "$out/table1"
[ "$(cat "$out/table1/results.md")" = precious ] || fail "a dry run is no measurement"
lines "$out/table1/dry-run/results.md" 5
awk -F '\t' '$1 == "recurrent" && $5 != $2 || $1 != "recurrent" && $5 != 1 || $3 <= 0 || $4 <= 0 { bad = 1 } END { exit bad || NR != 18 }' \
    "$out/table1/dry-run/results.tsv" || fail "table 1: $(cat "$out/table1/dry-run/results.tsv")"
# Projections cost time and memory; a convolution of three words holds them and its result, a recurrence its states.
"$(dirname "$TFM")/../table1" 256 4 64 3 2048 0 > "$out/log"
awk -F '\t' '
    { ms[$1, $2] = $3; mb[$1, $2] = $4; formula[$1, $2] = $7; n[$2] }
    END {
        split("self-attention|restricted self-attention", attention, "|")
        for (l in n) {
            for (i in attention) {
                with = attention[i] " with projections"
                bad += ms[with, l] <= ms[attention[i], l] || mb[with, l] <= mb[attention[i], l]
            }
            bad += mb["recurrent", l] < formula["recurrent", l] || mb["convolutional", l] < 4 * formula["convolutional", l]
        }
        exit bad
    }' "$out/log" || fail "layers of table 1"
if "$experiments/table1.sh" --width 100 --out "$out/table1" > "$out/log" 2>&1; then fail "100 of 8 heads"; fi
grep -q -e '--width is 100, which --heads 8 does not divide' "$out/log" || fail "not the script's own options"
for figure in time memory; do
    python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$out/table1/dry-run/$figure.svg" || fail "$figure.svg"
done

for script in multi30k ablations g2p wmt14 parsing table1; do
    "$experiments/$script.sh" --help 2> "$out/log" || fail "$script --help"
    grep -q '^Usage' "$out/log" || fail "$script --help"
    if "$experiments/$script.sh" --no-such-option 2> "$out/log"; then fail "$script takes anything"; fi
done
