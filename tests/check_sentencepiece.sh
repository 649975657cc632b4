#!/usr/bin/env bash
# Models of each type that Debian's spm_train makes: the program's pieces, ids, text, best ways and normal text are those of
# spm_encode, spm_decode and spm_normalize. Skipped where these are not installed. Usage: check_sentencepiece.sh TFM SOURCE_ROOT
set -eu
export LC_ALL=C.UTF-8
tfm=$(realpath "$1") root=$2
data=${TFM_TEST_DATA:-$root/../shared/data}
command -v spm_train > /dev/null || { echo "spm_train is not installed: apt-get install sentencepiece"; exit 77; }
[ -d "$data/spm" ] || { echo "no test data"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
failed=0

same() # WHAT WANT GOT
{
    cmp -s "$2" "$3" && return
    echo "$1: $(diff "$2" "$3" | grep -c '^<') lines of $(wc -l < "$2") differ"
    diff "$2" "$3" | head -n 4 | cut -c 1-200
    failed=1
}

# The program's spaces are U+2581, one of them in front; where spaces are removed, of what is not empty alone. Lines that
# have that character are left out: in a model it is a space, to spm_normalize a character.
marked=$(grep -n ▁ "$data/spm/inputs_misc.txt" | sed 's/:.*/d/')
normal() # NAME PREFIXED OPTIONS...
{
    local name=$1 prefixed=$2
    shift 2
    spm_train --input=text --model_prefix="$name" --hard_vocab_limit=false --minloglevel=2 --vocab_size=300 --model_type=char "$@" 2> /dev/null
    grep -v ▁ lines > unmarked
    spm_normalize "$@" < unmarked 2> /dev/null | sed "s/ /▁/g; s/^$prefixed/▁&/" > want
    "$tfm" tokenizer normalize --tokenizer-file "$name.model" < unmarked > got
    same "$name: normal text" want got
    sed "$marked; s/ /▁/g; s/^$prefixed/▁&/" "$data/spm/gold/normalize.${name/_spaces/.keepws}.txt" > want
    sed "$marked" "$data/spm/inputs_misc.txt" | "$tfm" tokenizer normalize --tokenizer-file "$name.model" > got
    same "$name: normal text of 0.1.97" want got
}

model() # NAME OPTIONS OF spm_train...
{
    local name=$1 file=$1.model
    shift
    spm_train --input=text --model_prefix="$name" --hard_vocab_limit=false --minloglevel=2 "$@" 2> /dev/null
    spm_encode --model="$file" --output_format=piece < lines > want 2> /dev/null
    "$tfm" tokenizer encode --tokenizer-file "$file" < lines > got
    same "$name: pieces" want got
    mv want pieces
    spm_decode --model="$file" --input_format=piece < pieces > want 2> /dev/null
    "$tfm" tokenizer decode --tokenizer-file "$file" < pieces > got
    same "$name: text of pieces" want got
    spm_encode --model="$file" --output_format=id < lines > ids 2> /dev/null
    "$tfm" tokenizer encode --ids --tokenizer-file "$file" < lines > got
    same "$name: ids" ids got
    spm_decode --model="$file" --input_format=id < ids > want 2> /dev/null
    "$tfm" tokenizer decode --ids --tokenizer-file "$file" < ids > got
    same "$name: text" want got
    case $name in unigram*) ;; *) return ;; esac
    spm_encode --model="$file" --output_format=nbest_id --nbest_size=7 < lines > want 2> /dev/null
    "$tfm" tokenizer encode --ids --nbest 7 --tokenizer-file "$file" < lines | cut -f 2 > got
    same "$name: the best ways" want got
}

{
    head -c 60000 "$data/spm/botchan.txt" | tr -d '\r'
    cat "$data/spm/inputs_misc.txt"
} > text
{
    cat "$data/spm/inputs_misc.txt" "$data/nasty/blns.txt"
    sed -n 1200,1300p "$data/spm/botchan.txt"
    zcat "$data/multi30k/raw/val.fr.gz" | head -n 100
    printf 'the abab %.0s' {1..60}
} | iconv -c -f utf8 -t utf8 | tr -d '\r\000' | grep -v '^$' > lines

model unigram --vocab_size=800
model unigram_bytes --vocab_size=900 --byte_fallback --user_defined_symbols='foo,the e,▁▁' --normalization_rule_name=nfkc_cf
model unigram_suffix --vocab_size=800 --treat_whitespace_as_suffix --remove_extra_whitespaces=false --user_defined_symbols='aa,the'
model unigram_plain --vocab_size=800 --add_dummy_prefix=false --normalization_rule_name=identity
model bpe --vocab_size=800 --model_type=bpe --user_defined_symbols='foo,the'
model bpe_suffix --vocab_size=800 --model_type=bpe --treat_whitespace_as_suffix --split_digits --add_dummy_prefix=false \
    --remove_extra_whitespaces=false
model bpe_bytes --vocab_size=900 --model_type=bpe --byte_fallback --normalization_rule_name=nmt_nfkc_cf
model word --vocab_size=800 --model_type=word
model word_suffix --vocab_size=800 --model_type=word --treat_whitespace_as_suffix --remove_extra_whitespaces=false
model char --vocab_size=800 --model_type=char --user_defined_symbols='foo,the'
model char_ids --vocab_size=60 --model_type=char --normalization_rule_name=nfkc --pad_id=0 --unk_id=3 --bos_id=-1 --eos_id=1 \
    --unk_surface='?'
for rule in identity nfkc nfkc_cf nmt_nfkc nmt_nfkc_cf; do
    normal "$rule" . --normalization_rule_name="$rule"
    normal "${rule}_spaces" "" --normalization_rule_name="$rule" --remove_extra_whitespaces=false
done

# Only a line feed ends a line, whatever the vocabulary has; and a training with such a tokenizer is one file.
printf 'a\342\200\250b\n\n\nc\n' > four
"$tfm" tokenizer encode --tokenizer-file unigram.model < four > got
[ "$(wc -l < got)" -eq 4 ] || { echo "c05: $(wc -l < got) lines"; failed=1; }
head -n 40 lines > few
"$tfm" train --src few --tgt few --tokenizer-file unigram.model --preset tiny --steps 2 --threads 1 --model m.tfm --quiet
"$tfm" translate --model m.tfm --beam 1 --max-length 5 < few > got
[ "$(wc -l < got)" -eq 40 ] || { echo "translate: $(wc -l < got) lines"; failed=1; }
"$tfm" tokenizer encode --ids --tokenizer-file m.tfm < lines > got
spm_encode --model=unigram.model --output_format=id < lines > want 2> /dev/null
same "inside a model" want got
exit "$failed"
