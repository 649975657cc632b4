#!/usr/bin/env bash
# Counts of parameters and operations, and the help pages. Usage: cli_inspect.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus

says() # TEXT: a line of out holds it, runs of spaces counting as one
{
    tr -s ' ' < out | grep -qF -- "$1" || { echo "not said: $1"; return 1; }
}

works "base" "$tfm" inspect --preset base --vocab-size 37000
check "m45 base: attention" says "attention sub-layer, each 1,048,576"
check "m45 base: feed-forward" says "feed-forward sub-layer, each 2,099,712"
check "m45 base: encoder" says "encoder 18,902,016"
check "m45 base: decoder" says "decoder 25,199,616"
check "m45 base: body" says "body (encoder + decoder) 44,101,632"
check "m45 base: total" says "total 63,045,632"
check "base: source multiply-adds" says "source token 22,192,128, of which attention matrices 172,032"
check "base: target multiply-adds" says "target token 41,308,160, of which attention matrices 344,064"
check "base: per pair" says "per token pair 3.81e+08 FLOP"
check "base: per step" says "per step 9.525e+12 FLOP"
check "base: whole run" says "whole run 9.53e+17 FLOP (100000 steps)"
check "m50 base: the paper's figure is labelled" says "an estimate of capacity, not a count"
check "base: the paper's figure" says "whole run 3.3e+18 FLOP, of which the count is 29 %"
works "big" "$tfm" inspect --preset big --vocab-size 37000
check "m45 big: total" says "total 214,171,648"
check "big: whole run" says "whole run 9.68e+18 FLOP (300000 steps)"
check "big: the paper's figure" says "whole run 2.3e+19 FLOP, of which the count is 42 %"
works "B1" "$tfm" inspect --preset base --set d_k=16
check "m45 B1: total" says "total 55,967,744"
works "C4" "$tfm" inspect --preset base --set d_model=256 --vocab-size 40960
check "m45 C4: total" says "total 27,830,272"
works "E" "$tfm" inspect --preset base --set positions=learned
check "m45 E: total" says "total 63,307,776"
works "attention biases" "$tfm" inspect --preset base --set attention_bias=1
check "m45 biased body" says "body (encoder + decoder) 44,138,496"

works "JSON" "$tfm" inspect --preset base --json
check "JSON: total" grep -q '"total":63045632}' out
check "JSON: one line" equal "$(wc -l < out)" 1

works "a model" "$tfm" train --src en --tgt de "${small[@]}" --steps 1 --quiet --model m
works "a model file" "$tfm" inspect m --parameters
check "a model file: configuration" says "m: 1+1 layers, width 32, feed-forward 64, 2 heads of 16"
check "a model file: tokenizer" says "tokenizer bpe, 300 entries"
check "a model file: the tensors are all its parameters" awk '
    /^  total/ { gsub(",", "", $2); total = $2 } tensors && NF { gsub(",", "", $2); sum += $2 } /^Tensors/ { tensors = 1 }
    END { exit !(total > 0 && sum == total) }' out
works "a model file as JSON" "$tfm" inspect m --parameters --json
check "a model file as JSON: tensors" grep -q '"tensors":\[{"name":"[a-z0-9._]*","dtype":"float32","shape":\[' out
works "a checkpoint" "$tfm" inspect m-1.ckpt
refused "nothing to inspect" 2 "model file, or --preset" "$tfm" inspect
refused "two things to inspect" 2 "own configuration" "$tfm" inspect m --preset base

# Every command has its page, and every option of the table stands in it.
works "version" "$tfm" --version
version=$(sed -En 's/^#define TFM_VERSION_[A-Z]+ ([0-9]+).*/\1/p' "$root/include/transformer.h" | paste -sd.)
check "version: as the header's" equal "$(cat out)" "tfm $version"
works "overview" "$tfm" --help
sed -n '/^Commands/,/^$/s/^  \([a-z]* \{0,1\}[a-z]*\)  .*/\1/p' out > commands
check "overview: commands" equal "$(wc -l < commands)" 23
while read -r -a command; do
    works "${command[*]} --help" "$tfm" "${command[@]}" --help
    check "${command[*]} --help: usage" grep -q "^Usage: tfm ${command[*]} " out
    check "${command[*]} --help: examples" grep -q "^Examples" out
    check "${command[*]} --help: narrow" equal "$(awk 'length > 92' out | wc -l)" 0
done < commands
works "tokenizer --help" "$tfm" tokenizer --help
finish
