"""Models of Hugging Face: small random ones with the names that its code gives, against a forward pass in plain Python."""
import json

import pytest

import libtransformer as tfm
from reference_model import EOS, FF, KINDS, LAYERS, VOCAB, Model


SOURCES = [[4, 5, 9, 10, EOS], [6, EOS], [3, 3, 7, 8, 9, 4, EOS]]


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


def check(folder, model, **changes):
    source, target = [4, 5, 9, 10, EOS], [7, 3, 8, 8, EOS]
    with tfm.Translator(tfm.Model.load(folder)) as translator:
        score, = translator.score_ids([source], [target])
    assert list(score.tokens) == pytest.approx(model.logprobs(source, target, **changes), abs=1e-5)


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_half_precision(tmp_path, dtype):
    model = Model("marian")
    model.round(dtype)
    check(model.write(tmp_path / "half", dtype=dtype), model)


@pytest.mark.parametrize("kind, tied, shared", [("marian", True, False), ("marian", False, False), ("marian", False, True),
                                                ("mbart", False, True), ("m2m_100", False, True)])
def test_untied_embeddings(tmp_path, kind, tied, shared):
    model = Model(kind, tied=tied, shared=shared)
    check(model.write(tmp_path / "untied"), model)


def test_several_files(tmp_path):
    model = Model("bart")
    folder = model.write(tmp_path / "files", files=3)
    check(folder, model)
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(tfm.FileError, match="model-00002-of-00003.safetensors"):
        tfm.Model.load(folder)
    for index, says in (({}, "has no weight_map"), ({"weight_map": {"x": "../model"}}, "the file of x is none of its folder"),
                        ({"weight_map": {"x": 1}}, "the file of x is none of its folder")):
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(tfm.TransformerError, match=says):
            tfm.Model.load(folder)


def test_pickled_weights_are_refused(tmp_path):
    folder = Model("bart").write(tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(tfm.UnsupportedError, match="pytorch_model.bin is a program .* save the model with safe_serialization"):
        tfm.Model.load(folder)


def test_the_first_input_of_generation(tmp_path):
    model = Model("m2m_100")
    folder = model.write(tmp_path / "first")
    (folder / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 6}))
    check(folder, model, start=6)
    (folder / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": None}))
    check(folder, model)


def best(model, beam, **arguments):
    with tfm.Translator(model, beam=beam, n_best=beam) as translator:
        return [[(x.ids, x.score) for x in results] for results in translator.nbest_ids(SOURCES, **arguments)]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_the_first_token_is_forced(tmp_path, file, beam):
    plain = tfm.Model.load(Model("bart").write(tmp_path / "plain"))
    folder = Model("bart").write(tmp_path / "forced")
    config = json.loads((folder / file).read_text()) if file == "config.json" else {}
    (folder / file).write_text(json.dumps({**config, "forced_bos_token_id": 0}))
    forced = tfm.Model.load(folder)
    assert best(forced, beam) == best(plain, beam, prefixes=[[0]] * len(SOURCES))
    assert best(forced, beam) != best(plain, beam)
    assert best(forced, beam, prefixes=[[5, 6]] * len(SOURCES)) == best(plain, beam, prefixes=[[5, 6]] * len(SOURCES))
    with tfm.Translator(forced, max_length=1) as translator:
        assert [len(results[0].ids) for results in translator.nbest_ids(SOURCES)] == [1] * len(SOURCES)
    forced.export(tmp_path / "back", tfm.Export.HUGGING_FACE)
    assert json.loads((tmp_path / "back" / "config.json").read_text())["forced_bos_token_id"] == 0
    assert best(tfm.Model.load(tmp_path / "back"), beam) == best(forced, beam)


@pytest.mark.parametrize("first, says", [(EOS, None), (VOCAB, "first_id is 11, not below vocab_size 11"),
                                         ("x", "forced_bos_token_id is missing, or no number")])
def test_first_tokens_that_cannot_be(tmp_path, first, says):
    folder = Model("bart").write(tmp_path / "forced")
    (folder / "generation_config.json").write_text(json.dumps({"forced_bos_token_id": first}))
    if says:
        with pytest.raises(tfm.TransformerError, match=says):
            tfm.Model.load(folder)
    else:
        assert tfm.Model.load(folder).options["force_first"] == 0


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
    ({"encoder_layers": LAYERS - 1}, "model.encoder.layers.1.self_attn.q_proj.weight is not understood"),
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
