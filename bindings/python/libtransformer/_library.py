"""Finds and loads the shared object, and gives its functions their types."""
import ctypes
import site
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, List

from ._abi import PROTOTYPES, VERSION

SONAME = "libtransformer.so.0"


def candidates() -> Iterator[str]:
    """Where the library may be: a copy beside this file, where the loader looks, the usual prefixes."""
    copy = Path(__file__).resolve().parent / SONAME
    if copy.exists():
        yield str(copy)
        return  # the copy was built with this package: no other will do
    yield SONAME
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    for prefix in (sys.prefix, site.getuserbase(), "/usr/local", "/usr"):
        for folder in ("lib/" + multiarch, "lib64", "lib"):
            path = Path(prefix) / folder / SONAME
            if path.exists():
                yield str(path)


def load() -> ctypes.CDLL:
    """The first library that can be loaded and is not older than this package."""
    refused: List[str] = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            library.tfm_version.restype = ctypes.c_char_p
            version = library.tfm_version().decode()
        except (OSError, AttributeError) as error:
            refused.append(f"{path}: {error}")
            continue
        if tuple(map(int, version.split("."))) >= VERSION:
            return with_types(library)
        refused.append(f"{path}: version {version} is older than this package, {'.'.join(map(str, VERSION))}")
    raise ImportError(f"no {SONAME} of libtransformer: install it with meson, or name its folder in LD_LIBRARY_PATH ("
                      + "; ".join(refused) + ")")


def with_types(library: ctypes.CDLL) -> ctypes.CDLL:
    """The library, after declaring what its functions take and return."""
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = load()
