"""Translations, n-best lists, scores, attention."""
import math

import pytest
from conftest import ENGLISH, GERMAN

import libtransformer as tfm
from libtransformer._arrays import np


def test_translate(translator):
    assert translator.translate(ENGLISH) == GERMAN
    assert translator.translate(iter(ENGLISH[:2])) == GERMAN[:2]
    assert translator.translate(["", "good night", " ", b"please"]) == ["", "gute Nacht", "", "bitte"]
    assert translator.translate([]) == []
    assert len(translator.translate(["NUL \0 inside", "a\nb", "\U0001F600"])) == 3


def test_nbest(book):
    with tfm.Translator(book, beam=5, n_best=3, n_threads=2) as translator:
        lists = translator.nbest(ENGLISH)
        assert [hypotheses[0].text for hypotheses in lists] == GERMAN
        for hypotheses in lists:
            assert len(hypotheses) == 3
            scores = [hypothesis.score for hypothesis in hypotheses]
            assert scores == sorted(scores, reverse=True)
            assert all(book.tokenizer.decode(hypothesis.ids) == hypothesis.text for hypothesis in hypotheses)
            assert hypotheses[0].ids[-1] == tfm.Special.EOS and hypotheses[0].steps >= len(hypotheses[0].ids)
        sources = [book.tokenizer.encode(line) + [tfm.Special.EOS] for line in ENGLISH]
        assert translator.nbest_ids(sources) == lists


def test_controls(book):
    unwanted = [book.tokenizer.encode(GERMAN[0]), [tfm.Special.UNK]]
    with tfm.Translator(book, forbidden=unwanted, no_repeat_ngram=2) as translator:
        assert translator.translate(ENGLISH)[0] != GERMAN[0]
        assert translator.translate(ENGLISH)[1:] == GERMAN[1:]
    with tfm.Translator(book, length_norm=tfm.LengthNorm.NONE) as translator:
        best, good = translator.nbest(ENGLISH[:1])[0][0], translator.score(ENGLISH[:1], GERMAN[:1])[0]
        assert best.score == pytest.approx(good.logprob, rel=1e-4)
    for wrong in ({"length_norm": 4}, {"forbidden": [[]]}, {"forbidden": [[-1]]}, {"min_ratio": 2, "max_ratio": 1}):
        with pytest.raises(tfm.InvalidError):
            tfm.Translator(book, **wrong)


def test_ensemble(book, blank):
    def same(a, b):
        return [one.text for one in a] == [one.text for one in b] and all(
            one.token_scores == pytest.approx(other.token_scores, abs=1e-5) for one, other in zip(a, b))

    with tfm.Translator(book) as alone, tfm.Translator([book]) as one, tfm.Translator((book, book)) as two:
        best = [hypotheses[0] for hypotheses in alone.nbest(ENGLISH)]
        assert [hypotheses[0] for hypotheses in one.nbest(ENGLISH)] == best
        assert same([hypotheses[0] for hypotheses in two.nbest(ENGLISH)], best)
    with tfm.Translator([book, blank], weights=[3, 1]) as both, tfm.Translator(blank) as other:
        for mean, first, second in zip(*(one.score(ENGLISH, GERMAN) for one in (both, tfm.Translator(book), other))):
            for p, p1, p2 in zip(mean.tokens, first.tokens, second.tokens):
                assert math.exp(p) == pytest.approx(0.75 * math.exp(p1) + 0.25 * math.exp(p2), rel=1e-4)
    unlike = tfm.Model.create(tfm.Tokenizer.learn(ENGLISH, vocab_size=280), "tiny")
    for models, weights, message in (([book, unlike], None, "model 1 has .* target tokens"), ([book], [1, 2], "1 and 2"),
                                     ([book, blank], [0, 0], "all 2 weights are 0"), ([], None, "n_models is 0")):
        with pytest.raises(tfm.InvalidError, match=message):
            tfm.Translator(models, weights=weights)


def test_long_lines(book):
    line = f"{ENGLISH[0]}. {ENGLISH[1]}."
    limit = max(len(book.tokenizer.encode(text)) for text in (f"{ENGLISH[0]}.", f"{ENGLISH[1]}.")) + 1
    with tfm.Translator(book, max_source=limit) as translator:
        with pytest.raises(tfm.InvalidError, match=f"line 2 has .* more than max_source {limit}"):
            translator.translate([ENGLISH[2], line])
        parts = translator.nbest([f"{ENGLISH[0]}.", f"{ENGLISH[1]}."])
    with tfm.Translator(book, max_source=limit, long_source=tfm.LongSource.SPLIT) as translator:
        short, joined = (best for best, in translator.nbest([ENGLISH[2], line]))
        assert joined.text == " ".join(best.text for best, in parts)
        assert (short.parts, joined.parts, joined.finished) == (1, 2, True)
    with tfm.Translator(book, max_length=1) as translator:
        assert not translator.nbest(ENGLISH[:1])[0][0].finished


def test_stream(book):
    with tfm.Translator(book, beam=1) as translator:
        plain, texts, done, calls = translator.translate(ENGLISH), {}, {}, 0
        for told in translator.stream(ENGLISH):
            before = texts.setdefault(told.sentence, ("", []))
            assert told.text.startswith(before[0]) and told.ids[:len(before[1])] == before[1]
            assert told.sentence not in done
            texts[told.sentence] = told.text, told.ids
            calls += told.hypotheses is None
            if told.hypotheses is not None:
                done[told.sentence] = told.hypotheses
                with pytest.raises(tfm.BusyError):
                    translator.translate(["good night"])
        assert [texts[i][0] for i in range(len(ENGLISH))] == plain
        assert [done[i] for i in range(len(ENGLISH))] == translator.nbest(ENGLISH)
        assert calls == sum(len(best.ids) for best, in done.values())
        assert len(list(translator.stream(ENGLISH, partial=False))) == len(ENGLISH)
        for told in translator.stream(ENGLISH):  # leaving the loop ends it
            break
        del told
        assert translator.translate(ENGLISH[:1]) == plain[:1]
        stream = translator.stream(ENGLISH)
        next(stream)
        with pytest.raises(ZeroDivisionError):
            stream.throw(ZeroDivisionError())
        assert translator.translate(ENGLISH[:1]) == plain[:1]
    with tfm.Translator(book, max_source=2) as translator, pytest.raises(tfm.InvalidError):
        list(translator.stream(ENGLISH))


def test_prefixes(translator, book):
    assert translator.translate(ENGLISH[:2], prefixes=["", GERMAN[0]])[0] == GERMAN[0]
    assert translator.translate(ENGLISH[:2], prefixes=["", GERMAN[0]])[1].startswith(GERMAN[0])
    prefix = book.tokenizer.encode(GERMAN[0])
    by_text = translator.nbest(ENGLISH[1:2], prefixes=[GERMAN[0]])
    source = book.tokenizer.encode(ENGLISH[1]) + [tfm.Special.EOS]
    assert translator.nbest_ids([source], prefixes=[prefix]) == by_text
    assert by_text[0][0].ids[:len(prefix)] == prefix
    with pytest.raises(tfm.InvalidError, match="2 and 1"):
        translator.translate(ENGLISH[:2], prefixes=[""])


def test_terms(book):
    with tfm.Translator(book, beam=12) as translator:
        terms = [["bitte"], [], ["danke", "bitte"]]
        first, second, third = translator.translate(ENGLISH[:3], terms=terms)
        assert "bitte" in first and second == GERMAN[1] and "danke" in third and "bitte" in third
        source = book.tokenizer.encode(ENGLISH[0]) + [tfm.Special.EOS]
        by_ids = translator.nbest_ids([source], terms=[[book.tokenizer.encode("bitte")]])[0][0]
        assert by_ids.text == first
        with pytest.raises(tfm.InvalidError, match="lines and terms"):
            translator.translate(ENGLISH[:2], terms=[[]])


def test_term_times(book):
    with tfm.Translator(book, beam=20) as translator:
        once, twice = (translator.nbest(ENGLISH[:1], terms=[["bitte"]], term_times=[[n]])[0][0] for n in (1, 2))
        assert once.text.split().count("bitte") == 1 and twice.text.split().count("bitte") == 2
        assert translator.translate(ENGLISH[:1], terms=[["bitte"]], term_times=[[2]]) == [twice.text]
        *_, last = translator.stream(ENGLISH[:1], terms=[["bitte"]], term_times=[[2]])
        assert last.text == twice.text
        source, bitte = book.tokenizer.encode(ENGLISH[0]) + [tfm.Special.EOS], book.tokenizer.encode("bitte")
        assert translator.nbest_ids([source], terms=[[bitte]], term_times=[[2]])[0][0].text == twice.text
        for times in ([[1, 1]], [], [[1], []]):
            with pytest.raises(tfm.InvalidError, match="term_times needs a number for each"):
                translator.translate(ENGLISH[:1], terms=[["bitte"]], term_times=times)


def test_placeholders(book):
    with tfm.Translator(book, beam=20) as translator:
        lines = ["<b>good night</b>", "good night"]
        first, second = translator.translate(lines, placeholders=[["<b>", "</b>"], []])
        assert first.count("<b>") == 1 and first.count("</b>") == 1 and "<" not in second
        with pytest.raises(tfm.InvalidError, match="'<i>' is not in line 2"):
            translator.translate(lines, placeholders=[[], ["<i>"]])
        with pytest.raises(tfm.InvalidError, match="lines and placeholders"):
            translator.translate(lines, placeholders=[[]])
        for call in (translator.translate, translator.nbest):
            assert call(lines, placeholders=[["<b>"], []], placeholder_times=[[1], []])
            with pytest.raises(tfm.InvalidError, match="'</b>' is 1 times in line 1, fewer than .*times 2"):
                call(lines, placeholders=[["<b>", "</b>"], []], placeholder_times=[[1, 2], []])
            for placeholders, times in ((None, [[1], []]), ([["<b>"], []], [[1, 1], []]), ([["<b>"], []], [[1]])):
                with pytest.raises(tfm.InvalidError, match="placeholder_times needs a number for each"):
                    call(lines, placeholders=placeholders, placeholder_times=times)


def test_samples(book):
    options = {"temperature": 3.0, "n_best": 6, "seed": 7}
    with tfm.Translator(book, **options) as a, tfm.Translator(book, **options, n_threads=2) as b:
        samples = a.nbest(ENGLISH)
        assert [b.nbest([line])[0] for line in ENGLISH] == samples
        assert len({sample.text for sample in samples[0]}) > 1
        for sample in samples[0]:
            assert len(sample.token_scores) == len(sample.ids)
    with pytest.raises(tfm.InvalidError, match="temperature is 0"):
        tfm.Translator(book, top_k=3)


def test_score(translator, book):
    good, bad = translator.score(ENGLISH[:1] * 2, [GERMAN[0], GERMAN[1]])
    assert good.logprob > bad.logprob and good.logprob == pytest.approx(sum(good.tokens), abs=1e-5)
    assert len(good.tokens) == len(book.tokenizer.encode(GERMAN[0])) + 1
    ids = [[book.tokenizer.encode(line) + [tfm.Special.EOS]] for line in (ENGLISH[0], GERMAN[0])]
    assert translator.score_ids(*ids) == [good]
    best = translator.nbest(ENGLISH[:1])[0][0]
    assert best.score == pytest.approx(good.logprob / ((5 + len(best.ids)) / 6) ** 0.6, rel=1e-4)
    with pytest.raises(tfm.InvalidError, match="2 and 1"):
        translator.score(["a", "b"], ["a"])


def test_alignment(translator, book):
    assert translator.nbest(ENGLISH[:1])[0][0].alignment == []
    with tfm.Translator(book, alignment=tfm.AlignmentStep.OUTPUT, alignment_layer=2) as aligning:
        source, target = "good night", "gute Nacht"
        pair = aligning.score([source], [target])[0]
        tokens = len(book.tokenizer.encode(target)) + 1
        assert [len(row) for row in pair.alignment] == [2, 2]
        assert [sum(row) for row in pair.token_alignment] == pytest.approx([1.0] * tokens, abs=1e-5)
        mean = sum(aligning.attention(source, target, layer=1, head=head).tolist()[0][0] for head in range(4)) / 4
        assert pair.token_alignment[0][0] == pytest.approx(mean, abs=1e-5)
        best = aligning.nbest(ENGLISH[:2])[1][0]
        assert len(best.alignment) == len(best.text.split()) and len(best.token_alignment) == len(best.ids)
        assert tfm.alignment_links(best.alignment).count("-") == len(best.alignment)
    assert tfm.alignment_links([[0.1, 0.9], [0.6, 0.4]]) == "1-0 0-1"
    assert tfm.alignment_links([[0.1, 0.9], [0.6, 0.4]], threshold=0.3) == "1-0 0-1 1-1"
    assert tfm.alignment_links([]) == ""
    with pytest.raises(tfm.InvalidError, match="threshold"):
        tfm.alignment_links([[0.5]], threshold=2)
    with pytest.raises(tfm.InvalidError, match="alignment_layer is 9"):
        tfm.Translator(book, alignment=1, alignment_layer=9)


def test_attention(translator, book):
    n, m = (len(book.tokenizer.encode(line)) + 1 for line in ("good night", "gute Nacht"))
    cross = translator.attention("good night", "gute Nacht", layer=1, head=2)
    assert tuple(cross.shape) == (m, n)
    assert [sum(row) for row in cross.tolist()] == pytest.approx([1.0] * m, abs=1e-5)
    causal = translator.attention("good night", "gute Nacht", kind=tfm.AttentionKind.DECODER)
    assert tuple(causal.shape) == (m, m) and causal[0, 1] == 0.0
    own = translator.attention("good night", kind=tfm.AttentionKind.ENCODER)
    assert tuple(own.shape) == (n, n)
    ids = book.tokenizer.encode("good night") + [tfm.Special.EOS]
    assert translator.attention(ids, kind=tfm.AttentionKind.ENCODER).tolist() == own.tolist()
    for wrong in ({"layer": 4}, {"head": 4}, {"kind": 3}):
        with pytest.raises(tfm.InvalidError):
            translator.attention("good night", "gute Nacht", **wrong)
    with pytest.raises(tfm.InvalidError, match="target is empty"):
        translator.attention("good night")


def test_attention_of_every_layer_and_head(translator, book):
    options = book.options
    for kind in tfm.AttentionKind:
        every = translator.attention_all("good night", "gute Nacht", kind=kind)
        layers = options["n_encoder_layers"] if kind == tfm.AttentionKind.ENCODER else options["n_decoder_layers"]
        assert tuple(every.shape[:2]) == (layers, options["n_heads"])
        for layer in range(layers):
            for head in range(options["n_heads"]):
                one = translator.attention("good night", "gute Nacht", kind=kind, layer=layer, head=head)
                assert one.tolist() == every.tolist()[layer][head]
    with pytest.raises(tfm.InvalidError, match="target is empty"):
        translator.attention_all("good night")
    view = translator.attention_all("good night", kind=tfm.AttentionKind.ENCODER, copy=False)
    with pytest.raises(tfm.BusyError, match="copy=False"):
        translator.translate(ENGLISH)
    del view


def test_attention_without_copying(translator):
    copy = translator.attention("good night", "gute Nacht")
    view = translator.attention("good night", "gute Nacht", copy=False)
    assert view.tolist() == copy.tolist()
    with pytest.raises(tfm.BusyError, match="copy=False"):
        translator.translate(ENGLISH)
    translator.close()
    assert view.tolist() == copy.tolist()


def test_attention_view_is_given_back(translator):
    view = translator.attention("good night", "gute Nacht", copy=False)
    with pytest.raises((ValueError, TypeError)):
        view[0, 0] = 1
    del view
    assert translator.translate(ENGLISH) == GERMAN


def test_dtypes_and_profile(book):
    for dtype in tfm.Dtype:
        with tfm.Translator(book, dtype=dtype) as translator:
            assert translator.translate(ENGLISH) == GERMAN
            profile = translator.profile()
    assert any(entry.calls and entry.seconds > 0 and entry.kind == tfm.ProfileKind.OPERATION for entry in profile)
    assert all(entry.name for entry in profile)


def test_progress_sees_every_sentence(book):
    calls = []
    with tfm.Translator(book, progress=lambda done, total: calls.append((done, total))) as translator:
        translator.translate(ENGLISH)
    assert calls[-1] == (len(ENGLISH), len(ENGLISH)) and calls == sorted(calls)


def test_progress_can_cancel(book):
    with tfm.Translator(book, progress=lambda done, total: True) as translator:
        with pytest.raises(tfm.CancelledError, match="0 of 8") as failure:
            translator.translate(ENGLISH)
        assert failure.value.status == tfm.Status.CANCELLED
        with pytest.raises(tfm.CancelledError):
            translator.score(ENGLISH, GERMAN)


def test_what_progress_raises_comes_out(book):
    answers = iter([False, ZeroDivisionError])

    def progress(done, total):
        answer = next(answers, False)
        if answer:
            raise answer("planted")
    with tfm.Translator(book, progress=progress) as translator:
        with pytest.raises(ZeroDivisionError, match="planted"):
            translator.translate(ENGLISH)
        assert translator.translate(ENGLISH) == GERMAN


def test_a_callback_cannot_use_its_translator(book):
    with tfm.Translator(book, progress=lambda done, total: translator.translate(["please"])) as translator:
        with pytest.raises(tfm.BusyError, match="in the middle of a call"):
            translator.translate(ENGLISH)


def test_bad_input(translator, book):
    with pytest.raises(TypeError, match="list of lines"):
        translator.translate("good morning")
    with pytest.raises(tfm.FormatError, match="line 2"):
        translator.translate(["fine", b"\xff"])
    with pytest.raises(UnicodeEncodeError):
        translator.translate(["\ud800"])
    with pytest.raises(TypeError, match="bean is no option of Translator: is it beam"):
        tfm.Translator(book, bean=4)
    with pytest.raises(tfm.InvalidError, match="beam"):
        tfm.Translator(book, beam=0)
    with pytest.raises(tfm.InvalidError):
        translator.nbest_ids([[10 ** 6]])
    with pytest.raises(TypeError):
        translator.nbest_ids([["a"]])
    with tfm.Translator(book, replace_invalid=True) as lenient:
        assert len(lenient.translate([b"\xff"])) == 1


def test_without_a_tokenizer():
    model = tfm.Model.create(None, "tiny", vocab_size=30)
    with tfm.Translator(model, max_length=5) as translator:
        hypothesis = translator.nbest_ids([[5, 6, tfm.Special.EOS], []])[0][0]
        assert hypothesis.text == "" and 0 < len(hypothesis.ids) <= 5 and math.isfinite(hypothesis.score)
        for call in (lambda: translator.translate(["a"]), lambda: translator.attention("a", "b")):
            with pytest.raises(tfm.InvalidError, match="tokenizer"):
                call()


def test_numpy_ids(translator):
    if np:
        assert translator.nbest_ids([np.array([10, 11, 1])]) == translator.nbest_ids([[10, 11, 1]])
