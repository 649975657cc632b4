#!/usr/bin/env bash
# The pages of "tfm attention" and "tfm report" in a real browser: what they show, what they do, how they look.
# Usage: check_pictures.sh TFM SOURCE_ROOT FOLDER     FOLDER keeps the browser's driver between runs
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"
folder=$3 driver=playwright-core@1.61.0 # the last one for Node 18, Debian 12's
browser=$(command -v chromium) && command -v node > /dev/null && command -v npm > /dev/null ||
    { echo "chromium, node and npm are needed"; exit 77; }

mkdir -p "$folder"
if ! grep -q "\"version\": \"${driver#*@}\"" "$folder/node_modules/playwright-core/package.json" 2> err; then
    npm install --prefix "$folder" --no-save --no-audit --no-fund --loglevel=error "$driver" > out 2> err ||
        { sed 's/^/npm: /' err; exit 77; }
fi

write_corpus
{ head -n 5 en; echo '</script><script>alert(1)</script>'; } > valid.en
{ head -n 5 de; echo '<img src=x onerror=alert(1)>'; } > valid.de
works "a model" "$tfm" train --src en --tgt de --model m.tfm --steps 60 --quiet "${small[@]}" --set n_decoder_layers=2 \
    --valid-src valid.en --valid-tgt valid.de --valid-every 10 --valid-bleu --log run.csv --samples 6
# Of a training that went on with other samples: number 1 is another sentence.
echo '70,1,another,"its reference",elsewhere' >> run.samples.csv
draw=("$tfm" attention --model m.tfm --quiet)
hostile='</script><script>alert(1)</script> "&<img src=x onerror=alert(1)>'
works "a page" "${draw[@]}" --src-text "two five six one" --tgt-text "zwei fuenf sechs eins" --out short.html
works "its numbers" "${draw[@]}" --src-text "two five six one" --tgt-text "zwei fuenf sechs eins" --out short.json
works "a figure" "${draw[@]}" --src-text "two five $hostile" --tgt-text "zwei" --out figure.svg
works "a long page" "${draw[@]}" --src-text "$(printf 'two one three five four six %.0s' {1..5})" \
    --tgt-text "$(printf 'zwei eins vier %.0s' {1..6})" --kind encoder --out long.html
works "a page that begins with a word" "${draw[@]}" --src-text "two five six one" --tgt-text "zwei fuenf sechs eins" \
    --view matrix --words --token fuenf --out word.html
works "hostile text" "${draw[@]}" --src-text "$hostile" --tgt-text "שלום 你好 one" --out hostile.html
sed -e '10s/,.*/,1/' run.csv > other.csv
{ echo event,step,loss,nll; seq 9 | awk '{ print "step", $1, 10 - $1 * 0.98, 10 - $1 * 0.98 }' OFS=,; } > steep.csv
works "a report of a steep curve" "$tfm" report steep.csv -o steep.html
{
    echo event,step,loss,nll,gradient_norm,tokens_per_s
    seq 300 | awk '{ print "step", $1, 0.3, 0.3, "5e-324", 1e17 + 16 * $1 }' OFS=,
} > harsh.csv
works "a report of a damaged log" "$tfm" report harsh.csv -o harsh.html
works "a report" "$tfm" report run.csv -o run.html
mkdir again && cp run.csv again
works "a report of logs of one name" "$tfm" report run.csv again/run.csv -o alike.html
works "a comparison" "$tfm" report run.csv other.csv -o both.html
NODE_PATH="$folder/node_modules" node "$root/tests/pictures.js" "$browser" "$PWD" > seen 2>&1
code=$?
sed '$d' seen
read -r more bad < <(sed -n 's/^\([0-9]*\) checks, \([0-9]*\) failed$/\1 \2/p' seen) || { cat seen; more=1 bad=1; }
[ "$code" -le 1 ] || bad=$((bad + 1))
checks=$((checks + more)) failures=$((failures + bad))
finish
