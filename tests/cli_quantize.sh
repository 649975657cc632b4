#!/usr/bin/env bash
# Quantised models and the types of arithmetic. Usage: cli_quantize.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus
works "a model" "$tfm" train --src en --tgt de "${small[@]}" --batch-tokens 100 --dropout 0 --warmup 40 --lr-scale 0.3 \
    --steps 400 --quiet --model m
works "quantize" "$tfm" quantize --model m -o q --dtype int8
check "quantize: silent" equal "$(cat out err)" ""
check "quantize: at most half of the size, tokenizer and header included" test "$(stat -c %s q)" -lt $(($(stat -c %s m) / 2))
works "quantize: again" "$tfm" quantize --model m -o again
check "quantize: the same bytes" cmp q again
works "quantize: what is quantised" "$tfm" quantize --model q -o again
check "quantize: as it was" cmp q again

# The corpus is learned by heart, with large margins: rounding changes no word.
for form in "m f32" "m bf16" "m int8" "q f32" "q int8"; do
    read -r model dtype <<< "$form"
    works "translate $form" "$tfm" translate --model "$model" --dtype "$dtype" --input en --output "$model.$dtype" --threads 2
    check "translate $form: text" cmp "$model.$dtype" de
    works "score $form" "$tfm" score --model "$model" --dtype "$dtype" --src en --tgt de
    cp out "score.$model.$dtype"
done
works "translate q" "$tfm" translate --model q --input en
check "translate q: text" cmp out de
check "score: quantised before or at load" cmp score.m.int8 score.q.int8
check "score: a quantised model is int8" cmp score.q.f32 score.q.int8
check "score: bf16 is not f32" not cmp -s score.m.bf16 score.m.f32
check "score: int8 is not f32" not cmp -s score.m.int8 score.m.f32
for dtype in bf16 int8; do
    check "score: $dtype is near" awk 'NR == FNR { want[NR] = $1; next } { d = $1 - want[FNR]; if (d * d > 0.1) exit 1 }' \
        score.m.f32 "score.m.$dtype"
done

works "inspect" "$tfm" inspect q --parameters
check "inspect: the weights' type" grep -q "^  weights int8, with a scale for each output" out
check "inspect: a matrix" grep -Eq "^  embedding.weight  *9,600  int8 \[300, 32\]" out
check "inspect: a bias" grep -Eq "^  decoder.layers.0.feedforward.inner.bias  *64  float32 \[64\]" out
works "inspect: JSON" "$tfm" inspect q --json
check "inspect: JSON: the weights' type" grep -q '"weights":"int8"' out

refused "bf16 of a quantised model" 1 "quantised to int8: translate in bfloat16 with the float32 model" \
    "$tfm" translate --model q --dtype bf16 --input en
refused "averaging" 1 "quantised to int8: average the float32 model" "$tfm" average -o mean q q
check "averaging: no file" test ! -e mean
refused "another type of file" 2 "int8" "$tfm" quantize --model m -o x --dtype bf16
refused "no output" 2 "output" "$tfm" quantize --model m
refused "no such model" 1 "absent" "$tfm" quantize --model absent -o x
check "no such model: no file" test ! -e x
head -c 5000 q > short
refused "a truncated model" 1 "truncated" "$tfm" translate --model short --input en
finish
