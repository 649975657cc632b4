"""Models of Marian: small random ones of every form, with the names that its code gives, against a forward pass in plain Python."""
import itertools
import math
import struct
import zipfile

import pytest

import libtransformer as tfm
from reference_model import D, FF, LAYERS, Model, packed, rows_of

SOURCE, TARGET = [4, 5, 9, 10, 0], [7, 3, 8, 8, 0]
YML = """dec-depth: {layers}
dim-emb: {d}
enc-depth: {layers}
tied-embeddings: {target}
tied-embeddings-all: {all}
tied-embeddings-src: {source}
transformer-dim-ffn: {ff}
transformer-ffn-activation: {activation}
transformer-heads: 2
transformer-postprocess: {after}
transformer-postprocess-emb: {emb}
transformer-postprocess-top: {top}
transformer-preprocess: {before}
type: transformer
"""


def array(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def arrays(model, tied):
    """Name and rows; matrices are transposed but for embeddings, and vectors have one row."""
    tensors, suffix = model.tensors, "_pre" if model.pre else ""
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        if tied in ("target", "none"):
            yield f"{side}_Wemb", model.table(side)
        ends = {"layernorm_embedding": "emb_ln_{}_pre", "layer_norm": "top_ln_{}"}
        for (theirs, ours), (part, name) in itertools.product(ends.items(), (("weight", "scale"), ("bias", "bias"))):
            if f"model.{side}.{theirs}.{part}" in tensors:
                yield f"{side}_{ours.format(name)}", rows_of(tensors[f"model.{side}.{theirs}.{part}"])
        for i in range(LAYERS):
            source, layer = f"model.{side}.layers.{i}.", f"{side}_l{i + 1}_"
            parts = {}
            for attention in attentions:
                owner = layer + ("self_" if attention == "self_attn" else "context_")
                parts |= {f"{source}{attention}.{x}_proj": (owner, x[0]) for x in ("q", "k", "v", "out")}
                yield from norm(tensors, f"{source}{attention}_layer_norm", owner + "Wo_ln_{}" + suffix)
            parts |= {source + "fc1": (layer + "ffn_", "1"), source + "fc2": (layer + "ffn_", "2")}
            for name, (owner, letter) in parts.items():
                yield f"{owner}W{letter}", [list(column) for column in zip(*tensors[name + ".weight"])]
                yield f"{owner}b{letter}", rows_of(tensors[name + ".bias"])
            yield from norm(tensors, source + "final_layer_norm", layer + "ffn_ffn_ln_{}" + suffix)
    if tied in ("all", "source"):
        yield "Wemb", tensors["model.shared.weight"]
    if "lm_head.weight" in tensors:
        yield "decoder_ff_logit_out_W", [list(column) for column in zip(*tensors["lm_head.weight"])]
    yield "decoder_ff_logit_out_b", tensors["final_logits_bias"]


def norm(tensors, source, name):
    yield name.format("scale"), rows_of(tensors[source + ".weight"])
    yield name.format("bias"), rows_of(tensors[source + ".bias"])


@pytest.mark.parametrize("tied", ["all", "source", "target", "none"])
@pytest.mark.parametrize("activation", ["relu", "swish"])
@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize("embedding_norm", [False, True])
def test_scores(tmp_path, tied, activation, pre, embedding_norm):
    model = Model("marian", tied=tied in ("all", "target"), shared=tied in ("all", "source"), start_zero=True, epsilon=1e-6,
                  pre=pre, embedding_norm=embedding_norm)
    model.config["activation_function"] = activation
    scales = [1 / 10000 ** (j / (D // 2 - 1)) for j in range(D // 2)]
    model.position = lambda _, i: [math.sin(i * x) for x in scales] + [math.cos(i * x) for x in scales]
    yml = YML.format(layers=LAYERS, d=D, ff=FF, activation=activation, before="n" if pre else '""', top="n" if pre else '""',
                     after="da" if pre else "dan", emb="nd" if embedding_norm else "d", all=str(tied == "all").lower(),
                     source=str(tied == "source").lower(), target=str(tied == "target").lower()).encode() + b"\0"
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as file:
        file.writestr("special:model.yml.npy", array("<i1", [len(yml)], yml))
        for name, rows in arrays(model, tied):
            data = b"".join(packed("F32", x) for row in rows for x in row)
            file.writestr(name + ".npy", array("<f4", [len(rows), len(rows[0])], data))
    with tfm.Translator(tfm.Model.load(tmp_path / "model.npz")) as translator:
        score, = translator.score_ids([SOURCE], [TARGET])
    assert list(score.tokens) == pytest.approx(model.logprobs(SOURCE, TARGET), abs=1e-5)
