#!/usr/bin/env bash
# Pictures of attention: JSON, SVG and the page as files; check_pictures.sh looks at them in a browser.
# Usage: cli_attention.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

# EXPRESSION holds of a picture's numbers; d is the object, a(kind) the part of a kind.
says() # FILE EXPRESSION
{
    python3 - "$@" <<'PYTHON'
import json, math, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
if sys.argv[1].endswith(".html"):
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1]
d = json.loads(text)
a = lambda kind: next(x for x in d["attention"] if x["kind"] == kind)
texts = lambda side: [t["text"] for t in d["tokens"][side]]
sizes = lambda w: (len(w), len(w[0]), len(w[0][0]), len(w[0][0][0]))
flat = lambda kind: [x for layer in kind["weights"] for head in layer for row in head for x in row]
sums = lambda kind: [sum(row) for layer in a(kind)["weights"] for head in layer for row in head]
sys.exit(0 if eval(f"({sys.argv[2]})") else f"not so: {sys.argv[2]}")
PYTHON
}

# A figure is well-formed, stays on its page, and has so many tokens and heads.
figure() # FILE TOKENS HEADS TEXT...
{
    python3 - "$@" <<'PYTHON'
import re, sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
tokens = [t for t in root.iter(svg + "text") if "rotate" in (t.get("transform") or "")]
heads = [g for g in root.iter(svg + "g") if g.get("stroke")]
width, height = float(root.get("width")), float(root.get("height"))
places = [(float(x), float(y)) for p in root.iter(svg + "path") for x, y in re.findall(r"([\d.-]+) ([\d.-]+)", p.get("d"))]
places += [(float(x), float(y)) for t in tokens for x, y in re.findall(r"translate\(([\d.-]+) ([\d.-]+)\)", t.get("transform"))]
missing = [text for text in sys.argv[4:] if text not in ["".join(t.itertext()) for t in tokens]]
assert not missing, missing
assert (len(tokens), len(heads)) == (int(sys.argv[2]), int(sys.argv[3])), (len(tokens), len(heads))
assert all(0 <= x <= width and 0 <= y <= height for x, y in places) and len(places) > 9
assert "href" not in tree.tostring(root, encoding="unicode")
PYTHON
}

write_corpus
printf '%s\n' 'שלום עולם' 'שלום עולם' '你好 世界' '你好 世界' >> en
printf '%s\n' 'hello world' 'hello world' 'hello world' 'hello world' >> de
works "a model" "$tfm" train --src en --tgt de --model m.tfm --steps 3 --quiet "${small[@]}" --set n_decoder_layers=2
draw=("$tfm" attention --model m.tfm --quiet)

works "all numbers" "${draw[@]}" --src-text "two five" --tgt-text "zwei fuenf" --out a.json
check "kinds and layers" says a.json "[(x['kind'], x['layers'], x['heads']) for x in d['attention']]
    == [('encoder', [1], [1, 2]), ('decoder', [1, 2], [1, 2]), ('cross', [1, 2], [1, 2])]"
check "sizes" says a.json "all(sizes(a(k)['weights']) == (n, 2, len(texts(a(k)['queries'])), len(texts(a(k)['keys'])))
    for k, n in (('encoder', 1), ('decoder', 2), ('cross', 2)))"
check "each row sums to one" says a.json "all(math.isclose(s, 1, abs_tol=1e-5) for k in ('encoder', 'decoder', 'cross') for s in sums(k))"
check "the decoder sees nothing that comes later" says a.json "all(w == 0 for layer in a('decoder')['weights'] for head in layer
    for i, row in enumerate(head) for w in row[i + 1:])"
check "tokens" says a.json "''.join(texts('source')).replace('␣', '') == 'twofive</s>' and ''.join(texts('target')).replace('␣', '') == 'zweifuenf</s>'
    and texts('inputs') == ['<s>'] + texts('target')[:-1]"
check "words" says a.json "[sum(t['word'] == w for t in d['tokens']['source']) >= 1 for w in range(3)] == [True] * 3
    and d['tokens']['source'][-1]['word'] == 2"
check "the given target" says a.json "d['target'] == 'zwei fuenf' and not d['translated'] and d['model'] == 'm.tfm'"

works "one kind" "${draw[@]}" --src-text "two five" --tgt-text "zwei fuenf" --kind decoder --layer 2 --heads 2 --out b.json
check "one kind: the same numbers" equal "$(python3 -c 'import json; a, b = (json.load(open(f))["attention"] for f in ("a.json", "b.json"))
print(len(b), b[0]["layers"], b[0]["heads"], b[0]["weights"] == [[a[1]["weights"][1][1]]])')" "1 [2] [2] True"
echo "two five" | "$tfm" translate --model m.tfm --quiet > translation
works "its own translation" "${draw[@]}" --src-text "two five" -o c.json
check "its own translation" says c.json "d['translated'] and d['target'] == open('translation').read().rstrip('\n')"

works "a figure" "${draw[@]}" --src-text "two five" --tgt-text "zwei" --kind encoder --out a.svg
check "a figure" figure a.svg "$((2 * $(python3 -c 'import json; print(len(json.load(open("a.json"))["tokens"]["source"]))')))" 2 "</s>"
check "a figure: which" grep -q "<title>Encoder self-attention, layer 1 of 1" a.svg
works "a figure of the last layer" "${draw[@]}" --src-text "two" --tgt-text "zwei" --heads 1-2 --out b.svg
check "a figure of the last layer" grep -q "<title>Encoder-decoder attention, layer 2 of 2" b.svg
# Of a figure: its tokens, its lines, its cells; q and k are the tokens of a.json's encoder, w its weights by head.
shows() # FILE EXPRESSION
{
    python3 - "$@" <<'PYTHON'
import json, re, sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
texts = ["".join(t.itertext()) for t in root.iter(svg + "text") if t.get("text-anchor")]
bold = [t.text for t in root.iter(svg + "text") if t.get("font-weight") == "700"]
lines = [tuple(map(float, re.findall(r"[\d.]+", p.get("d")))) for p in root.iter(svg + "path")]
opacity = [float(p.get("stroke-opacity")) for p in root.iter(svg + "path")]
cells = [float(r.get("fill-opacity")) for r in root.iter(svg + "rect") if r.get("fill-opacity")]
d = json.load(open("a.json"))
w, n = d["attention"][0]["weights"][0], len(d["tokens"]["source"])
joins = ["·" * (i > 0 and t["word"] == d["tokens"]["source"][i - 1]["word"]) + t["text"] for i, t in enumerate(d["tokens"]["source"])]
sys.exit(0 if eval(f"({sys.argv[2]})") else f"not so: {sys.argv[2]}")
PYTHON
}

encoder=("${draw[@]}" --src-text "two five" --tgt-text "zwei" --kind encoder)
check "pieces of a word are joined by a mark" shows a.svg "texts == 2 * joins and any('·' in t for t in joins)"
works "one token alone" "${encoder[@]}" --token 2 --out t.svg
check "one token alone" shows t.svg "bold == [d['tokens']['source'][1]['text']] or bold == [None]"
check "one token alone: its lines" shows t.svg "len(lines) == sum(x >= max(h[1][j] for h in w for j in range(n)) / 50 for h in w for x in h[1])
    and max(opacity) == 1 and min(opacity) >= 0.15 and max(x[0] for x in lines) - min(x[0] for x in lines) <= 18"
works "a word alone" "${encoder[@]}" --token five --words --out w.svg
check "a word alone" shows w.svg "texts == 2 * ['two', 'five', '</s>'] and bold == ['five'] and len(lines) <= 6 and len(cells) == len(lines)"
works "a key alone" "${draw[@]}" --src-text "two five" --tgt-text "zwei" --token two --words --out k.svg
check "a key alone" shows k.svg "bold == ['two'] and max(x[-2] for x in lines) - min(x[-2] for x in lines) <= 18"
works "a matrix" "${encoder[@]}" --view matrix --out x.svg
check "a matrix" shows x.svg "texts == 2 * joins and lines == [] and len(cells) == sum((w[0][i][j] + w[1][i][j]) / 2 >= 0.002
    for i in range(n) for j in range(n)) and abs(cells[0] - ((w[0][0][0] + w[1][0][0]) / 2) ** 0.7) < 1e-3"
works "a matrix of words, one of them framed" "${encoder[@]}" --view matrix --words --token two --heads 2 --out y.svg
check "a matrix of words" shows y.svg "texts == 2 * ['two', 'five', '</s>'] and bold == ['two'] and len(cells) <= 9"
works "a page that begins with a token" "${encoder[@]}" --view matrix --words --token five --out w.html
check "a page that begins with a token" says w.html "(d['show']['view'], d['show']['words'], d['show']['token']) == ('matrix', True, [0, 1])"
works "a page" "${draw[@]}" --src-text "two five" --tgt-text "zwei fuenf" --kind cross --layer 1 --heads 1 --out a.html
check "a page has all" says a.html "len(d['attention']) == 3 and d['show']['kind'] == 'cross' and d['show']['layer'] == 1
    and d['show']['heads'] == [1] and sizes(a('decoder')['weights'])[:2] == (2, 2)"
check "a page has short numbers" says a.html "all(isinstance(x, int) and abs(x / d['one'] - y) <= 0.5001 / d['one'] for kind in
    ('encoder', 'decoder', 'cross') for x, y in zip(flat(a(kind)), flat(next(k for k in json.load(open('a.json'))['attention'] if k['kind'] == kind))))"
check "a page names no other file" not grep -Eq '(src|href)="[^d]|https?://[^w]|@import|url\(' a.html

# Text from anywhere: marks of HTML, XML and JSON, control characters, writing from right to left, no spaces.
hostile='</script><script>alert(1)</script>"&'\''\ <img src=x onerror=alert(1)> ]]> <!-- '$'\t\x01\x7f\u2028\u202e'
for end in json svg html; do
    works "hostile text: $end" "${draw[@]}" --src-text "$hostile" --tgt-text "$hostile" --out "h.$end"
done
check "hostile text: given back" equal "$(python3 -c 'import json; print(json.load(open("h.json"))["source"])')" "$hostile"
check "hostile text: the page has its own scripts alone" equal "$(grep -o '<script' h.html | wc -l)" 5
check "hostile text: no mark of HTML in the data" not grep -q 'onerror=alert(1)>' h.html
check "hostile text: a figure" figure h.svg \
    "$(python3 -c 'import json; t = json.load(open("h.json"))["tokens"]; print(len(t["source"]) + len(t["target"]))')" 2
works "right to left, and no spaces" "${draw[@]}" --src-text "שלום עולם 你好 世界" --tgt-text "hello world" --out r.json
check "right to left, and no spaces: whole characters" says r.json "''.join(texts('source')).replace('␣', '') == 'שלוםעולם你好世界</s>'"
works "a character in parts" "${draw[@]}" --src-text "ꙮ" --out p.json
check "a character in parts" says p.json "''.join(texts('source')).replace('␣', '').startswith('<0xEA><0x99><0xAE>')"

check=("$tfm" attention --src-text "two" --model)
refused "another end" 2 "'a.png'.*\.html, \.svg or \.json" "${draw[@]}" --src-text two --out a.png
refused "no such layer" 2 "--layer is 3, not in 1\.\.2" "${draw[@]}" --src-text two --layer 3 --out a.svg
refused "a layer of which kind" 2 "needs --kind" "${draw[@]}" --src-text two --layer 1 --out a.json
for list in '1- 2' 0 3 2-1 1- ,1 1, x 1,,2; do
    refused "no list of heads: $list" 2 "--heads is '$list'.*1\.\.2" "${draw[@]}" --src-text two --heads "$list" --out a.svg
done
for token in 0 99 twofive ""; do
    refused "no such token: '$token'" 2 "--token is '$token', neither a number in 1\.\.[0-9]* nor one of the tokens" "${draw[@]}" \
        --src-text two --token "$token" --out a.svg
done
refused "a word that is there twice" 2 "there 2 times, first as number 1" "${encoder[@]}" --src-text "two two" --words --token two --out a.svg
refused "JSON has all tokens" 2 "--token, --view and --words are of pages" "${draw[@]}" --src-text two --words --out a.json
pieces=$(python3 -c 'import json; print(sum(t["word"] == 0 for t in json.load(open("a.json"))["tokens"]["source"]))')
long() # TOKENS
{
    printf 'two %.0s' $(seq $(($1 / pieces)))
}
refused "a page that no browser opens" 1 "make a page of 10,.* weights, at most 10,000,000 fit" "${draw[@]}" --src-text "$(long 1015)" \
    --tgt-text "$(long 1015)" --out l.html
works "a large page" "${draw[@]}" --src-text "$(long 460)" --tgt-text "$(long 460)" --out l.html
check "a large page: a warning, and three bytes a number" equal "$(grep -c 'warning: the page has 2,.* weights' err) $(($(stat -c %s l.html) / 2500000))" "1 2"
refused "blank text" 2 "--src-text is blank" "${draw[@]}" --src-text " " --out a.svg
refused "invalid text" 2 "--tgt-text is not UTF-8: byte 2" "${draw[@]}" --src-text two --tgt-text $'x\xff' --out a.svg
refused "too long" 1 "tokens, a picture at most 1024" "${draw[@]}" --src-text "$(seq -s ' ' 400)" --out a.svg
refused "no model" 1 "absent" "${check[@]}" absent --out a.svg
refused "nowhere" 1 "no/a.svg" "${check[@]}" m.tfm --out no/a.svg
python3 - <<'PYTHON'
import json, struct
data = bytearray(open("m.tfm", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
end = 8 + size + json.loads(data[8:8 + size])["decoder.layers.1.cross.query.weight"]["data_offsets"][1]
data[end - 4:end] = b"\xff" * 4
open("nan.tfm", "wb").write(data)
PYTHON
for end in json svg html; do
    refused "a weight that is not a number: $end" 1 "Encoder-decoder attention: a weight of layer 2, head 2 is not a number" \
        "${check[@]}" nan.tfm --skip-checksum --tgt-text zwei --out "nan.$end"
done
check "a weight that is not a number: nothing was written" equal "$(echo nan.*)" nan.tfm
cp a.svg kept.svg
refused "an old file stays" 1 "absent" "${check[@]}" absent --out kept.svg
check "an old file stays" cmp -s a.svg kept.svg
finish
