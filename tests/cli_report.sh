#!/usr/bin/env bash
# Reports of trainings: what becomes of logs that are whole, resumed, old, cut off or damaged; samples of translations.
# Usage: cli_report.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

# EXPRESSION holds of the data of report.html; r are its runs.
says() # EXPRESSION
{
    python3 - "$@" <<'PYTHON'
import json, math, re, sys
text = open("report.html", encoding="utf-8").read()
r = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])["runs"]
sys.exit(0 if eval(f"({sys.argv[1]})") else f"not so: {sys.argv[1]}")
PYTHON
}

header=event,step,epoch,seconds,loss,nll,learning_rate,gradient_norm,source_tokens,target_tokens,tokens_per_s,valid_nll,valid_perplexity,valid_bleu
steps() # FROM TO SECONDS: rows of steps, loss 1000 / step, a second each after SECONDS
{
    seq "$1" "$2" | awk -v t="$3" '{ printf "step,%d,%d,%.3f,%.9g,%.9g,%.9g,2,10,20,%d,,,\n", $1, $1 / 10, t += 1, 1000 / $1, 900 / $1, $1 / 1e5, 100 + $1 }'
}

# Whole, and the same as the log says.
{ echo $header; steps 1 20 0; echo "valid,20,2,20.5,,,,,,,,1.5,4.48,12.25"; echo "checkpoint,20,2,20.6,,,,,,,,,,"; echo "done,20,2,20.7,,,,,,,,,,"; } > a.csv
works "a log" "$tfm" report a.csv
check "a log: nothing to note" equal "$(cat err)" "wrote report.html"
check "a log: its numbers" says "r[0]['steps']['step'] == list(range(1, 21)) and r[0]['steps']['speed'] == [100 + i for i in range(1, 21)]
    and all(math.isclose(x, 1000 / i, rel_tol=1e-8) and math.isclose(y, 900 / i, rel_tol=1e-8) and math.isclose(z, i / 1e5, rel_tol=1e-8)
    for i, x, y, z in zip(range(1, 21), r[0]['steps']['loss'], r[0]['steps']['nll'], r[0]['steps']['rate']))"
check "a log: its validation" says "(r[0]['valid']['step'], r[0]['valid']['nll'], r[0]['valid']['bleu']) == ([20], [1.5], [12.25])"
check "a log: its name" says "[x['name'] for x in r] == ['a.csv'] and r[0]['notes'] == [] and r[0]['samples'] == []"
gzip -k a.csv
works "several logs" "$tfm" report a.csv a.csv.gz -o report.html
check "several logs" says "len(r) == 2 and r[0]['steps'] == r[1]['steps'] and r[1]['name'] == 'a.csv.gz'"
check "the page names no other file" not grep -Eq '(src|href)="[^d]|https?://[^w]|@import|url\(' report.html

# Long logs are summed up: the mean and the extremes of as many rows.
{ echo $header; steps 1 2500 0; } > long.csv
works "a long log" "$tfm" report long.csv
check "a long log: summed up" says "r[0]['every'] == 3 and len(r[0]['steps']['step']) == 834 and r[0]['steps']['step'][:2] == [3, 6]
    and r[0]['steps']['step'][-1] == 2500 and math.isclose(r[0]['steps']['nll'][1], (900 / 4 + 900 / 5 + 900 / 6) / 3)
    and (r[0]['steps']['nll_least'][1], r[0]['steps']['nll_most'][1]) == (150, 225)"

sed '5,7s/^\(step,[^,]*,[^,]*,[^,]*\),[^,]*/\1,1e308/' long.csv > huge.csv
works "a sum that is not finite" "$tfm" report huge.csv
check "a sum that is not finite: is a gap" says "r[0]['steps']['loss'][1] is None and r[0]['steps']['nll'][1] is not None"

# Resumed: seconds go on, and steps that were taken again count once.
{ echo $header; steps 1 10 0; echo "valid,10,1,10.5,,,,,,,,3,20,"; steps 11 12 10; steps 9 15 0; } > resumed.csv
works "a resumed log" "$tfm" report resumed.csv
check "a resumed log" says "r[0]['steps']['step'] == list(range(1, 16)) and r[0]['valid']['step'] == []"
check "a resumed log: time goes on" says "r[0]['steps']['seconds'] == [*range(1, 9), *range(13, 20)]"
check "a resumed log: is noted" says "len(r[0]['notes']) == 1 and 'line 15: ' in r[0]['notes'][0] and '4 rows' in r[0]['notes'][0]"

{ echo $header; steps 1 3 12000; echo step,4,1,1200; steps 4 5 0; } > cut.csv
works "a log cut off within its seconds" "$tfm" report cut.csv
check "a log cut off within its seconds: they are no time" says "r[0]['steps']['seconds'] == [12001, 12002, 12003, 12004, 12005]"

# Columns are found by their names: logs without some of them, and with others in another order, are read.
printf 'loss,extra,event,step\n2.5,x,step,1\n2.25,y,step,2\n' > old.csv
works "other columns" "$tfm" report old.csv
check "other columns" says "r[0]['steps']['loss'] == [2.5, 2.25] and r[0]['steps']['nll'] == [None, None] and r[0]['notes'] == []"

# Cut off anywhere: every whole row is there, and the cut one is named.
size=$(wc -c < a.csv) bad=0
for ((n = ${#header} + 30; n < size; n += 61)); do
    head -c "$n" a.csv > cut.csv
    "$tfm" report cut.csv --quiet > out 2> err || bad=$((bad + 1))
    whole=$(grep -c '^step,.*,,,$' cut.csv) last=$(awk 'END { print NR }' cut.csv)
    [ "$(tail -c 1 cut.csv | wc -l)" -eq 1 ] || grep -q "cut.csv, line $last: .*cut off" err || { bad=$((bad + 1)); cat err; }
    says "$whole <= len(r[0]['steps']['step']) <= $whole + 1 and r[0]['steps']['nll'][:$whole] == [float('%.9g' % (900 / i)) for i in range(1, $whole + 1)]" ||
        bad=$((bad + 1))
done
check "cut off anywhere" equal "$bad" 0

# Damaged: what the row still says is kept.
sed -e '5s/,[^,]*,/,x7,/' -e '7s/225/2#5/' -e '9s/.*/\xff\xfe,8/' -e '11s/,.*//' -e '13s/$/,9/' -e '14s/\.[0-9]*/\x00/' a.csv > damaged.csv
works "damage" "$tfm" report damaged.csv
for line in 5 9 11 13 14; do check "damage: line $line" grep -q "^tfm: warning: damaged.csv, line $line: " err; done
check "damage: the rest" says "r[0]['steps']['step'][:3] == [1, 2, 3] and 20 in r[0]['steps']['step'] and r[0]['valid']['step'] == [20]
    and len(r[0]['steps']['step']) >= 16"
sed '4s/,300,/,nan,/' a.csv > nan.csv
works "a loss that is not finite" "$tfm" report nan.csv
check "a loss that is not finite: is a gap" says "r[0]['steps']['nll'][2] is None and r[0]['steps']['loss'][2] is not None and not r[0]['notes']"
{ echo $header; for i in $(seq 500); do echo "step,x$i,,,,,,,,,,,,"; done; steps 1 2 0; } > many.csv
works "damage everywhere" "$tfm" report many.csv
check "damage everywhere: notes end" says "len(r[0]['notes']) == 201 and r[0]['steps']['step'] == [1, 2]"

# Samples of a training: sentences spread over the validation data, a row for each at every validation.
write_corpus
printf '"five", six\n' > vs; printf 'f\xc3\xbcnf "</script><b>"\n' > vt
paste -d '\n' vs en | head -n 12 > valid.en; paste -d '\n' vt de | head -n 12 > valid.de
sed -i '/^$/d' valid.en valid.de
head -n "$(wc -l < valid.en)" valid.de > valid.out; mv valid.out valid.de
train=("$tfm" train --src en --tgt de --valid-src valid.en --valid-tgt valid.de --model m.tfm --quiet "${small[@]}" --valid-every 2)
works "samples" "${train[@]}" --steps 4 --log run.csv --samples 3
check "samples: rows" equal "$(cut -d , -f 1,2 run.samples.csv | paste -sd ' ')" "step,sample 2,1 2,2 2,3 4,1 4,2 4,3"
works "samples of a resumed training" "${train[@]}" --steps 6 --log run.csv --samples 3 --resume
check "samples of a resumed training" equal "$(wc -l < run.samples.csv)" 10
works "a report with samples" "$tfm" report run.csv
check "a report with samples" says "[s[:2] for s in r[0]['samples']] == [[s, i] for s in (2, 4, 6) for i in (1, 2, 3)]
    and r[0]['samples'][0][2] == open('valid.en').readline().rstrip('\n') and r[0]['samples'][0][3] == 'fünf \"</script><b>\"'"
"$tfm" translate --model m.tfm --quiet < valid.en > all.out 2> err
check "samples: are the model's translations" says "r[0]['samples'][-3][4] == open('all.out').readline().rstrip('\n')"
cp run.csv alone.csv; rm -f m.tfm*
works "the same training without samples" "${train[@]}" --steps 4 --log other.csv
check "samples change nothing" equal "$(head -n 6 other.csv | cut -d , -f 1,2,5-8)" "$(head -n 6 run.csv | cut -d , -f 1,2,5-8)"
check "no samples, no file" not test -e other.samples.csv
cp run.samples.csv other.samples.csv
works "a training that begins anew" "${train[@]}" --steps 2 --log other.csv --restart
check "samples of an earlier training: are gone" not test -e other.samples.csv
echo mine > other.samples.csv
works "a training beside a file of that name" "${train[@]}" --steps 2 --log other.csv --restart
check "a file of that name: is left" equal "$(cat other.samples.csv)" mine
rm other.samples.csv
head -c -9 run.samples.csv > alone.samples.csv
works "samples that are cut off" "$tfm" report alone.csv
check "samples that are cut off" says "len(r[0]['samples']) >= 8 and 'alone.samples.csv, line 10' in r[0]['notes'][0]"
refused "samples without a log" 2 "--samples needs --log" "${train[@]}" --samples 3 --steps 2
refused "samples of nothing" 2 "--valid-src" "$tfm" train --src en --tgt de --model m.tfm --samples 3 --log x.csv

refused "no log" 2 "report needs a log" "$tfm" report
refused "another end" 2 "--output is 'z.pdf'; its end must be .html" "$tfm" report a.csv -o z.pdf
refused "absent" 1 "absent.csv" "$tfm" report absent.csv
: > empty.csv
refused "empty" 1 "empty.csv is no log" "$tfm" report empty.csv
refused "no log of a training" 1 "en is no log of .*event and step" "$tfm" report en
echo $header > bare.csv
refused "no rows" 1 "bare.csv has no row" "$tfm" report bare.csv
refused "nowhere" 1 "absent/r.html" "$tfm" report a.csv -o absent/r.html
check "an old page stays" test -s report.html
finish
