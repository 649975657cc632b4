#!/usr/bin/env bash
# Translations of 500 lines by a trained model, and by random weights, are the same bits in any batch, order and number of threads.
# Usage: check_invariance.sh TFM MAKE_CORPUS INVARIANCE
set -eu
tfm=$1 make=$2 invariance=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$make" --train 4000 --valid 10 --test 500 "$tmp" > /dev/null
"$tfm" train --src "$tmp/train.src" --tgt "$tmp/train.tgt" --model "$tmp/dates.tfm" --preset tiny --set n_encoder_layers=2 \
    --set n_decoder_layers=2 --vocab-size 700 --batch-tokens 1024 --warmup 100 --dropout 0 --steps 200 --threads 2 --quiet
"$invariance" "$tmp/dates.tfm" "$tmp/test.src"
"$invariance" "$tmp/dates.tfm" "$tmp/test.src" random
