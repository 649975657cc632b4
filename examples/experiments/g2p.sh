#!/usr/bin/env bash
# Grapheme to phoneme: how a word is pronounced, on the usual split of CMUdict (PRONALSYL 2007; 106,837 words to learn
# from, 12,000 to be tested with, no stress). Each letter and each phoneme is a token. Scored by word and by phoneme error;
# where a word has several pronunciations, the nearest one counts.
# Usage: g2p.sh [--seed N] [--steps N] [--out FOLDER] [--dry-run] DATA [TRAIN OPTIONS]
#   DATA            has g014b2b.train, g014b2b.words and g014b2b.ref, plain or .gz: test/g014b2b of
#                   github.com/AdolfVonKleist/Phonetisaurus
#   --seed N        default 1
#   --steps N       in the last two fifths of which the rate cools down; default 56000, 30 epochs
#   --out FOLDER    model, log, answers and results.md; default build/g2p
#   --dry-run       500 words and a few steps, in FOLDER/dry-run: does everything work?
#   TRAIN OPTIONS   further options of 'tfm train'
# A stopped run goes on when the same command is given again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
seed=1 steps=56000 out=$root/build/g2p dry_run=''
options 'seed steps out' dry-run "$@"
set -- "${arguments[@]}"
[ $# -gt 0 ] || usage
data=$1 dry=${dry_run:+500}
shift
need_tfm
out=$out${dry_run:+/dry-run}
limits=(--steps "$steps" --cooldown $((steps * 2 / 5)) --average 5)
[ -z "$dry" ] || limits=(--steps 6 --batch-tokens 256 --checkpoint-every 2 --average 3)
mkdir -p "$out"
checksum=$(checksum "$data"/g014b2b.{train,words,ref})
keep_options "$out" steps "checksum=$checksum" -- "$@"
head_of() { sed -n "1,${dry:-$}p"; }

# Words with a space behind each letter; one word in fifty, with all its pronunciations, is held out to watch the training.
lines "$data/g014b2b.train" | head_of | awk -F '\t' -v out="$out" '
    BEGIN { split("train.src train.tgt valid.src valid.tgt", f, " "); for (i in f) printf "" > (out "/" f[i]) }
    !($1 in set) { set[$1] = ++n % 50 ? "train" : "valid" }
    { w = tolower($1); gsub(/./, "& ", w); sub(/ $/, "", w)
      print w > (out "/" set[$1] ".src"); print $2 > (out "/" set[$1] ".tgt") }'
lines "$data/g014b2b.words" | head_of | tr '[:upper:]' '[:lower:]' | sed 's/./& /g; s/ $//' > "$out/test.src"
lines "$data/g014b2b.ref" | head_of > "$out/test.ref"

# As many merges as make one token of every phoneme.
model=$out/g2p-$seed.tfm
merges=$(cut -d ' ' -f 1- --output-delimiter $'\n' "$out/train.tgt" | grep .. | sort | uniq -c | awk '$1 > 1 { n++ } END { print n }')
say "Training $model"
start=$(date +%s)
train "$model" --src "$out/train.src" --tgt "$out/train.tgt" --valid-src "$out/valid.src" --valid-tgt "$out/valid.tgt" \
    --tokenizer subword-nmt --merges "$merges" --preset tiny --batch-tokens 512 --lr-scale 0.5 --warmup 1000 --dropout 0.1 \
    "${limits[@]}" --seed "$seed" "$@"
echo "$(($(date +%s) - start)) s"
[ "$out/test.$seed.out" -nt "$model" ] ||
    into "$out/test.$seed.out" "$tfm" translate --model "$model" --beam 5 --alpha 1 --threads "$threads" --quiet < "$out/test.src"

# Answers beside lines of WORD, PRONUNCIATION...: edits to the nearest pronunciation over its length.
errors()
{
    paste "$out/test.$seed.out" "$out/test.ref" | awk -F '\t' '
        function least(x, y) { return x < y ? x : y }
        function edits(n, m,    i, j, d) # of h[1..n] to r[1..m]
        {
            for (j = 0; j <= m; j++) d[0, j] = j
            for (i = 1; i <= n; i++) {
                d[i, 0] = i
                for (j = 1; j <= m; j++)
                    d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1, d[i - 1, j - 1] + (h[i] != r[j]))
            }
            return d[n, m]
        }
        {
            n = split($1, h, " "); best = -1
            for (k = 3; k <= NF; k++) {
                m = split($k, r, " "); e = edits(n, m)
                if (best < 0 || e * length_of_best < best * m) { best = e; length_of_best = m }
            }
            words++; wrong += best > 0; edited += best; phonemes += length_of_best
        }
        END { printf "| %.2f %% | %.2f %% | %d |\n", 100 * wrong / words, 100 * edited / phonemes, words }'
}
say "$out/results.md"
{
    echo "| word error | phoneme error | words |"
    echo "|---|---|---|"
    errors
} | tee "$out/results.md"
