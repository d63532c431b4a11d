"""The shared library, its failures as exceptions, and calls that Ctrl-C ends."""
from __future__ import annotations

import ctypes
import difflib
import logging
import os
import platform
import signal
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from dq import _interface as c

logger = logging.getLogger("dq")


# ---- Failures ----

class Error(Exception):
    """A call of dq that failed. `status` is the number that the commands exit with, `hint` says what to do, or is ""."""

    status = 0

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message if not hint else f"{message} ({hint})")
        self.message = message
        self.hint = hint


class ConditionError(Error):
    """A condition does not hold, such as `min_sqnr`. Where a transform ends so, the model is converted all the same, as
    the transform's text says, and `facts` are what it would have returned; None: there are none, and the model is as it
    was."""

    status = 1
    facts: Optional[Dict[str, Any]] = None


class UsageError(Error, ValueError):
    """An argument is wrong, or the object is in a state that does not allow the call."""

    status = 2


class InputError(Error, ValueError):
    """A model, data or another file is broken, or does not fit what it is used with."""

    status = 3


class UnsupportedError(Error, NotImplementedError):
    """The model or file is valid, but uses something that dq does not support."""

    status = 4


class SystemFailure(Error, OSError):
    """The system refused: memory, disk, permission, no such file."""

    status = 5


class CancelledError(Error):
    """Another thread called Engine.stop."""

    status = 130


ERRORS = {kind.status: kind for kind in
          (ConditionError, UsageError, InputError, UnsupportedError, SystemFailure, CancelledError)}


# ---- Loading ----

def _load() -> ctypes.CDLL:
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libdq.so")
    path = os.environ.get("DQ_LIBRARY") or (beside if os.path.exists(beside) else c.SONAME)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{path}, the library of dq for Linux with glibc on {platform.machine()}, cannot be loaded: "
                          f"{error}; the commands of the package do not need it") from error
    for name, (result, arguments) in c.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def check(code: int, failure: Any) -> None:
    """Raises the exception of a code that is not 0."""
    if code:
        raise ERRORS[code](failure.message.decode(errors="replace"), failure.hint.decode(errors="replace"))


def interruptible(engine: Any, call: Callable[[], int]) -> int:
    """Makes a long call of the library. In the main thread the call runs in a thread beside, as Python sees Ctrl-C between
    its own steps alone: the signal stops the work, and the program's handler is called when the call has ended."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    caught: List[Tuple[int, Any]] = []

    def stop(number: int, frame: Any) -> None:
        caught.append((number, frame))
        lib.dq_engine_stop(engine, 1)
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # the program ignores the signal, or another one than Python handles it
        return _beside(call)
    signal.signal(signal.SIGINT, stop)
    try:
        code = _beside(call)
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        lib.dq_engine_stop(engine, 0)
        handler(*caught[0])
    return code


def _beside(call: Callable[[], int]) -> int:
    """Makes a call in a thread of its own, while this one handles signals."""
    codes: List[int] = []
    errors: List[BaseException] = []

    def work() -> None:
        try:
            codes.append(call())
        except BaseException as error:  # of a callback
            errors.append(error)
    thread = threading.Thread(target=work, name="dq", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
    if errors:
        raise errors[0]
    return codes[0]


# ---- Options and results ----

def _encode(name: str, value: Any) -> bytes:
    try:
        text = os.fspath(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}, expected a text") from None
    return text if isinstance(text, bytes) else text.encode()


def _number(name: str, kind: str, value: Any) -> Any:
    wanted = "a number" if kind == "real" else "an integer, True or False"
    try:
        return float(value) if kind == "real" else value.__index__()
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"{name} is {value!r}, expected {wanted}") from None


def _texts(name: str, value: Any) -> Any:
    items = [value] if isinstance(value, (str, bytes)) else list(value)
    array = (ctypes.c_char_p * (len(items) + 1))()
    for i, item in enumerate(items):
        array[i] = _encode(name, item)
    return array


def _choice(name: str, kind: str, value: Any) -> int:
    values: Mapping[str, int] = c.ENUMS[kind]
    word = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    if word not in values:
        raise UsageError(f"{name} is {value!r}, expected one of {', '.join(values)}")
    return values[word]


def fill_options(struct: str, given: Mapping[str, Any],
                 handles: Mapping[str, Callable[[Any], Any]]) -> Tuple[Any, List[Any]]:
    """The struct of options with what was given, and what must stay while it is used. `handles` makes the address of a
    dataset or model of Python's."""
    options = getattr(c, struct)()
    defaults = struct.replace("_options", "_defaults")
    getattr(lib, defaults)(ctypes.byref(options), ctypes.sizeof(options))
    kinds, kept = c.OPTIONS[struct], []
    for name, value in given.items():
        kind = kinds.get(name)
        if kind is None or kind == "callback" or (kind not in c.ENUMS and kind not in KINDS):
            near = difflib.get_close_matches(name, [n for n in kinds], 1)
            raise UsageError(f"there is no option '{name}'" + (f", did you mean '{near[0]}'?" if near else ""))
        if value is None:
            continue
        if kind in handles:
            made = handles[kind](value)
            kept.append(made)
            value = made.handle
        elif kind == "text":
            value = _encode(name, value)
        elif kind == "texts":
            array = _texts(name, value)
            kept.append(array)
            value = ctypes.cast(array, ctypes.POINTER(ctypes.c_char_p))
        else:
            value = _choice(name, kind, value) if kind in c.ENUMS else _number(name, kind, value)
        setattr(options, name, value)
    return options, kept


KINDS = ("text", "texts", "real", "integer", "dataset", "model")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, ctypes.Array):
        return [_plain(item) for item in value]
    return as_dict(value) if isinstance(value, ctypes.Structure) else value


def as_dict(struct: Any) -> Dict[str, Any]:
    """The fields of a struct of results, but its size."""
    return {name: _plain(getattr(struct, name)) for name, *_ in struct._fields_ if name != "size"}


def results(struct: str) -> Any:
    made = getattr(c, struct)()
    made.size = ctypes.sizeof(made)
    return made


def rows(function: Any, struct: str, handle: Any) -> List[Dict[str, Any]]:
    """All rows of a table of the model."""
    found: List[Dict[str, Any]] = []
    row = results(struct)
    while function(handle, len(found), ctypes.byref(row)):
        found.append(as_dict(row))
    return found


def fail_if_closed(what: str, handle: Any) -> None:
    if not handle:
        raise UsageError(f"the {what} is closed")


if sys.byteorder != "little":
    raise ImportError("dq is for machines that store the lowest byte first")
