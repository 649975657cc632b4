#!/usr/bin/env bash
# Constituency parsing as translation, section 6.3 of the paper, on a treebank that is free: words to the symbols of their tree
# (trees.py), beam 21, alpha 0.3, output up to 300 tokens longer than the input; labelled F1 as EVALB computes it with
# COLLINS.prm. Trains on several parts of the corpus to show what more data is worth.
# Usage: parsing.sh [--parts "8 4 2 1"] [--steps N] [--dialect vinyals|t2t] [--test N] [--seed N] [--out FOLDER] [--dry-run] CORPUS [TRAIN OPTIONS]
#   CORPUS          lines "article<TAB>tree in brackets", plain, .xz or .gz: CRAFT's structural-annotation/treebank of
#                   github.com/UCDenver-ccp/CRAFT (CC BY 3.0), 97 articles and 30,830 trees. Every tenth article is for the
#                   test, every tenth for validation.
#   --parts LIST    trains on 1/8, 1/4, 1/2 and all of the training articles, one after the other; 1 is all alone
#   --steps N       of each training, in the last two fifths of which the rate cools down; default 8000
#   --dialect D     how trees are written, see trees.py: t2t, with the tags, or vinyals; default t2t
#   --test N        parses only the first N trees of the test; default all
#   --seed N        default 1
#   --out FOLDER    models, logs, parses, results.md, results.svg; default build/parsing
#   --dry-run       a few trees and steps, in FOLDER/dry-run: does everything work?
#   TRAIN OPTIONS   further options of 'tfm train', such as --preset small
# A stopped run goes on when the same command is given again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
parts='8 4 2 1' steps=8000 dialect=t2t test='' seed=1 out=$root/build/parsing dry_run=''
options 'parts steps dialect test seed out' dry-run "$@"
set -- "${arguments[@]}"
[ $# -gt 0 ] || usage
corpus=$1 n_test=$test dry=${dry_run:+200}
shift
need_tfm
out=$out${dry_run:+/dry-run}
here=$root/examples/experiments
trees() { python3 "$here/trees.py" "$@"; }
beam=21 extra=300 n_valid=1000
limits=(--steps "$steps" --cooldown $((steps * 2 / 5)) --valid-every $((steps / 20 + 1)) --checkpoint-every $((steps / 40 + 1))
    --average 5)
[ -z "$dry" ] || beam=3 extra=20 n_valid=20 n_test=12 limits=(--steps 4 --batch-tokens 512 --checkpoint-every 2 --average 2)
mkdir -p "$out"
checksum=$(checksum "$corpus")
keep_options "$out" steps dialect test seed "checksum=$checksum" -- "$@"

# Writes SET.trees, SET.words and SET.symbols of a part of the corpus, words.tok and symbols.tok: words are cut seldom, so that
# the decoder finds the next one where it left off; each of the hundred symbols is a token.
prepare() # FOLDER PART
{
    local set
    [ ! -e "$1/ready" ] || return 0
    mkdir -p "$1"
    trees split "$corpus" "$1" --part "$2" > "$1/split"
    [ -z "$dry" ] || sed -i "$((dry + 1)),\$d" "$1/train.trees"
    [ -z "$n_test" ] || sed -i "$((n_test + 1)),\$d" "$1/test.trees"
    sed -i "$((n_valid + 1)),\$d" "$1/valid.trees"
    for set in train valid test; do
        trees words < "$1/$set.trees" > "$1/$set.words"
        trees linearize --dialect "$dialect" < "$1/$set.trees" > "$1/$set.symbols"
    done
    for set in words symbols; do
        "$tfm" tokenizer learn --kind subword-nmt --quiet --input "$1/train.$set" --output "$1/$set.tok"
    done
    : > "$1/ready"
}

parse() # FOLDER MODEL
{
    [ ! -e "$1/test.parsed" ] || return 0
    into "$1/test.out" "$tfm" translate --model "$2" --beam $beam --alpha 0.3 --max-extra $extra --threads "$threads" < "$1/test.words"
    into "$1/test.parsed" trees restore --dialect "$dialect" --training "$1/train.trees" --report "$1/faults" "$1/test.trees" < "$1/test.out"
}

: > "$out/results.tsv"
for part in $parts; do
    at=$out/part-$part model=$out/part-$part/parser.tfm
    say "1/$part of the training articles"
    prepare "$at" "$part"
    cat "$at/split"
    train "$model" --src "$at/train.words" --tgt "$at/train.symbols" --valid-src "$at/valid.words" --valid-tgt "$at/valid.symbols" \
        --tokenizer-file "$at/words.tok" --target-tokenizer-file "$at/symbols.tok" --preset tiny --set norm_order=pre \
        --max-length 400 --batch-tokens 2048 --lr-scale 1 --warmup 1000 --dropout 0.2 --label-smoothing 0 --clip 25 \
        "${limits[@]}" --seed "$seed" "$@"
    parse "$at" "$model"
    "$tfm" evaluate --hyp "$at/test.parsed" --ref "$at/test.trees" --metric parseval > "$at/report"
    # Trees; F1, recall, precision, complete, and F1 up to 40 words; wrong length, malformed; steps, seconds. The seconds of
    # the log begin anew where a stopped training went on.
    awk -F '= *' -v trees="$(wc -l < "$at/train.trees")" -v faults="$(cat "$at/faults")" -v log_file="$model.csv" '
        /^Bracketing FMeasure/ { f[++n] = $2 }
        /^Bracketing Recall/ && !n { recall = $2 }
        /^Bracketing Precision/ && !n { precision = $2 }
        /^Complete match/ && n == 1 { complete = $2 }
        END {
            split(faults, fault, "\t")
            while ((getline line < log_file) > 0) {
                fields = split(line, field, ",")
                if (!row++) { for (i = 1; i <= fields; i++) at[field[i]] = i; columns = fields; continue }
                if (fields < columns) continue # cut off where the training was stopped
                if (field[at["seconds"]] < last) before += last
                last = field[at["seconds"]]
                if (field[at["step"]] > steps) steps = field[at["step"]]
            }
            printf "%d\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%d\t%d\n", trees, f[1], recall, precision, complete, f[2],
                100 * fault[2] / fault[1], 100 * fault[3] / fault[1], steps, before + last
        }' "$at/report" >> "$out/results.tsv"
done

say "$out/results.md, results.svg"
awk -F '\t' '
    BEGIN {
        print "| training trees | F1 | recall | precision | complete | F1, 40 words | wrong length | malformed | steps | minutes |"
        print "|---|---|---|---|---|---|---|---|---|---|"
    }
    { printf "| %d | %s | %s | %s | %s | %s | %s %% | %s %% | %d | %.0f |\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 / 60 }' \
    "$out/results.tsv" | tee "$out/results.md"
sort -n "$out/results.tsv" | awk -F '\t' '
    $2 != "nan" { print "F1\t#1b7f5a\tsolid\t" $1 "\t" $2; print "F1, up to 40 words\t#2461b8\tdashed\t" $1 "\t" $6 }' > "$out/figure.tsv"
if [ -s "$out/figure.tsv" ]; then
    python3 "$here/figure.py" "Parsing CRAFT: labelled F1 over training data" "training trees" "F1 on test articles" --linear \
        < "$out/figure.tsv" > "$out/results.svg"
fi
