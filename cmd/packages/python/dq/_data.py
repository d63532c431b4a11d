"""Data of calls: a specification as on the command line, arrays, or samples one by one."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from dq import _interface as c
from dq._engine import Engine
from dq._library import InputError, UsageError, fail_if_closed, fill_options, lib

# Names of numpy's types by the numbers of ONNX.
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
         10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}
NUMBERS = {name: number for number, name in TYPES.items()}


def numpy() -> Any:
    """The package numpy, which arrays alone need."""
    try:
        import numpy as module
    except ImportError as error:
        raise ImportError("arrays need the package numpy: pip install numpy") from error
    return module


def as_array(what: str, value: Any) -> Any:
    """A numpy array in row-major order."""
    array = numpy().asarray(value)
    if array.dtype.name not in NUMBERS:
        raise UsageError(f"{what} has elements of type {array.dtype}, expected numbers such as float32 or uint8")
    return numpy().ascontiguousarray(array)


def fill_array(name: Optional[str], array: Any) -> Any:
    made = c.dq_array(name=name.encode() if name else None, type=NUMBERS[array.dtype.name], rank=array.ndim,
                      data=array.ctypes.data, bytes=array.nbytes)
    if array.ndim > len(made.dims):
        raise UsageError(f"{name or 'the array'} has {array.ndim} dimensions, expected at most {len(made.dims)}")
    made.dims[:array.ndim] = array.shape
    return made


def _stack(samples: Iterable[Any]) -> Union[Any, Dict[str, Any]]:
    """Samples one by one as one array for each input."""
    listed = list(samples)
    if not listed:
        raise InputError("the data have no samples")
    if isinstance(listed[0], Mapping):
        names = list(listed[0])
        for i, sample in enumerate(listed):
            if not isinstance(sample, Mapping) or set(sample) != set(names):
                raise InputError(f"sample {i} is not a dict with the inputs {', '.join(names)}, as the first is")
        return {name: _stack([sample[name] for sample in listed]) for name in names}
    arrays = [numpy().asarray(sample) for sample in listed]
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
            raise InputError(f"sample {i} is {array.dtype} {array.shape}, the first {arrays[0].dtype} {arrays[0].shape}: "
                             "samples of several sizes are pictures in files, or brought to one size before")
    return numpy().stack(arrays)


def _arrays_of(source: Any) -> List[Tuple[Optional[str], Any]]:
    if isinstance(source, Mapping):
        return [(str(name), as_array(f"input '{name}'", value)) for name, value in source.items()]
    if not hasattr(source, "__array__") and not hasattr(source, "__array_interface__"):
        stacked = _stack(source)
        if isinstance(stacked, dict):
            return _arrays_of(stacked)
        source = stacked
    return [(None, as_array("the array", source))]


class Dataset:
    """Pictures or arrays of an engine.

    source: a text as --data of the commands takes it ("pictures/", "npy:x.npy", "synth:shapes"); a numpy array whose
    first dimension counts samples (uint8 N x H x W x C or N x C x H x W are pictures, which preset and preprocess make
    inputs of; others are inputs as they are); a dict of such arrays by the names of inputs; or an iterable of samples,
    each an array without that dimension or a dict of them. labels: for arrays the numbers of classes, else a path.
    model: its stored preprocessing is used where there is no other. limit: the most samples; 0: all.
    """

    def __init__(self, source: Any, *, engine: Engine, labels: Any = None, model: Any = None, **options: Any) -> None:
        self.handle = ctypes.c_void_p()
        self.engine = engine
        self._kept: List[Any] = []
        if isinstance(labels, (str, bytes)):
            options["labels"], labels = labels, None
        filled, kept = fill_options("dq_dataset_options", {**options, "model": model}, {"model": lambda m: m})
        if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__"):
            if labels is not None:
                raise UsageError("labels are numbers for arrays; for files they are a path")
            self._open_spec(source, filled)
        else:
            self._open_arrays(_arrays_of(source), labels, filled)
        engine._made += 1

    def _open_spec(self, source: Any, options: Any) -> None:
        spec = source if isinstance(source, bytes) else (source if isinstance(source, str) else source.__fspath__()).encode()
        self.engine.call(lambda f: lib.dq_dataset_open(ctypes.byref(self.handle), self.engine.handle, spec,
                                                       ctypes.byref(options), f))

    def _open_arrays(self, arrays: List[Tuple[Optional[str], Any]], labels: Any, options: Any) -> None:
        listed = (c.dq_array * len(arrays))(*[fill_array(name, array) for name, array in arrays])
        self._kept += [array for _, array in arrays]
        numbers = None
        if labels is not None:
            classes = as_array("labels", labels)
            self._kept.append(classes)
            numbers = ctypes.byref(fill_array("labels", classes))
        self.engine.call(lambda f: lib.dq_dataset_of_arrays(ctypes.byref(self.handle), self.engine.handle, listed,
                                                            len(arrays), numbers, ctypes.byref(options), f))

    def __len__(self) -> int:
        fail_if_closed("dataset", self.handle)
        with self.engine.used():
            return int(lib.dq_dataset_count(self.handle))

    def close(self) -> None:
        """Releases the data."""
        with self.engine.used():
            handle, self.handle = self.handle, ctypes.c_void_p()
            if handle:
                lib.dq_dataset_close(handle)
                self.engine._made -= 1

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()
