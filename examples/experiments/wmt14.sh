#!/usr/bin/env bash
# The paper's main experiment: WMT 2014 English to German, 4.5 M pairs, 37,000 joint merges, steps of 25,000 source and 25,000
# target tokens, mean of the last checkpoints, beam 4, alpha 0.6. Ends with what the whole run takes on this machine and on
# several, from a measured step; --estimate prints that alone. A desk needs months, so try --dry-run first.
# Usage: wmt14.sh [--preset base|big] [--machines "1 8"] [--gigabits X] [--out FOLDER] SRC TGT VALID_SRC VALID_TGT TEST_SRC TEST_TGT
#        wmt14.sh --dry-run [options] SRC TGT      two files of 22 pairs or more: the first 440, a few steps of the preset
#        wmt14.sh --estimate [options]
#   SRC TGT ...     raw text, one sentence a line, plain or gzip: newstest2013 to watch, newstest2014 to be scored with
#   --preset NAME   default base
#   --machines LIST for the estimate; default "1 8 64"
#   --gigabits X    of the network between them, a second; default 1
#   --out FOLDER    everything that is written; default build/wmt14-PRESET. A dry run is in FOLDER/dry-run, and begins anew
# Beside the text, twice its size, the disk must have room for the checkpoints that are averaged, and one more while it is
# written: 5 GB for base, 54 GB for big. A stopped run goes on when the same command is given again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
preset=base machines='1 8 64' gigabits=1 out='' dry_run='' estimate=''
options 'preset machines gigabits out' 'dry-run estimate' "$@"
set -- "${arguments[@]}"
# Steps, dropout, and checkpoints ten minutes apart on the paper's machine: how many of them are averaged.
case $preset in
base) steps=100000 dropout=0.1 every=1500 average=5 ;;
big) steps=300000 dropout=0.3 every=600 average=20 ;;
*) echo "--preset is '$preset'; base and big are known" >&2; exit 2 ;;
esac
[ -z "$dry_run" ] || [ -z "$estimate" ] || usage
[[ "$machines " =~ ^([1-9][0-9]*\ +)+$ ]] || { echo "--machines is '$machines', not numbers of 1 or more" >&2; exit 2; }
[[ $gigabits =~ ^[0-9.]*[1-9][0-9.]*$ ]] || { echo "--gigabits is '$gigabits', not a number above 0" >&2; exit 2; }
[ $# = "$(if [ -n "$estimate" ]; then echo 0; elif [ -n "$dry_run" ]; then echo 2; else echo 6; fi)" ] || usage
need_tfm
out=${out:-$root/build/wmt14-$preset}${dry_run:+/dry-run}${estimate:+/estimate}
work=(--merges 37000 --batch-tokens 25000 --steps "$steps" --checkpoint-every "$every" --average "$average" --keep "$average")
bench=(--batch 40 --steps 5)
if [ -n "$dry_run" ]; then
    work=(--merges 300 --batch-tokens 500 --steps 4 --checkpoint-every 2 --average 2 --keep 2)
    bench=(--batch 4 --steps 1)
fi

words() # FILE LANGUAGE
{
    zcat -f "$1" | "$tfm" tokenizer pretokenize --language "$2" --replace-invalid
}

run() # SRC TGT VALID_SRC VALID_TGT TEST_SRC TEST_TGT
{
    local names=(train.en train.de valid.en valid.de test.en test.de) name reference=$6
    say "Words"
    for name in "${names[@]}"; do
        [ -s "$out/$name" ] || into "$out/$name" words "$1" "${name#*.}"
        shift
    done
    wc -l "${names[@]/#/$out/}"
    say "Training $out/en-de.tfm"
    train "$out/en-de.tfm" --src "$out/train.en" --tgt "$out/train.de" --valid-src "$out/valid.en" --valid-tgt "$out/valid.de" \
        --tokenizer subword-nmt "${work[@]}" --preset "$preset" --dropout "$dropout" --warmup 4000
    say "Scores"
    into "$out/test.out" "$tfm" translate --model "$out/en-de.tfm" --beam 4 --alpha 0.6 --threads "$threads" --quiet < "$out/test.en"
    echo "as the paper: tokenised, case kept, compounds split"
    "$tfm" evaluate --hyp "$out/test.out" --ref "$out/test.de" --tokenize none --smooth none --compound-split
    echo "as sacreBLEU: text as people write it"
    "$tfm" tokenizer detokenize --language de < "$out/test.out" > "$out/test.out.text"
    zcat -f "$reference" > "$out/test.de.text"
    "$tfm" evaluate --hyp "$out/test.out.text" --ref "$out/test.de.text" --replace-invalid
}

# Time and floating point operations of the whole run, from a measured step and counted operations. On several machines each
# does its share of a step, then gradients are summed in a ring: every machine sends and receives twice the weights. Left out
# are the learning of the merges, validation (once an epoch, about as much work as one step) and the writing of checkpoints.
estimate()
{
    say "What the whole run takes: preset $preset, $steps steps of 25,000 + 25,000 tokens"
    "$tfm" bench train --preset "$preset" --threads "$threads" --quiet "${bench[@]}" | tee "$out/bench.json"
    awk -v preset="$preset" -v steps="$steps" -v every="$every" -v kept="$average" -v machines="$machines" -v gigabits="$gigabits" -v tokens=25000 '
        function field(name) { match($0, "\"" name "\":[0-9.e+]+"); return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 }
        {
            step = tokens / field("tokens_per_s")                            # seconds, one machine
            flop = field("gflop") * 1e9 / (field("batch") * field("tgt_len")) * tokens
            weights = preset == "base" ? 63.1e6 : 214e6
            bits = weights * 32
            printf "one step: %.1f s on this machine (%.0f target tokens a second), %.3g FLOP\n", step, field("tokens_per_s"), flop
            n = split(machines, m, " ")
            for (i = 1; i <= n; i++) {
                send = m[i] > 1 ? 2 * (m[i] - 1) / m[i] * bits / (gigabits * 1e9) : 0
                printf "%4d machine%s %8.1f days (%.2f s of work and %.2f s of sending a step)\n", m[i], (m[i] > 1 ? "s" : " "), \
                    steps * (step / m[i] + send) / 86400, step / m[i], send
            }
            print "without validation and the writing of checkpoints"
            printf "checkpoints: %.2g GB each, every %d steps; the last %d are kept, %.2g GB with the one being written\n", \
                weights * 12e-9, every, kept, (kept + 1) * weights * 12e-9
            printf "floating point operations, counted (backward = 2 x forward):  %.3g\n", flop * steps
            printf "as the paper estimates them, time x rate of products (%.0f GFLOP/s): %.3g; its own figure, GPUs: %s\n",
                field("gemm_gflops"), steps * step * field("gemm_gflops") * 1e9, preset == "base" ? "3.3e18" : "2.3e19"
        }' "$out/bench.json"
}

[ -z "$dry_run" ] || rm -rf "$out"
mkdir -p "$out"
checksum=$(checksum "$@")
keep_options "$out" preset "checksum=$checksum"
if [ -n "$dry_run" ]; then
    zcat -f "$1" | sed -n 1,440p > "$out/all.en"
    zcat -f "$2" | sed -n 1,440p > "$out/all.de"
    pairs=$(wc -l < "$out/all.en") targets=$(wc -l < "$out/all.de")
    if [ "$pairs" != "$targets" ] || [ "$pairs" -lt 22 ]; then
        echo "of the first 440 lines, $1 has $pairs and $2 has $targets; a dry run needs pairs of lines, 22 or more" >&2
        exit 1
    fi
    # What is trained on is not scored: 1/22 each to watch and to be scored with.
    held=$((pairs / 22))
    trained=$((pairs - 2 * held))
    for side in en de; do
        sed -n "1,${trained}p" "$out/all.$side" > "$out/raw.$side"
        sed -n "$((trained + 1)),$((trained + held))p" "$out/all.$side" > "$out/raw-valid.$side"
        sed "1,$((trained + held))d" "$out/all.$side" > "$out/raw-test.$side"
    done
    set -- "$out"/raw{,-valid,-test}.{en,de}
fi
[ -n "$estimate" ] || run "$@"
estimate
