"""What goes wrong, as exceptions: each carries the library's message and its status."""
from ctypes import byref
from typing import Any, Dict, Type

from ._abi import tfm_error
from .constants import Status


class TransformerError(Exception):
    """A failure of the library: `message` is its one English line, `status` its number.

    Every other exception of this package derives from it, and from the built-in exception that fits.
    """

    def __init__(self, message: str, status: Status = Status.INVALID) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class InvalidError(TransformerError, ValueError):
    """An argument breaks the documented contract."""


class OutOfMemoryError(TransformerError, MemoryError):
    """There is not enough memory; the object is unchanged."""


class FileError(TransformerError, OSError):
    """The operating system refused to read, write or start."""


class FormatError(TransformerError, ValueError):
    """A file or text is truncated, corrupt, or of another kind."""


class UnsupportedError(TransformerError, NotImplementedError):
    """Valid, but not known to this version."""


class CancelledError(TransformerError):
    """A callback asked to stop; everything is valid."""


class ClosedError(TransformerError, ValueError):
    """The object was closed before."""


class BusyError(TransformerError, RuntimeError):
    """The object is in the middle of another call."""


_BY_STATUS: Dict[int, Type[TransformerError]] = {
    Status.INVALID: InvalidError,
    Status.NOMEM: OutOfMemoryError,
    Status.IO: FileError,
    Status.FORMAT: FormatError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.CANCELLED: CancelledError,
}


def checked(function: Any, *arguments: Any) -> None:
    """Calls a function whose last argument is its error, and raises what it reports."""
    error = tfm_error()
    status = function(*arguments, byref(error))
    if status != Status.OK:
        message = error.message.decode("utf-8", "replace")
        # A later library may know more kinds of failure.
        known = Status(status) if status in _BY_STATUS else Status.INVALID
        raise _BY_STATUS.get(status, TransformerError)(message, known)
