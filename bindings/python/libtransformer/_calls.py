"""Calls that call back.

A long call runs in a thread of its own while its caller waits in Python. So the signal handlers of Python run at once,
Ctrl-C included, which inside a callback of ctypes would be lost; and every callback of the user runs in the thread that
made the call, where what it raises goes up as from any function.
"""
import atexit
import queue
import threading
import weakref
from typing import Any, Callable, Generator, Generic, Optional, TypeVar

T = TypeVar("T")


class Call(Generic[T]):
    """work(call) in a thread, once it is waited for; what it asks is answered by the thread that made the call."""

    def __init__(self, work: "Callable[[Call[T]], T]") -> None:
        self.stopped = False  # the answer to every callback that can cancel
        self._requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._answers: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._ended = threading.Event()
        self._ended.set()  # it has not begun
        self._fate = threading.Lock()  # whoever gets it decides: the call runs, or never will
        self._work = work
        self._result: Optional[T] = None
        self._error: Optional[BaseException] = None

    def _begin(self) -> None:
        # A daemon, or the end of the program would wait for a call whose caller is gone: abandon_all() ends it.
        thread = threading.Thread(target=self._run, name="libtransformer", daemon=True)
        try:
            self._ended.clear()
            _under_way.add(self)
            thread.start()
        except BaseException:  # an interrupted start() may have started it
            if self._fate.acquire(blocking=False):
                self._ended.set()
            raise

    def _run(self) -> None:
        if not self._fate.acquire(blocking=False):
            return
        try:
            self._result = self._work(self)
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error
        finally:
            del self._work  # and what it holds, before the caller goes on
            self._ended.set()
            self._requests.put(self)

    def ask(self, request: Any) -> Any:
        """In the call's thread: has the caller run a function, or receive an event, and returns the answer."""
        if self.stopped:
            return None
        self._requests.put(request)
        return self._answers.get()

    def events(self) -> Generator[Any, Any, T]:
        """In the caller's thread: begins the call, runs the functions asked for, yields the events, returns the result.

        Whatever is raised meanwhile, by a function, a signal handler or the receiver of the events, stops the call.
        """
        try:
            self._begin()
            while True:
                request = self._requests.get()
                if request is self:
                    break
                self._answers.put(request() if callable(request) else (yield request))
        except BaseException:
            self.abandon()
            raise
        error, self._error = self._error, None
        try:
            if error:
                raise error
        finally:
            del error  # or its traceback and this frame would keep each other, and all that the call used
        return self._result  # type: ignore[return-value]  # there is one, as there is no error

    def wait(self) -> T:
        """The result of a call without events."""
        events = self.events()
        try:
            next(events)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("this call has no events")

    def abandon(self) -> None:
        """Stops the call, and returns when it has ended: nothing uses its objects any more."""
        self.stopped = True
        self._answers.put(None)
        self._ended.wait()


_under_way: "weakref.WeakSet[Call[Any]]" = weakref.WeakSet()


def abandon_all() -> None:
    """Ends the calls whose callers left them, while there still is an interpreter for their threads."""
    for call in list(_under_way):
        call.abandon()


atexit.register(abandon_all)
