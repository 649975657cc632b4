"""Models of CTranslate2: the same small random ones in every format and type, against a forward pass in plain Python."""
import json
import math
import struct

import pytest

import libtransformer as tfm
from reference_model import D, EOS, LAYERS, POSITIONS, VOCAB, Model, packed, rows_of, unpacked

TYPES = {"F32": 0, "I8": 1, "I16": 2, "F16": 4, "BF16": 5}
SIZES = {"F32": 4, "I8": 1, "I16": 2, "F16": 2, "BF16": 2}
ACTIVATIONS = {"relu": 0, "gelu_new": 1, "swish": 2, "gelu": 3}
FIXED = {"alignment_layer": ("I16", -1), "alignment_heads": ("I16", 1), "embeddings_merge": ("I8", 0)}
TOKENS = ["<unk>", "<pad>", "</s>", *"abcdefgh"]
CONFIG = {"add_source_bos": False, "add_source_eos": False, "bos_token": "<unk>", "decoder_start_token": "</s>",
          "eos_token": "</s>", "layer_norm_epsilon": None, "multi_query_attention": False, "unk_token": "<unk>"}


def text(value):
    return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"


class File:
    """Variables of a model, whose numbers become what the type holds."""

    def __init__(self, model, version, dtype, revision=7, spec="TransformerSpec"):
        self.model, self.version, self.dtype, self.revision, self.spec = model, version, dtype, revision, spec
        self.variables, self.aliases = {}, {}
        for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
            self.ends(side)
            for i in range(LAYERS):
                self.layer(f"{side}/layer_{i}", f"model.{side}.layers.{i}.", attentions)
        if spec == "TransformerSpec":
            self.attributes()

    # --------------------------------------------------------------------------------------------- variables

    def put(self, name, rows, rank=1, dtype="F32"):
        self.variables[name] = (dtype, [len(rows), len(rows[0])][2 - rank:], [x for row in rows for x in row])

    def scalar(self, name, dtype, value):
        self.variables[name] = (dtype, [], [value])

    def floats(self, name, rows, rank=1):
        """Vectors are floats of the wider types."""
        dtype = self.dtype if self.dtype in ("F16", "BF16") else "F32"
        for row in rows:
            row[:] = [unpacked(dtype, packed(dtype, x)) for x in row]
        self.put(name, rows, rank, dtype)

    def matrix(self, name, parts):
        rows = [row for part in parts for row in part]
        if self.dtype not in ("I8", "I16"):
            return self.floats(name, rows, 2)
        scales = [64.0 + i for i in range(len(rows))] if self.dtype == "I8" else [512.0] * len(rows)
        integers = [[round(x * scale) for x in row] for row, scale in zip(rows, scales)]
        for row, numbers, scale in zip(rows, integers, scales):
            row[:] = [x / scale for x in numbers]
        self.put(name, integers, 2, self.dtype)
        if self.dtype == "I8":
            return self.put(name + "_scale", [scales])
        return self.scalar(name + "_scale", "F32", scales[0])

    def linear(self, name, sources):
        tensors = self.model.tensors
        self.matrix(name + "/weight", [tensors[source + ".weight"] for source in sources])
        vectors = [tensors[source + ".bias"] for source in sources]
        self.floats(name + "/bias", vectors)
        self.variables[name + "/bias"] = (self.variables[name + "/bias"][0], [sum(map(len, vectors))], sum(vectors, []))
        self.scalar(name + "/keep_in_float32", "I8", 0)

    def norm(self, name, source):
        self.floats(name + "/gamma", [self.model.tensors[source + ".weight"]])
        self.floats(name + "/beta", [self.model.tensors[source + ".bias"]])

    def layer(self, name, source, attentions):
        for attention in attentions:
            heads = [f"{source}{attention}.{part}_proj" for part in "qkv"]
            if attention == "self_attn":
                groups = [heads, [f"{source}{attention}.out_proj"]]
            else:
                groups = [heads[:1], heads[1:], [f"{source}{attention}.out_proj"]]
            owner = f"{name}/{'self_attention' if attention == 'self_attn' else 'attention'}"
            for i, group in enumerate(groups):
                self.linear(f"{owner}/linear_{i}", group)
            self.norm(f"{owner}/layer_norm", f"{source}{attention}_layer_norm")
        self.linear(f"{name}/ffn/linear_0", [source + "fc1"])
        self.linear(f"{name}/ffn/linear_1", [source + "fc2"])
        self.norm(f"{name}/ffn/layer_norm", source + "final_layer_norm")

    def share(self, name, rows):
        """Matrices that are equal are stored once, under the first name, since format 3."""
        first = next((other for other, given in self.shared if given is rows), None)
        if self.version >= 3 and first:
            self.aliases[name] = first
        else:
            self.matrix(name, [rows])
            self.shared.append((name, rows))

    def ends(self, side):
        model, embeddings = self.model, "embeddings_0" if side == "encoder" and self.revision >= 5 else "embeddings"
        self.shared = [] if side == "encoder" else self.shared
        if side == "decoder":
            self.share("decoder/embeddings/weight", model.table(side))
            self.share("decoder/projection/weight", model.tensors.get("lm_head.weight") or model.table(side))
            if "final_logits_bias" in model.tensors:
                self.floats("decoder/projection/bias", model.tensors["final_logits_bias"])
        else:
            self.share(f"encoder/{embeddings}/weight", model.table(side))
        if model.kind != "m2m_100":
            table = [model.position(side, i) for i in range(POSITIONS)]
            self.floats(f"{side}/position_encodings/encodings", table, 2)
            model.position = (lambda old, mine, rows: lambda s, i: rows[i] if s == mine else old(s, i))(
                model.position, side, table)
        if model.learned:
            self.norm(f"{side}/layernorm_embedding", f"model.{side}.layernorm_embedding")
        if model.pre:
            self.norm(f"{side}/layer_norm", f"model.{side}.layer_norm")

    def attributes(self):
        config = self.model.config
        numbers = {"num_heads": ("I16" if self.version > 3 else "I8", self.model.heads),
                   "pre_norm": ("I8", int(self.model.pre)),
                   "activation": ("I8", ACTIVATIONS[config["activation_function"]]), **FIXED}
        for side in ("encoder", "decoder"):
            for name, (dtype, value) in numbers.items():
                self.scalar(f"{side}/{name}" if self.revision >= 5 else name, dtype, value)
            if self.version >= 5:  # the number itself
                self.scalar(f"{side}/scale_embeddings", "F32", math.sqrt(D) if config["scale_embedding"] else 1.0)
            else:
                self.scalar(f"{side}/embeddings/multiply_by_sqrt_depth", "I8", int(config["scale_embedding"]))
        self.scalar("decoder/start_from_zero_embedding", "I8", int(self.model.start_zero))
        if self.version < 6:
            self.scalar("with_source_eos", "I8", 0)
            self.scalar("with_target_bos", "I8", 0)
            self.variables["eos_token"] = ("I8", [4], list(b"</s>"))

    # ---------------------------------------------------------------------------------------------------- bytes

    def variable(self, name, dtype, shape, values):
        data = text(name) + struct.pack("<B", len(shape)) + b"".join(struct.pack("<I", n) for n in shape)
        size = len(values) * SIZES[dtype] if self.version >= 4 else len(values)
        data += struct.pack("<BI", TYPES[dtype] if self.version >= 4 else SIZES[dtype], size)
        if dtype in ("I8", "I16"):
            return data + b"".join(struct.pack("<b" if dtype == "I8" else "<h", x) for x in values)
        return data + b"".join(packed(dtype, x) for x in values)

    def write(self, folder, config=None):
        data = struct.pack("<I", self.version) + text(self.spec) + struct.pack("<I", self.revision)
        data += struct.pack("<I", len(self.variables))
        data += b"".join(self.variable(name, *given) for name, given in sorted(self.variables.items()))
        if self.version >= 3:
            data += struct.pack("<I", len(self.aliases)) + b"".join(text(a) + text(b) for a, b in self.aliases.items())
        folder.mkdir(exist_ok=True)
        (folder / "model.bin").write_bytes(data)
        if self.version >= 6:
            (folder / "config.json").write_text(json.dumps({**CONFIG, **(config or {})}))
            (folder / "shared_vocabulary.json").write_text(json.dumps(TOKENS))
        else:
            (folder / "shared_vocabulary.txt").write_text("\n".join(TOKENS) + "\n")
        return folder


def score(path, source, target):
    with tfm.Translator(tfm.Model.load(path)) as translator:
        return list(translator.score_ids([source], [target])[0].tokens)


SOURCE, TARGET = [4, 5, 9, 10], [7, 3, 8, 8, EOS]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("version, revision", [(3, 4), (4, 4), (5, 5), (6, 7)])
@pytest.mark.parametrize("kind", ["marian", "m2m_100", "bart", "mbart"])
def test_scores(tmp_path, kind, version, revision, dtype):
    if version < 4 and dtype in ("F16", "BF16"):
        pytest.skip("formats before 4 cannot tell it from int16")
    model = Model(kind, pad=0, start_zero=kind == "marian")
    folder = File(model, version, dtype, revision).write(tmp_path / "model")
    want = model.logprobs(SOURCE, TARGET)
    assert score(folder, SOURCE, TARGET) == pytest.approx(want, abs=1e-5)
    assert score(folder / "model.bin", SOURCE, TARGET) == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize("dtype", ["F32", "I8", "I16"])
def test_format_2(tmp_path, dtype):
    """Of eight heads, pre-norm and untied."""
    model = Model("m2m_100", heads=8, pad=0, tied=False, shared=False)
    file = File(model, 2, dtype, 2, "TransformerBase")
    file.variables = {name: given for name, given in file.variables.items() if given[1] or name.endswith("weight_scale")}
    folder = file.write(tmp_path / "model")
    (folder / "shared_vocabulary.txt").write_text("<blank>\n<unk>\n</s>\n<s>\n")
    assert score(folder, SOURCE, TARGET) == pytest.approx(model.logprobs(SOURCE, TARGET, start=3), abs=1e-5)


@pytest.mark.parametrize("tied, shared, sharing", [(True, True, "all"), (True, False, "target"), (False, True, "none"),
                                                   (False, False, "none")])
def test_aliases_are_shared(tmp_path, tied, shared, sharing):
    model = Model("mbart", tied=tied, shared=shared)
    folder = File(model, 6, "I8").write(tmp_path / "model")
    assert score(folder, SOURCE, TARGET) == pytest.approx(model.logprobs(SOURCE, TARGET), abs=1e-5)
    assert tfm.Model.load(folder).options["sharing"] == {"all": 0, "target": 1, "none": 2}[sharing]


def test_no_biases(tmp_path):
    model = Model("mbart")
    for name in list(model.tensors):
        if name.endswith("bias") and "norm" not in name:
            rows_of(model.tensors[name])[0][:] = [0.0] * len(rows_of(model.tensors[name])[0])
    file = File(model, 6, "F32")
    for name in [name for name in file.variables if name.endswith("/bias")]:
        del file.variables[name]
    folder = file.write(tmp_path / "model")
    assert score(folder, SOURCE, TARGET) == pytest.approx(model.logprobs(SOURCE, TARGET), abs=1e-5)
    o = tfm.Model.load(folder).options
    assert (o["attention_bias"], o["ffn_bias"], o["softmax_bias"]) == (0, 0, 0)


def test_configuration(tmp_path):
    model = Model("bart")
    file = File(model, 6, "F32")
    folder = file.write(tmp_path / "model", {"add_source_eos": True, "layer_norm_epsilon": 1e-3,
                                             "decoder_start_token": "a", "eos_token": "b"})
    o = tfm.Model.load(folder).options
    assert [o[name] for name in ("bos_id", "eos_id", "pad_id", "plain_source")] == [3, 4, 1, 0]
    assert o["layer_norm_eps"] == pytest.approx(1e-3)
    (folder / "shared_vocabulary.json").unlink()
    (folder / "source_vocabulary.json").write_text(json.dumps(TOKENS))
    (folder / "target_vocabulary.json").write_text(json.dumps(["x", *TOKENS]))
    with pytest.raises(tfm.UnsupportedError, match="eos_token of another id in the source vocabulary 'b'"):
        tfm.Model.load(folder)


@pytest.mark.parametrize("change, says", [
    ({"add_source_bos": True}, "add_source_bos 'true' is not supported"),
    ({"decoder_start_token": None}, "decoder_start_token 'null' is not supported"),
    ({"decoder_start_token": "zz"}, "a vocabulary without decoder_start_token 'zz' is not supported"),
    ({"eos_token": "zz"}, "a vocabulary without eos_token 'zz' is not supported"),
    ({"multi_query_attention": True}, "multi_query_attention 'true' is not supported"),
])
def test_what_a_configuration_may_not_ask_for(tmp_path, change, says):
    with pytest.raises(tfm.UnsupportedError, match=says):
        tfm.Model.load(File(Model("bart"), 6, "F32").write(tmp_path / "model", change))


@pytest.mark.parametrize("name, dtype, value, says", [
    ("encoder/activation", "I8", 2, "activation 'unlike in encoder and decoder'"),
    ("decoder/alibi", "I8", 1, "decoder/alibi '1' is not supported"),
    ("decoder/scale_outputs", "F32", 0.5, "decoder/scale_outputs '0.5' is not supported"),
    ("encoder/layer_0/self_attention/queries_scale", "F32", 1.0, "queries_scale '1' is not supported"),
    ("encoder/layer_0/self_attention/num_heads_kv", "I8", 1, "num_heads_kv '1' is not supported"),
    ("encoder/multi_query_attention", "I8", 1, "multi_query_attention '1' is not supported"),
    ("encoder/scale_embeddings", "F32", 3.5, "scale_embeddings '3.5' is not supported"),
])
def test_attributes_that_are_refused(tmp_path, name, dtype, value, says):
    file = File(Model("bart"), 6, "F32")
    file.scalar(name, dtype, value)
    with pytest.raises(tfm.UnsupportedError, match=says):
        tfm.Model.load(file.write(tmp_path / "model"))


def test_what_is_not_understood_is_named(tmp_path):
    file = File(Model("bart"), 6, "F32")
    file.put("encoder/embeddings_1/weight", rows_of([0.0] * D), 2)
    with pytest.raises(tfm.UnsupportedError, match="the tensor encoder/embeddings_1/weight is not understood"):
        tfm.Model.load(file.write(tmp_path / "model"))
    file = File(Model("bart"), 6, "I8")
    del file.variables["decoder/layer_0/ffn/linear_0/weight_scale"]
    with pytest.raises(tfm.TransformerError, match="lacks the tensor decoder/layer_0/ffn/linear_0/weight_scale"):
        tfm.Model.load(file.write(tmp_path / "model"))
    file = File(Model("bart"), 6, "F32")
    for side in ("encoder", "decoder"):
        file.scalar(side + "/activation", "I8", 4)
    with pytest.raises(tfm.UnsupportedError, match="activation 'GELUSigmoid' is not supported"):
        tfm.Model.load(file.write(tmp_path / "model"))
    for version, revision, says in ((7, 7, "format 7 is not supported, 2 to 6"), (6, 8, "revision 8 of TransformerSpec")):
        with pytest.raises(tfm.UnsupportedError, match=says):
            tfm.Model.load(File(Model("bart"), version, "F32", revision).write(tmp_path / "model"))


def test_translations_use_no_more_ids_than_there_are(tmp_path):
    folder = File(Model("marian", start_zero=True), 6, "F16").write(tmp_path / "model")
    with tfm.Translator(tfm.Model.load(folder), beam=3) as translator:
        (best, *_), = translator.nbest_ids([SOURCE])
        assert all(token < VOCAB and token != TOKENS.index("<pad>") for token in best.ids)
