"""What the tests share: a phrase book, and a model that has learned it by heart."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import libtransformer as tfm

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "python"
sys.path.insert(0, str(PACKAGE))  # generate.py and read_header.py

ENGLISH = ["good morning", "good evening", "good night", "thank you", "please", "see you tomorrow", "how are you?",
           "where are you?"]
GERMAN = ["guten Morgen", "guten Abend", "gute Nacht", "danke", "bitte", "bis morgen", "wie geht es dir?",
          "wo bist du?"]
LEARNING = {"dropout": 0, "warmup": 50, "lr_scale": 0.15, "n_threads": 1}


@pytest.fixture(scope="session")
def tokenizer():
    return tfm.Tokenizer.learn(ENGLISH + GERMAN, vocab_size=300)


@pytest.fixture(scope="session")
def blank(tokenizer):
    """A model that knows nothing yet."""
    return tfm.Model.create(tokenizer, "tiny")


@pytest.fixture(scope="session")
def book(blank):
    """The model that knows the phrase book."""
    with tfm.Trainer(blank, max_steps=150, **LEARNING) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        trainer.run()
        return trainer.model()


@pytest.fixture
def trainer(blank):
    with tfm.Trainer(blank, max_steps=6, **LEARNING) as trainer:
        trainer.set_data(ENGLISH, GERMAN)
        yield trainer


@pytest.fixture
def translator(book):
    with tfm.Translator(book) as translator:
        yield translator


@pytest.fixture
def child():
    """Runs a program in another Python, which sees the same package and library."""
    def run(program, *arguments, **options):
        return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False, **options)
    return run


@pytest.fixture(scope="session")
def data():
    """The folder of test data."""
    folder = Path(os.environ.get("TFM_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder
