#!/usr/bin/env bash
# Every command has a manual page with all its options, which groff formats without a warning.
# Usage: check_man.sh TFM FOLDER_OF_PAGES
set -eu
export LC_ALL=C
tfm=$1 pages=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "$*"; exit 1; }

clean() # PAGE
{
    groff -man -Tascii -rLL=92n -ww -z "$1" > "$tmp/warnings" 2>&1
    [ ! -s "$tmp/warnings" ] || return 1
    ! command -v mandoc > /dev/null || mandoc -Tlint -Wwarning "$1" > "$tmp/warnings" || return 1
}

options() { grep -oE -- '--[a-z0-9-]+' | sort -u; } # of standard input

# Planted: an unknown request, and an escape that is none.
printf '.TH A 1\n.SH NAME\na \\- b\n.XX\n' > "$tmp/request.1"
printf '.TH A 1\n.SH NAME\na \\- b \\(zz\n' > "$tmp/escape.1"
for wrong in request escape; do
    if clean "$tmp/$wrong.1"; then fail "self-test: $wrong.1 is accepted"; fi
done

check() # PAGE WORDS...
{
    local page=$pages/$1.1
    [ -s "$page" ] || fail "$1 has no page; doc/meson.build lists them"
    clean "$page" || { cat "$tmp/warnings"; fail "$page is not clean"; }
    groff -man -Tascii -P-cbou -rLL=92n "$page" > "$tmp/page"
    for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' 'SEE ALSO'; do
        grep -q "^$section$" "$tmp/page" || fail "$1: no section $section"
    done
    "$tfm" "${@:2}" --help > "$tmp/help"
    # Hyphenation breaks no option, as each stands at the beginning of a line.
    options < "$tmp/help" > "$tmp/wanted"
    options < "$tmp/page" | diff "$tmp/wanted" - || fail "$1: other options than --help (<)"
}

"$tfm" --help | sed -n '/^Commands/,/^$/s/^  \([a-z-]* \{0,1\}[a-z-]*\)  .*/\1/p' > "$tmp/commands"
[ -s "$tmp/commands" ] || fail "tfm --help lists no commands"
check tfm
while read -r -a command; do
    name="tfm ${command[*]}"
    check "${name// /-}" "${command[@]}"
done < "$tmp/commands"
check tfm-tokenizer tokenizer
check tfm-bench bench
n=$(find "$pages" -name '*.1' | wc -l)
[ "$n" -eq $(($(wc -l < "$tmp/commands") + 3)) ] || fail "$n pages, $(wc -l < "$tmp/commands") commands: doc/meson.build has too many"
echo "$n pages"
