#!/usr/bin/env bash
# A training is killed with SIGKILL at random moments: there is always a checkpoint to resume from, and the end has the
# bits of a training that nobody disturbed.
# Usage: kill_training.sh TFM SOURCE_ROOT [KILLS [SEED]]
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
kills=${3-8} seed=${4-1}
RANDOM=$seed
write_corpus
# Checkpoints after each step of a wide model: about half of the time goes into their writing.
train=("$tfm" train --src en --tgt de "${small[@]}" --set d_ff=2048 --batch-tokens 60 --steps 40 --checkpoint-every 1 --keep 3
    --quiet)
before=$(date +%s%N)
works "undisturbed" "${train[@]}" --model straight
longest=$((($(date +%s%N) - before) / 1000000 + 1)) # ms

# Whole runs, each killed again and again; how far each life gets is a matter of chance.
killed=0 runs=0 inside=0
while [ "$killed" -lt "$kills" ] && [ "$failures" -eq 0 ]; do
    rm -f m m-* m.tmp-*
    while :; do
        last=$(ls m-*.ckpt 2> /dev/null | sed 's/m-//; s/\.ckpt//' | sort -n | tail -n 1)
        [ -n "$last" ] && again=--resume || again=--restart
        "${train[@]}" --model m $again > out 2> err &
        job=$!
        [ "$killed" -ge "$kills" ] || {
            sleep "$(awk -v r=$RANDOM -v ms=$longest 'BEGIN { print r / 32768 * ms / 1000 * 0.6 }')"
            kill -KILL $job 2> /dev/null
        }
        wait $job 2> /dev/null
        code=$?
        [ $code -eq 137 ] || break
        killed=$((killed + 1))
        [ -z "$(ls m-*.tmp-* m.tmp-* 2> /dev/null)" ] || inside=$((inside + 1))
        for file in $(ls m-*.ckpt 2> /dev/null); do
            check "kill $killed: $file is whole" "$tfm" inspect "$file" > listing
        done
        now=$(ls m-*.ckpt 2> /dev/null | sed 's/m-//; s/\.ckpt//' | sort -n | tail -n 1)
        check "kill $killed: nothing is lost" test "${now:-0}" -ge "${last:-0}"
    done
    check "run $runs: exit code" equal $code 0
    check "run $runs: the bits of the undisturbed training" cmp m straight
    check "run $runs: its checkpoints" equal "$(echo m-*)" "m-38.ckpt m-39.ckpt m-40.ckpt"
    check "run $runs: no temporary file" equal "$(ls ./*.tmp-* 2> /dev/null)" ""
    runs=$((runs + 1))
done
check "killed often enough" test "$killed" -ge "$kills"
echo "$killed kills in $runs runs (seed $seed, $longest ms undisturbed); $inside left a file half written"
finish
