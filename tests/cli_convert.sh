#!/usr/bin/env bash
# Models of other systems. Usage: cli_convert.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
printf 'PK\3\4 begins an archive, and this is none' > broken
refused "a broken archive" 1 "the ZIP archive is damaged" "$tfm" convert --model broken -o out.tfm
check "a broken archive: nothing is written" test ! -e out.tfm
refused "no model" 2 "model" "$tfm" convert -o out.tfm
write_corpus
works "a model" "$tfm" train --src en --tgt de "${small[@]}" --steps 2 --quiet --model m --set positions=split --set layer_norm_eps=1e-5
works "convert to Hugging Face" "$tfm" convert --model m --to huggingface -o folder
check "convert to Hugging Face: its files" equal "$(ls folder)" "$(printf 'config.json\nmodel.safetensors')"
works "convert back" "$tfm" convert --model folder -o back
works "convert back: to Hugging Face" "$tfm" convert --model back --to huggingface -o again
check "convert back: the same" diff -r folder again
refused "convert to Marian" 1 "Marian cannot express positions=" "$tfm" convert --model m --to marian -o x
check "convert to Marian: nothing is written" test ! -e x
refused "another format" 2 "onnx" "$tfm" convert --model m --to onnx -o x
for model in marian/model.npz ct2/v2/aren-transliteration/model.bin ct2/v2/aren-transliteration; do
    [ -e "$data/models/$model" ] || continue
    works "convert $model" "$tfm" convert --model "$data/models/$model" -o out.tfm
    check "convert: silent" equal "$(cat out err)" ""
    works "convert $model: what is ours" "$tfm" convert --model out.tfm -o again.tfm
    check "convert $model: stays as it is" cmp out.tfm again.tfm
    works "inspect $model" "$tfm" inspect "$data/models/$model" --parameters
    sed 1d out > direct
    works "inspect what became of it" "$tfm" inspect out.tfm --parameters
    check "inspect: the same model" equal "$(sed 1d out)" "$(cat direct)"
done
finish
