"""Installed by pip: with the library that the loader finds, or with a copy of it (option python_copy of the build)."""
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PACKAGE

from libtransformer import _library

WHERE = """
import libtransformer
print(libtransformer.version(), libtransformer.__file__)
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libtransformer.so" in line})
"""


def installed(source, target):
    """Has pip install from a copy of the source tree, as it leaves a folder build behind."""
    for module in ("pip", "setuptools", "wheel"):
        if not importlib.util.find_spec(module):
            pytest.skip(f"{module} is not installed")
    shutil.copytree(source, target / "source", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                    "--disable-pip-version-check", "--root-user-action=ignore", "--target", target / "site",
                    target / "source"], check=True)
    return target / "site"


def run(site, library_path=None):
    """What a Python says that knows only this site: version, package, shared object."""
    environment = {"PYTHONPATH": str(site), **({"LD_LIBRARY_PATH": library_path} if library_path else {})}
    result = subprocess.run([sys.executable, "-c", WHERE], capture_output=True, text=True, check=False, env=environment,
                            cwd="/")
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_pip_installs_the_package(tmp_path):
    site = installed(PACKAGE, tmp_path)
    version, package, library = run(site, os.environ["LD_LIBRARY_PATH"])
    assert version == "%d.%d.%d" % _library.VERSION
    assert Path(package).parent == site / "libtransformer" and str(site) not in library
    assert (site / "libtransformer" / "py.typed").exists()
    assert (site / f"libtransformer-{version}.dist-info").is_dir()


def test_pip_installs_a_copy_of_the_library(tmp_path):
    staged = os.environ.get("TFM_PYTHON_COPY")
    if not staged:
        pytest.skip("this build was set up without -Dpython_copy=true")
    have = {path.name for path in (Path(staged) / "libtransformer").iterdir() if path.name != "__pycache__"}
    want = {path.name for path in (PACKAGE / "libtransformer").iterdir()} - {"__pycache__", "meson.build"}
    assert have == want | {_library.SONAME}
    site = installed(staged, tmp_path)
    _, package, library = run(site)
    assert Path(package).parent == Path(library).parent == site / "libtransformer"


def test_an_absent_library_is_an_import_error(tmp_path):
    shutil.copytree(PACKAGE / "libtransformer", tmp_path / "libtransformer")
    (tmp_path / "libtransformer" / _library.SONAME).write_bytes(b"not a library")
    result = subprocess.run([sys.executable, "-c", "import libtransformer"], capture_output=True, text=True,
                            check=False, env={"PYTHONPATH": str(tmp_path)}, cwd="/")
    assert "ImportError: no libtransformer.so.0" in result.stderr and str(tmp_path) in result.stderr


def test_an_older_library_is_refused(monkeypatch):
    monkeypatch.setattr(_library, "VERSION", (99, 0, 0))
    with pytest.raises(ImportError, match="older than this package, 99.0.0"):
        _library.load()
