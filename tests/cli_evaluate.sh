#!/usr/bin/env bash
# BLEU on the command line. Usage: cli_evaluate.sh TFM SOURCE_ROOT
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

# A system of WMT 2017, whose BLEU the organisers published.
wmt=$data/bleu/wmt17_en_de
if [ -d "$wmt" ]; then
    works "WMT 2017" "$tfm" evaluate --hyp "$wmt/newstest2017.KIT.4950.en-de.gz" --ref "$wmt/ref.de.gz"
    want=$(awk -F '\t' '$1 ~ /KIT\.4950/ { print $2 }' "$data/bleu/wmt17_en_de_expected.tsv")
    check "WMT 2017: published BLEU" equal "$(awk '{ print $3; exit }' out)" "$want"
fi
finish
