"""Attention on raw matrices, BLEU, measuring, versions."""
import math
import re

import pytest
from conftest import GERMAN

import libtransformer as tfm
from libtransformer._arrays import np

Q, K, V = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0], [2.0], [4.0]]


def softmax(scores):
    total = sum(map(math.exp, scores))
    return [math.exp(score) / total for score in scores]


def test_attention_is_equation_1():
    out, weights = tfm.attention(Q, K, V)
    for i, q in enumerate(Q):
        expected = softmax([sum(a * b for a, b in zip(q, k)) / math.sqrt(2) for k in K])
        assert weights.tolist()[i] == pytest.approx(expected, abs=1e-6)
        assert out.tolist()[i][0] == pytest.approx(sum(w * v[0] for w, v in zip(expected, V)), abs=1e-6)


def test_attention_options():
    _, causal = tfm.attention(K, K, V, causal=1)
    assert causal[0, 1] == causal[0, 2] == causal[1, 2] == 0 and causal[0, 0] == 1
    _, masked = tfm.attention(Q, K, V, mask=[[-math.inf, 0.0, 0.0], [0.0, -math.inf, 0.0]], key_length=2)
    assert masked.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    for options, error in (({"mask": Q}, tfm.InvalidError), ({"masks": Q}, TypeError), ({"scale": "x"}, TypeError)):
        with pytest.raises(error):
            tfm.attention(Q, K, V, **options)
    for wrong in (([1.0], K, V), (Q, Q, V), (Q, [[1.0]], V), (Q, "text", V), ([[1.0], [1.0, 2.0]], K, V)):
        with pytest.raises((tfm.InvalidError, TypeError)):
            tfm.attention(*wrong)


def test_attention_of_arrays():
    if not np:
        pytest.skip("NumPy is not there")
    q, k, v = (np.array(values, dtype=np.float32) for values in (Q, K, V))
    out, weights = tfm.attention(q, k, v)
    assert out.dtype == np.float32 and out.flags.writeable
    expected = np.exp(q @ k.T / np.sqrt(2))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    np.testing.assert_allclose(out, expected @ v, rtol=1e-6)
    strided = np.asfortranarray(q.astype(np.float64))
    assert (tfm.attention(strided, k[::-1][::-1], v)[0] == out).all()
    with pytest.raises(tfm.InvalidError, match="n_queries 0"):
        tfm.attention(np.zeros((0, 2)), k, v)


def test_bleu():
    assert tfm.bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score == pytest.approx(100)
    result = tfm.bleu(["the cat sat"], [["a dog sat there"], ["the cat sat here"]], smooth=tfm.BleuSmooth.FLOOR)
    assert result.precisions[0] == pytest.approx(100) and result.hyp_length == 3 and result.ref_length == 4
    assert "nrefs:2" in result.signature and result.matches[:4] == (3, 2, 1, 0)
    with pytest.raises(TypeError, match="tokenise is no option of bleu.*is it tokenize"):
        tfm.bleu(["a"], ["a"], tokenise=1)
    with pytest.raises(TypeError, match=r"tokenize is a member of BleuTokenize \(V13A, NONE, INTL, CHAR, ZH\), not '13a'"):
        tfm.bleu(["a"], ["a"], tokenize="13a")
    with pytest.raises(TypeError, match="max_order is a whole number, not '4'"):
        tfm.bleu(["a"], ["a"], max_order="4")


def test_bleu_of_the_paper():
    paper = {"tokenize": tfm.BleuTokenize.NONE, "smooth": tfm.BleuSmooth.NONE, "compound_split": 1}
    result = tfm.bleu(["a well-known dog slept"], ["the well-known dog slept"], **paper)
    # a well ##AT##-##AT## known dog slept: all but the first of six
    assert result.matches[:4] == (5, 4, 3, 2) and result.totals[:4] == (6, 5, 4, 3) and "|split:yes|" in result.signature
    assert result.score == pytest.approx(100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)
    paper["compound_split"] = 0
    assert tfm.bleu(["a well-known dog slept"], ["the well-known dog slept"], **paper).matches[:4] == (3, 2, 1, 0)
    assert tfm.bleu([""], [""]).score == tfm.bleu(["a b c d"], [""]).score == 0


def test_c38_references_of_another_shape_are_refused():
    for hyps, refs, match in ((["a"], ["a", "b"], "1 and 2"), (["a", "b", "c"], ["a"], "3 and 1"),
                              (["a", "b"], [["a", "b"], ["a"]], "2 and 1")):
        with pytest.raises(tfm.InvalidError, match=match):
            tfm.bleu(hyps, refs)
    for hyps, refs in (("a", ["a"]), (["a"], "a"), (["a"], b"a")):
        with pytest.raises(TypeError):
            tfm.bleu(hyps, refs)


def test_chrf_and_ter():
    hypotheses, references = ["the cat sat on a mat", "hello"], ["the cat sat on the mat", "hello there"]
    assert tfm.chrf(references, references).score == pytest.approx(100)
    assert 0 < tfm.chrf(hypotheses, references).score < 100
    assert tfm.chrf(hypotheses, references, word_order=2).score != tfm.chrf(hypotheses, references).score
    assert "nw:2" in tfm.chrf(hypotheses, references, word_order=2).signature
    assert tfm.ter(hypotheses, references).score == pytest.approx(100 * 2 / 8)
    assert tfm.ter(["b a"], ["a b"]).score == pytest.approx(50)
    assert tfm.ter(["A"], ["a"], case_sensitive=1).score == pytest.approx(100)
    with pytest.raises(tfm.InvalidError, match="char_order is 11, not in 1..10"):
        tfm.chrf(hypotheses, references, char_order=11)
    with pytest.raises(tfm.InvalidError, match="not as many"):
        tfm.ter(hypotheses, references[:1])


def f_score(hypothesis, reference, n, beta=2):
    """chrF of one order."""
    grams = [[text[i:i + n] for i in range(len(text) - n + 1)] for text in (hypothesis, reference)]
    both = sum(min(grams[0].count(gram), grams[1].count(gram)) for gram in set(grams[0]))
    precision, recall = both / len(grams[0]), both / len(grams[1])
    return 100 * (1 + beta ** 2) * precision * recall / (beta ** 2 * precision + recall)


def test_options_of_chrf():
    assert tfm.chrf(["abcab"], ["abab"], char_order=1).score == pytest.approx(f_score("abcab", "abab", 1))
    assert tfm.chrf(["abcab"], ["abab"], char_order=1, beta=3).score == pytest.approx(f_score("abcab", "abab", 1, 3))
    assert tfm.chrf(["a b"], ["a c b"], char_order=1, whitespace=1).score == pytest.approx(f_score("a b", "a c b", 1))
    assert tfm.chrf(["a b"], ["ab"]).score == tfm.chrf(["AB"], ["ab"], lowercase=1).score == pytest.approx(100)
    assert tfm.chrf(["AB"], ["ab"]).score == 0
    assert tfm.chrf(["ab"], ["ab"], eps_smoothing=1).score == pytest.approx(100 / 3)  # two of six orders
    two = tfm.chrf(["abc"], [["xyz"], ["abc"]])
    assert two.score == pytest.approx(100) and two.signature.startswith("nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|")
    with pytest.raises(tfm.InvalidError, match="beta is 0, not above 0"):
        tfm.chrf(["a"], ["a"], beta=0)


def test_options_of_ter():
    assert tfm.ter(["c d a b"], ["a b c d"]).score == pytest.approx(25)  # one shift
    assert tfm.ter(["a b, c"], ["a b , c"], normalized=1).score == 0 < tfm.ter(["a b, c"], ["a b , c"]).score
    assert tfm.ter(["a, b."], ["a b"], no_punctuation=1).score == 0
    assert tfm.ter(["\u4e2d\u6587"], ["\u4e2d\u56fd"], normalized=1, asian_support=1).score == pytest.approx(50)
    # fewest edits, mean length; an empty reference is one that is missing
    assert tfm.ter(["a b c d"], [["a b c e"], ["x x x x x x x x"]]).score == pytest.approx(100 / 6)
    assert tfm.ter(["a b"], [["a c"], [""]]).score == pytest.approx(50)
    assert tfm.ter(["a"], [["a"], ["b"]]).signature.startswith("nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|")
    with pytest.raises(TypeError, match="normalised is no option of ter.*is it normalized"):
        tfm.ter(["a"], ["a"], normalised=1)


def test_parseval():
    gold, parses = ["(S (A (x a) (x b)) (x c))", "(S (x a))"], ["(S (x a) (B (x b) (x c)))", ""]
    result, rows = tfm.parseval(parses, gold)
    assert result.f1[0] == pytest.approx(50) and result.skipped == (1, 1)
    assert (rows[0].crossing, rows[0].matched, rows[0].gold) == (1, 1, 2)
    assert rows[1].status == tfm.ParsevalStatus.NO_WORDS
    assert tfm.parseval(parses, gold, "CUTOFF_LEN 1\nLABELED 0")[0].sentences == (2, 1)
    with pytest.raises(tfm.FormatError, match='line 1: "X" is no keyword'):
        tfm.parseval(parses, gold, parameters="X 1")
    with pytest.raises(tfm.InvalidError, match="not as many"):
        tfm.parseval(parses, gold[:1])
    result, rows = tfm.parseval(gold + ["(S"], gold + ["(S (x a))"])
    assert (result.f1[0], result.complete[0], result.errors[0], result.words[0]) == (100, 100, 1, 4)
    assert [row.status for row in rows[1:]] == [tfm.ParsevalStatus.VALID, tfm.ParsevalStatus.BAD_PARSE]
    assert result.signature.startswith("nrefs:1|labels:yes|cutoff:40|prm:")


def test_compare():
    references = [f"sentence number {i} is here" for i in range(40)]
    worse = [line.replace("is here", "was there") for line in references]
    result = tfm.compare(worse, references, references, n_samples=200)
    assert result.score[1] == pytest.approx(100) and result.score[0] < 100
    assert result.p_value == pytest.approx(1 / 201)
    assert result.signature.startswith("nrefs:1|bs:200|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert result == tfm.compare(worse, references, references, n_samples=200)
    other = tfm.compare(worse, references, references, tfm.MetricKind.CHRF, n_samples=50, seed=2 ** 64 - 1, word_order=2)
    assert f"|bs:50|seed:{2 ** 64 - 1}|" in other.signature and "|nw:2|" in other.signature
    assert other.score == (tfm.chrf(worse, references, word_order=2).score, pytest.approx(100))
    assert abs(other.mean[0] - other.score[0]) < 3 * other.interval[0] < 10
    turned = tfm.compare(references, worse, references, tfm.MetricKind.TER, n_samples=50)
    assert turned.score[0] < turned.score[1] and turned.p_value < 0.05  # significant, and worse
    assert tfm.compare(worse, worse, references, n_samples=50).p_value == 1
    assert tfm.compare(worse, references, references, tfm.MetricKind.TER, n_samples=20, normalized=1).score[1] == 0
    with pytest.raises(tfm.InvalidError, match="n_samples is 1"):
        tfm.compare(worse, references, references, n_samples=1)
    with pytest.raises(ValueError, match="'ter' is not a valid MetricKind"):
        tfm.compare(worse, references, references, "ter")
    with pytest.raises(tfm.InvalidError, match="baseline and hypotheses are not as many: 39 and 40"):
        tfm.compare(worse[1:], references, references)
    with pytest.raises(TypeError, match="beta is no option of compare"):
        tfm.compare(worse, references, references, beta=1)


def test_measuring():
    assert tfm.measure.kernel_count() > 0 < tfm.measure.twin_count()
    one = tfm.measure.kernel(0, 0, seconds=0.001)
    assert one.twin == "ref" and one.name and one.seconds > 0
    assert tfm.measure.product(4, 5, 6, seconds=0.001, n_threads=1).flops == 2 * 4 * 5 * 6
    with pytest.raises(tfm.InvalidError):
        tfm.measure.kernel(tfm.measure.kernel_count(), 0)


def test_versions(tokenizer):
    assert tfm.version() == tfm.__version__ == "%d.%d.%d" % tfm._library.VERSION
    assert tfm.status_name(tfm.Status.OK) != tfm.status_name(tfm.Status.IO)
    assert tfm.status_name(99) == "unknown status"
    assert all(getattr(tfm, name).__doc__ for name in tfm.__all__ if name != "__version__")
    assert GERMAN[0] == tokenizer.decode(tokenizer.encode(GERMAN[0]))


def test_numbers_beyond_their_type_are_refused_not_cut(translator, tokenizer, tmp_path):
    for call in (lambda n: tfm.compare(["a"], ["b"], ["a"], n_samples=n), lambda n: translator.attention("good", "gut", layer=n),
                 lambda n: translator.attention("good", "gut", kind=n), lambda n: translator.attention_all("good", "gut", kind=n),
                 lambda n: tokenizer.encode_dropout("abc", 0.1, seed=n - 2 ** 33), lambda n: tokenizer.segment_dropout("abc", 0.1, draw=-n),
                 lambda n: tfm.measure.product(n ** 2, 1, 1), lambda n: tfm.model_costs(n, 10),
                 lambda n: tfm.model_costs(10, -n), lambda n: tokenizer.restrict(threshold=n),
                 lambda n: tokenizer.nbest("abc", n ** 2), tfm.status_name,
                 lambda n: translator.translate(["good"], terms=[["gut"]], term_times=[[n ** 2]])):
        with pytest.raises(tfm.InvalidError, match=r"not in (0|-2147483648)\.\."):
            call(2 ** 32 + 7)
        with pytest.raises(TypeError):
            call("x")


def test_what_is_no_number_has_its_name(book, tokenizer):
    for name, call in (("id", tokenizer.token), ("n", lambda n: tokenizer.nbest("abc", n)), ("status", tfm.status_name),
                       ("threshold", lambda n: tokenizer.restrict(threshold=n)),
                       ("source_tokens", lambda n: tfm.model_costs(n, 10)),
                       ("target_tokens", lambda n: tfm.model_costs(10, n))):
        for value in (2.0, "2", None):
            with pytest.raises(TypeError, match=f"{name} is a whole number, not {value!r}"):
                call(value)
    for name, call in (("threshold", lambda x: tfm.alignment_links([[0.5]], threshold=x)),
                       ("dropout", lambda x: tokenizer.encode_dropout("abc", x)),
                       ("dropout", lambda x: tokenizer.segment_dropout("abc", x)),
                       ("weights", lambda x: tfm.Translator([book, book], weights=[x, 1]))):
        with pytest.raises(TypeError, match=f"{name} is a number, not 'x'"):
            call("x")


def test_a_number_does_not_become_0_or_infinite(book, tokenizer):
    for name, call in (("temperature", lambda x: tfm.Translator(book, temperature=x)),
                       ("weights", lambda x: tfm.Translator([book, book], weights=[x, 1])),
                       ("dropout", lambda x: tokenizer.encode_dropout("abc", x))):
        for value, fault in ((1e-50, "small"), (1e39, "large")):
            with pytest.raises(tfm.InvalidError, match=re.escape(f"{name} is {value}, too {fault} for a number of 32")):
                call(value)


def test_a_string_is_not_cut_at_a_nul(book, tmp_path):
    gold = ["(S (x a))"]
    weights = {name + "\0": values for name, values in book.parameters.items()}
    for name, call in (("parameters", lambda: tfm.parseval(gold, gold, "CUTOFF_LEN 10\0")),
                       ("preset", lambda: tfm.Model.create(None, "tiny\0", vocab_size=20)),
                       ("sharing", lambda: tfm.model_costs(10, 10, sharing="all\0")),
                       ("a parameter's name", lambda: tfm.Model.from_parameters(weights, **book.options)),
                       ("a path", lambda: book.save(f"{tmp_path}/a\0")),
                       ("a path", lambda: tfm.Trainer(book, checkpoint_path=f"{tmp_path}/a\0"))):
        with pytest.raises(tfm.InvalidError, match=f"{name} has a NUL at byte"):
            call()
    for name in weights:
        assert name not in book.parameters
    assert not list(tmp_path.iterdir())


def test_a_string_is_no_list_and_bytes_are_no_ids(translator, tokenizer):
    for name in ("terms", "placeholders"):
        for groups in ("gut", ["gut"]):
            with pytest.raises(TypeError, match=f"{name} has 'gut': give a list for each line"):
                translator.translate(["good"], **{name: groups})
    for call in (tokenizer.decode, lambda ids: translator.attention(bytearray(ids), "gut")):
        with pytest.raises(TypeError, match="ids are whole numbers, not byte"):
            call(b"\5\0\0\0")


def test_a_callback_is_a_function(book):
    with pytest.raises(TypeError, match="progress is a function, not 3"):
        tfm.Translator(book, progress=3)
    for name in ("log", "reduce"):
        with pytest.raises(TypeError, match=f"{name} is a function, not 'x'"):
            tfm.Trainer(book, **{name: "x"})
