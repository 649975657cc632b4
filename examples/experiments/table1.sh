#!/usr/bin/env bash
# Table 1 of the paper, measured: time, memory and steps in sequence of one layer of self-attention, restricted self-attention,
# recurrent and convolutional, of the same width, over the length of the sequence; one processor, forward (table1.c).
# Usage: table1.sh [--width D] [--heads H] [--neighbours R] [--kernel K] [--longest N] [--out FOLDER] [--dry-run]
#   --width D        default 512, the paper's base model
#   --heads H        of the attention; default 8
#   --neighbours R   words that restricted attention sees; default 128
#   --kernel K       words that a convolution sees; default 3
#   --longest N      lengths are 16, 32 ... N; default 8192
#   --out FOLDER     results.tsv, results.md, time.svg and memory.svg; default build/table1
#   --dry-run        up to 64 words of width 32: does everything work?
# Solid lines are measured. Dashed ones are the theory: operations of the table, in scale with the last measurement, and the
# memory of the paper's formulas, which hold every weight of the attention.
set -euo pipefail
. "$(dirname "$0")/common.sh"
width=512 heads=8 neighbours=128 kernel=3 longest=8192 seconds=0.3 out=$root/build/table1 dry_run=''
options 'width heads neighbours kernel longest out' dry-run "$@"
[ ${#arguments[@]} = 0 ] || usage
[ -z "$dry_run" ] || width=32 heads=2 neighbours=16 longest=64 seconds=0.001
need_tfm
table1=$(dirname "$(command -v "$tfm")")/../table1
[ -x "$table1" ] || { echo "$table1 is not there: build all (ninja -C build/release)" >&2; exit 1; }
mkdir -p "$out"

say "Measuring"
"$table1" "$width" "$heads" "$neighbours" "$kernel" "$longest" "$seconds" | tee "$out/results.part"
mv "$out/results.part" "$out/results.tsv"

say "$out/results.md, time.svg, memory.svg"
awk -F '\t' -v r="$neighbours" -v k="$kernel" '
    $1 != last { if (!($1 in order)) { order[$1] = ++layers; name[layers] = $1 } last = $1 }
    { if (!($2 in seen)) { seen[$2] = ++lengths; n[lengths] = $2 } ms[$1, $2] = $3; mb[$1, $2] = $4 }
    END {
        split("O(n^2 d), 1 step|O(r n d), 1 step|O(n d^2), n steps|O(k n d^2), 1 step", theory, "|")
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
            color["self-attention"] = "#1b7f5a"; color["restricted self-attention"] = "#2461b8"
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
                if (t < low || (!in_scale && f[1] !~ /attention/)) continue
                printf "%s: %s\t%s\tdashed\t%s\t%.6g\n", f[1], in_scale ? law[f[1]] : "formulas", color[f[1]], f[2], t
            }
        }' "$out/results.tsv"
}
figure() { python3 "$root/examples/experiments/figure.py" "One layer of width $width: $1" "length n of the sequence" "$2"; }
points 3 6 1 | figure "time, forward, one processor" "milliseconds" > "$out/time.svg"
points 4 7 0 | figure "memory beside input and weights" "MB" > "$out/memory.svg"
