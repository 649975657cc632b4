"""Models of Hugging Face: small random ones with the names that its code gives, against a forward pass in plain Python."""
import json
import math
import random
import struct

import pytest

import libtransformer as tfm

D, FF, HEADS, VOCAB, POSITIONS, LAYERS = 8, 12, 2, 11, 20, 2
PAD, EOS, START = 1, 2, 2
BASE = {"d_model": D, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "encoder_ffn_dim": FF, "decoder_ffn_dim": FF, "vocab_size": VOCAB,
        "max_position_embeddings": POSITIONS, "pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": START}
KINDS = {
    "marian": {"activation_function": "swish", "scale_embedding": True, "share_encoder_decoder_embeddings": True},
    "m2m_100": {"activation_function": "relu", "scale_embedding": True},
    "bart": {"activation_function": "gelu", "scale_embedding": False},
    "mbart": {"activation_function": "gelu_new", "scale_embedding": True},
}


class Model:
    """A configuration and its weights: lists of rows, or of numbers."""

    def __init__(self, kind):
        self.kind, self.config, self.tensors = kind, {**BASE, "model_type": kind, **KINDS[kind]}, {}
        self.random = random.Random(kind)
        self.learned, self.pre = kind in ("bart", "mbart"), kind in ("m2m_100", "mbart")
        self.new("model.shared.weight", VOCAB, D)
        if kind != "m2m_100":
            self.new("final_logits_bias", 1, VOCAB)
        self.stack("encoder", ["self_attn"])
        self.stack("decoder", ["self_attn", "encoder_attn"])

    def new(self, name, rows, columns=0):
        one = 1.0 if "norm.weight" in name or "layernorm_embedding.weight" in name else 0.0
        values = [[self.number(one) for _ in range(columns or rows)] for _ in range(rows if columns else 1)]
        self.tensors[name] = values if columns else values[0]

    def number(self, mean):
        return struct.unpack("<f", struct.pack("<f", mean + self.random.uniform(-0.6, 0.6)))[0]

    def linear(self, name, rows, columns):
        self.new(name + ".weight", rows, columns)
        self.new(name + ".bias", rows)

    def norm(self, name):
        self.new(name + ".weight", D)
        self.new(name + ".bias", D)

    def stack(self, name, attentions):
        side = f"model.{name}."
        if self.learned:
            self.new(side + "embed_positions.weight", POSITIONS + 2, D)
            self.norm(side + "layernorm_embedding")
        if self.pre:
            self.norm(side + "layer_norm")
        for i in range(LAYERS):
            layer = f"{side}layers.{i}."
            for attention in attentions:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    self.linear(f"{layer}{attention}.{part}", D, D)
                self.norm(f"{layer}{attention}_layer_norm")
            self.linear(layer + "fc1", FF, D)
            self.linear(layer + "fc2", D, FF)
            self.norm(layer + "final_layer_norm")

    def write(self, folder, config=None):
        header, data = {}, b""
        for name, values in self.tensors.items():
            rows = values if isinstance(values[0], list) else [values]
            numbers = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
            shape = [len(rows), len(rows[0])] if rows is values else [len(values)]
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
            data += numbers
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        folder.mkdir(exist_ok=True)
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        (folder / "config.json").write_text(json.dumps(self.config if config is None else config))
        return folder

    # ------------------------------------------------------------------------------------------- the forward pass

    def position(self, side, i):
        if self.learned:
            return self.tensors[f"model.{side}.embed_positions.weight"][i + 2]
        half = D // 2
        if self.kind == "marian":
            angles = [i / 10000 ** (2 * j / D) for j in range(half)]
        else:
            angles = [(i + PAD + 1) * math.exp(-j * math.log(10000) / (half - 1)) for j in range(half)]
        return [math.sin(a) for a in angles] + [math.cos(a) for a in angles]

    def embed(self, side, ids):
        scale = math.sqrt(D) if self.config["scale_embedding"] else 1.0
        table = self.tensors["model.shared.weight"]
        rows = [[scale * x + p for x, p in zip(table[token], self.position(side, i))] for i, token in enumerate(ids)]
        return self.normed(rows, f"model.{side}.layernorm_embedding") if self.learned else rows

    def normed(self, rows, name):
        gamma, beta, out = self.tensors[name + ".weight"], self.tensors[name + ".bias"], []
        for row in rows:
            mean = sum(row) / D
            root = math.sqrt(sum((x - mean) ** 2 for x in row) / D + 1e-5)
            out.append([(x - mean) / root * g + b for x, g, b in zip(row, gamma, beta)])
        return out

    def mapped(self, rows, name):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        return [[sum(a * b for a, b in zip(row, w)) + c for w, c in zip(weight, bias)] for row in rows]

    def attention(self, rows, memory, name, causal):
        q, k, v = (self.mapped(x, f"{name}.{part}_proj") for x, part in ((rows, "q"), (memory, "k"), (memory, "v")))
        width, out = D // HEADS, [[0.0] * D for _ in rows]
        for head in range(HEADS):
            at = slice(head * width, (head + 1) * width)
            for i, query in enumerate(q):
                seen = range(i + 1 if causal else len(memory))
                weights = [math.exp(sum(a * b for a, b in zip(query[at], k[j][at])) / math.sqrt(width)) for j in seen]
                for c in range(at.start, at.stop):
                    out[i][c] = sum(w * v[j][c] for j, w in zip(seen, weights)) / sum(weights)
        return self.mapped(out, name + ".out_proj")

    def activated(self, x):
        name = self.config["activation_function"]
        if name == "gelu":
            return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))
        if name == "gelu_new":
            return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        return x / (1 + math.exp(-x)) if name == "swish" else max(x, 0.0)

    def feed_forward(self, rows, layer):
        return self.mapped([[self.activated(x) for x in row] for row in self.mapped(rows, layer + "fc1")], layer + "fc2")

    def sublayer(self, rows, norm, function):
        """x + f(norm(x)), or norm(x + f(x))."""
        changes = function(self.normed(rows, norm) if self.pre else rows)
        sums = [[a + b for a, b in zip(row, change)] for row, change in zip(rows, changes)]
        return sums if self.pre else self.normed(sums, norm)

    def run(self, side, ids, memory=None):
        rows = self.embed(side, ids)
        for i in range(LAYERS):
            layer = f"model.{side}.layers.{i}."
            rows = self.sublayer(rows, layer + "self_attn_layer_norm",
                                 lambda x: self.attention(x, x, layer + "self_attn", side == "decoder"))
            if memory:
                rows = self.sublayer(rows, layer + "encoder_attn_layer_norm",
                                     lambda x: self.attention(x, memory, layer + "encoder_attn", False))
            rows = self.sublayer(rows, layer + "final_layer_norm", lambda x: self.feed_forward(x, layer))
        return self.normed(rows, f"model.{side}.layer_norm") if self.pre else rows

    def logprobs(self, source, target):
        hidden = self.run("decoder", [START, *target[:-1]], self.run("encoder", source))
        bias, out = self.tensors.get("final_logits_bias", [[0.0] * VOCAB])[0], []
        for row, label in zip(hidden, target):
            logits = [sum(a * b for a, b in zip(row, e)) + c for e, c in zip(self.tensors["model.shared.weight"], bias)]
            out.append(logits[label] - math.log(sum(math.exp(x) for x in logits)))
        return out


@pytest.mark.parametrize("kind", KINDS)
def test_scores(tmp_path, kind):
    model, source, target = Model(kind), [4, 5, 9, 10, EOS], [7, 3, 8, 8, EOS]
    loaded = tfm.Model.load(model.write(tmp_path / kind))
    with tfm.Translator(loaded) as translator:
        score, = translator.score_ids([source], [target])
        assert list(score.tokens) == pytest.approx(model.logprobs(source, target), abs=1e-5)
    loaded.save(tmp_path / "ours")
    with tfm.Translator(tfm.Model.load(tmp_path / "ours")) as translator:
        assert list(translator.score_ids([source], [target])[0].tokens) == list(score.tokens)


def test_export(tmp_path):
    loaded = tfm.Model.load(Model("mbart").write(tmp_path / "theirs"))
    loaded.export(tmp_path / "out", tfm.Export.HUGGING_FACE)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert all(config[key] == value for key, value in Model("mbart").config.items())
    with pytest.raises(tfm.UnsupportedError, match="Marian cannot express"):
        loaded.export(tmp_path / "model.npz", tfm.Export.MARIAN)


@pytest.mark.parametrize("change, says", [
    ({"model_type": "t5"}, "model_type 't5' is not supported"),
    ({"activation_function": "gelu_fast"}, "activation 'gelu_fast' is not supported"),
    ({"decoder_ffn_dim": FF + 1}, "encoder_ffn_dim is 12 and decoder_ffn_dim 13"),
    ({"d_model": "8"}, "d_model is missing, or no number of 0 to 4294967295"),
    ({"eos_token_id": None}, "eos_token_id is missing, or no number"),
    ({"encoder_layers": LAYERS + 1}, "lacks the tensor model.encoder.layers.2.self_attn.q_proj.weight"),
    ({"encoder_layers": LAYERS - 1}, "has 86 tensors, 16 of which are not understood"),
    ({"vocab_size": VOCAB + 1}, "model.shared.weight does not have the shape"),
])
def test_what_is_refused(tmp_path, change, says):
    model = Model("marian")
    folder = model.write(tmp_path / "changed", {**model.config, **change})
    with pytest.raises(tfm.TransformerError, match=says):
        tfm.Model.load(folder)


def test_damage(tmp_path):
    folder = Model("bart").write(tmp_path / "damaged")
    text = (folder / "config.json").read_bytes()
    for size in range(len(text)):
        (folder / "config.json").write_bytes(text[:size])
        with pytest.raises(tfm.TransformerError):
            tfm.Model.load(folder)
    (folder / "config.json").write_bytes(text)
    (folder / "model.safetensors").unlink()
    with pytest.raises(tfm.FileError):
        tfm.Model.load(folder)
