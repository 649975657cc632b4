"""Where NumPy is not installed, the same matrices are memoryviews: the tests that touch them pass there too."""
from conftest import PACKAGE

BLOCKED = """
import sys
sys.modules["numpy"] = None
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def test_the_tests_pass_without_numpy(child):
    tests = [PACKAGE / "tests" / name for name in ("test_model.py", "test_translator.py", "test_functions.py")]
    result = child(BLOCKED, *tests, cwd=PACKAGE)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_view_is_a_read_only_memoryview(child):
    result = child("""
import sys
sys.modules["numpy"] = None
import libtransformer as tfm
view = tfm.Model.create(None, "tiny", vocab_size=20).parameters["embedding.weight"]
print(type(view).__name__, view.shape, view.readonly, view.format)
""")
    assert result.stdout == "memoryview (20, 128) True f\n", result.stderr
