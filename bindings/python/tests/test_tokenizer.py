"""Tokenizers: learned, saved, imported; text of every kind."""
import struct

import pytest
from conftest import ENGLISH, GERMAN

import libtransformer as tfm


@pytest.mark.parametrize("line", ["good morning", "", " two  spaces ", "a\0b", "x\ny", "\U0001F600 Straße"])
def test_encode_and_decode_are_inverse(tokenizer, line):
    ids = tokenizer.encode(line)
    assert all(4 <= number < tokenizer.vocab_size for number in ids)
    assert tokenizer.decode(ids) == line
    assert tokenizer.encode(line.encode()) == ids


def test_longer_than_any_guess(tokenizer):
    line = "\U0001F600" * 5000 + "good morning " * 1000
    assert tokenizer.decode(tokenizer.encode(line)) == line
    assert len(tokenizer.segment(line).split()) == len(tokenizer.encode(line))


def test_tokens_and_ids(tokenizer):
    assert tokenizer.kind == tfm.TokenizerKind.BPE
    assert [tokenizer.id(tokenizer.token(number)) for number in range(tokenizer.vocab_size)] == list(
        range(tokenizer.vocab_size))
    assert tokenizer.id("no such token") == tfm.Special.UNK
    for number in (-1, tokenizer.vocab_size):
        with pytest.raises(IndexError):
            tokenizer.token(number)


def test_half_a_character_is_replaced(tokenizer):
    ids = tokenizer.encode("\U0001F600")
    assert tokenizer.decode(ids[:-1]).endswith("\ufffd")


def test_save_and_load(tokenizer, tmp_path):
    path = tmp_path / "tökenizer.tok"
    tokenizer.save(path)
    with tfm.Tokenizer.load(path) as loaded:
        assert loaded.encode("good night") == tokenizer.encode("good night")
        for same in (str(path), bytes(path)):
            assert tfm.Tokenizer.load(same).vocab_size == loaded.vocab_size


def test_dropout_of_merges(tokenizer):
    line = "good morning, good night"
    assert tokenizer.encode_dropout(line, 0) == tokenizer.encode(line)
    assert tokenizer.segment_dropout("good", 1) == "\u2581 g o o d"
    draws = [tokenizer.encode_dropout(line, 0.5, seed=1, draw=draw) for draw in range(9)]
    assert draws == [tokenizer.encode_dropout(line, 0.5, seed=1, draw=draw) for draw in range(9)]
    assert len(set(map(tuple, draws))) > 5 and {tokenizer.decode(ids) for ids in draws} == {line}
    with pytest.raises(ValueError, match="dropout is 1.5"):
        tokenizer.encode_dropout(line, 1.5)


def test_special_ids(tokenizer):
    ids = tokenizer.special
    assert (ids.pad, ids.eos, ids.bos, ids.unk) == (0, 1, 2, 3)


def test_sentencepiece(tmp_path, tokenizer):
    def message(field, body):
        return bytes([field << 3 | 2, len(body)]) + body

    def piece(name, score, kind=1):
        return message(1, message(1, name.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))
    path = tmp_path / "small.model"
    path.write_bytes(piece("<unk>", 0, 2) + piece("</s>", 0, 3) + piece("\u2581a", -1) + piece("b", -2) +
                     piece("\u2581ab", -4))
    with tfm.Tokenizer.load(path) as loaded:
        assert loaded.kind == tfm.TokenizerKind.SENTENCEPIECE
        assert (loaded.special.unk, loaded.special.eos, loaded.special.pad) == (0, 1, -1)
        assert loaded.encode("ab  ax") == [2, 3, 2, 0]
        assert loaded.normalize(" a ") == "\u2581a"
        assert loaded.nbest("ab", 5) == [([2, 3], -3.0), ([4], -4.0)] + loaded.nbest("ab", 5)[2:]
        assert loaded.nbest("ab", 2 ** 40) == loaded.nbest("ab", 1024) and loaded.nbest("", 3) == [([], 0.0)]
        with pytest.raises(tfm.InvalidError, match="n is 0"):
            loaded.nbest("ab", 0)
        loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    with pytest.raises(tfm.UnsupportedError):
        tokenizer.nbest("a", 2)


def test_wordpiece(tmp_path):
    learned = tfm.Tokenizer.learn(ENGLISH + GERMAN, kind=tfm.TokenizerKind.WORDPIECE, vocab_size=90)
    assert learned.special.bos == learned.special.unk == -1
    assert learned.decode(learned.encode("good \U0001F600 morrow")) == "good \U0001F600 morrow"
    learned.export_codes(tmp_path / "subwords")
    assert tfm.Tokenizer.load(tmp_path / "subwords").encode("good morrow") == learned.encode("good morrow")


def test_subword_nmt(tmp_path, tokenizer):
    first = tfm.Tokenizer.learn(ENGLISH + GERMAN, kind=tfm.TokenizerKind.SUBWORD_NMT, merges=20)
    first.export_codes(tmp_path / "codes")
    second = tfm.Tokenizer.import_codes(tmp_path / "codes", ENGLISH + GERMAN)
    assert second.kind == tfm.TokenizerKind.SUBWORD_NMT
    assert second.segment("good morrow") == first.segment("good morrow")
    assert first.segment("good morrow").replace("@@ ", "") == "good morrow"
    with pytest.raises(tfm.TransformerError):
        tokenizer.export_codes(tmp_path / "none")


def test_pair(tmp_path, tokenizer):
    other = tfm.Tokenizer.learn(GERMAN, vocab_size=280)
    pair = tfm.Tokenizer.pair(other, tokenizer)
    pair.save(tmp_path / "pair")
    for one in (pair, tfm.Tokenizer.load(tmp_path / "pair")):
        line = GERMAN[0]
        assert one.encode(line) == other.encode(line) != tokenizer.encode(line) == one.target.encode(line)
        assert one.decode(tokenizer.encode(line)) == line
        assert (one.vocab_size, one.target.vocab_size) == (other.vocab_size, tokenizer.vocab_size)
    side = pair.target
    del pair
    assert side.target is side and side.vocab_size == 300  # it keeps the pair alive
    with pytest.raises(tfm.InvalidError, match="only the pieces of a SentencePiece model get other ids"):
        tokenizer.renumber(tmp_path / "pair")


def test_model_of_a_pair(tokenizer):
    other = tfm.Tokenizer.learn(GERMAN, vocab_size=280)
    pair = tfm.Tokenizer.pair(other, tokenizer)
    with pytest.raises(tfm.InvalidError, match="different vocabularies, but share one embedding"):
        tfm.Model.create(pair, "tiny")
    model = tfm.Model.create(pair, "tiny", sharing="target")
    assert (model.options["source_vocab_size"], model.options["vocab_size"]) == (280, 300)
    with tfm.Translator(model) as translator:
        weights = translator.attention(GERMAN[0], ENGLISH[0])
        assert len(weights) == len(tokenizer.encode(ENGLISH[0])) + 1
        assert len(weights[0]) == len(other.encode(GERMAN[0])) + 1


def test_restricted_subword_nmt(tmp_path, tokenizer):
    learned = tfm.Tokenizer.learn(ENGLISH + GERMAN, kind=tfm.TokenizerKind.SUBWORD_NMT, merges=20)
    (tmp_path / "vocabulary").write_text("g@@ 9\no@@ 9\nd 2\n")
    kept = learned.restrict(tmp_path / "vocabulary", 9, ["morrow", "<x>"])
    assert kept.segment("good <x>morrow") == "g@@ o@@ o@@ d <x>@@ morrow"
    assert kept.vocab_size == 4 + 2 + 4
    kept.save(tmp_path / "kept")
    assert tfm.Tokenizer.load(tmp_path / "kept").encode("good morrow") == kept.encode("good morrow")
    assert learned.restrict().segment("good") == learned.segment("good")
    with pytest.raises(tfm.FormatError, match="none"):
        (tmp_path / "none").write_text("g@@\n")
        learned.restrict(tmp_path / "none")
    with pytest.raises(tfm.TransformerError):
        tokenizer.restrict(glossaries=["a"])


def test_cased_bert(tmp_path, tokenizer):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\nMy\nmy\n##\u00e9\n")
    lowered = tfm.Tokenizer.load(tmp_path / "vocab.txt")
    kept = lowered.keep_case()
    assert (lowered.segment("My my\u00e9"), kept.segment("My my\u00e9")) == ("my [UNK]", "My my ##\u00e9")
    kept.save(tmp_path / "kept")
    assert tfm.Tokenizer.load(tmp_path / "kept").encode("My my\u00e9") == kept.encode("My my\u00e9") == [2, 3, 4]
    with pytest.raises(tfm.TransformerError, match="bpe"):
        tokenizer.keep_case()


def test_warnings_reach_the_log():
    heard = []
    tfm.Tokenizer.learn(["a b"], vocab_size=5000, log=lambda level, message: heard.append((level, message)))
    assert heard and heard[0][0] == tfm.LogLevel.WARNING and "5000" in heard[0][1]


def test_what_the_log_raises_comes_out():
    def log(level, message):
        raise KeyError(message)
    with pytest.raises(KeyError):
        tfm.Tokenizer.learn(["a b"], vocab_size=5000, log=log)


def test_utf8():
    assert tfm.utf8_check(b"valid") is None
    assert tfm.utf8_check(b"ab\xff") == 2
    assert tfm.utf8_repair(b"ab\xff\xc3\xa4") == "ab\ufffdä"
    assert tfm.utf8_repair(b"\xff" * 1000) == "\ufffd" * 1000


def test_words_of_moses():
    assert tfm.pretokenize("It's 5,000.") == "It &apos;s 5,000 ."
    assert tfm.pretokenize("L\u2019Eau.", language=tfm.Language.FRENCH, lowercase=1, normalize=1, no_escape=1) == "l' eau ."
    assert tfm.detokenize("l&apos; eau .", tfm.Language.FRENCH) == "l'eau."
    assert tfm.pretokenize("'" * 1000, language=tfm.Language.GERMAN) == " ".join(["&apos;"] * 1000)
    with pytest.raises(tfm.FormatError, match="UTF-8"):
        tfm.pretokenize(b"\xff")
    with pytest.raises(TypeError, match="normalize"):
        tfm.pretokenize("a", normalise=1)


def test_bad_input(tokenizer, tmp_path):
    with pytest.raises(tfm.FormatError, match="UTF-8") as failure:
        tokenizer.encode(b"\xff")
    assert failure.value.status == tfm.Status.FORMAT
    with pytest.raises(TypeError, match="str or bytes"):
        tokenizer.encode(3)
    with pytest.raises(TypeError, match="list of lines"):
        tfm.Tokenizer.learn("one line")
    with pytest.raises(tfm.InvalidError):
        tfm.Tokenizer.learn([])
    with pytest.raises(tfm.FileError, match="absent.tok") as failure:
        tfm.Tokenizer.load(tmp_path / "absent.tok")
    assert isinstance(failure.value, OSError)
    with pytest.raises(tfm.InvalidError, match="NUL"):
        tfm.Tokenizer.load("a\0b")
    with pytest.raises((OverflowError, TypeError)):
        tokenizer.decode([2 ** 40])
    with pytest.raises(tfm.TransformerError):
        tokenizer.decode([tokenizer.vocab_size])
