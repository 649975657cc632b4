#!/usr/bin/env bash
# Bad input of every command: one line that names what is wrong, the right exit code, and nothing overwritten.
# Usage: cli_errors.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus
: > empty
printf 'ok\nbad \377 byte\n' > invalid
head -n 41 de > short
echo precious > old.tfm
train=("$tfm" train --src en --tgt de --model)

# The command line itself: exit code 2.
refused "no command" 2 "no command" "$tfm"
refused "unknown command" 2 "'trian'.*mean 'train'" "$tfm" trian
refused "unknown subcommand" 2 "mean 'tokenizer learn'" "$tfm" tokenizer lern
refused "incomplete command" 2 "learn, encode, decode" "$tfm" tokenizer
refused "unknown option" 2 "'--modle'.*mean '--model'" "$tfm" translate --modle x
refused "a value that looks as if help were wanted" 1 "cannot open -h: No such file" "$tfm" train --src -h --tgt --help --model m
works "help behind an option" "$tfm" translate --beam 7 -h
check "help behind an option: the default" grep -q "default 4" out
refused "unknown letter" 2 "'-x'" "$tfm" average -x
refused "missing value" 2 "--model needs a value" "$tfm" translate --model
refused "missing option" 2 "translate needs --model" "$tfm" translate
refused "value for a flag" 2 "takes no value" "$tfm" score --per-token=3
refused "one argument too many" 2 "'more'" "$tfm" translate --model x more
refused "no number" 2 "--beam is 'many'.*1\.\.1024" "$tfm" translate --model x --beam many
refused "number out of range" 2 "--beam is '1025'" "$tfm" translate --model x --beam 1025
refused "number too large" 2 "--steps is '99999999999999999999'" "${train[@]}" m --steps 99999999999999999999
refused "negative number" 2 "--steps is '-1'" "${train[@]}" m --steps -1
refused "no probability" 2 "--dropout is 'nan'" "${train[@]}" m --dropout nan
refused "a number too small" 2 "--temperature is '1e-50', too small" "$tfm" translate --model x --temperature 1e-50
refused "a number too large" 2 "--temperature is '1e50', too large" "$tfm" translate --model x --temperature 1e50
refused "a weight too small" 2 "--weights is '1,1e-50'" "$tfm" translate --model x --model x --weights 1,1e-50
refused "no time" 2 "--max-time is '5x'" "${train[@]}" m --max-time 5x
refused "no size" 2 "--memory is '5X'.*6G" "${train[@]}" m --memory 5X
refused "no size: a unit and more" 2 "--memory is '5MiBs'" "${train[@]}" m --memory 5MiBs
refused "no size: negative" 2 "--memory is '-5G'" "${train[@]}" m --memory -5G
refused "no choice" 2 "'spm', not one of bpe" "${train[@]}" m --tokenizer spm
refused "unknown metric" 2 "meteor.*not one of bleu" "$tfm" evaluate --hyp en --ref de --metric meteor
refused "unknown preset" 2 "huge" "${train[@]}" m --preset huge
refused "unknown field" 2 "d_modle" "${train[@]}" m --set d_modle=3
refused "field without value" 2 "KEY=VALUE" "${train[@]}" m --set d_model
refused "field with a wrong value" 2 "seven" "${train[@]}" m --set d_model=seven
refused "files without partner" 2 "2 --src but 1 --tgt" "${train[@]}" m --src en
refused "validation without partner" 2 "1 --valid-src but 0" "${train[@]}" m --valid-src en
refused "patience without validation" 2 "--valid-src" "${train[@]}" m --patience 3
refused "merges of the other kind" 2 "--merges is for" "${train[@]}" m --merges 3
cp en other.en
for option in src tgt valid-src valid-tgt; do
    files=(--src en --tgt de --valid-src en --valid-tgt de "--$option" other.en)
    if [ "${option#valid-}" = "$option" ]; then files+=("--$([ "$option" = src ] && echo tgt || echo src)" other.en); fi
    refused "--$option as log" 2 "--log is other.en, the file of --" "$tfm" train "${files[@]}" --model m --log other.en
    refused "--$option as model" 2 "--model is ./other.en, the file of --" "$tfm" train "${files[@]}" --model ./other.en
done
check "the text is still there" cmp en other.en
refused "one name for model and log" 2 "--model is t.tfm, the file of --log" "${train[@]}" t.tfm --log t.tfm
refused "one name for tokenizer and codes" 2 "--output is t.tok, the file of --codes" \
    "$tfm" tokenizer learn --kind subword-nmt --input en -o t.tok --codes t.tok
refused "one name for two that are not there yet" 2 "--output is new.tok, the file of --codes" \
    "$tfm" tokenizer learn --kind subword-nmt --input en -o new.tok --codes ./new.tok
"$tfm" train --src en --tgt de --vocab-size 270 --steps 1 --threads 1 --quiet --model first.tfm --batch-tokens 60
cp first.tfm in.tfm
for command in 'quantize --model in.tfm -o' 'convert --model in.tfm -o' 'tokenizer restrict --tokenizer-file in.tfm --glossary a -o' \
    'tokenizer keep-case --tokenizer-file in.tfm -o' 'train --src en --tgt de --steps 1 --tokenizer-file in.tfm --model' \
    'train --src en --tgt de --steps 1 --init in.tfm --model' 'average first.tfm in.tfm -o'; do
    # shellcheck disable=SC2086 # words
    refused "${command%% -*} onto its input" 2 "in.tfm, .*which .*would be lost" "$tfm" $command ./in.tfm
done
check "the model is still there" cmp first.tfm in.tfm
refused "the text as tokenizer" 2 "--output is en, the file of --input" "$tfm" tokenizer learn --input de --input en -o en
cp de log.txt
refused "a text as log" 1 "log.txt holds something else than rows of 'event,step,...'" "${train[@]}" m --quiet --vocab-size 262 \
    --steps 1 --log log.txt
check "a text as log: it stays" cmp de log.txt
refused "no name for a model" 1 "empty name" "${train[@]}" ''
refused "no name for a log" 1 "empty name" "${train[@]}" m --log ''
refused "no steps" 2 "--steps is '0', not a whole number in 1" "${train[@]}" m --steps 0
refused "a side of no dropout" 2 "--bpe-dropout-side is for --bpe-dropout" "${train[@]}" m --bpe-dropout-side source
refused "a tokenizer and a kind of it" 2 "--tokenizer is for learning .* t gives one" "${train[@]}" m --tokenizer-file t --tokenizer wordpiece
refused "codes and another kind" 2 "--tokenizer is for learning .* c gives one" "${train[@]}" m --codes c --tokenizer wordpiece
refused "a seed of no dropout" 2 "--seed is for --bpe-dropout" "$tfm" tokenizer encode --tokenizer-file t --seed 3
refused "empty standard input: a corpus" 1 "^tfm: standard input is empty" "$tfm" train --src - --tgt empty --model m
refused "empty standard input: translations" 1 "^tfm: standard input is empty" "$tfm" evaluate --hyp - --ref empty
refused "empty standard input: text" 1 "^tfm: standard input is empty" "$tfm" tokenizer learn --input - -o t.tok
refused "two tokenizers" 2 "exclude" "${train[@]}" m --codes c --tokenizer-file t
refused "scores of n-best" 2 "--scores would be ignored with --nbest" "$tfm" translate --model m --nbest 2 --scores
refused "a beam for a given target" 2 "--beam would be ignored with --tgt-text" \
    "$tfm" attention --model m --src-text a --tgt-text b --beam 9 -o a.svg
for option in "--preset big" "--set d_ff=7" "--vocab 5000"; do
    # shellcheck disable=SC2086 # words
    refused "bench decode: $option of a model" 2 "${option%% *} would be ignored with --model" "$tfm" bench decode --model m $option
done
refused "n-best beyond the beam" 2 "--nbest is 5.*--beam 4" "$tfm" translate --model m --nbest 5

# What the files contain: exit code 1.
refused "missing file" 1 "missing: No such file" "$tfm" train --src missing --tgt de --model m
refused "a file name of two lines" 1 "new.line: No such file" "$tfm" train --src $'new\nline' --tgt de --model m
refused "controls of two bytes in a file name" 1 "^tfm: cannot open no\?\?31mX\?\?\?y: No such file" \
    "$tfm" train --src $'no\302\23331mX\342\200\250y' --tgt de --model m
for before in x xx; do
    refused "a long name" 2 "is one argument too many|is '" "$tfm" train --steps "$before$(printf 'ü%.0s' {1..3000})"
    check "a long name: ends with a whole character" iconv -f UTF-8 -t UTF-16 -o /dev/null err
done
refused "a folder as file" 1 "directory" "$tfm" train --src . --tgt de --model m
refused "unequal line counts" 1 "en has 42 lines and short has 41" "$tfm" train --src en --tgt short --model m
refused "c38 unequal line counts of references" 1 "en has 42 lines and short has 41" "$tfm" evaluate --hyp en --ref short
refused "empty corpus" 1 "empty is empty" "$tfm" train --src empty --tgt empty --model m
refused "invalid UTF-8" 1 "invalid:2: invalid UTF-8 at byte 5.*--replace-invalid" \
    "$tfm" train --src invalid --tgt invalid --model m
refused "c10 all pairs too long" 1 "42 longer than 2 tokens" "${train[@]}" m --quiet --vocab-size 262 --max-length 2
refused "too little memory" 1 "needs [0-9]+ MB .*memory allows 20 MB: give more, set recompute" \
    "${train[@]}" m --quiet --vocab-size 262 --memory 20M
printf '\n \n' > blank
refused "only blank lines" 1 "blank|no pair|empty" "$tfm" train --src blank --tgt blank --model m --vocab-size 262 --quiet
refused "truncated gzip" 1 "truncated gzip" "$tfm" evaluate --hyp <(gzip < en | head -c 30) --ref de
refused "vocabulary too small" 1 "vocab" "${train[@]}" m --vocab-size 100
refused "missing folder of the model" 1 "folder nowhere/" "${train[@]}" nowhere/m
refused "a device as model" 1 "not a regular file" "${train[@]}" /dev/null
refused "missing folder of the log" 1 "folder nowhere/" "${train[@]}" m --log nowhere/x.csv
refused "nothing to resume" 1 "no checkpoint m-STEP.ckpt" "${train[@]}" m --resume
refused "resume from nothing" 1 "missing.ckpt" "${train[@]}" m --resume missing.ckpt
refused "missing model" 1 "missing" "$tfm" translate --model missing
refused "missing tokenizer" 1 "missing" "$tfm" tokenizer encode --tokenizer-file missing
refused "nothing to learn" 1 "standard input is empty" "$tfm" tokenizer learn --output t
touch old.tfm-7.ckpt
refused "checkpoints of an earlier training" 1 "old.tfm-7.ckpt.*--restart" "${train[@]}" old.tfm
check "nothing was written" equal "$(echo m* t)" "m* t"
check "nothing was overwritten" equal "$(cat old.tfm)" precious

# c30: what is not a model says so.
for kind in 'version https://git-lfs.github.com/spec/v1' '<!DOCTYPE html><html>' '' 'abc'; do
    printf '%s' "$kind" > no-model
    refused "c30 '$kind' as model" 1 "no-model" "$tfm" translate --model no-model
    refused "c30 '$kind' to inspect" 1 "no-model" "$tfm" inspect no-model
done

# A vocabulary larger than the corpus supports: an error where a size was asked for, else a warning.
refused "vocabulary larger than the corpus" 1 "vocab_size is 9000, but the text supports only [0-9]+" \
    "${train[@]}" big --vocab-size 9000 --steps 1 --quiet
refused "more merges than the corpus supports" 1 "merges is 9000, but the text supports only [0-9]+" \
    "${train[@]}" big --tokenizer subword-nmt --merges 9000 --steps 1 --quiet
check "nothing was written" not test -e big
works "the default vocabulary is larger than the corpus" "${train[@]}" big --steps 1 --quiet
check "says so" grep -q "^tfm: warning: vocab_size is" err

# A file that cannot grow is a full disk: the old file survives, nothing else is left.
works "a model to damage" "${train[@]}" good.tfm "${small[@]}" --steps 1 --quiet
rm -f good.tfm-*.ckpt
cp good.tfm kept.tfm
mkdir full && cp good.tfm full/
refused "full disk: average" 1 "full/good.tfm" bash -c 'ulimit -f 4; exec "$0" average -o full/good.tfm kept.tfm' "$tfm"
check "full disk: old model" cmp good.tfm full/good.tfm
check "full disk: no other file" equal "$(ls full)" good.tfm
refused "full disk: training" 1 "full/good.tfm" bash -c 'ulimit -f 4; exec "$0" "$@"' \
    "${train[@]}" full/good.tfm "${small[@]}" --steps 1 --quiet
check "full disk: old model after training" cmp good.tfm full/good.tfm
refused "full standard output" 1 "standard output: No space" bash -c 'exec "$0" inspect good.tfm > /dev/full' "$tfm"
refused "closed standard output" 1 "standard output" bash -c 'exec "$0" inspect good.tfm >&-' "$tfm"
refused "full standard output of a translation" 1 "standard output: No space" \
    bash -c 'printf "\\n\\n" | "$0" translate --model good.tfm > /dev/full' "$tfm"

# c31: a model file truncated anywhere, or with a byte of its header changed, is refused or still a valid file.
size=$(stat -c %s good.tfm)
for n in 0 1 7 8 9 100 1000 $((size / 2)) $((size - 1)); do
    head -c "$n" good.tfm > cut.tfm
    refused "c31 cut after $n bytes" 1 "cut.tfm" "$tfm" inspect cut.tfm
done
harmless()
{
    timeout 20 "$tfm" inspect flipped.tfm > out 2> err
    local code=$?
    [ "$code" -eq 0 ] || { [ "$code" -eq 1 ] && [ "$(wc -l < err)" -eq 1 ]; }
}
for at in 0 1 3 7 8 9 20 50 90 150 300 500 900; do
    cp good.tfm flipped.tfm
    printf '\377' | dd of=flipped.tfm bs=1 seek="$at" conv=notrunc status=none
    check "c31 byte $at changed" harmless
done
finish
