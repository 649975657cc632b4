"""The n-th allocation of the library fails, for every n: a MemoryError, nothing leaked, and handles go on."""
import contextlib
import ctypes

import pytest
from conftest import ENGLISH, GERMAN, LEARNING

import libtransformer as tfm
from libtransformer._abi import tfm_allocator
from libtransformer._library import lib

OPTIONS = ["tokenizer", "model", "load", "decoder", "trainer", "attention", "bleu", "measure"]


class Memory:
    """An allocator that counts its blocks and refuses one request."""

    def __init__(self):
        self.fail_at = self.calls = self.live = 0
        self.armed = False
        libc = ctypes.CDLL(None)
        libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
        libc.free.argtypes = [ctypes.c_void_p]
        self._libc = libc
        self.allocator = tfm_allocator(dict(tfm_allocator._fields_)["resize"](self._resize), None)

    def _resize(self, _user, block, _old, size):
        if not size:
            self._libc.free(block)
            self.live -= block is not None
            return None
        self.calls += 1
        if self.armed and self.calls - 1 == self.fail_at:
            return None
        self.live += block is None
        return self._libc.realloc(block, size)


@pytest.fixture
def memory(monkeypatch):
    """All that is made meanwhile takes its memory here."""
    memory = Memory()

    def with_allocator(init):
        def initialise(struct, size):
            init(struct, size)
            struct._obj.allocator = ctypes.pointer(memory.allocator)
        return initialise
    for name in OPTIONS:
        name = f"tfm_{name}_options_init"
        monkeypatch.setattr(lib, name, with_allocator(getattr(lib, name)))
    return memory


def starve(memory, story, kept=False):
    """Tells a story again and again, each time one allocation further, until it ends well: after how many.

    kept: it leaves something in a handle.
    """
    told = False
    for memory.fail_at in range(10000):
        memory.calls, live, memory.armed = 0, memory.live, True
        with contextlib.suppress(tfm.OutOfMemoryError):
            story()
            told = True
        memory.armed = False
        assert kept or memory.live == live, memory.fail_at
        assert told == (memory.calls <= memory.fail_at)
        if told:
            return memory.fail_at
    raise AssertionError("it never ends well")


def test_c34_each_allocation_may_fail(memory, tmp_path):
    def learn():
        with tfm.Tokenizer.learn(ENGLISH, vocab_size=270, log=lambda level, message: None) as tokenizer:
            assert tokenizer.decode(tokenizer.encode(ENGLISH[0])) == ENGLISH[0]

    def work():
        with tfm.Model.create(None, "tiny", vocab_size=20, d_model=8, d_ff=8, n_heads=2) as model:
            model.save(tmp_path / "model")
            with tfm.Model.load(tmp_path / "model") as loaded, tfm.Translator(loaded, max_length=3) as translator:
                assert len(translator.nbest_ids([[5, 1], [6, 7, 1]])) == 2
                assert translator.score_ids([[5, 1]], [[6, 1]])[0].logprob < 0
            with tfm.Trainer(model, max_steps=2, **LEARNING) as trainer:
                trainer.set_data_ids([[5, 1], [6, 1]], [[7, 1], [8, 9, 1]])
                assert trainer.run().step == 2
                trainer.model().close()

    def evaluate():
        assert tfm.bleu(GERMAN, [GERMAN]).score == pytest.approx(100)
        assert tfm.attention([[1.0, 2.0]], [[1.0, 2.0]], [[3.0]])[0].tolist() == [[3.0]]
    assert starve(memory, learn) > 0
    assert starve(memory, work) > 0
    assert starve(memory, evaluate) > 0


def test_c34_handles_go_on(memory, book):
    with tfm.Translator(book) as translator:
        assert starve(memory, lambda: translator.translate(ENGLISH), kept=True) > 0
        assert translator.translate(ENGLISH) == GERMAN
    with tfm.Trainer(book, **LEARNING) as hungry, tfm.Trainer(book, **LEARNING) as fed:
        assert starve(memory, lambda: hungry.set_data(ENGLISH, GERMAN), kept=True) > 0
        starve(memory, hungry.step, kept=True)
        fed.set_data(ENGLISH, GERMAN)
        fed.step()
        assert fed.step().loss == hungry.step().loss
    assert memory.live == 0
