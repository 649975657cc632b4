#!/usr/bin/env bash
# Every call that writes a file fails in turn, in every way: one line says so, the old file is whole, nothing else is left.
# Usage: cli_disk.sh TFM SOURCE_ROOT FAILING_IO_LIBRARY
library=$(realpath "$3") # before the folder changes
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
# Preloading comes before the sanitizer, which minds; and a process that is killed has no leaks.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
EIO=5 EROFS=30 ENOSPC=28 EDQUOT=122
write_corpus
train=("$tfm" train --src en --tgt de "${small[@]}" --batch-tokens 60 --quiet)

failing() # CALL NUMBER HOW COMMAND...
{
    env LD_PRELOAD="$library" FAIL_FOLDER=failing-disk FAIL_CALL="$1" FAIL_NUMBER="$2" FAIL_WITH="$3" "${@:4}" \
        > out 2> err < "${input-/dev/null}"
}

# The file is the old one or, when only the folder could not be synced, the new one.
whole() # FILE OLD NEW CALL
{
    cmp -s "$1" "$2" || { [ "$4" = fsync ] && cmp -s "$1" "$3"; }
}

said() # FILE
{
    [ "$(wc -l < err)" -eq 1 ] && grep -q "^tfm: .*$1" err
}

# Each CALL of a command that replaces failing-disk/FILE, OLD before, fails until there are no more of them. fails: how many did.
fail_each() # NAME CALL HOW FILE OLD NEW COMMAND...
{
    local n code
    fails=0
    for n in $(seq 0 99); do
        cp "$5" "failing-disk/$4"
        failing "$2" "$n" "$3" "${@:7}"
        code=$?
        [ $code -eq 0 ] && break
        fails=$((fails + 1))
        check "$1: $2 $n $3: exit code" equal $code 1
        check "$1: $2 $n $3: says so" said "$4"
        check "$1: $2 $n $3: the file is whole" whole "failing-disk/$4" "$5" "$6" "$2"
        check "$1: $2 $n $3: no other file" equal "$(ls failing-disk)" "$4"
    done
    check "$1: $2 $3: failed" test "$fails" -gt 0
    check "$1: the new file" cmp "failing-disk/$4" "$6"
}

mkdir failing-disk
works "a model" "${train[@]}" --model one --steps 1
works "another model" "${train[@]}" --model two --steps 2 --checkpoint-every 1 --keep 2
works "a tokenizer" "$tfm" tokenizer learn --input en --input de --vocab-size 300 --output tok
works "another tokenizer" "$tfm" tokenizer learn --input en --input de --vocab-size 290 --output tok2
average=("$tfm" average -o failing-disk/model two)
learn=("$tfm" tokenizer learn --input en --input de --vocab-size 290 --output failing-disk/tok)
for how in $EIO $EROFS $ENOSPC; do fail_each model open "$how" model one two "${average[@]}"; done
for how in $EIO $ENOSPC full; do fail_each model write "$how" model one two "${average[@]}"; done
for how in $EIO $ENOSPC; do fail_each model fsync "$how" model one two "${average[@]}"; done
for how in $EIO $EDQUOT; do fail_each model close "$how" model one two "${average[@]}"; done
for how in $EIO $EROFS; do fail_each model rename "$how" model one two "${average[@]}"; done
rm failing-disk/*
for call in open write fsync close rename; do fail_each tokenizer $call $EIO tok tok tok2 "${learn[@]}"; done
for n in 0 1 2 3; do
    check "short write $n" failing write $n short "${average[@]}"
    check "short write $n: the same bytes" cmp failing-disk/model two
done

# A training whose second checkpoint cannot be written ends with an error, and goes on from the first to the same bits.
for trouble in "open 1 $EROFS" "write 9 $ENOSPC" "write 9 full" "fsync 2 $EIO" "close 1 $EIO" "rename 1 $EIO"; do
    rm -f failing-disk/*
    # shellcheck disable=SC2086 # three arguments
    failing $trouble "${train[@]}" --model failing-disk/m --steps 2 --checkpoint-every 1 --keep 2
    check "checkpoint: $trouble: exit code" equal $? 1
    check "checkpoint: $trouble: says so" said "failing-disk/m-[12].ckpt"
    check "checkpoint: $trouble: no temporary file" equal "$(ls failing-disk/*.tmp-* 2> /dev/null)" ""
    if [ -e failing-disk/m-1.ckpt ]; then again=--resume; else again=--restart; fi
    works "checkpoint: $trouble: goes on" "${train[@]}" --model failing-disk/m --steps 2 --checkpoint-every 1 --keep 2 $again
    check "checkpoint: $trouble: the same bits" cmp failing-disk/m two
done

# Killed in the middle of any call, also of the model's own at the end: the next start finds its way and cleans up.
for call in open write fsync close rename; do
    n=0
    while rm -f failing-disk/* && failing $call $n kill "${train[@]}" --model failing-disk/m --steps 2 --checkpoint-every 1 --keep 2; [ $? -eq 137 ]; do
        if ls failing-disk/m-*.ckpt > list 2> /dev/null; then again=--resume; else again=--restart; fi
        for file in $(< list); do check "killed in $call $n: $file" "$tfm" inspect "$file" > out; done
        works "killed in $call $n: goes on" "${train[@]}" --model failing-disk/m --steps 2 --checkpoint-every 1 --keep 2 $again
        check "killed in $call $n: the same bits" cmp failing-disk/m two
        check "killed in $call $n: nothing is left" equal "$(ls failing-disk | tr '\n' ' ')" "m m-1.ckpt m-2.ckpt "
        n=$((n + 1))
    done
    check "killed in $call: happened" test $n -gt 2
done

# A folder that may not be written, where this user is bound by that; a true full disk and a read-only one, where they may be mounted.
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && cp one locked/model && chmod 500 locked
    refused "read-only folder" 1 "locked/model: Permission denied" "$tfm" average -o locked/model two
    check "read-only folder: the old model" cmp locked/model one
fi
mkdir disk readonly
if unshare -rm true 2> /dev/null; then
    cat > full.sh <<- 'END'
		mount -t tmpfs -o size=64k none disk && mount -t tmpfs none readonly && cp one readonly/model || exit 77
		mount -o remount,ro readonly || exit 77
		"$0" average -o readonly/model two 2> err.readonly; echo "$? $(cmp readonly/model one && ls readonly)" > left.readonly
		head -c 40000 /dev/zero > disk/old
		"$0" average -o disk/model two; code=$?
		echo "$(ls disk) $(stat -c %s disk/old)" > left
		exit $code
	END
    bash -c 'unshare -rm bash -c "$(< full.sh)" "$0"' "$tfm" > out 2> err
    code=$?
    if [ $code -ne 77 ] && [ $code -ne 126 ]; then
        check "full disk: exit code" equal $code 1
        check "full disk: says so" grep -q "disk/model: No space left" err
        check "full disk: what was there" equal "$(< left)" "old 40000"
        check "read-only disk: exit code, the old model, nothing else" equal "$(< left.readonly)" "1 model"
        check "read-only disk: says so" grep -q "readonly/model: .*Read-only file system" err.readonly
    fi
fi
finish
