#!/usr/bin/env bash
# The paper's Table 3 at the size of a desk: preset tiny on Multi30k, English to German, one thing changed in each row, equal
# steps. Perplexity a token and BLEU (tokenised, lower-cased; beam 4, alpha 0.6, last weights) are of the development set, as
# in the paper.
# The norm stands before each sub-layer: behind it, as in the paper, six layers, or eight heads, learn to look at their source
# after many more steps than these.
# Usage: ablations.sh [--steps N] [--merges N] [--rows PATTERN] [--seed N] [--out FOLDER] [--dry-run] DATA
#   DATA            as for multi30k.sh
#   --steps N       of every training, in the last two fifths of which the rate cools down; default 6000, some
#                   nine minutes of a processor each
#   --merges N      of the tokenizer; default 2000, with which a training takes half as long as with 10,000
#   --rows PATTERN  only the rows that match it, such as '^(base|A)'; the others stay in the table when they are trained
#   --seed N        default 1
#   --out FOLDER    models, logs, results.md, results.tsv and results.svg; default build/ablations
#   --dry-run       60 pairs and a few steps, in FOLDER/dry-run: does everything work?
# A stopped run goes on when the same command is given again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
steps=6000 merges=2000 seed=1 rows=. out=$root/build/ablations dry_run=''
options 'steps merges rows seed out' dry-run "$@"
[ ${#arguments[@]} = 1 ] || usage
data=${arguments[0]} dry=${dry_run:+60}
need_tfm
out=$out${dry_run:+/dry-run}
limits=(--steps "$steps" --cooldown $((steps * 2 / 5))) beam=4
[ -z "$dry" ] || merges=100 limits=(--steps 2 --batch-tokens 256) beam=1
mkdir -p "$out"
mapfile -t files < <(multi30k_files "$data" de train val)
checksum=$(checksum "${files[@]}")
keep_options "$out" steps merges seed "checksum=$checksum"
multi30k "$data" "$out" de "$dry" train val

# Row of Table 3, what is changed, options. The base: N 4, d 128, d_ff 256, h 4, d_k = d_v 32, P_drop 0.1, smoothing 0.1.
rows()
{
    cat << 'ROWS'
base|4 layers, d 128, d_ff 256, 4 heads|
A1|1 head, d_k = d_v 128|--set n_heads=1 --set d_k=128 --set d_v=128
A2|2 heads, d_k = d_v 64|--set n_heads=2 --set d_k=64 --set d_v=64
A3|8 heads, d_k = d_v 16|--set n_heads=8 --set d_k=16 --set d_v=16
A4|16 heads, d_k = d_v 8|--set n_heads=16 --set d_k=8 --set d_v=8
B1|d_k 8|--set d_k=8
B2|d_k 16|--set d_k=16
C1|1 layer|--set n_encoder_layers=1 --set n_decoder_layers=1
C2|2 layers|--set n_encoder_layers=2 --set n_decoder_layers=2
C3|6 layers|--set n_encoder_layers=6 --set n_decoder_layers=6
C4|d 64, d_k = d_v 16|--set d_model=64 --set d_k=16 --set d_v=16
C5|d 256, d_k = d_v 64|--set d_model=256 --set d_k=64 --set d_v=64
C6|d_ff 128|--set d_ff=128
C7|d_ff 512|--set d_ff=512
D1|P_drop 0|--dropout 0
D2|P_drop 0.2|--dropout 0.2
D3|P_drop 0.3|--dropout 0.3
D4|smoothing 0|--label-smoothing 0
D5|smoothing 0.2|--label-smoothing 0.2
E|learned positions|--set positions=learned
ROWS
}

# Trains a row unless it is trained, and writes it to results.tsv: row, change, perplexity, BLEU, million parameters, steps, seconds.
run() # ROW CHANGE OPTIONS...
{
    local row=$1 change=$2 model=$out/$1.tfm
    shift 2
    say "$row: $change"
    train "$model" --src "$out/train.en" --tgt "$out/train.de" --valid-src "$out/val.en" --valid-tgt "$out/val.de" \
        --tokenizer subword-nmt --merges "$merges" --preset tiny --set norm_order=pre --batch-tokens 512 --lr-scale 0.75 --warmup 1500 \
        --dropout 0.1 --clip 25 --keep 1 "${limits[@]}" --seed "$seed" "$@"
    if [ ! -s "$out/$row.bleu" ]; then
        into "$out/$row.out" "$tfm" translate --model "$model" --beam $beam --alpha 0.6 --threads "$threads" --quiet < "$out/val.en"
        into "$out/$row.bleu" "$tfm" evaluate --hyp "$out/$row.out" --ref "$out/val.de" --tokenize none
    fi
    # The seconds of the log begin anew where a stopped training went on.
    awk -F , -v row="$row" -v change="$change" -v bleu="$(sed -n 's/^BLEU = \([0-9.]*\).*/\1/p' "$out/$row.bleu")" \
        -v parameters="$("$tfm" inspect "$model" | awk '$1 == "total" { gsub(",", ""); print $2 }')" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; columns = NF; next }
        NF < columns { next } # cut off where the training was stopped
        $at["seconds"] < last { before += last }
        { last = $at["seconds"] }
        $1 == "valid" { ppl = $at["valid_perplexity"]; steps = $at["step"] }
        END { printf "%s\t%s\t%.2f\t%s\t%.2f\t%d\t%.0f\n", row, change, ppl, bleu, parameters / 1e6, steps, before + last }' \
        "$model.csv" >> "$out/results.tsv"
}

grep -Eq -e "$rows" <<< base || [ $? = 1 ] || { echo "--rows is '$rows', no regular expression" >&2; exit 2; }
: > "$out/results.tsv"
while IFS='|' read -r row change options; do
    # shellcheck disable=SC2086 # a list
    if [[ $row =~ $rows || -e $out/$row.tfm ]]; then run "$row" "$change" $options < /dev/null; fi
done < <(rows)

say "$out/results.md, results.svg"
awk -F '\t' '
    BEGIN { print "| row | change | perplexity | BLEU | parameters | steps | seconds |\n|---|---|---|---|---|---|---|" }
    { printf "| %s | %s | %s | %s | %s M | %d | %d |\n", $1, $2, $3, $4, $5, $6, $7 }' "$out/results.tsv" | tee "$out/results.md"

# Two columns of dots, perplexity (logarithmic) and BLEU, with a line where the base is, if it is there.
awk -F '\t' '
    function widen(v, c) { if (NR == 1 || v < low[c]) low[c] = v; if (NR == 1 || v > high[c]) high[c] = v }
    function place(v, c)
    {
        return 250 + 320 * c + (high[c] > low[c] ? 250 * (v - low[c]) / (high[c] - low[c]) : 125)
    }
    {
        name[NR] = $1 "  " $2; text[NR, 0] = $3; text[NR, 1] = $4
        value[NR, 0] = log($3); value[NR, 1] = $4
        if ($1 == "base") base = NR
        widen(value[NR, 0], 0); widen(value[NR, 1], 1)
    }
    END {
        height = 22 * NR + 70
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 %d\" width=\"880\" height=\"%d\" " \
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n" \
            "<text x=\"16\" y=\"26\" font-size=\"15\" font-weight=\"bold\">Table 3 at the size of a desk</text>\n" \
            "<text x=\"250\" y=\"44\">perplexity (less is better)</text><text x=\"570\" y=\"44\">BLEU (more is better)</text>\n", height, height
        for (c = 0; c < 2 && base; c++)
            printf "<path d=\"M%.1f 52V%d\" stroke=\"#bbb\" stroke-dasharray=\"3 3\"/>\n", place(value[base, c], c), height - 14
        for (i = 1; i <= NR; i++) {
            y = 48 + 22 * i
            printf "<text x=\"16\" y=\"%d\">%s</text>\n", y, name[i]
            for (c = 0; c < 2; c++) {
                x = place(value[i, c], c)
                printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" fill=\"%s\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n",
                    x, y - 4, i == base ? "#333" : c ? "#c2571a" : "#1a6fc2", x + 8, y, text[i, c]
            }
        }
        print "</svg>"
    }' "$out/results.tsv" > "$out/results.svg"
