"""Training: events, checkpoints, resuming, callbacks."""
import sys
import threading
import types

import pytest
from conftest import ENGLISH, GERMAN, LEARNING

import libtransformer as tfm
from libtransformer._arrays import np


def weights(model):
    return {name: values.tolist() for name, values in model.parameters.items()}


def test_events_in_order(trainer):
    trainer.set_valid(ENGLISH, GERMAN)
    events = list(trainer)
    steps = [m.step for m in events if m.event == tfm.Event.STEP]
    assert steps == [1, 2, 3, 4, 5, 6]
    assert [m.event for m in events[:3]] == [tfm.Event.STEP, tfm.Event.EPOCH, tfm.Event.VALID]
    assert events[-1].event == tfm.Event.DONE and "max_steps 6" in events[-1].message
    assert events[-2].valid_nll < events[2].valid_nll and events[0].target_tokens > 8


def test_steps_run_and_loop_are_one_training(blank):
    results = []
    for train in (lambda t: [t.step() for _ in range(6)], lambda t: t.run(), list):
        with tfm.Trainer(blank, max_steps=6, **LEARNING) as trainer:
            report = trainer.set_data(ENGLISH, GERMAN)
            train(trainer)
            results.append(weights(trainer.model()))
    assert report.pairs == len(ENGLISH) and report.target_tokens > len(ENGLISH)
    assert results[0] == results[1] == results[2] != weights(blank)


def test_between_events_the_weights_can_be_read(trainer):
    seen = []
    for metrics in trainer:
        if metrics.event == tfm.Event.STEP:
            seen.append(weights(trainer.model())["embedding.weight"])
            assert trainer.profile()
    assert len(seen) == 6 and all(a != b for a, b in zip(seen, seen[1:]))


def test_what_is_saved_after_a_step_goes_on_as_if_it_had_not_been(trainer, tmp_path):
    for _ in range(3):
        trainer.step()
    trainer.save(tmp_path / "3.ckpt")
    trainer.run()
    with tfm.Trainer.resume(tmp_path / "3.ckpt", max_steps=6, **LEARNING) as resumed:
        resumed.set_data(ENGLISH, GERMAN)
        assert resumed.run().step == 6
        assert weights(resumed.model()) == weights(trainer.model())


def test_between_events_nothing_else_can_change(trainer):
    for _ in trainer:
        for call in (trainer.step, trainer.run, lambda: trainer.save("never"),
                     lambda: trainer.set_data(ENGLISH, GERMAN), lambda: next(iter(trainer))):
            with pytest.raises(tfm.BusyError, match="under way"):
                call()
        break
    assert trainer.step().step == 2


def test_leaving_the_loop_stops_the_training(blank, tmp_path):
    options = dict(LEARNING, max_steps=6, checkpoint_path=tmp_path / "run")
    with tfm.Trainer(blank, **options) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        for metrics in trainer:
            if metrics.step == 2:
                break
        assert (tmp_path / "run-2.ckpt").exists()
        with pytest.raises(ZeroDivisionError):
            for metrics in trainer:
                raise ZeroDivisionError
        assert [m.step for m in trainer if m.event == tfm.Event.STEP] == [4, 5, 6]
        direct = weights(trainer.model())
    with tfm.Trainer.resume(tmp_path / "run-2.ckpt", **options) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        trainer.run()
        assert weights(trainer.model()) == direct


def test_resuming_other_data_is_refused(trainer, tmp_path):
    trainer.step()
    trainer.save(tmp_path / "a.ckpt")
    with tfm.Trainer.resume(tmp_path / "a.ckpt", **LEARNING) as resumed:
        with pytest.raises(tfm.InvalidError):
            resumed.set_data(ENGLISH[:3], GERMAN[:3])
    with pytest.raises(tfm.FileError, match="absent"):
        tfm.Trainer.resume(tmp_path / "absent.ckpt")


def test_ids_are_text(blank, tokenizer):
    results = []
    for ids in (False, True):
        with tfm.Trainer(blank, max_steps=2, **LEARNING) as trainer:
            if ids:
                sides = [[tokenizer.encode(line) + [1] for line in lines] for lines in (ENGLISH, GERMAN)]
                report = trainer.set_data_ids(*sides)
            else:
                report = trainer.set_data(ENGLISH, GERMAN)
            trainer.run()
            results.append((report, weights(trainer.model())))
    assert results[0] == results[1]


def test_bad_input(trainer, blank):
    with pytest.raises(TypeError, match="droput is no option of Trainer: is it dropout"):
        tfm.Trainer(blank, droput=0.1)
    with pytest.raises(TypeError, match="progress is no option"):
        tfm.Trainer(blank, progress=print)
    with pytest.raises(tfm.InvalidError, match="dropout is 2"):
        tfm.Trainer(blank, dropout=2)
    with pytest.raises(tfm.InvalidError, match="not as many: 8 and 7"):
        trainer.set_data(ENGLISH, GERMAN[:-1])
    with pytest.raises(tfm.FormatError, match="target line 1"):
        trainer.set_data(["a"], [b"\xff"])
    with pytest.raises(tfm.InvalidError, match="no training pair"):
        trainer.set_data([""], [""])
    with tfm.Trainer(blank) as empty:
        for call in (empty.step, empty.run):
            with pytest.raises(tfm.InvalidError, match="no data"):
                call()


def test_ranks_share_the_work(blank):
    """Two trainers, each in its thread, whose reduce adds up what both bring."""
    barrier, brought, models = threading.Barrier(2, timeout=60), {}, {}

    def train(rank):
        def reduce(values):
            brought[rank] = values.tolist()
            barrier.wait()
            total = [a + b for a, b in zip(brought[0], brought[1])]
            barrier.wait()
            for i, value in enumerate(total):
                values[i] = value
        options = dict(LEARNING, max_steps=2, rank=rank, n_ranks=2, reduce=reduce, batch_tokens=20)
        with tfm.Trainer(blank, **options) as trainer:
            trainer.set_data(ENGLISH, GERMAN)
            trainer.run()
            models[rank] = weights(trainer.model())
    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert models[0] == models[1] != weights(blank)


def test_what_reduce_raises_comes_out(blank):
    def reduce(values):
        raise ConnectionError("a rank is gone")
    with tfm.Trainer(blank, max_steps=2, n_ranks=2, reduce=reduce, batch_tokens=20, **LEARNING) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        for call in (trainer.step, trainer.run):
            with pytest.raises(ConnectionError, match="gone"):
                call()
        assert weights(trainer.model()) == weights(blank)


def test_a_bar_is_shown_where_tqdm_is(trainer, capsys):
    tqdm = pytest.importorskip("tqdm")
    assert tqdm
    assert trainer.run(bar=True).step == 6
    assert "6/6" in capsys.readouterr().err


def test_a_bar_that_fails_leaves_the_trainer_as_it_was(trainer, monkeypatch):
    def tqdm(unit):
        raise ZeroDivisionError(f"no {unit}")
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=tqdm))
    with pytest.raises(ZeroDivisionError, match="no step"):
        trainer.run(bar=True)
    assert trainer.step().step == 1 and trainer.run().step == 6


def test_a_bar_without_tqdm(child):
    result = child("""
import sys
sys.modules["tqdm"] = None
import libtransformer as tfm
t = tfm.Tokenizer.learn(["a b c"], vocab_size=264)
trainer = tfm.Trainer(tfm.Model.create(t, "tiny"), max_steps=2)
trainer.set_data(["a b"], ["c"])
print(trainer.run(bar=True).step)
""")
    assert (result.stdout, result.stderr) == ("2\n", "")


def test_callbacks_run_in_the_calling_thread(blank):
    threads = set()
    with tfm.Translator(blank, max_length=3, progress=lambda *_: threads.add(threading.get_ident())) as translator:
        translator.translate(ENGLISH)
    assert threads == {threading.get_ident()}


def test_numpy_gradients(blank):
    if not np:
        pytest.skip("NumPy is not there")
    shapes = []

    def reduce(values):
        shapes.append(type(values))
        values *= 2
    with tfm.Trainer(blank, max_steps=1, n_ranks=2, reduce=reduce, batch_tokens=20, **LEARNING) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        trainer.run()
    assert shapes and set(shapes) == {np.ndarray}
