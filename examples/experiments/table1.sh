#!/usr/bin/env bash
# Table 1 of the paper, measured: time, memory and steps in sequence of one layer of self-attention, restricted self-attention,
# recurrent and convolutional, of the same width, over the length of the sequence; one processor, forward (table1.c). Attention is
# measured twice: as the paper counts it, n^2 d, and with its four projections, which the two others have within them.
# Usage: table1.sh [--width D] [--heads H] [--window R] [--kernel K] [--longest N] [--runs N] [--out FOLDER] [--dry-run]
#   --width D        default 512, the paper's base model
#   --heads H        of the attention, which divide the width; default 8
#   --window R       restricted attention sees words at most this far away, as in 'tfm bench attention'; default 64, so that
#                    the paper's r is 2 R + 1 = 129 words
#   --kernel K       words that a convolution sees; default 3
#   --longest N      lengths are 16, 32 ... N; default 8192
#   --runs N         measures all so many times, and takes the median time of each; default 1
#   --out FOLDER     results.tsv, results.md, time.svg and memory.svg; default build/table1
#   --dry-run        up to 64 words of width 32, in FOLDER/dry-run: does everything work?
# Solid lines are measured. Dashed ones are the theory: operations of the table, in scale with the last measurement, and the
# memory of attention that holds every weight.
set -euo pipefail
. "$(dirname "$0")/common.sh"
width=512 heads=8 window=64 kernel=3 longest=8192 runs=1 seconds=0.3 out=$root/build/table1 dry_run=''
options 'width heads window kernel longest runs out' dry-run "$@"
[ ${#arguments[@]} = 0 ] || usage
[ -z "$dry_run" ] || width=32 heads=2 window=8 longest=64 seconds=0.001
[[ $runs =~ ^[1-9][0-9]{0,2}$ ]] || { echo "--runs is '$runs', not a number in 1..999" >&2; exit 2; }
need_tfm
table1=$(dirname "$(command -v "$tfm")")/../table1
[ -x "$table1" ] || { echo "$table1 is not there: build all (ninja -C build/release)" >&2; exit 1; }
out=$out${dry_run:+/dry-run}
mkdir -p "$out"

say "Measuring"
for ((run = 1; run <= runs; run++)); do "$table1" "$width" "$heads" "$window" "$kernel" "$longest" "$seconds"; done |
    tee "$out/results.part"
# Of the lines of a layer and length, in the order of their times, the one in the middle.
sort -t $'\t' -k 2,2n -k 1,1 -k 3,3g "$out/results.part" |
    awk -v runs="$runs" 'NR % runs == int((runs + 1) / 2) % runs' > "$out/results.tsv"
rm "$out/results.part"

say "$out/results.md, time.svg, memory.svg"
awk -F '\t' '
    { if (!($2 in seen)) { seen[$2] = ++lengths; n[lengths] = $2 } ms[$1, $2] = $3; mb[$1, $2] = $4 }
    END {
        layers = split("self-attention|self-attention with projections|restricted self-attention|" \
            "restricted self-attention with projections|recurrent|convolutional", name, "|")
        split("O(n^2 d), 1 step|O(n^2 d + n d^2), 1 step|O(r n d), 1 step|O(r n d + n d^2), 1 step|" \
            "O(n d^2), n steps|O(k n d^2), 1 step", theory, "|")
        printf "| n"
        for (i = 1; i <= layers; i++) printf " | %s, %s", name[i], theory[i]
        printf " |\n|---"
        for (i = 1; i <= layers; i++) printf "|---"
        print "|"
        for (j = 1; j <= lengths; j++) {
            printf "| %d", n[j]
            for (i = 1; i <= layers; i++) printf " | %.3g ms, %.3g MB", ms[name[i], n[j]], mb[name[i], n[j]]
            print " |"
        }
    }' "$out/results.tsv" | tee "$out/results.md"

# A line of the figure for each layer, measured, and one of theory; the latter not below what was measured at all.
points() # COLUMN THEORY_COLUMN IN_SCALE
{
    awk -F '\t' -v y="$1" -v theory="$2" -v in_scale="$3" '
        BEGIN {
            color["self-attention"] = "#1b7f5a"; color["self-attention with projections"] = "#62b898"
            color["restricted self-attention"] = "#2461b8"; color["restricted self-attention with projections"] = "#7ba6e0"
            color["recurrent"] = "#b8352a"; color["convolutional"] = "#8a5a00"
            law["self-attention"] = "n^2 d"; law["restricted self-attention"] = "r n d"
            law["recurrent"] = "n d^2"; law["convolutional"] = "k n d^2"
        }
        { if (NR == 1 || $y < low) low = $y; row[NR] = $0; last[$1] = in_scale ? $y / $theory : 1 }
        END {
            for (i = 1; i <= NR; i++) {
                split(row[i], f, "\t")
                printf "%s%s\t%s\tsolid\t%s\t%s\n", f[1], (f[5] > 1 ? ", n steps in sequence" : ""), color[f[1]], f[2], f[y]
                t = f[theory] * last[f[1]]
                if (!(f[1] in law) || t < low || (!in_scale && f[1] !~ /attention/)) continue
                printf "%s: %s\t%s\tdashed\t%s\t%.6g\n", f[1], in_scale ? law[f[1]] : "formulas", color[f[1]], f[2], t
            }
        }' "$out/results.tsv"
}
figure() { python3 "$root/examples/experiments/figure.py" "One layer of width $width: $1" "length n of the sequence" "$2"; }
points 3 6 1 | figure "time, forward, one processor" "milliseconds" > "$out/time.svg"
points 4 7 0 | figure "memory beside input and weights" "MB" > "$out/memory.svg"
