#!/usr/bin/env bash
# Learning, encoding and decoding on the command line. Usage: cli_tokenizer.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
write_corpus

works "learn" "$tfm" tokenizer learn --input en --input de --vocab-size 290 -o bpe.tok
check "learn: says what" grep -q "^bpe.tok: bpe, 290 entries, from 84 lines" err
cat en de | shuf --random-source=<(yes) > shuffled
input=shuffled works "learn from other lines" "$tfm" tokenizer learn --vocab-size 290 --output again.tok --quiet
check "c06 the order of lines does not count" cmp bpe.tok again.tok
check "quiet" equal "$(cat out err)" ""

encode=("$tfm" tokenizer encode --tokenizer-file bpe.tok)
decode=("$tfm" tokenizer decode --tokenizer-file bpe.tok)
printf 'one two\n\n  drei   \nZo\303\253 \360\237\230\200 a\342\200\250b\342\200\215c\n<unk> </s>\n@@ \342\226\201\n\tx' > text
{ cat text; echo; } > whole
input=text works "encode" "${encode[@]}"
check "encode: one line for each" equal "$(wc -l < out)" "$(wc -l < whole)"
mv out pieces
input=pieces works "decode" "${decode[@]}"
check "c03 decoding gives back the text" cmp out whole
input=text works "encode to ids" "${encode[@]}" --ids
check "ids: numbers alone" equal "$(tr -d '0-9 \n' < out)" ""
check "ids: as many as pieces" equal "$(tr -dc " \n" < out | wc -c)" "$(tr -dc " \n" < pieces | wc -c)"
mv out ids
input=ids works "decode ids" "${decode[@]}" --ids
check "decoding ids gives back the text" cmp out whole
seq 0 289 > each
input=each works "every id by itself" "${decode[@]}" --ids
check "every id by itself: one line for each, even for the newline" equal "$(wc -l < out)" 290
printf '5 290\n' > beyond
input=beyond check "an id beyond the vocabulary" run_code 1 "${decode[@]}" --ids
check "an id beyond the vocabulary: named" grep -q "^tfm: standard input:1: '290' is not an id in 0..289" err
echo 'no-such-piece' > strange
input=strange check "a piece beyond the vocabulary" run_code 1 "${decode[@]}"
check "a piece beyond the vocabulary: named" grep -q "^tfm: standard input:1: 'no-such-piece' is not in the vocabulary" err
input=text works "no dropout of merges" "${encode[@]}" --bpe-dropout 0
check "no dropout: as without" cmp out pieces
input=text works "dropout of merges" "${encode[@]}" --bpe-dropout 0.5 --seed 3 --ids
check "dropout: other pieces" [ "$(cat out)" != "$(cat ids)" ]
mv out dropped
input=dropped works "dropout: decode" "${decode[@]}" --ids
check "dropout: the same text" cmp out whole
input=text works "dropout: the same seed" "${encode[@]}" --bpe-dropout 0.5 --seed 3 --ids
check "dropout: the same pieces" cmp out dropped
input=text works "all merges dropped" "${encode[@]}" --bpe-dropout 1
check "all merges dropped: characters" grep -q "o n e" out
refused "dropout of more than all" 2 "bpe-dropout" "${encode[@]}" --bpe-dropout 1.5
refused "dropout and the best ways" 2 "nbest" "${encode[@]}" --bpe-dropout 0.5 --nbest 2
printf 'a\377b\n' > bad
input=bad check "invalid UTF-8" run_code 1 "${encode[@]}"
check "invalid UTF-8: named" grep -q "^tfm: standard input:1: invalid UTF-8 at byte 2" err
input=bad works "invalid UTF-8: replaced" "${encode[@]}" --replace-invalid

works "subword-nmt" "$tfm" tokenizer learn --kind subword-nmt --merges 10 --codes codes --output sub.tok \
    --input en --input de
check "codes: version and merges" equal "$(head -n 1 codes; wc -l < codes)" "#version: 0.2
11"
echo 'three unseen words' > words
input=words works "subword-nmt: encode" "$tfm" tokenizer encode --tokenizer-file sub.tok
check "subword-nmt: pieces are marked" grep -q '@@ ' out
mv out pieces
input=pieces works "subword-nmt: decode" "$tfm" tokenizer decode --tokenizer-file sub.tok
check "subword-nmt: the words are back" cmp out words
works "glossary" "$tfm" tokenizer restrict --tokenizer-file sub.tok --glossary unseen --glossary xyz -o kept.tok
echo 'three unseen axyzb' > words
input=words works "glossary: encode" "$tfm" tokenizer encode --tokenizer-file kept.tok
check "glossary: whole" grep -q ' unseen .*xyz@@ b$' out
refused "nothing to restrict by" 2 "glossary" "$tfm" tokenizer restrict --tokenizer-file sub.tok -o x
refused "a threshold of nothing" 2 "vocabulary" "$tfm" tokenizer restrict --tokenizer-file sub.tok --glossary a --vocabulary-threshold 3 -o x
refused "a vocabulary without counts" 1 "line 1 of the vocabulary" "$tfm" tokenizer restrict --tokenizer-file sub.tok \
    --vocabulary words -o x
refused "restricting another kind" 1 "is of the kind bpe" "$tfm" tokenizer restrict --tokenizer-file bpe.tok --glossary a -o x
works "one for targets" "$tfm" tokenizer learn --input de --vocab-size 280 -o de.tok
works "pair" "$tfm" tokenizer pair --source sub.tok --target de.tok -o pair.tok
check "pair: says what" grep -q '^pair.tok: subword-nmt, .* entries, to bpe, 280 entries$' err
input=de works "pair: encode" "$tfm" tokenizer encode --tokenizer-file pair.tok
mv out got
input=de works "pair: as its source" "$tfm" tokenizer encode --tokenizer-file sub.tok
check "pair: encodes as its source" cmp out got
input=de works "pair: encode for the target" "$tfm" tokenizer encode --tokenizer-file pair.tok --target --ids
mv out got
input=de works "pair: as its target" "$tfm" tokenizer encode --tokenizer-file de.tok --ids --target
check "pair: with --target as its target" cmp out got
input=got works "pair: decode" "$tfm" tokenizer decode --tokenizer-file pair.tok --ids
check "pair: decodes as its target" cmp out de
refused "a pair of one" 2 "target" "$tfm" tokenizer pair --source sub.tok -o x
refused "ids for another kind" 1 "only the pieces of a SentencePiece model get other ids" "$tfm" tokenizer pair --source sub.tok \
    --target de.tok --target-vocabulary words -o x
check "a pair that failed: nothing is written" test ! -e x
two=(--tokenizer-file sub.tok --target-tokenizer-file de.tok)
plain=(--set n_encoder_layers=1 --set n_decoder_layers=1 --set d_model=32 --set d_ff=64 --set n_heads=2)
works "train with two" "$tfm" train --src en --tgt de "${plain[@]}" "${two[@]}" --steps 2 --model two
check "train with two: says so" grep -q 'of targets: bpe, 280 entries' err
works "train with a pair" "$tfm" train --src en --tgt de "${plain[@]}" --tokenizer-file pair.tok --steps 2 --quiet --model one
check "train with a pair: the same model" cmp one two
works "inspect a pair" "$tfm" inspect two --json
check "inspect: both" grep -q '"tokenizer":{"kind":"subword-nmt",.*"target_tokenizer":{"kind":"bpe","size":280}' out
check "inspect: embeddings of their own" grep -q '"sharing":"target"\|"sharing":1' out
head -n 2 en > some
input=some works "translate with a pair" "$tfm" translate --model two --max-length 5
check "translate with a pair: lines" equal "$(wc -l < out)" 2
works "score with a pair" "$tfm" score --model two --src en --tgt de --per-token
cut -f 2 out | awk '{ print NF }' > got
input=de works "tokenize the target" "$tfm" tokenizer encode --tokenizer-file two --target
awk '{ print NF + 1 }' out > want
check "score: a number for each of the target's pieces and its end" cmp got want
works "attention with a pair" "$tfm" attention --model two --src-text 'one two' --tgt-text 'eins zwei' -o page.json
refused "a target alone" 2 "needs --tokenizer-file" "$tfm" train --src en --tgt de --target-tokenizer-file de.tok --model x
refused "shared embeddings" 1 "different vocabularies, but share one embedding" "$tfm" train --src en --tgt de "${two[@]}" \
    --set sharing=all --steps 1 --model x
printf '%s\n' '[PAD]' '[UNK]' The the '##re' > vocab.txt
works "cased" "$tfm" tokenizer keep-case --tokenizer-file vocab.txt -o cased.tok
echo 'The there' > words
input=words works "cased: encode" "$tfm" tokenizer encode --tokenizer-file cased.tok
check "cased: capitals stay" equal "$(cat out)" "The the ##re"
refused "another kind is never cased" 1 "this tokenizer is bpe" "$tfm" tokenizer keep-case --tokenizer-file bpe.tok -o x
refused "codes are no tokenizer" 1 "tfm train --codes" "$tfm" tokenizer encode --tokenizer-file codes
refused "other files are no tokenizer" 1 "begins like this" "$tfm" tokenizer encode --tokenizer-file words
works "wordpiece" "$tfm" tokenizer learn --kind wordpiece --vocab-size 120 --codes subwords --output wp.tok --input en --input de
check "wordpiece: a vocabulary file of tensor2tensor" equal "$(head -n 2 subwords)" "'<pad>_'
'<EOS>_'"
for file in wp.tok subwords; do
    input=text works "$file: encode" "$tfm" tokenizer encode --tokenizer-file $file --ids
    mv out ids
    input=ids works "$file: decode" "$tfm" tokenizer decode --tokenizer-file $file --ids
    check "$file: decoding gives back the text" cmp out whole
    echo 'one, two _ \32; (three),four' > spaced
    input=spaced works "$file: encode to pieces" "$tfm" tokenizer encode --tokenizer-file $file
    mv out pieces
    input=pieces works "$file: decode pieces" "$tfm" tokenizer decode --tokenizer-file $file
    check "$file: decoding pieces gives back the text" cmp out spaced
done
works "wordpiece: train" "$tfm" train --src en --tgt de --tokenizer wordpiece --vocab-size 120 --preset tiny --steps 1 --threads 1 \
    --model wp.tfm --quiet
input=en works "wordpiece: translate" "$tfm" translate --model wp.tfm --beam 1 --max-length 4
check "wordpiece: one line for each" equal "$(wc -l < out)" "$(wc -l < en)"
refused "wordpiece: no least frequency" 2 "min-frequency" "$tfm" tokenizer learn --kind wordpiece --min-frequency 3 -o x
refused "wordpiece: no merges to drop" 1 "dropout of merges" "$tfm" train --src en --tgt de --tokenizer wordpiece \
    --vocab-size 120 --bpe-dropout 0.1 --steps 1 --model x.tfm
refused "the other kind's size" 2 "vocab-size" "$tfm" tokenizer learn --kind subword-nmt --vocab-size 9 -o x
refused "codes of the other kind" 2 "codes" "$tfm" tokenizer learn --codes x -o y

printf "Mr. O'Neil's \xe2\x80\x9cred-hot\xe2\x80\x9d car.\n\nA, b\n" > sentences
input=sentences works "pretokenize" "$tfm" tokenizer pretokenize --language en --normalize --split-hyphens
check "pretokenize: words" equal "$(cat out)" "Mr. O &apos;Neil &apos;s &quot; red @-@ hot &quot; car .

A , b"
mv out words
input=words works "detokenize" "$tfm" tokenizer detokenize
check "detokenize: the text again" equal "$(cat out)" "Mr. O'Neil's \"red-hot\" car.

A, b"
echo "L'eau [d'Evian]." > sentences
input=sentences works "pretokenize: French" "$tfm" tokenizer pretokenize --language fr --lowercase --no-escape
check "pretokenize: French words" equal "$(cat out)" "l' eau [ d' evian ] ."
refused "no such language" 2 "language" "$tfm" tokenizer pretokenize --language xx
input=bad check "pretokenize: invalid UTF-8" run_code 1 "$tfm" tokenizer pretokenize
check "pretokenize: invalid UTF-8 is named" grep -q "^tfm: standard input:1: invalid UTF-8 at byte 2" err

# The merges and pieces that subword-nmt makes of the same text.
if [ -d "$data/bpe" ]; then
    zcat "$data/multi30k/tok/test_2016_flickr.lc.norm.tok.en.gz" | head -n 200 > flickr
    works "500 merges" "$tfm" tokenizer learn --kind subword-nmt --merges 500 --input "$data/bpe/corpus.en" \
        --input flickr --codes codes --output joint.tok
    check "500 merges: as subword-nmt" cmp codes "$data/bpe/joint500.codes"
    input=$data/bpe/corpus.en works "500 merges: encode" "$tfm" tokenizer encode --tokenizer-file joint.tok
    check "500 merges: encoded as subword-nmt" cmp out <(zcat "$data/bpe/corpus.joint500.en.gz")
    works "threshold" "$tfm" tokenizer restrict --tokenizer-file joint.tok --vocabulary "$data/bpe/joint500.vocab.1" \
        --vocabulary-threshold 20 -o kept.tok
    input=$data/bpe/corpus.en works "threshold: encode" "$tfm" tokenizer encode --tokenizer-file kept.tok
    check "threshold: encoded as subword-nmt" cmp out <(zcat "$data/bpe/corpus.joint500.vocabthr20.en.gz")
fi
finish
