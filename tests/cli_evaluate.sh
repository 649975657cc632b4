#!/usr/bin/env bash
# Metrics on the command line. Usage: cli_evaluate.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

# By hand: 7 of 8 words, 5 of 7 pairs, 4 of 6 triples, 3 of 5 quadruples, 8 words against 8.
echo "the cat sat on the mat right now" > hyp
echo "the cat sat on the mat just now" > ref
works "BLEU" "$tfm" evaluate --hyp hyp --ref ref --tokenize none
check "BLEU: by hand" equal "$(head -n 1 out)" "BLEU = $(awk 'BEGIN {
    printf "%.2f %.1f/%.1f/%.1f/%.1f", 100 * (7 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ^ 0.25, 700 / 8, 500 / 7, 400 / 6, 300 / 5 }'
) (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len = 8)"
check "BLEU: signature" grep -q "^signature: nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:" out
works "two references" "$tfm" evaluate --hyp hyp --ref ref --ref hyp
check "two references: one of them is equal" grep -q "^BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000" out
check "two references: signature" grep -q "nrefs:2|case:mixed|eff:no|tok:13a" out
tr a-z A-Z < hyp > upper
works "upper case" "$tfm" evaluate --hyp upper --ref hyp --smooth none
check "upper case: differs" grep -q "^BLEU = 0.00 " out
works "lower case" "$tfm" evaluate --hyp upper --ref hyp --lowercase
check "lower case: equal" grep -q "^BLEU = 100.00 " out
check "lower case: signature" grep -q "case:lc" out
{ cat hyp; echo "a b c d e"; } > hyps
{ cat ref; echo "a b c d e"; } > refs
works "sentences" "$tfm" evaluate --hyp hyps --ref refs --sentence
check "sentences: one number each" equal "$(sed -n 2p out; wc -l < out)" "100.00
2"
check "sentences: signature" grep -q "eff:yes" err
seq -s ' ' 400000 > long # 2.7 MB
works "a long line" "$tfm" evaluate --hyp long --ref long --tokenize none
check "a long line: equal" grep -q "^BLEU = 100.00 .* hyp_len = 400000 " out
: > empty
refused "c38 other lengths" 1 "hyps has 2 lines and ref has 1" "$tfm" evaluate --hyp hyps --ref ref
refused "c38 other lengths of the second reference" 1 "hyps has 2 lines and ref has 1" \
    "$tfm" evaluate --hyp hyps --ref refs --ref ref
refused "nothing to judge" 1 "empty is empty" "$tfm" evaluate --hyp empty --ref empty

echo "the mat the cat sat on right now" > hyp
works "chrF++" "$tfm" evaluate --hyp ref --ref ref --metric chrf --word-order 2
check "chrF++: equal lines" equal "$(head -n 1 out)" "chrF2++ = 100.00"
works "TER" "$tfm" evaluate --hyp hyp --ref ref --metric ter
check "TER: a shift and a change in eight words" equal "$(head -n 1 out)" "TER = 25.00"
works "TER of sentences" "$tfm" evaluate --hyp hyps --ref refs --metric ter --sentence
check "TER of sentences" equal "$(tr '\n' ' ' < out)" "12.50 0.00 "
refused "an order beyond the limit" 2 "char-order" "$tfm" evaluate --hyp hyp --ref ref --metric chrf --char-order 11
refused "beta of zero" 2 "--beta is '0', not a number in 0.01..1000" "$tfm" evaluate --hyp hyp --ref ref --metric chrf --beta 0
works "more digits" "$tfm" evaluate --hyp ref --ref hyp --metric ter --width 6
check "more digits: six" equal "$(head -n 1 out)" "TER = 25.000000"
works "no digits" "$tfm" evaluate --hyp hyps --ref refs --metric ter --sentence --width 0
check "no digits: none" equal "$(tr '\n' ' ' < out)" "12 0 "
works "an empty reference" "$tfm" evaluate --hyp hyp --ref <(echo)
check "an empty reference: no ratio" grep -q "^BLEU = 0.00 .*(BP = 1.000 ratio = 0.000 hyp_len = 8 ref_len = 0)" out

# What would be ignored is refused.
while read -r option of others; do
    # shellcheck disable=SC2086 # several words
    refused "--$option with $others" 2 "--${option%%=*} is for --${of/:/ }$" "$tfm" evaluate --hyp hyp --ref ref --$option $others
done << 'END'
compound-split metric:bleu --metric chrf
tokenize=intl metric:bleu --metric chrf
smooth=none metric:bleu --metric ter
max-order=4 metric:bleu --metric parseval
smooth-value=2 smooth:floor\|add-k --smooth exp
smooth-value=2 smooth:floor\|add-k
char-order=6 metric:chrf
word-order=2 metric:chrf --metric ter
beta=1 metric:chrf --metric bleu
whitespace metric:chrf --metric ter
eps-smoothing metric:chrf
case-sensitive metric:ter
normalize metric:ter --metric chrf
no-punctuation metric:ter
asian-support metric:ter
lowercase metric:bleu\|chrf --metric ter
param=ref metric:parseval
width=3 metric:bleu\|chrf\|ter --metric parseval
baseline=ref metric:bleu\|chrf\|ter --metric parseval
samples=10 baseline
seed=1 baseline --metric ter
END
works "a value where it counts" "$tfm" evaluate --hyp hyp --ref ref --smooth-value 2 --smooth add-k
check "a value where it counts: signature" grep -q "smooth:add-k\[2.00\]" out
for i in $(seq 60); do echo "this is sentence $i of many"; done > right
sed 's/sentence/phrase/' right > wrong
works "a comparison" "$tfm" evaluate --hyp right --baseline wrong --ref right --samples 200
check "a comparison: significant" grep -q "^difference = +.*, p = 0.0050: right is better, significant at p < 0.05$" out
check "a comparison: signature" grep -q "^signature: nrefs:1|bs:200|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:[^|]*$" out
check "a comparison: both systems" equal "$(awk '/^BLEU/ { print $NF }' out)" "wrong
right"
works "a comparison with a better one by TER" "$tfm" evaluate --hyp wrong --baseline right --ref right --metric ter --seed 7 \
    --width 3
check "a comparison with a better one by TER: which" equal "$(grep ^difference out)" \
    "difference = +16.667, p = 0.0010: right is better, significant at p < 0.05"
check "a comparison with a better one by TER: signature" grep -q "^signature: nrefs:1|bs:1000|seed:7|case:lc|tok:tercom|" out
works "a comparison with oneself" "$tfm" evaluate --hyp wrong --baseline wrong --ref right --samples 200 --metric ter
check "a comparison with oneself: not significant" grep -q "difference = +0.00, p = .*: not significant" out
refused "a comparison of sentences" 2 "exclude each other" "$tfm" evaluate --hyp right --baseline wrong --ref right --sentence
refused "a baseline of other length" 1 "right has 60 lines and hyp has 1" "$tfm" evaluate --hyp right --baseline hyp --ref right

echo "(S (A (x a) (x b)) (x c))" > gold
echo "(S (x a) (A (x b) (x c)))" > parse
works "parses" "$tfm" evaluate --hyp parse --ref gold --metric parseval
check "parses: one of two constituents" equal "$(grep -m 1 FMeasure out)" "Bracketing FMeasure       =  50.00"
check "parses: signature" grep -q "^signature: nrefs:1|labels:yes|cutoff:40|prm:" out
works "parses, sentence by sentence" "$tfm" evaluate --hyp parse --ref gold --metric parseval --sentence
check "parses, sentence by sentence: F1" equal "$(cat out)" "50.00"
echo "LABELED 0" > rules
echo "(S (x a) (B (x b) (x c)))" > gold
works "parses by other rules" "$tfm" evaluate --hyp parse --ref gold --metric parseval --param rules
check "parses by other rules: labels do not count" equal "$(grep -m 1 FMeasure out)" "Bracketing FMeasure       = 100.00"
{ printf '(S'; printf ' (x %d)' {1..4001}; echo ')'; } > vast
works "a vast reference" "$tfm" evaluate --hyp parse --ref vast --metric parseval
check "a vast reference: said so" grep -q "parse:1: it or its reference has more than 4,000 words or constituents" err
echo "(S (x a)" > broken
works "no tree" "$tfm" evaluate --hyp broken --ref gold --metric parseval --quiet
check "no tree: which line of which file" grep -q "^tfm: warning: broken:1: not a tree" err
works "no gold tree" "$tfm" evaluate --hyp gold --ref broken --metric parseval
check "no gold tree: which line of which file" grep -q "^tfm: warning: broken:1: the reference is not a tree" err
works "no tree, again" "$tfm" evaluate --hyp broken --ref gold --metric parseval
check "no tree: no score" equal "$(grep -m 1 FMeasure out)" "Bracketing FMeasure       =    nan"
printf 'LABELED 1\0\n' > nul
refused "rules with a NUL" 1 "nul holds a NUL byte" "$tfm" evaluate --hyp parse --ref gold --metric parseval --param nul
refused "rules of no EVALB" 1 "is no keyword of EVALB" "$tfm" evaluate --hyp parse --ref gold --metric parseval --param gold
refused "no file of rules" 1 "absent" "$tfm" evaluate --hyp parse --ref gold --metric parseval --param absent
refused "two gold trees" 2 "one --ref" "$tfm" evaluate --hyp parse --ref gold --ref gold --metric parseval
evalb=$data/treebank/evalb
if [ -d "$evalb" ]; then
    works "EVALB" "$tfm" evaluate --hyp "$evalb/craft300.tst" --ref "$evalb/craft300.gld" --metric parseval \
        --param "$evalb/COLLINS.prm"
    check "EVALB: the same report, byte for byte" equal "$(grep -v ^signature out)" "$(cat "$evalb/craft300.COLLINS.rsl")"
fi

# A system of WMT 2017, whose BLEU the organisers published.
wmt=$data/bleu/wmt17_en_de
if [ -d "$wmt" ]; then
    works "WMT 2017" "$tfm" evaluate --hyp "$wmt/newstest2017.KIT.4950.en-de.gz" --ref "$wmt/ref.de.gz"
    want=$(awk -F '\t' '$1 ~ /KIT\.4950/ { print $2 }' "$data/bleu/wmt17_en_de_expected.tsv")
    check "WMT 2017: published BLEU" equal "$(awk '{ print $3; exit }' out)" "$want"
    for metric in chrf:13 ter:17; do
        works "WMT 2017: ${metric%:*}" "$tfm" evaluate --hyp "$wmt/newstest2017.KIT.4950.en-de.gz" --ref "$wmt/ref.de.gz" \
            --metric "${metric%:*}"
        want=$(awk -F '\t' -v column="${metric#*:}" '$1 ~ /KIT\.4950/ { printf "%.2f", $column }' \
            "$data/bleu/wmt17_en_de_expected.tsv")
        check "WMT 2017: sacreBLEU's ${metric%:*}" equal "$(awk '{ print $3; exit }' out)" "$want"
    done
fi
finish
