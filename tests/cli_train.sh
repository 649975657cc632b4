#!/usr/bin/env bash
# Trainings from the command line: what they write, and that they can be stopped, continued and repeated to the bit.
# Usage: cli_train.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus
train=("$tfm" train --src en --tgt de "${small[@]}" --batch-tokens 60)

works "a training" "${train[@]}" --model a --steps 20 --valid-src en --valid-tgt de --valid-bleu --valid-every 10 --log a.csv
check "prints to standard error alone" equal "$(wc -c < out)" 0
check "says the pairs" grep -q "42 pairs" err
check "says the peak rate" grep -Eq "peaks at 0\.0198 in step 20" err # 0.5 / sqrt(32 * 20)
check "says the validation" grep -Eq "^validation at step 20 .*nll.*BLEU" err
check "shows no bar without a terminal" not grep -q "$(printf '\r')" err
check "log: columns" equal "$(head -n 1 a.csv)" "event,step,epoch,seconds,loss,nll,learning_rate,gradient_norm,\
source_tokens,target_tokens,tokens_per_s,valid_nll,valid_perplexity,valid_bleu"
check "log: steps" equal "$(grep -c ^step, a.csv)" 20
check "log: validations" equal "$(grep -c ^valid, a.csv)" 2
check "log: every row has all columns" equal "$(awk -F, 'NF != 14' a.csv | wc -l)" 0
check "log: the rate of equation (3)" awk -F, '
    $1 == "step" { want = 0.5 * 32 ^ -0.5 * $2 * 20 ^ -1.5; if ($7 < want * 0.9999 || $7 > want * 1.0001) exit 1 }' a.csv
check "log: it learns" awk -F, '$1 == "step" && $2 == 1 { first = $6 } $1 == "step" && $2 == 20 { last = $6 }
    END { exit !(last < first) }' a.csv

works "quiet" "${train[@]}" --model quiet --steps 20 --quiet
check "quiet: says nothing" equal "$(cat out err)" ""
check "validation does not change a training" cmp a quiet
works "two threads" "${train[@]}" --model threads --steps 20 --threads 2
check "two threads: the same bits" cmp a threads
works "memory enough" "${train[@]}" --model memory --steps 20 --memory 4GiB
check "memory enough: the same bits" cmp a memory
check "memory enough: no pieces" not grep -q pieces err

# As little as will do: batches in pieces, by the thread and after a resume the same.
pieces=("$tfm" train --src en --tgt de "${small[@]}" --batch-tokens 5000)
refused "too little memory" 1 "needs [0-9]+ MB" "${pieces[@]}" --model p --steps 4 --memory 20M --quiet
least=$(sed -n 's/.*needs \([0-9]*\) MB.*/\1M/p' err)
works "pieces" "${pieces[@]}" --model p --steps 4 --memory "$least" --log p.csv
check "pieces: says so" grep -Eq "worked off in about [0-9]+ pieces of up to [0-9]+ tokens a side" err
works "whole batches" "${pieces[@]}" --model whole --steps 4 --log whole.csv
paste -d , <(grep ^step, p.csv) <(grep ^step, whole.csv) > both.csv
check "pieces: the same losses" awk -F, '($5 - $19) ^ 2 > 1e-10 * $5 ^ 2 { bad = 1 } END { exit bad || NR != 4 }' both.csv
works "pieces on two threads" "${pieces[@]}" --model p2 --steps 4 --memory "$least" --threads 2
check "pieces on two threads: the same bits" cmp p p2
works "half of the pieces" "${pieces[@]}" --model p3 --steps 2 --memory "$least"
works "the other pieces" "${pieces[@]}" --model p3 --steps 4 --resume
check "the other pieces: the same bits" cmp p p3
works "another seed" "${train[@]}" --model seed --steps 20 --seed 2
check "another seed: other bits" not cmp -s a seed
head -n 10 en > en.1 && tail -n +11 en | gzip > en.2.gz && sed 's/$/\r/' de | head -n 10 > de.1 && tail -n +11 de > de.2
works "two files, gzip, CRLF" "$tfm" train --src en.1 --src en.2.gz --tgt de.1 --tgt de.2 "${small[@]}" \
    --batch-tokens 60 --model files --steps 20
check "two files, gzip, CRLF: the same bits" cmp a files

tune=("$tfm" train --src en --tgt de --batch-tokens 60 --threads 1 --warmup 20 --init a)
works "fine-tuning without a rate" "${tune[@]}" --model same --steps 2 --lr-scale 0
check "fine-tuning: says so" grep -q "begins with the weights of a" err
check "fine-tuning without a rate: the weights stay" cmp a same
works "fine-tuning" "${tune[@]}" --model tuned --steps 5 --lr-scale 0.1 --log tuned.csv
check "fine-tuning goes on from what was learned" awk -F, '
    $1 == "step" { if (FILENAME == "a.csv") last = $6; else if (!first) first = $6 }
    END { exit !(first < last + 0.3) }' a.csv tuned.csv
for option in "--preset tiny" "--set d_model=32" "--tokenizer wordpiece" "--vocab-size 300" "--codes c" "--tokenizer-file a"; do
    # shellcheck disable=SC2086 # an option and its value
    refused "fine-tuning with $option" 2 "--init gives the tokenizer and the shape" "${tune[@]}" --model x --steps 2 $option
done
works "a quantised model" "$tfm" quantize --model a -o a.int8
refused "fine-tuning of a quantised model" 1 "quantised" "$tfm" train --src en --tgt de --init a.int8 --model x --steps 2
refused "fine-tuning of nothing" 1 "nowhere" "$tfm" train --src en --tgt de --init nowhere --model x --steps 2
works "a rate that cools down" "${train[@]}" --model cool --steps 20 --cooldown 10 --log cool.csv
check "a rate that cools down: says so" grep -q "falls to nearly zero from step 11 to 20" err
check "a rate that cools down: a tenth at the end" awk -F, '
    $1 == "step" && $2 == 20 { rate = $7 } END { exit !(rate > 0.00197 && rate < 0.00199) }' cool.csv
refused "cooling down for ever" 1 "cooldown is 30, but max_steps is 20" "${train[@]}" --model x --steps 20 --cooldown 30

works "half a training" "${train[@]}" --model half --steps 13 --log half.csv
works "the other half" "${train[@]}" --model half --steps 20 --resume --log half.csv
check "c17 a resumed training: the same bits" cmp a half
check "a resumed log goes on" equal "$(grep ^step, half.csv | cut -d , -f 2 | tr '\n' ' ')" "$(seq 20 | tr '\n' ' ')"
printf 'step,21,1' >> half.csv
works "after a cut" "${train[@]}" --model half --steps 21 --resume --log half.csv
check "after a cut: the next row is whole" equal "$(awk -F , 'NF == 14 && $2 == 21' half.csv | grep -c ^step)" 1
check "a resumed log has one header" equal "$(grep -c ^event, half.csv)" 1
refused "other data" 1 "." "$tfm" train --src de --tgt en "${small[@]}" --model half --steps 25 --resume --quiet

works "checkpoints" "${train[@]}" --model kept --steps 20 --checkpoint-every 4 --keep 2
check "the last two are kept" equal "$(echo kept-*.ckpt)" "kept-16.ckpt kept-20.ckpt"
works "average" "${train[@]}" --model mean --steps 20 --checkpoint-every 4 --keep 1 --average 3
works "average by hand" "$tfm" average -o mean.2 mean-12.ckpt mean-16.ckpt mean-20.ckpt
check "average: the mean of the last three" cmp mean mean.2
check "average: is not the last" not cmp -s mean a
works "average without another step" "${train[@]}" --model late --checkpoint mean --steps 20 --resume --average 3
check "average without another step: the same" cmp mean late
works "average of one" "$tfm" average -o one a
check "m42 the average of one is itself" cmp one a
refused "average of different models" 1 "." "$tfm" average -o no a missing
works "another checkpoint name" "${train[@]}" --model named --checkpoint other --checkpoint-every 10 --steps 20
check "another checkpoint name: files" test -e other-20.ckpt -a ! -e named-20.ckpt
works "restart" "${train[@]}" --model kept --steps 4 --restart
check "restart: old checkpoints are gone" equal "$(echo kept-*.ckpt)" kept-4.ckpt

# Another course from an older checkpoint: those of the old one are neither averaged nor gone on from.
works "a course" "${train[@]}" --model course --steps 20 --checkpoint-every 4
works "the one that it is compared with" "${train[@]}" --model straight.8 --steps 8 --checkpoint-every 4
works "the other course alone" "${train[@]}" --model straight.8 --steps 16 --checkpoint-every 4 --resume --lr-scale 0.1 --average 2
again=("${train[@]}" --model course --steps 16 --checkpoint-every 4 --resume course-8.ckpt --lr-scale 0.1 --average 2)
cp course-20.ckpt late.ckpt
refused "another course" 1 "course-20.ckpt is of another course .* course-8.ckpt; .*--restart .* from step 12 on" "${again[@]}"
check "another course: nothing is lost" cmp course-20.ckpt late.ckpt
works "another course, wanted" "${again[@]}" --restart
check "another course, wanted: checkpoints" equal "$(echo course-*.ckpt)" "course-12.ckpt course-16.ckpt course-4.ckpt course-8.ckpt"
check "another course, wanted: the mean of its own" cmp course straight.8
works "the newest by name" "${train[@]}" --model course --steps 18 --resume ./course-16.ckpt
refused "restart and the newest" 2 "name the FILE" "${train[@]}" --model course --steps 20 --resume --restart

# The model of a checkpoint is what was asked for, or refused.
cp half-21.ckpt shape-21.ckpt
for option in "--set d_model=64" "--set norm_order=pre" "--preset base"; do
    # shellcheck disable=SC2086 # an option and its value
    refused "another shape: $option" 2 "^tfm: $option is not what shape-21.ckpt has" \
        "$tfm" train --src en --tgt de --batch-tokens 60 --threads 1 --model shape --steps 22 --resume $option
done
works "its shape, in other words" "${train[@]}" --warmup 20 --model shape --steps 22 --resume --set d_k=0 --set d_model=32 --set seed=3
works "its shape, left out" "$tfm" train --src en --tgt de --batch-tokens 60 --threads 1 --model shape --steps 23 --resume --warmup 20 --lr-scale 0.5

# A signal ends a training with a checkpoint, and an older model stays.
set -m
cp a stopped
"${train[@]}" --model stopped --steps 1000000 --max-time 60 --log stopped.csv > out 2> err &
job=$!
for _ in $(seq 100); do
    [ "$(grep -c '^epoch,' stopped.csv 2> /dev/null)" -ge 2 ] 2> /dev/null && break
    sleep 0.1
done
kill -INT $job
wait $job
check "stopped: exit code" equal $? 1
check "stopped: says how to go on" equal "$(grep -c '^tfm: stopped.*stopped-[0-9]*\.ckpt.*--resume' err)" 1
check "stopped: the old model stays" cmp a stopped
step=$(tail -n 1 err | sed 's/.*at step \([0-9]*\).*/\1/')
check "stopped: the checkpoint is there" test -e "stopped-$step.ckpt"
works "stopped: goes on" "${train[@]}" --model stopped --steps $((step + 3)) --resume
works "stopped: without interruption" "${train[@]}" --model straight --steps $((step + 3)) --quiet
check "stopped: the same bits" cmp stopped straight

# Tokenizers.
works "a tokenizer by itself" "$tfm" tokenizer learn --input en --input de --vocab-size 300 --output bpe.tok
works "its training" "$tfm" train --src en --tgt de "${small[@]/#--vocab-size/--epochs}" --batch-tokens 60 --steps 20 \
    --tokenizer-file bpe.tok --model file
check "a given tokenizer: the same bits" cmp a file
plain=(--set n_encoder_layers=1 --set n_decoder_layers=1 --set d_model=32 --set d_ff=64 --set n_heads=2)
works "subword-nmt" "$tfm" train --src en --tgt de "${plain[@]}" --tokenizer subword-nmt --merges 20 --steps 3 --model sub
works "its codes" "$tfm" tokenizer learn --kind subword-nmt --merges 20 --output s.tok --codes codes --input en --input de
works "codes" "$tfm" train --src en --tgt de "${plain[@]}" --codes codes --steps 3 --model coded
check "codes: the same bits" cmp sub coded

# Text.
printf 'one\n\nthree\n' > b.en && printf 'eins\nzwei\ndrei\n' > b.de
works "a blank line" "$tfm" train --src b.en --tgt b.de "${small[@]}" --vocab-size 262 --steps 1 --model blank
check "c08 blank pairs are counted" grep -q "2 pairs (skipped: 1 blank" err
printf 'one\nt\377o\nthree\n' > bad.en
works "replaced bytes" "$tfm" train --src bad.en --tgt b.de "${small[@]}" --vocab-size 262 --steps 1 --model bad --replace-invalid
check "replaced bytes: all pairs" grep -q " 3 pairs" err
works "patience" "${train[@]}" --model patient --steps 400 --valid-src en --valid-tgt en --valid-every 5 --patience 2
check "patience ends it" awk '/^step/ { last = $2 } END { sub("/.*", "", last); exit !(last + 0 < 400) }' err
works "a limit of time" "${train[@]}" --model timed --max-time 1

# What is announced is what is so: the cores that may be used, the length that learned positions allow.
works "one core" taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$tfm" train --src en --tgt de "${plain[@]}" \
    --steps 1 --model pinned
check "one core: one thread" grep -q "threads: 1;" err
works "learned positions" "${train[@]}" --set positions=learned --set max_positions=40 --steps 1 --model learned
check "learned positions: their length" grep -q "longer than 40 tokens" err

# By default half of what a control group leaves, where one can be made up: 60 MB less 50, of which 10 may go.
mkdir -p group/memory
echo 60000000 | tee group/memory.max > group/memory/memory.limit_in_bytes
echo 50000000 | tee group/memory.current > group/memory/memory.usage_in_bytes
printf 'inactive_file 10000000\ntotal_inactive_file 10000000\n' | tee group/memory.stat > group/memory/memory.stat
if grep -q '^0::\|memory' /proc/self/cgroup && unshare -m mount --bind group /sys/fs/cgroup 2> /dev/null; then
    # shellcheck disable=SC2016 # of the inner shell
    refused "a control group" 1 "memory allows 10 MB" \
        unshare -m sh -c 'mount --bind group /sys/fs/cgroup && exec "$0" "$@"' "${train[@]}" --model grouped
fi

# A name with room for the model, but not for its checkpoints.
refused "a name too long" 1 "checkpoint_path has 247 bytes .* shorten it" "${train[@]}" --model "$(printf '%0247d' 0)"
finish
