"""Closing, threads, and what is freed when."""
import copy
import gc
import pickle
import threading
import weakref

import pytest
from conftest import ENGLISH, GERMAN, LEARNING

import libtransformer as tfm


def handles(blank, tokenizer):
    yield tfm.Model.create(None, "tiny", vocab_size=20), [
        lambda h: h.save("x"), lambda h: h.parameters, lambda h: h.options]
    yield tfm.Tokenizer.learn(ENGLISH, vocab_size=264), [lambda h: h.encode("a"), lambda h: h.vocab_size]
    yield tfm.Translator(blank), [lambda h: h.translate(["a"]), lambda h: h.profile(), lambda h: h.attention("a", "b")]
    yield tfm.Trainer(blank), [lambda h: h.run(), lambda h: h.step(), lambda h: h.model(), lambda h: next(iter(h))]


def test_close_twice_then_a_clear_exception(blank, tokenizer):
    for handle, uses in handles(blank, tokenizer):
        alive = weakref.ref(handle._owned)
        assert not handle.closed
        with handle as same:
            assert same is handle
        handle.close()
        handle.close()
        assert handle.closed and alive() is None
        for use in [*uses, lambda h: h.__enter__()]:
            with pytest.raises(tfm.ClosedError, match=f"this {type(handle).__name__} is closed"):
                use(handle)


def test_closed_is_a_value_error_as_for_files():
    assert issubclass(tfm.ClosedError, ValueError)
    for kind, base in ((tfm.FileError, OSError), (tfm.OutOfMemoryError, MemoryError), (tfm.InvalidError, ValueError),
                       (tfm.FormatError, ValueError), (tfm.UnsupportedError, NotImplementedError)):
        error = kind("what", tfm.Status.IO)
        assert isinstance(error, base) and isinstance(error, tfm.TransformerError)
        assert (str(error), error.message, error.status) == ("what", "what", tfm.Status.IO)


def test_out_of_memory_is_a_memory_error(child):
    result = child("""
import resource
import libtransformer as tfm
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    tfm.Model.create(None, "big", vocab_size=1 << 20)
except MemoryError as error:
    print(error.status == tfm.Status.NOMEM, isinstance(error, tfm.TransformerError))
""")
    assert result.stdout == "True True\n", result.stderr


def test_users_keep_the_model_alive(book):
    model = tfm.Model.create(book.tokenizer, "tiny")
    alive = weakref.ref(model._owned)
    translator, tokenizer = tfm.Translator(model, max_length=3), model.tokenizer
    model.close()
    assert len(translator.translate(ENGLISH)) == len(ENGLISH) and tokenizer.encode("please")
    translator.close()
    del translator
    gc.collect()
    assert alive() is not None
    del tokenizer
    gc.collect()
    assert alive() is None


def test_no_cycle_keeps_memory(blank):
    """Reference counts alone free everything: no collector runs here."""
    gc.disable()
    try:
        translator = tfm.Translator(blank, max_length=3, progress=lambda done, total: done > 3)
        trainer = tfm.Trainer(blank, max_steps=1, log=print, **LEARNING)
        trainer.set_data(ENGLISH, GERMAN)
        trainer.run()
        with pytest.raises(tfm.CancelledError):
            translator.translate(ENGLISH)
        alive = [weakref.ref(handle._owned) for handle in (translator, trainer)]
        del translator, trainer
        assert [ref() for ref in alive] == [None, None]
    finally:
        gc.enable()


def test_closing_while_iterating(trainer):
    with pytest.raises(tfm.ClosedError):
        for _ in trainer:
            trainer.close()


def in_threads(n, work):
    """Results of work(i), or what it raised."""
    results = [None] * n

    def run(i):
        try:
            results[i] = work(i)
        except BaseException as error:  # pylint: disable=broad-except
            results[i] = error
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_translators_share_a_model(book):
    def work(i):
        with tfm.Translator(book, beam=1 + i) as translator:
            return [translator.translate(ENGLISH) for _ in range(3)]
    assert in_threads(4, work) == [[GERMAN] * 3] * 4


def test_threads_take_turns_with_one_translator(translator):
    def work(i):
        return [translator.translate(ENGLISH[i:]) for _ in range(3)]
    assert in_threads(4, work) == [[GERMAN[i:]] * 3 for i in range(4)]


def test_closing_while_another_thread_translates(book):
    first = threading.Event()
    translator = tfm.Translator(book, progress=lambda done, total: first.set())
    thread = threading.Thread(target=lambda: first.wait(60) and translator.close())
    thread.start()
    assert translator.translate(ENGLISH) == GERMAN
    thread.join()
    with pytest.raises(tfm.ClosedError):
        translator.translate(ENGLISH)


def test_a_tokenizer_is_shared_freely(tokenizer):
    expected = [tokenizer.encode(line) for line in ENGLISH]
    assert in_threads(4, lambda i: [tokenizer.encode(line) for line in ENGLISH]) == [expected] * 4


def test_another_thread_cannot_train_meanwhile(trainer):
    for _ in trainer:
        assert isinstance(in_threads(1, lambda i: trainer.step())[0], tfm.BusyError)
        assert isinstance(in_threads(1, lambda i: trainer.model())[0], tfm.Model)
        break


def test_a_copy_is_refused_by_name(blank, tokenizer):
    for handle, _ in handles(blank, tokenizer):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a {type(handle).__name__} is an object of the C library"):
                copied(handle)
