#!/usr/bin/env bash
# The corpus of the quickstart: number words, split without overlap, same seed same files, refusals; and the plot of a log.
# Usage: check_corpus.sh MAKE_CORPUS PLOT_LOG
set -eu
export LC_ALL=C
make=$1 plot=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }

# Number words whose rules go wrong easily.
while IFS='|' read -r n english german french; do
    printf 'English\t%s\nGerman\t%s\nFrench\t%s\n' "$english" "$german" "$french" > "$tmp/wanted"
    "$make" --spell "$n" | cut -f 1,2 | diff "$tmp/wanted" - || fail "$n is misspelt"
done << 'WORDS'
0|zero|null|zéro
1|one|eins|un
16|sixteen|sechzehn|seize
17|seventeen|siebzehn|dix-sept
21|twenty-one|einundzwanzig|vingt et un
30|thirty|dreißig|trente
61|sixty-one|einundsechzig|soixante et un
70|seventy|siebzig|soixante-dix
71|seventy-one|einundsiebzig|soixante et onze
77|seventy-seven|siebenundsiebzig|soixante-dix-sept
80|eighty|achtzig|quatre-vingts
81|eighty-one|einundachtzig|quatre-vingt-un
91|ninety-one|einundneunzig|quatre-vingt-onze
99|ninety-nine|neunundneunzig|quatre-vingt-dix-neuf
101|one hundred one|hunderteins|cent un
200|two hundred|zweihundert|deux cents
280|two hundred eighty|zweihundertachtzig|deux cent quatre-vingts
1100|one thousand one hundred|tausendeinhundert|mille cent
12300|twelve thousand three hundred|zwölftausenddreihundert|douze mille trois cents
80000|eighty thousand|achtzigtausend|quatre-vingt mille
200001|two hundred thousand one|zweihunderttausendeins|deux cent mille un
1000000|one million|eine Million|un million
80000021|eighty million twenty-one|achtzig Millionen einundzwanzig|quatre-vingts millions vingt et un
WORDS
"$make" --spell 1984 | cut -f 3 | tr '\n' '|' | grep -qxF \
    'nineteen eighty-four|neunzehnhundertvierundachtzig|mille neuf cent quatre-vingt-quatre|' || fail "1984 is misspelt"

# Sizes; no line twice; no value of the held-out files in the training file; only well-formed targets.
"$make" --train 30000 --valid 500 --test 700 "$tmp/a"
for want in train:30000 valid:500 test:700; do
    for side in src tgt; do
        [ "$(wc -l < "$tmp/a/${want%:*}.$side")" -eq "${want#*:}" ] || fail "${want%:*}.$side has not ${want#*:} lines"
    done
done
[ -z "$(sort "$tmp"/a/*.src | uniq -d)" ] || fail "a line occurs twice"
sort -u "$tmp/a/train.tgt" > "$tmp/trained"
[ -z "$(sort -u "$tmp/a/valid.tgt" "$tmp/a/test.tgt" | comm -12 - "$tmp/trained")" ] || fail "a held-out value is trained on"
date='(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' time='([01][0-9]|2[0-3]):[0-5][0-9]'
bad=$(cat "$tmp"/a/*.tgt | grep -Evx "$date|$time|(EUR|GBP|USD|CHF) (0|[1-9][0-9]*)\.[0-9]{2}" | head -3)
[ -z "$bad" ] || fail "not an ISO form: $bad"
for kind in "$date" "$time" '[A-Z]{3} .*'; do
    [ "$(grep -Ecx "$kind" "$tmp/a/test.tgt")" -ge 30 ] || fail "hardly a test line means $kind"
done

# Weekdays agree with the date.
paste "$tmp/a/train.tgt" "$tmp/a/train.src" | grep -E "^$date	(Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day" | head -n 300 > "$tmp/days"
[ "$(wc -l < "$tmp/days")" -eq 300 ] || fail "too few weekdays"
cut -f 1 "$tmp/days" | date -f - +%A > "$tmp/calendar"
cut -f 2 "$tmp/days" | grep -Eo '^[A-Za-z]+' | diff - "$tmp/calendar" || fail "a weekday is wrong"

# The seed decides the files; the split of a value does not depend on it.
"$make" --train 30000 --valid 500 --test 700 --seed 1 "$tmp/b"
diff -r "$tmp/a" "$tmp/b" || fail "one seed, two corpora"
"$make" --train 30000 --valid 500 --test 700 --seed 2 "$tmp/b"
if cmp -s "$tmp/a/train.src" "$tmp/b/train.src"; then fail "two seeds, one corpus"; fi
[ -z "$(sort -u "$tmp/b/test.tgt" | comm -12 - "$tmp/trained")" ] || fail "another seed moves a test value to training"

# Refusals: exit code 2 for usage, 1 for the rest, one line each.
refused() # CODE COMMAND...
{
    local code=0 want=$1
    shift
    "$@" > "$tmp/out" 2> "$tmp/err" || code=$?
    [ "$code" -eq "$want" ] || fail "$*: exit code $code instead of $want"
    [ "$want" -ne 1 ] || [ "$(wc -l < "$tmp/err")" -eq 1 ] || fail "$*: $(cat "$tmp/err")"
}
refused 2 "$make"
refused 2 "$make" --train many "$tmp/c"
refused 2 "$make" --test -1 "$tmp/c"
refused 2 "$make" --unknown "$tmp/c"
refused 1 "$make" --train 10 "$tmp/absent/folder"
: > "$tmp/file"
refused 1 "$make" --train 10 "$tmp/file"
mkdir "$tmp/full" && ln -s /dev/full "$tmp/full/train.src"
refused 1 "$make" --train 10 --valid 1 --test 1 "$tmp/full"

# The plot: both curves and every validation point; a log without rows is refused.
printf 'event,step,loss,nll,valid_nll\nstep,1,5,4,\nstep,2,4,3,\nvalid,2,,,3.5\nstep,3,2,1,\nvalid,3,,,1.25\ndone,3,,,\n' > "$tmp/log.csv"
"$plot" "$tmp/log.csv" "$tmp/log.svg"
[ "$(grep -c "<circle" "$tmp/log.svg")" -eq 2 ] || fail "the plot has not two validation points"
grep -q "class='train'.*M [0-9]" "$tmp/log.svg" || fail "the plot has no training curve"
grep -qF "validation, last 1.25" "$tmp/log.svg" || fail "the legend does not tell the last validation loss"
if grep -Eiq 'nan|inf' "$tmp/log.svg"; then fail "the plot has numbers that are none"; fi
# Steps that were taken again count once; a step that no picture holds is none.
printf 'event,step,nll,valid_nll\nstep,1,4,\nstep,2,9,\nvalid,2,,8\nstep,3,9,\nstep,2,3,\nvalid,2,,2\nstep,1.7e308,1,\n' > "$tmp/again.csv"
"$plot" "$tmp/again.csv" "$tmp/again.svg"
[ "$(grep -c "<circle" "$tmp/again.svg")" -eq 1 ] || fail "the plot has validations of steps that were lost"
grep -o "class='train' d='M[^Z]*" "$tmp/again.svg" | head -n 1 | awk '{ exit NF != 4 }' || fail "the plot has steps that were lost"
printf 'event,step,loss\nstep,,\nstep,x,y\n' > "$tmp/empty.csv"
refused 1 "$plot" "$tmp/empty.csv" "$tmp/x.svg"
refused 1 "$plot" "$tmp/absent.csv" "$tmp/x.svg"
refused 1 "$plot" "$tmp/log.csv" /dev/full
echo "corpus and plot are as they should be"
