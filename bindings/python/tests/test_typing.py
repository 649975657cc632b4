"""The package is typed: mypy --strict accepts it, and finds what its users get wrong."""
import subprocess
import sys

import pytest
from conftest import PACKAGE

USER = """
from libtransformer import Dtype, Model, Trainer, Translator

model = Model.load("a.tfm")
lines: list[str] = Translator(model, beam=4, dtype=Dtype.BF16).translate(["a"])
for metrics in Trainer(model, dropout=0.2):
    loss: float = metrics.loss
rows: int = model.parameters["a"].shape[0]
"""
WRONG = USER + """
Translator(model, bean=4)
Translator(model, beam="four")
number: int = lines
"""


@pytest.fixture
def mypy(tmp_path):
    for module in ("mypy", "numpy"):
        pytest.importorskip(module)

    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", "--cache-dir",
                               tmp_path / "cache", *arguments], capture_output=True, text=True, check=False,
                              cwd=tmp_path, env={"MYPYPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"})
    return run


def test_the_package_is_typed(mypy, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    result = mypy(PACKAGE / "libtransformer", PACKAGE / "generate.py", PACKAGE / "read_header.py", "user.py")
    assert result.returncode == 0, result.stdout + result.stderr
    (tmp_path / "user.py").write_text(WRONG)
    result = mypy("user.py")
    assert result.stdout.count("user.py") == 3 and "bean" in result.stdout, result.stdout
