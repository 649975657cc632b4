#!/usr/bin/env bash
# The examples do what they say on a small model that one of them trains.
# Usage: check_examples.sh EXAMPLES_FOLDER SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
bin=$tfm # the folder stands where the tests of the command line have their program
write_corpus

fails() # NAME CODE PATTERN COMMAND...
{
    check "$1" run_code "$2" "${@:4}"
    check "$1: message" grep -Eq -- "$3" err
}

# train
works "train" "$bin/train" en de model 150
check "train: the data" grep -qx "42 pairs, 0 blank, 0 too long" out
check "train: the file" grep -Eq "^model: [0-9]+ tensors" out
head -n 3 de > short
fails "train: unequal files" 1 "42 lines in en, 3 in short" "$bin/train" en short none
fails "train: absent file" 1 "absent" "$bin/train" absent de none
fails "train: no steps" 2 "^usage" "$bin/train" en de none 0
check "train: a failure leaves no file" test ! -e none

# translate
input=en works "translate" "$bin/translate" model
check "translate: it has learned its phrases" cmp out de
input=en works "translate: 3 best" "$bin/translate" model 5 3
check "translate: 3 for each line" equal "$(cut -f 1 out | sort | uniq -c | sort -u -k 1,1 | awk '{ print $1 }')" 3
check "translate: best first" sort -c -s -t "$(printf '\t')" -k 1,1n -k 2,2gr out
cp out best
check "translate: the first is the answer" cmp de <(awk -F '\t' '$1 != last { print $3; last = $1 }' out)
printf 'one\n\n\377\n' > odd
input=odd works "translate: odd lines" "$bin/translate" model 1
check "translate: as many lines" equal "$(wc -l < out)" 3
fails "translate: absent model" 1 "absent" "$bin/translate" absent
fails "translate: more answers than beam" 2 "^usage" "$bin/translate" model 2 3

# threads
for n in 1 3; do
    input=en works "threads: $n" "$bin/threads" model $n
    check "threads: $n: the answers of one" cmp out de
    check "threads: $n: each line once" equal "$(awk '/^thread/ { sum += $3 } END { print NR, sum }' err)" "$n 42"
done
fails "threads: absent model" 1 "absent" "$bin/threads" absent

# attention
works "attention" "$bin/attention"
check "attention: all of them" grep -qx "10 examples, 0 numbers wrong" out
check "attention: middle token of three" grep -Eq "weights +0\.40111[0-9]+ +0\.19777[0-9]+ +0\.40111" out
check "attention: and its output" grep -Eq "output +1\.60444[0-9]+ +1\.19777" out

# progress: to its end, and stopped by Ctrl-C, from where it goes on.
works "progress" "$bin/progress" model en de done 3
check "progress: the checkpoint" equal "$(cat out)" done-3.ckpt
check "progress: the bar" grep -q "step 3 of 3, loss" err
rm err # else the loop below may see the old one
"$bin/progress" model en de stopped 1000000 > out 2> err &
pid=$!
until [ -e err ] && grep -q "step 2 of" err; do
    kill -0 $pid || break
    sleep 0.1
done
kill -INT $pid
wait $pid
check "progress: Ctrl-C" equal $? 130
stopped=$(cat out)
check "progress: a checkpoint remains" test -s "$stopped"
step=${stopped//[!0-9]/}
works "progress: it goes on" "$bin/progress" "$stopped" en de stopped $((step + 2))
check "progress: to the end" test -s "stopped-$((step + 2)).ckpt"
check "progress: from there" not grep -q "step 1 of" err
fails "progress: absent model" 1 "absent" "$bin/progress" absent en de x

# allocator
input=en works "allocator" "$bin/allocator"
check "allocator: the parts" equal "$(awk '{ print $1 }' out | tr '\n' ' ')" "tokenizer model decoder at "
check "allocator: the log" grep -Eq "^tokenizer: warning: .*1000" err
check "allocator: nothing is left" grep -qx "at the end 0 bytes" out
input=en fails "allocator: a limit" 1 "^allocator: weights: [0-9]+ floats" "$bin/allocator" 1000
check "allocator: nothing is left then either" grep -qx "at the end 0 bytes" out

# The same in C++: the same answers, and the same file.
if [ -x "$bin/train_cpp" ]; then
    works "train_cpp" "$bin/train_cpp" en de model_cpp 150
    check "train_cpp: the model of train" cmp model model_cpp
    input=en works "translate_cpp" "$bin/translate_cpp" model 5 3
    check "translate_cpp: the answers of translate" cmp out best
    input=en works "threads_cpp" "$bin/threads_cpp" model 3
    check "threads_cpp: the answers of one" cmp out de
    for name in translate threads; do
        fails "${name}_cpp: absent model" 1 "^${name}_cpp: .*absent" "$bin/${name}_cpp" absent
    done
    fails "translate_cpp: more answers than beam" 2 "3 is not in 1..2" "$bin/translate_cpp" model 2 3
    fails "train_cpp: unequal files" 1 "42 sources, but 3 targets" "$bin/train_cpp" en short none
fi

# Each has its line in the list.
for file in "$root"/examples/*.c "$root"/examples/*.cpp; do
    check "README.md has $file" grep -Fq "](${file##*/})" "$root/examples/README.md"
done
for link in $(grep -Eo '\]\([^)#]+\)' "$root/examples/README.md" | tr -d '])('); do
    check "README.md leads to $link" test -e "$root/examples/$link"
done
finish
