# Shared by the experiments, which source it: the program, trainings that go on where they stopped, means.
# TFM names the program when it is not the release build of this tree; THREADS how many processors to use, by default all.
# shellcheck shell=bash
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tfm=${TFM-$root/build/release/examples/cli/tfm}
threads=${THREADS:-$(nproc)}

say() { printf '\n== %s\n' "$*"; }
usage() { sed -n '2,/^[^#]/{ s/^# \{0,1\}//; t show; b; :show p; }' "$0" >&2; exit "${1-2}"; }

# Sets the variable of each option of VALUES to its value and of each of FLAGS to 1 (--dry-run: dry_run); the rest of the
# command is left in arguments.
options() # "VALUES" "FLAGS" ARGUMENT...
{
    local values=" $1 " flags=" $2 " name
    shift 2
    while [[ ${1-} == -* ]]; do
        name=${1#--}
        if [[ $name == -h || $name == help ]]; then usage 0
        elif [[ $flags == *" $name "* ]]; then printf -v "${name//-/_}" 1
        elif [[ $values == *" $name "* && $# -gt 1 ]]; then printf -v "$name" %s "$2"; shift
        else usage
        fi
        shift
    done
    case ${out-} in '' | /*) ;; *) out=$PWD/$out ;; esac # awk takes a=b/c for something else than a file
    arguments=("$@")
}

need_tfm()
{
    command -v "$tfm" > /dev/null && return
    echo "$tfm is not there: build it (meson setup build/release --buildtype=release && ninja -C build/release), or name it by TFM" >&2
    exit 1
}

# The lines of FILE or FILE.gz.
lines() # FILE
{
    if [ -e "$1" ]; then cat "$1"
    elif [ -e "$1.gz" ]; then zcat "$1.gz"
    else echo "neither $1 nor $1.gz is there" >&2; return 1
    fi
}

# What tells these files from others: their lines' checksum.
checksum() # FILE...
{
    for file; do lines "$file"; done | cksum | cut -d ' ' -f 1
}

# Writes FILE when COMMAND is done, so that half of it is never taken for all.
into() # FILE COMMAND...
{
    "${@:2}" > "$1.part" && mv "$1.part" "$1"
}

# A folder holds the results of one set of options, and of one corpus, whose checksum is one of them: what differs from what it
# was made with is refused.
keep_options() # FOLDER NAME|NAME=VALUE... [-- TRAIN OPTIONS]
{
    local folder=$1 now=''
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        if [[ $1 == *=* ]]; then now+=" --${1/=/ }"; else now+=" --$1 ${!1:-all}"; fi
        shift
    done
    [ $# -lt 2 ] || now+=" ${*:2}"
    if [ ! -e "$folder/options" ]; then echo "$now" > "$folder/options"; fi
    [ "$(cat "$folder/options")" = "$now" ] && return
    echo "$folder was made with$(cat "$folder/options"), not$now; give another --out, or remove it" >&2
    exit 1
}

# Trains MODEL and logs beside it, or goes on from its last checkpoint; a MODEL that exists is left as it is.
train() # MODEL OPTIONS...
{
    local model=$1 resume=() checkpoints
    shift
    if [ -e "$model" ]; then echo "$model exists: nothing to train"; return; fi
    checkpoints=("$model"-*.ckpt)
    if [ -e "${checkpoints[0]}" ]; then resume=(--resume); fi
    "$tfm" train --model "$model" --log "$model.csv" --threads "$threads" "${resume[@]}" "$@"
    rm -f "$model"-*.ckpt
}

# One column of numbers to "mean +- standard deviation"; the mean alone of a single one.
mean() # [DECIMALS]
{
    awk -v d="${1-2}" '{ n++; s += $1; q += $1 * $1 }
        END { printf "%.*f", d, s / n; v = q - s * s / n; if (n > 1) printf " +- %.*f", d, (v > 0 ? sqrt(v / (n - 1)) : 0) }'
}

# Names Multi30k's files of each SET in English and LANGUAGE, one a line: the corpus' own lower-cased words, or the raw text.
multi30k_files() # DATA LANGUAGE SET...
{
    local data=$1 to=$2 set language words
    shift 2
    for set; do
        for language in en "$to"; do
            words=$data/$set.lc.norm.tok.$language
            if [ -e "$words" ] || [ -e "$words.gz" ]; then echo "$words"; else echo "$data/$set.$language"; fi
        done
    done
}

# Writes SET.en and SET.LANGUAGE of Multi30k into OUT, lower-cased words with normal punctuation: the corpus' own files
# of them, or what Moses' scripts would make of the raw text. FIRST, unless empty, is how many lines of each.
multi30k() # DATA OUT LANGUAGE FIRST SET...
{
    local data=$1 out=$2 to=$3 first=$4 file name language
    shift 4
    while read -r file; do
        language=${file##*.} name=${file##*/}
        name=$out/${name%%.*}.$language
        [ ! -s "$name" ] || continue
        if [[ $file == *.lc.norm.tok.* ]]; then lines "$file"
        else lines "$file" | "$tfm" tokenizer pretokenize --language "$language" --lowercase --normalize
        fi | sed -n "1,${first:-$}p" > "$name.part"
        mv "$name.part" "$name"
    done < <(multi30k_files "$data" "$to" "$@")
}
