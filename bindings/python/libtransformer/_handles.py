"""The life of C objects in Python: who frees them, when they are closed, who may use them."""
import threading
from ctypes import byref, c_void_p
from types import TracebackType
from typing import Any, Callable, Optional, Tuple, Type, TypeVar

from ._calls import Call
from .constants import Status
from .errors import BusyError, CancelledError, ClosedError, checked

T = TypeVar("T")
Self = TypeVar("Self", bound="Handle")


class Owned:
    """A C object, freed when the last Python object that uses it is gone: a view, a call under way, a handle."""

    __slots__ = ("_as_parameter_", "_free", "_keep", "__weakref__")

    def __init__(self, pointer: c_void_p, free: Optional[Callable[[c_void_p], Any]],
                 keep: Tuple[Any, ...] = ()) -> None:
        self._as_parameter_ = pointer  # what ctypes passes for this object
        self._free = free
        self._keep = keep  # what the C object uses and does not own

    def __del__(self) -> None:
        if self._free:
            self._free(self._as_parameter_)


def create(function: Any, free: Any, *arguments: Any, keep: Tuple[Any, ...] = ()) -> Owned:
    """The object that a function gives through its first argument."""
    out = c_void_p()
    checked(function, byref(out), *arguments)
    return Owned(out, free, keep)


class Handle:
    """An object of the library: a context manager, closed once or several times, of no use afterwards."""

    def __init__(self, owned: Owned) -> None:
        self._owned: Optional[Owned] = owned

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} is an object of the C library, which cannot be copied or pickled")

    def close(self) -> None:
        """Gives the object back; its memory goes when no view and no call uses it. A second close does nothing."""
        self._owned = None

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._owned is None

    def _open(self) -> Owned:
        owned = self._owned
        if owned is None:
            raise ClosedError(f"this {type(self).__name__} is closed")
        return owned

    def __enter__(self: Self) -> Self:
        self._open()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class Usage:
    """Who uses a C object at the moment. Its callbacks find the call they belong to here; it does not know the handle,
    so that handle, C object and callbacks are no cycle."""

    def __init__(self) -> None:
        self.call: Optional[Call[Any]] = None
        self.user: Optional[int] = None  # the thread that made the call
        self._turn = threading.Lock()

    def begin(self, call: Call[Any], user: int) -> None:
        """Waits for the turn of a call, or until it is stopped."""
        while not self._turn.acquire(timeout=0.1):
            if call.stopped:
                raise CancelledError("stopped before it began", Status.CANCELLED)
        self.call, self.user = call, user

    def end(self) -> None:
        """Passes the turn on."""
        self.call = self.user = None
        self._turn.release()

    @property
    def stopped(self) -> bool:
        """Whether the call under way is to end."""
        return self.call is not None and self.call.stopped

    def ask(self, request: Callable[[], Any]) -> Any:
        """Has the caller of the call under way run a function."""
        return self.call.ask(request) if self.call else request()

    def hand(self, event: Any) -> None:
        """Hands an event to the caller of the call under way, who keeps its turn."""
        assert self.call is not None  # a callback belongs to a call
        self.call.ask(event)

    def post(self, event: Any) -> None:
        """Hands an event to the caller of the call under way; others may have their turn until it answers."""
        call, user = self.call, self.user
        assert call is not None and user is not None  # a callback belongs to a call
        self.end()
        call.ask(event)
        self._turn.acquire()
        self.call, self.user = call, user


class ExclusiveHandle(Handle):
    """An object that one thread uses at a time: a call waits for the one of another thread."""

    def __init__(self, owned: Owned, usage: Usage) -> None:
        super().__init__(owned)
        self._usage = usage

    def _start(self, work: Callable[[Owned], T]) -> "Call[T]":
        """work(owned) as a call of its own."""
        owned, usage, user = self._open(), self._usage, threading.get_ident()
        if usage.user == user:
            raise BusyError(f"this {type(self).__name__} is in the middle of a call: its callbacks cannot use it")

        def take_turn(call: "Call[T]") -> T:
            usage.begin(call, user)
            try:
                return work(owned)
            finally:
                usage.end()
        return Call(take_turn)
