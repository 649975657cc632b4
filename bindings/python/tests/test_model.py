"""Models: configuration, files, weights without copying."""
import gc
import weakref

import pytest
from conftest import ENGLISH, GERMAN

import libtransformer as tfm
from libtransformer._arrays import np

SMALL = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 8, "d_ff": 16, "n_heads": 2, "vocab_size": 20}


def test_options_by_keyword_and_preset():
    model = tfm.Model.create(None, "tiny", vocab_size=50, norm_order="pre", positions=tfm.Positions.HALVES, seed=7)
    assert model.options["d_model"] == 128 and model.options["vocab_size"] == 50 and model.options["seed"] == 7
    assert model.options["norm_order"] == tfm.NormOrder.PRE and model.options["positions"] == tfm.Positions.HALVES
    assert model.options["source_vocab_size"] == 50
    assert model.tokenizer is None and model.dtype == tfm.Dtype.F32


def test_unknown_and_wrong_options():
    with pytest.raises(TypeError, match="d_modle is no option of Model.create.*is it d_model"):
        tfm.Model.create(None, d_modle=8)
    with pytest.raises(TypeError, match="n_heads is a whole number"):
        tfm.Model.create(None, **{**SMALL, "n_heads": 2.5})
    for bad in (-1, 2 ** 32):
        with pytest.raises(tfm.InvalidError, match="not in 0..4294967295"):
            tfm.Model.create(None, **{**SMALL, "n_heads": bad})
    with pytest.raises(tfm.InvalidError, match="tyny") as failure:
        tfm.Model.create(None, "tyny")
    assert isinstance(failure.value, ValueError) and failure.value.message in str(failure.value)
    with pytest.raises(tfm.InvalidError):
        tfm.Model.create(None, **{**SMALL, "norm_order": "sideways"})
    with pytest.raises(TypeError, match="layer_norm_eps is a number"):
        tfm.Model.create(None, **{**SMALL, "layer_norm_eps": [1e-6]})
    for name in ("struct_size", "reserved", "allocator"):
        with pytest.raises(TypeError, match=name):
            tfm.Model.create(None, **{**SMALL, name: 0})


def test_save_and_load(book, tmp_path):
    path = tmp_path / "book.tfm"
    book.save(path)
    for options in ({}, {"skip_checksum": True}):
        loaded = tfm.Model.load(path, **options)
        assert loaded.options == book.options
        assert tfm.Translator(loaded).translate(ENGLISH) == GERMAN
    assert loaded.tokenizer.encode("please") == book.tokenizer.encode("please")


def test_a_damaged_file_is_refused(book, tmp_path):
    path = tmp_path / "book.tfm"
    book.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(tfm.FormatError):
        tfm.Model.load(path)
    path.write_bytes(whole[:1000])
    with pytest.raises(tfm.FormatError):
        tfm.Model.load(path, skip_checksum=True)
    with pytest.raises(tfm.FileError):
        tfm.Model.load(tmp_path / "absent")


def test_quantised(book, tmp_path):
    book.quantize(tmp_path / "int8.tfm")
    small = tfm.Model.load(tmp_path / "int8.tfm")
    assert small.dtype == tfm.Dtype.INT8
    assert tfm.Translator(small).translate(ENGLISH) == GERMAN
    assert list(small.parameters) == list(book.parameters)
    assert "embedding.weight" in small.parameters and "weight" not in small.parameters
    with pytest.raises(tfm.UnsupportedError):
        small.parameters["embedding.weight"]
    assert small.parameters.shape("embedding.weight") == book.parameters.shape("embedding.weight")
    with pytest.raises(tfm.UnsupportedError) as failure:
        tfm.Trainer(small)
    assert isinstance(failure.value, NotImplementedError)


def test_average():
    models = [tfm.Model.create(None, **SMALL, seed=seed) for seed in (1, 2)]
    mean = tfm.Model.average(models)
    for name, values in mean.parameters.items():
        first, second = (flat(model.parameters[name]) for model in models)
        assert flat(values) == pytest.approx([(a + b) / 2 for a, b in zip(first, second)], abs=1e-7)
    with pytest.raises(tfm.InvalidError):
        tfm.Model.average([])


def flat(values):
    rows = values.tolist()
    return [number for row in rows for number in row] if isinstance(rows[0], list) else rows


def test_parameters_are_views():
    model = tfm.Model.create(None, **SMALL)
    first, again = model.parameters["embedding.weight"], model.parameters["embedding.weight"]
    assert first.shape == (20, 8) and model.parameters.shape("embedding.weight") == (20, 8)
    assert len(model.parameters) == len(list(model.parameters)) == len(dict(model.parameters))
    assert "embedding.weight" in model.parameters and "absent" not in model.parameters
    with pytest.raises(KeyError):
        model.parameters["absent"]
    if np:
        assert first.dtype == np.float32 and np.shares_memory(first, again)
    with pytest.raises((ValueError, TypeError)):
        first[0, 0] = 1.0


def test_a_view_keeps_the_model_alive():
    model = tfm.Model.create(None, **SMALL)
    alive = weakref.ref(model._owned)
    view = model.parameters["embedding.weight"]
    before = view.tolist()
    model.close()
    del model
    gc.collect()
    assert alive() is not None and view.tolist() == before
    del view
    gc.collect()
    assert alive() is None


def test_from_parameters(book, tokenizer):
    options = {name: value for name, value in book.options.items() if name not in ("d_k", "d_v")}
    copy = tfm.Model.from_parameters(book.parameters, tokenizer, **options)
    assert tfm.Translator(copy).translate(ENGLISH) == GERMAN
    if np:
        assert not np.shares_memory(copy.parameters["embedding.weight"], book.parameters["embedding.weight"])
    weights = dict(book.parameters)
    weights["embedding.weight"] = weights["embedding.weight"].tolist()[:-1]
    with pytest.raises(tfm.InvalidError, match="embedding.weight"):
        tfm.Model.from_parameters(weights, tokenizer, **options)
    weights["embedding.weight"] = [[1.0], [1.0, 2.0]]
    with pytest.raises(TypeError, match="embedding.weight"):
        tfm.Model.from_parameters(weights, tokenizer, **options)


def test_costs():
    costs = tfm.model_costs(10, 10, "base", vocab_size=37000)
    assert costs.parameters == costs.encoder + costs.decoder + costs.embeddings
    assert 63e6 < costs.parameters < 64e6
