"""Threads, memory and messages of calls."""
from __future__ import annotations

import contextlib
import ctypes
import logging
import threading
from typing import Any, Callable, Dict, Iterator, Optional

from dq import _interface as c
from dq._library import UsageError, check, fail_if_closed, fill_options, interruptible, lib, logger

LEVELS = {0: logging.INFO, 1: logging.WARNING, 2: logging.DEBUG}


class Engine:
    """Threads, a limit of memory and a receiver of messages, which models share that are loaded with it.

    threads: 0: one for each processor that the process may use. memory: bytes; work that needs more fails; 0: no limit.
    seed: of random numbers. instructions: the instruction sets allowed, such as "avx2". wisdom: a file of dq-tune.
    progress(what, done, total) is called while work goes on; an exception of it ends the work. Messages of dq go to the
    logger "dq". One thread at a time uses an engine and what was made with it: UsageError otherwise.
    """

    def __init__(self, *, threads: int = 0, memory: int = 0, seed: int = 0, instructions: Optional[str] = None,
                 wisdom: Optional[str] = None, progress: Optional[Callable[[str, int, int], Any]] = None) -> None:
        self.handle = ctypes.c_void_p()
        self._busy = threading.Lock()
        self._made = 0  # models and data of the engine that are open
        self._failure = c.dq_failure()
        self._raised: Optional[BaseException] = None
        self._progress = progress
        options, _ = fill_options("dq_engine_options", {"threads": threads, "memory": memory, "seed": seed,
                                                        "instructions": instructions, "wisdom": wisdom}, {})
        types: Dict[str, Any] = dict(c.dq_engine_options._fields_)
        self._callbacks = (types["message"](self._message), types["progress"](self._report))
        options.message = self._callbacks[0]
        if progress:
            options.progress = self._callbacks[1]
        self.call(lambda f: lib.dq_engine_open(ctypes.byref(self.handle), ctypes.byref(options), f), long=False)

    def _message(self, _user: Any, notice: int, text: bytes) -> None:
        logger.log(LEVELS.get(notice, logging.INFO), "%s", text.decode(errors="replace"))

    def _report(self, _user: Any, what: bytes, done: int, total: int) -> None:
        try:
            if not self._raised and self._progress:
                self._progress(what.decode(errors="replace"), done, total)
        except BaseException as error:  # it is raised when the call has ended
            self._raised = error
            lib.dq_engine_stop(self.handle, 1)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """For calls of the library: the engine belongs to this thread meanwhile."""
        if not self._busy.acquire(blocking=False):
            raise UsageError("another thread uses the engine, or what was made with it; an Engine for each thread")
        try:
            yield
        finally:
            self._busy.release()

    def call(self, function: Callable[[Any], int], long: bool = True) -> None:
        """Calls the library with the place of the failure, and raises what it says."""
        with self.used():
            self._raised = None
            failure = ctypes.byref(self._failure)
            code = interruptible(self.handle, lambda: function(failure)) if long else function(failure)
            raised, self._raised = self._raised, None
            if raised:
                lib.dq_engine_stop(self.handle, 0)
                raise raised
            check(code, self._failure)

    def stop(self) -> None:
        """Ends the work that runs on the engine in another thread, which raises CancelledError."""
        fail_if_closed("engine", self.handle)
        lib.dq_engine_stop(self.handle, 1)

    def resume(self) -> None:
        """Allows work again, after stop."""
        fail_if_closed("engine", self.handle)
        lib.dq_engine_stop(self.handle, 0)

    def close(self) -> None:
        """Releases the threads. Models and data of the engine must be closed before."""
        if self._made:
            raise UsageError(f"{self._made} models or data of the engine are open; close them first")
        with self.used():
            handle, self.handle = self.handle, ctypes.c_void_p()
            if handle:
                lib.dq_engine_close(handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None) and not self._made:  # what is left of a cycle may outlive the engine
            self.close()
