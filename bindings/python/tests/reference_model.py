"""A Transformer in plain Python, with the names that Hugging Face's code gives: what models of others are checked against."""
import json
import math
import random
import struct

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


def packed(dtype, x):
    """A number, rounded to nearest, to even."""
    if dtype == "BF16":
        bits, = struct.unpack("<I", struct.pack("<f", x))
        return struct.pack("<H", bits + 0x7FFF + (bits >> 16 & 1) >> 16)
    return struct.pack("<e" if dtype == "F16" else "<f", x)


def unpacked(dtype, data):
    return struct.unpack("<f", b"\0\0" + data)[0] if dtype == "BF16" else struct.unpack("<e" if dtype == "F16" else "<f", data)[0]


def rows_of(values):
    return values if isinstance(values[0], list) else [values]


class Model:
    """A configuration and its weights: lists of rows, or of numbers."""

    def __init__(self, kind, heads=HEADS, pad=PAD, tied=True, shared=True, start_zero=False,
                 **form):
        self.kind, self.tensors = kind, {}
        self.heads, self.pad, self.start_zero, self.epsilon = heads, pad, start_zero, form.get("epsilon", 1e-5)
        self.config = {**BASE, "model_type": kind, **KINDS[kind], "pad_token_id": pad, "encoder_attention_heads": heads,
                       "decoder_attention_heads": heads}
        if not (tied and shared):
            self.config |= {"tie_word_embeddings": tied, "share_encoder_decoder_embeddings": shared}
        self.random = random.Random(kind)
        self.learned, self.pre = kind in ("bart", "mbart"), form.get("pre", kind in ("m2m_100", "mbart"))
        self.embedding_norm = form.get("embedding_norm", self.learned)
        for name in ["model.shared"] if shared else ["model.encoder.embed_tokens", "model.decoder.embed_tokens"]:
            self.new(name + ".weight", VOCAB, D)
        if not tied:
            self.new("lm_head.weight", VOCAB, D)
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
        if self.embedding_norm:
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

    def round(self, dtype):
        """Makes all numbers such that the type holds them."""
        for rows in map(rows_of, self.tensors.values()):
            for row in rows:
                row[:] = [unpacked(dtype, packed(dtype, x)) for x in row]

    def write(self, folder, config=None, dtype="F32", files=1):
        folder.mkdir(exist_ok=True)
        names = list(self.tensors)
        parts = {f"model-{i + 1:05}-of-{files:05}.safetensors": names[i::files] for i in range(files)}
        for file, part in parts.items():
            (folder / (file if files > 1 else "model.safetensors")).write_bytes(self.safetensors(part, dtype))
        if files > 1:
            index = {"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        (folder / "config.json").write_text(json.dumps(self.config if config is None else config))
        return folder

    def safetensors(self, names, dtype):
        header, data = {}, b""
        for name in names:
            values = self.tensors[name]
            rows = rows_of(values)
            numbers = b"".join(packed(dtype, x) for row in rows for x in row)
            shape = [len(rows), len(rows[0])] if rows is values else [len(values)]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
            data += numbers
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data

    # ------------------------------------------------------------------------------------------- the forward pass

    def position(self, side, i):
        if self.learned:
            return self.tensors[f"model.{side}.embed_positions.weight"][i + 2]
        half = D // 2
        if self.kind == "marian":
            angles = [i / 10000 ** (2 * j / D) for j in range(half)]
        else:
            angles = [(i + self.pad + 1) * math.exp(-j * math.log(10000) / (half - 1)) for j in range(half)]
        return [math.sin(a) for a in angles] + [math.cos(a) for a in angles]

    def table(self, side):
        return self.tensors.get(f"model.{side}.embed_tokens.weight") or self.tensors["model.shared.weight"]

    def embed(self, side, ids):
        scale = math.sqrt(D) if self.config["scale_embedding"] else 1.0
        table = self.table(side)
        rows = [[scale * x + p for x, p in zip(table[token], self.position(side, i))] for i, token in enumerate(ids)]
        if side == "decoder" and self.start_zero:
            rows[0] = self.position(side, 0)
        return self.normed(rows, f"model.{side}.layernorm_embedding") if self.embedding_norm else rows

    def normed(self, rows, name):
        gamma, beta, out = self.tensors[name + ".weight"], self.tensors[name + ".bias"], []
        for row in rows:
            mean = sum(row) / D
            root = math.sqrt(sum((x - mean) ** 2 for x in row) / D + self.epsilon)
            out.append([(x - mean) / root * g + b for x, g, b in zip(row, gamma, beta)])
        return out

    def mapped(self, rows, name):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        return [[sum(a * b for a, b in zip(row, w)) + c for w, c in zip(weight, bias)] for row in rows]

    def attention(self, rows, memory, name, causal):
        q, k, v = (self.mapped(x, f"{name}.{part}_proj") for x, part in ((rows, "q"), (memory, "k"), (memory, "v")))
        width, out = D // self.heads, [[0.0] * D for _ in rows]
        for head in range(self.heads):
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

    def logprobs(self, source, target, start=START):
        hidden = self.run("decoder", [start, *target[:-1]], self.run("encoder", source))
        bias, out = self.tensors.get("final_logits_bias", [[0.0] * VOCAB])[0], []
        table = self.tensors.get("lm_head.weight") or self.table("decoder")
        for row, label in zip(hidden, target):
            logits = [sum(a * b for a, b in zip(row, e)) + c for e, c in zip(table, bias)]
            out.append(logits[label] - math.log(sum(math.exp(x) for x in logits)))
        return out
