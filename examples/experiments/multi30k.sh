#!/usr/bin/env bash
# Multi30k, task 1, text only: preset tiny on 29,000 pairs, trained in steps of 8,192 tokens and scored on three test sets
# as Wu et al. 2021 (ACL) did: lower-cased tokenised BLEU, beam 5, mean of the last ten epochs' checkpoints.
# Usage: multi30k.sh [--to de|fr] [--seeds "1 2 3"] [--steps N] [--out FOLDER] [--dry-run] DATA [TRAIN OPTIONS]
#   DATA            has train.en, train.de, val.en ... test_2017_mscoco.de, or the *.lc.norm.tok.* made from them,
#                   plain or .gz: data/task1 of github.com/multi30k/dataset (for research only)
#   --to LANGUAGE   translate English to it; default de
#   --seeds LIST    a training for each; default 1
#   --steps N       at most, default 8000; ten epochs without a better validation end it before
#   --out FOLDER    models, logs, translations and results.md; default build/multi30k
#   --dry-run       60 pairs and a few steps, in FOLDER/dry-run: does everything work?
#   TRAIN OPTIONS   further options of 'tfm train', to improve on the recipe
# A stopped run goes on when the same command is given again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
to=de seeds=1 steps=8000 out=$root/build/multi30k dry_run=''
options 'to seeds steps out' dry-run "$@"
set -- "${arguments[@]}"
[ $# -gt 0 ] || usage
data=$1 dry=${dry_run:+60}
shift
need_tfm
out=$out${dry_run:+/dry-run}
merges=10000 limits=(--steps "$steps" --average 10 --keep 12 --patience 10 --samples 4)
[ -z "$dry" ] || merges=100 limits=(--steps 6 --batch-tokens 256 --checkpoint-every 2 --average 3)
mkdir -p "$out"
tests='test_2016_flickr test_2017_flickr test_2017_mscoco'
# shellcheck disable=SC2086 # lists
mapfile -t files < <(multi30k_files "$data" "$to" train val $tests)
checksum=$(checksum "${files[@]}")
keep_options "$out" steps "checksum=$checksum" -- "$@"
# shellcheck disable=SC2086
multi30k "$data" "$out" "$to" "$dry" train val $tests

for seed in $seeds; do
    model=$out/en-$to-$seed.tfm
    say "Training $model"
    train "$model" --src "$out/train.en" --tgt "$out/train.$to" --valid-src "$out/val.en" --valid-tgt "$out/val.$to" \
        --tokenizer subword-nmt --merges "$merges" --preset tiny --batch-tokens 2048 --accumulate 4 --lr-scale 2.53 \
        --warmup 2000 --dropout 0.3 --clip 25 "${limits[@]}" --seed "$seed" "$@"
    for set in val $tests; do
        into "$out/$set.$seed.out" "$tfm" translate --model "$model" --beam 5 --alpha 1 --length-norm fairseq --threads "$threads" --quiet < "$out/$set.en"
        into "$out/$set.$seed.bleu" "$tfm" evaluate --hyp "$out/$set.$seed.out" --ref "$out/$set.$to" --tokenize none
        printf '%-18s' $set
        cat "$out/$set.$seed.bleu"
    done
done

say "$out/results.md"
{
    echo "| seed | dev | test_2016 | test_2017 | MSCOCO |"
    echo "|---|---|---|---|---|"
    bleu() { sed -n 's/^BLEU = \([0-9.]*\).*/\1/p' "$@"; }
    for seed in $seeds; do
        echo "| $seed $(for set in val $tests; do echo "| $(bleu "$out/$set.$seed.bleu") "; done | tr -d '\n')|"
    done
    echo "| mean $(for set in val $tests; do
        echo "| $(for seed in $seeds; do bleu "$out/$set.$seed.bleu"; done | mean) "
    done | tr -d '\n')|"
} | tee "$out/results.md"
