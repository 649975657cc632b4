# What the tests of the command line share; sourced with their arguments: TFM SOURCE_ROOT.
set -u
tfm=$(realpath "$1") root=$2
export LC_ALL=C
data=${TFM_TEST_DATA-$root/../shared/data}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
checks=0 failures=0

# Reports one check; the arguments are its name and a command that must succeed.
check() # NAME COMMAND...
{
    checks=$((checks + 1))
    "${@:2}" && return
    failures=$((failures + 1))
    echo "FAILED $1: ${*:2}"
    [ ! -s err ] || sed 's/^/    stderr: /' err
}

# The standard streams of a command that must succeed land in out and err.
works() # NAME COMMAND...
{
    check "$1" run_code 0 "${@:2}"
}

run_code() # CODE COMMAND...
{
    "${@:2}" > out 2> err < "${input-/dev/null}"
    local code=$?
    [ "$code" -eq "$1" ] || { echo "exit code $code, not $1"; return 1; }
}

# A refusal: that exit code, nothing on standard output, and one line on standard error that matches the pattern.
refused() # NAME CODE PATTERN COMMAND...
{
    check "$1" run_refused "${@:2}"
}

run_refused() # CODE PATTERN COMMAND...
{
    run_code "$1" "${@:3}" || return 1
    [ ! -s out ] || { echo "standard output is not empty"; return 1; }
    [ "$(wc -l < err)" -eq 1 ] || { echo "$(wc -l < err) lines on standard error, not 1"; return 1; }
    grep -q "^tfm: " err && grep -Eq -- "$2" err || { echo "does not match: $2"; return 1; }
}

equal() # TEXT TEXT
{
    [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }
}

not() # COMMAND...
{
    ! "$@"
}

# A corpus of 42 pairs: one or two numbers in English and German.
write_corpus()
{
    local en=(one two three four five six) de=(eins zwei drei vier fuenf sechs) i j
    for i in 0 1 2 3 4 5; do
        echo "${en[i]}" >> en
        echo "${de[i]}" >> de
        for j in 0 1 2 3 4 5; do
            echo "${en[i]} ${en[j]}" >> en
            echo "${de[i]} ${de[j]}" >> de
        done
    done
}

# A small model, so that a step takes a moment.
small=(--set n_encoder_layers=1 --set n_decoder_layers=1 --set d_model=32 --set d_ff=64 --set n_heads=2 --vocab-size 300
    --warmup 20 --lr-scale 0.5 --threads 1)

# The line that the counting of tests reads; the exit code.
finish()
{
    local good=$((checks - failures))
    echo "$((checks ? 100 * good / checks : 0))%: Checks: $checks, Failures: $failures, Errors: 0"
    [ "$failures" -eq 0 ]
}
