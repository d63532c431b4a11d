"""A model made ready to run."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from dq import _interface as c
from dq._data import TYPES, numpy
from dq._library import UsageError, check, fail_if_closed, fill_options, lib


class Port(NamedTuple):
    """An input or output: its name, numpy's name of its type, and its shape. `fixed` is False where the shape depends on
    elements: type and shape are known after a run alone, and are "" and () here."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    fixed: bool


class Network:
    """Runs a model. It holds the model, which cannot be transformed or closed meanwhile."""

    def __init__(self, model: Any, *, batch: int = 1, shapes: Any = None, plain: bool = False, fast: bool = True) -> None:
        self.handle = ctypes.c_void_p()
        self.model = model
        self._engine = model.engine
        options, kept = fill_options("dq_network_options", {"batch": batch, "shapes": shapes, "plain": plain,
                                                              "fast": fast}, {})
        self._engine.call(lambda f: lib.dq_network_open(ctypes.byref(self.handle), model.handle, ctypes.byref(options), f))
        del kept
        model._networks += 1
        self.inputs = self._ports(lib.dq_network_input, lib.dq_network_inputs(self.handle))
        self.outputs = self._ports(lib.dq_network_output, lib.dq_network_outputs(self.handle))
        self._prepare()

    def _array(self, function: Any, index: int) -> Any:
        array = c.dq_array()
        function(self.handle, index, ctypes.byref(array))
        return array

    def _ports(self, function: Any, count: int) -> List[Port]:
        listed = [self._array(function, i) for i in range(count)]
        return [Port(a.name.decode(errors="replace"), TYPES.get(a.type, str(a.type)) if a.rank >= 0 else "",
                     tuple(a.dims[:a.rank]) if a.rank >= 0 else (), a.rank >= 0) for a in listed]

    def _prepare(self) -> None:
        """What every run needs, once: addresses of inputs and outputs for the library."""
        np = numpy()
        self._empty = np.empty
        self._given = (ctypes.c_void_p * max(len(self.inputs), 1))()
        self._received = (ctypes.c_void_p * max(len(self.outputs), 1))()
        self._wanted = [(i, p.name, np.dtype(p.dtype), p.shape) for i, p in enumerate(self.inputs)]
        self._made = [(i, p.name, np.dtype(p.dtype), p.shape) for i, p in enumerate(self.outputs) if p.fixed]
        self._open = [(i, p.name) for i, p in enumerate(self.outputs) if not p.fixed]
        address: Any = ctypes.cast(lib.dq_network_run_on, ctypes.c_void_p).value
        self._run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(address)
        self._failure_address = ctypes.addressof(self._engine._failure)

    def _refuse(self, name: str, value: Any, dtype: Any, shape: Tuple[int, ...]) -> None:
        """Says why an array is not what an input takes."""
        np = numpy()
        if not isinstance(value, np.ndarray):
            raise UsageError(f"input '{name}' is {type(value).__name__}, expected a numpy array")
        if value.dtype != dtype:
            raise UsageError(f"input '{name}' is {value.dtype}, expected {dtype}: array.astype('{dtype}')")
        if value.shape != shape:
            raise UsageError(f"input '{name}' has the shape {value.shape}, expected {shape}; model.network(batch=, "
                             "shapes=) sets what the model leaves open")
        raise UsageError(f"input '{name}' is not in row-major order without gaps: numpy.ascontiguousarray(array)")

    def _refuse_names(self, given: Mapping[str, Any]) -> None:
        names = [port.name for port in self.inputs]
        missing, unknown = [n for n in names if n not in given], [n for n in given if n not in names]
        raise UsageError((f"there is no input '{unknown[0]}'" if unknown else f"input '{missing[0]}' is missing") +
                         f"; the inputs are {', '.join(names)}")

    def run(self, inputs: Any) -> Dict[str, Any]:
        """Computes the outputs, {name: array}, from {name: array}, or from an array where there is one input. Arrays are
        read and written in place, without copies; they have the type and shape of the ports, in row-major order."""
        given = inputs if isinstance(inputs, Mapping) else {self.inputs[0].name: inputs} if len(self.inputs) == 1 else {}
        if len(given) != len(self._wanted):
            self._refuse_names(given)
        with self._engine.used():
            fail_if_closed("network", self.handle)
            return self._run_on(given)

    def _run_on(self, given: Mapping[str, Any]) -> Dict[str, Any]:
        for i, name, dtype, shape in self._wanted:
            try:
                value = given[name]
            except KeyError:
                self._refuse_names(given)
            try:
                if value.dtype != dtype or value.shape != shape or not value.flags.c_contiguous:
                    self._refuse(name, value, dtype, shape)
                self._given[i] = value.__array_interface__["data"][0]
            except AttributeError:
                self._refuse(name, value, dtype, shape)
        outputs = {}
        for i, name, dtype, shape in self._made:
            made = outputs[name] = self._empty(shape, dtype)
            self._received[i] = made.__array_interface__["data"][0]
        code = self._run(self.handle, self._given, self._received, self._failure_address)
        if code:
            check(code, self._engine._failure)
        for i, name in self._open:
            outputs[name] = self._copy(i)
        return outputs

    def _copy(self, index: int) -> Any:
        """An output whose shape the run has decided."""
        array = self._array(lib.dq_network_output, index)
        content = ctypes.string_at(array.data, array.bytes) if array.bytes else b""
        return numpy().frombuffer(bytearray(content), TYPES[array.type]).reshape(tuple(array.dims[:array.rank]))

    def close(self) -> None:
        """Releases the memory of the network."""
        with self._engine.used():
            handle, self.handle = self.handle, ctypes.c_void_p()
            if handle:
                lib.dq_network_close(handle)
                self.model._networks -= 1

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()
