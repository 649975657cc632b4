"""Ctrl-C, by a real SIGINT to a child process in the middle of a call that would take hours."""
import signal
import subprocess
import sys
import threading
import time

import pytest

from libtransformer._calls import Call

SETUP = """
import signal, sys, threading
import libtransformer as tfm
lines = ["good morning", "guten Morgen"]
t = tfm.Tokenizer.learn(lines, vocab_size=280)
model = tfm.Model.create(t, "small")
many = ["good morning " * 30] * 3000
def interrupted(call):
    try:
        print("begun", flush=True)
        call()
    except KeyboardInterrupt as error:
        print("interrupted", flush=True)
    else:
        print("not interrupted")
"""
TRANSLATE = SETUP + """
translator = tfm.Translator(model)
interrupted(lambda: translator.translate(many))
print(len(translator.translate(["good"])))
"""
SCORE = SETUP + """
translator = tfm.Translator(model, batch_tokens=500)  # it looks up after each batch
interrupted(lambda: translator.score(many, many))
print(len(translator.translate(["good"])))
"""
TRAIN = SETUP + """
trainer = tfm.Trainer(model, max_steps=0, checkpoint_path=sys.argv[1])
trainer.set_data(lines, lines[::-1])
interrupted(trainer.run)
print(trainer.step().step > 1)
"""
LOOP = SETUP + """
trainer = tfm.Trainer(model, max_steps=0, checkpoint_path=sys.argv[1])
trainer.set_data(lines, lines[::-1])
interrupted(lambda: [m for m in trainer])
print(trainer.step().step > 1)
"""
HANDLER = SETUP + """
def handler(number, frame):
    raise KeyboardInterrupt("from a handler of the program")
signal.signal(signal.SIGUSR1, handler)
translator = tfm.Translator(model, progress=lambda done, total: None)
interrupted(lambda: translator.translate(many))
print(len(translator.translate(["good"])))
"""
THREAD = SETUP + """
under_way = threading.Event()
translator = tfm.Translator(model, progress=lambda done, total: under_way.set())
def background():
    try:
        translator.translate(many)
    except tfm.CancelledError:  # the program ends
        pass
threading.Thread(target=background, daemon=True).start()
under_way.wait()
interrupted(lambda: translator.translate(["good"]))  # waits for its turn
print("ends")
"""


@pytest.mark.parametrize("program, number, last", [
    (TRANSLATE, signal.SIGINT, "1"), (SCORE, signal.SIGINT, "1"), (TRAIN, signal.SIGINT, "True"),
    (LOOP, signal.SIGINT, "True"), (HANDLER, signal.SIGUSR1, "1"), (THREAD, signal.SIGINT, "ends"),
], ids=["translate", "score", "train", "loop", "handler", "turn"])
def test_a_signal_ends_the_call(program, number, last, tmp_path):
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "run")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begun\n"
            with pytest.raises(subprocess.TimeoutExpired):  # so that it is inside the call
                child.wait(0.5)
            child.send_signal(number)
            out, err = child.communicate(timeout=120)
        finally:
            child.kill()
    assert (child.returncode, out, err) == (0, f"interrupted\n{last}\n", "")
    if program in (TRAIN, LOOP):
        assert list(tmp_path.glob("run-*.ckpt"))


@pytest.mark.parametrize("started", [True, False])
def test_an_interrupted_start_leaves_nothing_under_way(monkeypatch, started):
    begun, ended, original = threading.Event(), [], threading.Thread.start

    def work(_call):
        begun.set()
        time.sleep(0.2)
        ended.append(True)

    def start(thread):
        if started:
            original(thread)
            begun.wait()
        raise KeyboardInterrupt
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        Call(work).wait()
    assert ended == [True] * started


def test_a_signal_before_the_first_event_leaves_nothing_under_way(child):
    result = child(SETUP + """
import contextlib
def interrupted(events):
    raise KeyboardInterrupt
translator, trainer = tfm.Translator(model, max_length=3), tfm.Trainer(model)
trainer.set_data(lines, lines[::-1])
closing, contextlib.closing = contextlib.closing, interrupted  # where a loop has its call, and waits for no event yet
for begun in translator.stream(lines), iter(trainer):
    try:
        next(begun)
    except KeyboardInterrupt:
        print("interrupted")
contextlib.closing = closing
print(len(translator.translate(lines)), trainer.step().step)
""")
    assert (result.stdout, result.stderr) == ("interrupted\ninterrupted\n2 1\n", "")


def test_a_program_can_end_in_the_middle_of_a_loop(child):
    result = child(SETUP + """
trainer = tfm.Trainer(model, max_steps=0)
trainer.set_data(lines, lines[::-1])
events = iter(trainer)
print(next(events).step)
""")
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
