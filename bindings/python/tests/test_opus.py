"""Whole folders of OPUS-MT, Marian's and Hugging Face's: what they make of text, against SentencePiece's own programs."""
import json
import random
import shutil
import subprocess

import pytest
from reference_model import Model as Weights

import libtransformer as tfm

pytestmark = pytest.mark.skipif(not shutil.which("spm_train"), reason="SentencePiece's programs are not installed")

LINES = ["the cat sat on the mat", "naïve cats sit, 12 times.", "  two  spaces ", "a 漢字 b", ">>deu<< the dog",
         ">>fra<< a cat", ">>xxx<< a cat", "unhappily-unhappier"]
CONTROLS = ["</s>", "<unk>"]


def spm(program, model, lines):
    """What SentencePiece makes of lines, one a line."""
    run = subprocess.run([program, f"--model={model}", *(["--output_format=piece"] if program == "spm_encode" else
                                                         ["--input_format=piece"])],
                         input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    return run.stdout.decode().split("\n")[:-1]


def train(text, prefix, *options):
    """PREFIX.spm and PREFIX.vocab."""
    subprocess.run(["spm_train", f"--input={text}", f"--model_prefix={prefix}", "--vocab_size=90",
                    "--hard_vocab_limit=false", "--minloglevel=2", *options], check=True, stderr=subprocess.DEVNULL)
    prefix.with_name(prefix.name + ".model").rename(prefix.with_name(prefix.name + ".spm"))


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A folder with two SentencePiece models of words that look like two languages, and their pieces."""
    folder, choose = tmp_path_factory.mktemp("pieces"), random.Random(1)
    found = {}
    for name, parts in (("source", "the cat sat on a mat dog un happi ly er , . 1 2 sit s times two spaces naïve"),
                        ("target", "der die das hund katze sass auf un glück lich er , . 1 2 é s matte zwei")):
        words = parts.split()
        text = folder / (name + ".txt")
        text.write_text("".join(" ".join(choose.choice(words) + choose.choice(["", "", choose.choice(words)])
                                         for _ in range(6)) + "\n" for _ in range(400)))
        train(text, folder / name)
        vocabulary = (folder / (name + ".vocab")).read_text().splitlines()
        found[name] = [line.split("\t")[0] for line in vocabulary][3:]
    return folder, found["source"], found["target"]


def shuffled(*sides, without=7):
    """Ids as training gives them: some pieces of the models are missing, and languages are there."""
    names = sorted({piece for side in sides for piece in side} | {">>deu<<", ">>fra<<"})
    random.Random(7).shuffle(names)
    return {piece: i for i, piece in enumerate(CONTROLS + names[:-without])}


def wanted(folder, name, vocabulary, line):
    """Ids as Hugging Face's tokenizer has them: the language first, then the pieces of the rest."""
    head, code = [], line[:line.find("<<") + 2] if line.startswith(">>") and "<<" in line else ""
    if code in vocabulary:
        head, line = [code], line[len(code):]
    found, = spm("spm_encode", folder / (name + ".spm"), [line])
    return [vocabulary.get(piece, 1) for piece in head + found.split()]


def yaml(vocabulary):
    """Its lines, with each way to write a piece; ids in any order."""
    lines = []
    for i, (piece, number) in enumerate(sorted(vocabulary.items())):
        plain = piece.replace("▁", "").isalnum()
        written = (piece if plain and i % 3 == 0 else "'" + piece.replace("'", "''") + "'" if i % 3 == 1
                   else json.dumps(piece, ensure_ascii=i % 2 == 0))
        lines.append(f"{written}: {number}\n")
    return "".join(lines)


def best_ids(translator, sources):
    return [list(best.ids) for best, *_ in translator.nbest_ids(sources)]


def check_text(model, folder, source, target):
    """Ids and texts of every line are SentencePiece's by the vocabularies, and translations those of the ids."""
    tokenizer = model.tokenizer
    eos = model.options["eos_id"]
    for name, side, vocabulary in (("source", tokenizer, source), ("target", tokenizer.target, target)):
        assert side.vocab_size == len(vocabulary) and side.special.eos == eos and side.special.unk == vocabulary["<unk>"]
        for line in LINES:
            assert side.encode(line) == wanted(folder, name, vocabulary, line)
    names = {number: piece for piece, number in target.items()}
    sources = [[*tokenizer.encode(line), eos] for line in LINES]
    with tfm.Translator(model, max_extra=5) as translator:
        ids, from_text = best_ids(translator, sources), translator.translate(LINES)
        outputs = [[names[i] for i in line if names[i] not in ("</s>", "<pad>")] for line in ids]
        # a piece that the model has not stands there as it is: only then is U+2581 no space
        assert [text.replace("▁", " ").strip() for text in spm("spm_decode", folder / "target.spm", map(" ".join, outputs))] == \
            [text.strip() for text in from_text]
        again = translator.score(LINES[:2], ["der hund", ">>deu<< katze"])
        given = [[*tokenizer.target.encode(line), eos] for line in ("der hund", ">>deu<< katze")]
        assert [list(s.tokens) for s in again] == [list(s.tokens) for s in translator.score_ids(sources[:2], given)]
    return ids


def copied(tmp_path, folder, name="model"):
    out = tmp_path / name
    out.mkdir()
    for side in ("source.spm", "target.spm"):
        shutil.copy(folder / side, out)
    return out


def converted(model, tmp_path):
    """The same after a native file: nothing beside it is needed."""
    model.save(tmp_path / "native")
    native = tfm.Model.load(tmp_path / "native")
    with tfm.Translator(native) as one, tfm.Translator(model) as other:
        assert list(one.translate(LINES)) == list(other.translate(LINES))
    return native


FORM = {"n_encoder_layers": 2, "n_decoder_layers": 1, "d_model": 16, "d_ff": 16, "n_heads": 2, "own_ids": 1, "eos_id": 0,
        "attention_bias": 1, "softmax_bias": 1}
MARIAN = {**FORM, "pad_id": 1, "bos_id": 1, "start": "zero", "positions": "halves", "layer_norm_eps": 1e-6}
DECODER = "relative-paths: true\nmodels:\n  - opus.npz\nvocabs:\n  - {}\n  - {}\nbeam-size: 6\nnormalize: 1\n"


def test_marian(tmp_path, pieces):
    folder, source, target = pieces
    vocabulary, out = shuffled(source, target), copied(tmp_path, folder)
    (out / "decoder.yml").write_text(DECODER.format("opus.vocab.yml", "opus.vocab.yml"))
    (out / "opus.vocab.yml").write_text(yaml(vocabulary))
    tfm.Model.create(vocab_size=len(vocabulary), **MARIAN).export(out / "opus.npz", tfm.Export.MARIAN)
    model = tfm.Model.load(out)
    ids = check_text(model, folder, vocabulary, vocabulary)
    assert any(ids)
    check_text(converted(model, tmp_path), folder, vocabulary, vocabulary)
    check_text(tfm.Model.load(out / "opus.npz"), folder, vocabulary, vocabulary)  # the file within it is the same


def test_marian_with_two_vocabularies(tmp_path, pieces):
    folder, source, target = pieces
    one, other, out = shuffled(source), shuffled(target, without=4), copied(tmp_path, folder)
    assert len(one) != len(other)
    (out / "decoder.yml").write_text("models: [ opus.npz ]\nvocabs: [\"/far/away/src.vocab.yml\", trg.vocab.yml ]\n")
    (out / "src.vocab.yml").write_text(yaml(one))
    (out / "trg.vocab.yml").write_text(yaml(other))
    tfm.Model.create(vocab_size=len(other), source_vocab_size=len(one), sharing="target", **MARIAN).export(
        out / "opus.npz", tfm.Export.MARIAN)
    model = tfm.Model.load(out)
    check_text(model, folder, one, other)
    check_text(converted(model, tmp_path), folder, one, other)


def test_marian_that_cuts_text_itself(tmp_path, pieces):
    """Vocabularies of SentencePiece have ids of their own, which must be those of the model."""
    folder, _, _ = pieces
    for name in ("source", "target"):
        train(folder / f"{name}.txt", tmp_path / f"own.{name}", "--eos_id=0", "--unk_id=1", "--bos_id=-1")
    sides = [tfm.Tokenizer.load(tmp_path / name) for name in ("own.source.spm", "own.target.spm")]
    (tmp_path / "decoder.yml").write_text(DECODER.format("own.source.spm", "own.target.spm"))
    tfm.Model.create(vocab_size=sides[1].vocab_size, source_vocab_size=sides[0].vocab_size, sharing="target",
                     **MARIAN).export(tmp_path / "opus.npz", tfm.Export.MARIAN)
    tokenizer = tfm.Model.load(tmp_path).tokenizer
    for line in LINES:
        assert tokenizer.encode(line) == sides[0].encode(line)
        assert tokenizer.target.encode(line) == sides[1].encode(line)
    (tmp_path / "own.target.spm").write_bytes((folder / "target.spm").read_bytes())
    with pytest.raises(tfm.FormatError, match="own.target.spm: </s> has the id 2, but in the model it is 0"):
        tfm.Model.load(tmp_path)
    (tmp_path / "own.target.spm").write_bytes((tmp_path / "own.source.spm").read_bytes() + b"x")
    with pytest.raises(tfm.FormatError, match="own.target.spm: SentencePiece model: the file is cut"):
        tfm.Model.load(tmp_path)


class Opus(Weights):
    """MarianMT's weights with a vocabulary of this size, padding last, which the decoder begins with."""

    def __init__(self, size):
        super().__init__("marian", pad=size - 1)
        for name in ("model.shared.weight", "final_logits_bias"):
            del self.tensors[name]
        self.new("model.shared.weight", size, 8)
        self.new("final_logits_bias", 1, size)
        self.config.update(vocab_size=size, eos_token_id=0, pad_token_id=size - 1, decoder_start_token_id=size - 1)

    def greedy(self, source, length):
        """The best id after the others, until the end."""
        memory, target = self.run("encoder", source), []
        table, bias = self.tensors["model.shared.weight"], self.tensors["final_logits_bias"][0]
        while len(target) < length and (not target or target[-1]):
            row = self.run("decoder", [len(table) - 1, *target], memory)[-1]
            logits = [sum(a * b for a, b in zip(row, e)) + c for e, c in zip(table[:-1], bias)]
            target.append(logits.index(max(logits)))
        return target


def test_hugging_face(tmp_path, pieces):
    folder, source, target = pieces
    vocabulary, out = shuffled(source, target), copied(tmp_path, folder)
    vocabulary["<pad>"] = len(vocabulary)
    weights = Opus(len(vocabulary))
    weights.write(out)
    (out / "vocab.json").write_text(json.dumps(vocabulary))
    model = tfm.Model.load(out)
    check_text(model, folder, vocabulary, vocabulary)
    native = converted(model, tmp_path)
    with tfm.Translator(native, beam=1, max_extra=6) as translator:
        for line in LINES:
            read = [*wanted(folder, "source", vocabulary, line), 0]
            assert list(translator.nbest([line])[0][0].ids) == weights.greedy(read, len(read) + 6)


def test_hugging_face_with_two_vocabularies(tmp_path, pieces):
    folder, source, target = pieces
    one, other, out = shuffled(source), shuffled(target, without=4), copied(tmp_path, folder)
    for vocabulary in (one, other):
        vocabulary["<pad>"] = len(vocabulary)
    pad = len(other) - 1
    del one["<pad>"]
    form = {**FORM, "pad_id": pad, "bos_id": pad, "positions": "split", "layer_norm_eps": 1e-5}
    tfm.Model.create(vocab_size=len(other), source_vocab_size=len(one), sharing="target", **form).export(
        out, tfm.Export.HUGGING_FACE)
    (out / "vocab.json").write_text(json.dumps(one, ensure_ascii=False, indent=1))
    (out / "target_vocab.json").write_text(json.dumps(other))
    check_text(tfm.Model.load(out), folder, one, other)


@pytest.mark.parametrize("change, says", [
    (lambda out: (out / "target.spm").unlink(), "source.spm is there, but target.spm is not"),
    (lambda out: (out / "source.spm").unlink(), "target.spm is there, but source.spm is not"),
    (lambda out: (out / "vocab.json").unlink(), "has no vocab.json, which gives the pieces of source.spm and target.spm"),
    (lambda out: (out / "vocab.json").write_text("{\"a\": 0}"), "vocab.json: </s> is not among its 1 pieces"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 0, \"a\": 1}"), "vocab.json: <unk> is not among its 2"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 0, \"<unk>\": 1}"),
     "vocab.json: 2 pieces, but the model has 4 for the source"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 0, \"<unk>\": 1, \"a\": 7}"), "the id of 'a' is 7"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 0, \"<unk>\": 1, \"a\": 1}"), "both '<unk>' and 'a' have"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 1, \"<unk>\": 0, \"a\": 2, \"<pad>\": 3}"),
     "vocab.json: </s> has the id 1, but in the model it is 0"),
    (lambda out: (out / "vocab.json").write_text("{\"</s>\": 0, \"<unk>\": 1, \"a\": 3, \"<pad>\": 2}"),
     "vocab.json: <pad> has the id 2, but in the model it is 3"),
    (lambda out: (out / "target.spm").write_text("nothing"), "target.spm: "),
])
def test_what_is_refused(tmp_path, pieces, change, says):
    out = copied(tmp_path, pieces[0])
    Opus(4).write(out)
    (out / "vocab.json").write_text("{\"</s>\": 0, \"<unk>\": 1, \"a\": 2, \"<pad>\": 3}")
    assert tfm.Model.load(out).tokenizer.encode("a") == [1]
    change(out)
    with pytest.raises(tfm.FormatError, match=says):
        tfm.Model.load(out)


def test_by_ids_without_pieces(tmp_path, pieces):
    out = copied(tmp_path, pieces[0])
    Opus(4).write(out)
    for name in ("source.spm", "target.spm"):
        (out / name).unlink()
    assert tfm.Model.load(out).tokenizer is None


def test_several_models(tmp_path, pieces):
    out = copied(tmp_path, pieces[0])
    (out / "decoder.yml").write_text("models:\n  - a.npz\n  - b.npz\n")
    with pytest.raises(tfm.UnsupportedError, match="names several models: give the path of one, as a.npz"):
        tfm.Model.load(out)
    (out / "decoder.yml").write_text("models: [ other.bin ]\n")
    (out / "other.bin").write_bytes(b"binary")
    with pytest.raises(tfm.FormatError, match="other.bin is no model of Marian: model.npz is"):
        tfm.Model.load(out)
