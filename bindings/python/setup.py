"""A wheel with a copy of the library is for one platform; all else stands in pyproject.toml."""
from pathlib import Path

from setuptools import Distribution, setup

COPIES = list(Path(__file__).resolve().parent.glob("libtransformer/libtransformer.so.*"))


class WithCopy(Distribution):
    """Says whether the package holds compiled code."""

    def has_ext_modules(self) -> bool:
        """Decides the name of the wheel, and with it where it may be installed."""
        return bool(COPIES)


setup(distclass=WithCopy)
