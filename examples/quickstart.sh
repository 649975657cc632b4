#!/usr/bin/env bash
# From nothing to a Transformer that translates: installs what is missing, builds, makes a corpus, trains on it for
# three minutes, scores held-out lines, and lets you try. Usage: quickstart.sh [--short] [FOLDER]
#   FOLDER    where corpus, model, log and loss.svg go; default build/quickstart-out
#   --short   a small training and a low bar, without questions: for the tests
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
lines=200000 tests=2000 seconds=172 wanted=98 vocabulary=1000 average=4 short=
if [ "${1-}" = --short ]; then
    lines=60000 tests=300 seconds=60 wanted=40 vocabulary=800 average=1 short=1
    shift
fi
case "${1-}" in -*) echo "usage: $0 [--short] [FOLDER]" >&2; exit 2 ;; esac
out=${1-$root/build/quickstart-out}
build=$root/build/release
say() { printf '\n== %s\n' "$*"; }

"$root/examples/install_missing.sh" gcc=gcc /usr/include/stdio.h=libc6-dev meson=meson ninja=ninja-build \
    pkg-config=pkg-config libutf8proc.pc=libutf8proc-dev jansson.pc=libjansson-dev zlib.pc=zlib1g-dev

say "Building $build"
mkdir -p "$root/build" "$out"
if ! { [ -e "$build/build.ninja" ] || meson setup "$build" "$root" -Dbuildtype=release -Dtests=disabled; } > "$build.log" 2>&1 ||
    ! ninja -C "$build" >> "$build.log" 2>&1; then
    tail -n 40 "$build.log"
    exit 1
fi
tfm=$build/examples/cli/tfm
corpus=$out/corpus model=$out/dates.tfm

say "A corpus of dates, times and amounts in English, German and French"
"$build/examples/make_corpus" --train "$lines" --valid 500 --test "$tests" "$corpus"
echo "$lines pairs to learn from; $tests held-out pairs whose meaning is not among them"

say "Training for at most $seconds seconds"
# The answers are exact, so nothing is smoothed or dropped; two layers a side make more steps in the time than four.
"$tfm" train --src "$corpus/train.src" --tgt "$corpus/train.tgt" --valid-src "$corpus/valid.src" \
    --valid-tgt "$corpus/valid.tgt" --model "$model" --restart --preset tiny --set n_encoder_layers=2 \
    --set n_decoder_layers=2 --vocab-size "$vocabulary" --batch-tokens 1024 --lr-scale 0.6 --warmup 300 --dropout 0 \
    --label-smoothing 0 --valid-every 250 --checkpoint-every 150 --average "$average" --max-time "$seconds" --log "$out/log.csv"
"$build/examples/plot_log" "$out/log.csv" "$out/loss.svg"

say "Translating held-out lines with beam search"
"$tfm" translate --model "$model" --beam 4 --threads 0 --quiet < "$corpus/test.src" > "$out/test.out"
score() # PATTERN: exact lines among those whose target matches
{
    paste "$corpus/test.tgt" "$out/test.out" |
        awk -F '\t' -v kind="$1" '$1 ~ kind { n++; right += $1 == $2 } END { printf "%d of %d, %.1f %%", right, n, 100 * right / n }'
}
echo "dates      $(score '^[0-9-]*$')"
echo "times      $(score '^[0-9:]*$')"
echo "amounts    $(score '^[A-Z]')"
total=$(score .)
echo "all exact  $total"

say "Some of them"
paste "$corpus/test.src" "$out/test.out" "$corpus/test.tgt" |
    awk -F '\t' 'length($1) > 12 && NR % 23 == 0 && n++ < 12 { printf "%-17s %s  %s\n", $2, $2 == $3 ? " " : "X", $1 }'

percent=${total##*, }
if ! awk -v got="${percent% %}" -v wanted="$wanted" 'BEGIN { exit got < wanted }'; then
    echo "only $percent are exact; $wanted % are expected" >&2
    exit 1
fi

say "Done: $out"
cat << NEXT
  $(basename "$model")   the model, one file with its tokenizer
  loss.svg    the loss curve; log.csv the numbers behind it

What to try next
  your own files   $tfm train --src de.txt --tgt en.txt --model mine.tfm     (doc/tutorial.md)
  from C           examples/hello.c trains and translates in 90 lines; README.md has ten
  any command      $tfm --help
  from Python      pip install bindings/python     (doc/python.md); C++: include/transformer.hpp
NEXT
[ -z "$short" ] && [ -t 0 ] || exit 0

say "Your turn: type a date, a time or an amount; an empty line ends"
while read -r -p '> ' line && [ -n "$line" ]; do
    printf '%s\n' "$line" | "$tfm" translate --model "$model" --beam 4 --quiet
done
