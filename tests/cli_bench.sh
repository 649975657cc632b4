#!/usr/bin/env bash
# The benchmarks: their work, their JSON, their charts; never how fast something was. Usage: cli_bench.sh TFM SOURCE_ROOT
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

# Every line of out is an object, and EXPRESSION holds of it; x is the object.
says() # EXPRESSION
{
    python3 - "$1" out <<'PYTHON'
import json, math, sys
with open(sys.argv[2]) as lines:
    objects = [json.loads(line) for line in lines]
wrong = [x for x in objects if not eval(f"({sys.argv[1]})", {"x": x, "math": math})]
sys.exit(f"not so: {sys.argv[1]} of {wrong or 'nothing'}" if wrong or not objects else 0)
PYTHON
}

# A chart is well-formed, needs nothing from elsewhere, and stays on its page.
chart() # FILE TEXT...
{
    python3 - "$@" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
texts = " ".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text"))
missing = [text for text in sys.argv[2:] if text not in texts]
everything = tree.tostring(root, encoding="unicode")
places = [float(e.get(key)) for e in root.iter() for key in ("x", "y", "cx", "cy") if e.get(key)]
sys.exit(f"missing: {missing}" if missing else "href" in everything or "nan" in everything or "inf" in everything
         or not places or min(places) < 0 or max(places) > 1000)
PYTHON
}

work=(--set n_encoder_layers=1 --set n_decoder_layers=1 --set d_model=32 --set d_ff=64 --set n_heads=2 --vocab 100
    --batch 6 --src-len 5 --tgt-len 7 --steps 3)
works "train" "$tfm" bench train "${work[@]}"
check "train: what it did" says "x['bench'] == 'train' and x['preset'] == 'tiny' and x['threads'] == 1 and x['dtype'] == 'f32'
    and [x[k] for k in ('batch', 'src_len', 'tgt_len', 'vocab', 'steps', 'recompute')] == [6, 5, 7, 100, 3, 0]"
check "train: one object" equal "$(wc -l < out)" 1
check "train: rates agree" says "math.isclose(x['tokens_per_s'], 1e3 * 42 / x['ms'], rel_tol=0.2)
    and math.isclose(x['sentences_per_s'], x['tokens_per_s'] / 7, rel_tol=0.01) and 0 < x['ms'] <= x['p95_ms']"
check "train: utilisation agrees" says "x['gemm'] in ('blis', 'own') and x['gemm_gflops'] > 0 and x['gflop'] > 0
    and abs(x['utilisation'] - x['gflop'] * x['tokens_per_s'] / 42 / x['gemm_gflops']) <= 0.02 * x['utilisation'] + 1e-4"
check "train: the process" says "1 < x['rss_mb'] < 4000 and x['first_step_s'] >= 0 and x['minor_faults_per_step'] >= 0"
# Work by hand: 6 sentences; a source token takes 4 d^2 + 2 d d_ff, 2 d^2 for cross-attention, 2 n d; a target token 6 d^2 + 2 d d_ff,
# V d, 2 m d + 2 n d; with d 32, d_ff 64, n 5, m 7.
macs=$((6 * (5 * (4 * 1024 + 4096 + 2 * 1024 + 10 * 32) + 7 * (6 * 1024 + 4096 + 3200 + 14 * 32 + 10 * 32))))
check "train: the paper's operations" says "math.isclose(x['gflop'], 6e-9 * $macs, abs_tol=6e-4)"
works "train: profile" "$tfm" bench train "${work[@]}" --recompute --threads 2 --dropout 0 --profile --quiet
check "train: profile: as asked" says "x['threads'] == 2 and x['dropout'] == 0 and x['recompute'] == 1"
check "train: profile: two tables" equal "$(grep -c "calls *seconds *share" err)" 2
check "train: profile: three steps" grep -Eq "^  Adam +3 " err
check "train: profile: recomputation" grep -Eq "^  recomputation +6 " err
check "train: profile: all" equal "$(grep -c "^  all " err)" 2
works "train: in pieces" "$tfm" bench train "${work[@]}" --batch 4000 --steps 1 --memory 60M
check "train: in pieces" says "0 < x['piece_tokens'] < 28000"
works "train: a vocabulary of the model" "$tfm" bench train "${work[@]}" --steps 1 --set vocab_size=100
works "train: another of the source" "$tfm" bench train "${work[@]}" --steps 1 --set sharing=none --set source_vocab_size=50
refused "train: a preset" 2 "preset" "$tfm" bench train --preset huge
refused "train: too much" 2 "is more than 16777216 tokens" "$tfm" bench train --batch 1000000 --src-len 1000
refused "train: no step" 2 "not a whole number in 1\.\." "$tfm" bench train --steps 0
refused "train: a type" 2 "not one of f32|bf16" "$tfm" bench train --dtype f64

decode=(bench decode --set n_encoder_layers=1 --set n_decoder_layers=2 --set d_model=32 --set d_ff=64 --set n_heads=2 --vocab 100)
works "decode" "$tfm" "${decode[@]}" --sentences 5 --batch 2 --src-len 5 --tgt-len 7 --beam 3
check "decode: what it did" says "x['bench'] == 'decode' and x['preset'] == 'tiny' and x['threads'] == 1 and x['dtype'] == 'f32'
    and [x[k] for k in ('batch', 'beam', 'src_len', 'tgt_len', 'vocab', 'sentences')] == [2, 3, 5, 7, 100, 6]"
check "decode: rates agree" says "math.isclose(x['sentences_per_s'], 1e3 / x['ms'], rel_tol=0.02)
    and math.isclose(x['tokens_per_s'], 7 * x['sentences_per_s'], rel_tol=0.01) and 0 < x['ms'] <= x['p95_ms']"
# As above, of one sentence: cross-attention's keys and values in each of two decoder layers, the decoder for each of three hypotheses.
macs=$((5 * (4 * 1024 + 4096 + 2 * 2 * 1024 + 10 * 32) + 3 * 7 * (2 * (6 * 1024 + 4096 + 14 * 32 + 10 * 32) + 3200)))
check "decode: the paper's operations" says "math.isclose(x['mflop_per_token'], 2e-6 * $macs / 7, rel_tol=1e-3)"
check "decode: utilisation agrees" says "x['gemm'] in ('blis', 'own') and x['gemm_gflops'] > 0
    and abs(x['utilisation'] - 1e-3 * x['mflop_per_token'] * x['tokens_per_s'] / x['gemm_gflops']) <= 0.02 * x['utilisation'] + 1e-4"
check "decode: the process" says "1 < x['rss_mb'] < 4000 and x['load_ms'] > 0"
check "decode: phases" says "set(x['seconds']) >= {'linear', 'attention', 'choice', 'encoder', 'decoder steps'}"
TMPDIR=. works "decode: profile" "$tfm" "${decode[@]}" --sentences 2 --batch 1 --tgt-len 3 --beam 1 --threads 2 --dtype int8 --profile --quiet
check "decode: profile: as asked" says "x['threads'] == 2 and x['batch'] == 1 and x['beam'] == 1 and x['dtype'] == 'int8'"
check "decode: profile: three steps of two sentences" grep -Eq "^  decoder steps +6 " err
check "decode: nothing is left" equal "$(find . -name 'tfm-bench-*')" ""
refused "decode: too much" 2 "are more than 16777216 tokens" "$tfm" bench decode --batch 60000 --src-len 4000
refused "decode: no such model" 1 "absent" "$tfm" bench decode --model absent

works "gemm" "$tfm" bench gemm --size 31,17,65 --size 1,8,8 --rounds 1 --threads 2
check "gemm: two shapes" equal "$(wc -l < out)" 2
check "gemm: what it did" says "x['bench'] == 'gemm' and (x['m'], x['n'], x['k']) in ((31, 17, 65), (1, 8, 8)) and x['threads'] == 2"
check "gemm: rates" says "x['gflops'] >= 0 and x['gemm_gflops'] >= 0 and x['ratio'] > 0 and x['gemm'] in ('blis', 'own')"
works "gemm: bf16" "$tfm" bench gemm --size 31,17,65 --rounds 1 --dtype bf16
check "gemm: bf16" says "x['dtype'] == 'bf16'"
for size in 1,2 1,2,3,4 0,1,1 1,1,65537 a,b,c -1,1,1 ""; do
    refused "gemm: size '$size'" 2 "not M,N,K" "$tfm" bench gemm --size "$size"
done
refused "gemm: checked before the first is measured" 2 "not M,N,K" "$tfm" bench gemm --size 1,1,1 --size 1

works "attention" "$tfm" bench attention --shortest 16 --longest 70 --naive-longest 32 --width 24 --window 3 --svg a.svg
check "attention: lengths" equal "$(grep -o '"n":[0-9]*' out | paste -sd ' ')" '"n":16 "n":32 "n":64'
check "attention: what it did" says "x['bench'] == 'attention' and x['width'] == 24 and x['window'] == 3 and x['ms'] > 0
    and x['window_ms'] > 0"
check "attention: the naive form holds its matrix" says "(x['n'] > 32) != ('naive_mb' in x)
    and abs(x.get('naive_mb', 0) - (x['n'] <= 32) * 4e-6 * x['n'] * (x['n'] + 24)) < 1e-3"
check "attention: a table" equal "$(wc -l < err)" 4
check "attention: a chart" chart a.svg "naive: time" "naive: memory" "library: time" "library, window: memory" "16" "64"
works "attention: memory grows with n" "$tfm" bench attention --shortest 1024 --longest 2048 --naive-longest 0 --width 8
check "attention: memory grows with n" says "x['mb'] <= 1e-3 * x['n']"
refused "attention: no length" 2 "less than --shortest" "$tfm" bench attention --longest 10
refused "attention: a chart nowhere" 1 "absent" "$tfm" bench attention --svg absent/a.svg

works "kernels" "$tfm" bench kernels --seconds 0 --svg k.svg
check "kernels: limits first" says "'gflops' in x and (x['bench'] != 'limits' or min(x['gflops'], x['l1_gbytes_per_s'],
    x['l2_gbytes_per_s'], x['memory_gbytes_per_s']) > 0)"
check "kernels: limits once" equal "$(grep -c '"limits"' out)" 1
check "kernels: loops" says "x['bench'] == 'limits' or x['bench'] == 'kernels' and x['name'] and x['shape'] and x['twin']
    and x['ns'] > 0 and x['bytes'] > 0"
check "kernels: one twin" equal "$(grep -o '"twin":"[a-z0-9]*"' out | sort -u | wc -l)" 1
check "kernels: a chart" chart k.svg "multiply-adds" "first cache" "memory" "gemm tile f32" "Adam"
cp out one
works "kernels: all" "$tfm" bench kernels --seconds 0 --all --quiet
check "kernels: all: portable C too" grep -q '"twin":"ref"' out
check "kernels: all: at least as many" test "$(wc -l < out)" -ge "$(wc -l < one)"

refused "kernels: a chart nowhere" 1 "absent" "$tfm" bench kernels --svg absent/a.svg

works "overview" "$tfm" bench --help
check "overview: every benchmark" equal "$(grep -c '^  bench ' out)" 5
refused "which one" 2 "bench needs one of train, decode, gemm, attention, kernels" "$tfm" bench
refused "another one" 2 "did you mean 'bench train'" "$tfm" bench trian
finish
