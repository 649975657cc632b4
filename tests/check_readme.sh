#!/usr/bin/env bash
# The C program of README.md compiles as it stands there, and translates with a model that hello.c has just trained.
# Usage: check_readme.sh SOURCE_ROOT SHARED_OBJECT COMPILER HELLO
set -eu
source=$1 shared=$2 cc=$3 hello=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '/^```/d' > "$tmp/readme.c"
[ "$(wc -l < "$tmp/readme.c")" -ge 10 ] || { echo "README.md has no C program"; exit 1; }
"$cc" -Wall -Wextra -Werror -I"$source/include" -o "$tmp/readme" "$tmp/readme.c" "$shared" "-Wl,-rpath,$(dirname "$shared")"
"$hello" "$tmp/hello.tfm"
answer=$("$tmp/readme" "$tmp/hello.tfm" "good morning")
[ "$answer" = "guten Morgen" ] || { echo "the README's program answers '$answer'"; exit 1; }
if "$tmp/readme" "$tmp/absent.tfm" "good morning" 2> "$tmp/error"; then echo "an absent model is no failure"; exit 1; fi
grep -F absent.tfm "$tmp/error"

# Its links lead somewhere, and the two commands are there.
for link in $(grep -Eo '\]\([^)#]+\)' "$source/README.md" | tr -d '])('); do
    case $link in
    http*) ;;
    *) [ -e "$source/$link" ] || { echo "README.md links to $link, which is not there"; exit 1; } ;;
    esac
done
for command in examples/quickstart.sh tests/run.sh; do
    if ! grep -q "^    $command" "$source/README.md" || [ ! -x "$source/$command" ]; then
        echo "$command is not as in README.md"
        exit 1
    fi
done
