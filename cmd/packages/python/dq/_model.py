"""Models: load, transform, inspect, save."""
from __future__ import annotations

import ctypes
import os
import tempfile
from typing import Any, Callable, Dict, List, Optional

from dq import _interface as c
from dq._data import Dataset
from dq._engine import Engine
from dq._library import ConditionError, UsageError, as_dict, fail_if_closed, fill_options, lib, results, rows, _texts
from dq._network import Network

# The preprocessing of pictures, which transforms take beside their own options.
DATA_OPTIONS = ("preset", "preprocess", "norm", "limit", "strict", "labels")
TABLES = {"amp": [("nodes", "dq_model_amp_at", "dq_model_amp_row"), ("ranges", "dq_model_amp_range_at", "dq_model_amp_range")],
          "int8": [("layers", "dq_model_int8_at", "dq_model_int8_row")],
          "mix": [("points", "dq_model_mix_at", "dq_model_mix_row"), ("layers", "dq_model_int8_at", "dq_model_int8_row")],
          "tucker": [("layers", "dq_model_tucker_at", "dq_model_tucker_row")],
          "train": [("epochs", "dq_model_train_at", "dq_model_train_row")]}


class Model:
    """An ONNX model in memory. Transforms change it; one that fails leaves it as it was. Close it, or use it in a `with`
    statement, to release its memory at once."""

    def __init__(self, source: Any, *, engine: Optional[Engine] = None, folder: Optional[str] = None, **threads: Any) -> None:
        if engine and threads:
            raise UsageError(f"{', '.join(threads)} are options of an engine, and one is given")
        self.handle = ctypes.c_void_p()
        self.engine = engine or Engine(**threads)
        self._last: Optional[str] = None
        self._facts: Dict[str, Any] = {}
        self._networks = 0
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._load_bytes(bytes(source), folder)
        else:
            path = os.fsencode(source)
            self.engine.call(lambda f: lib.dq_model_load(ctypes.byref(self.handle), self.engine.handle, path, f))
        self.engine._made += 1

    def _load_bytes(self, content: bytes, folder: Optional[str]) -> None:
        self._bytes = content  # weights stay there
        address = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p)
        where = os.fsencode(folder) if folder else None
        self.engine.call(lambda f: lib.dq_model_load_bytes(ctypes.byref(self.handle), self.engine.handle, address,
                                                           len(content), where, f))

    # ---- Transforms ----

    def _dataset(self, data: Any, options: Dict[str, Any]) -> Dataset:
        if isinstance(data, Dataset):
            if options:
                raise UsageError(f"{', '.join(options)} belong to the data, and a Dataset is given")
            fail_if_closed("dataset", data.handle)
            if data.engine is not self.engine:
                raise UsageError("the dataset is one of another engine: Dataset(..., engine=model.engine)")
            return data
        return Dataset(data, engine=self.engine, model=self, **options)

    def _transform(self, name: str, data: Any, options: Dict[str, Any], given: bool) -> Dict[str, Any]:
        """`given`: the function of the library takes the data as an argument, not as an option."""
        fail_if_closed("model", self.handle)
        about_data = {key: options.pop(key) for key in DATA_OPTIONS if key in options}
        about_others = {key: value for key, value in about_data.items() if key != "labels"}
        struct = f"dq_model_{name}_options"
        handles: Dict[str, Callable[[Any], Any]] = {
            "dataset": lambda value: self._dataset(value, {} if isinstance(value, Dataset) else about_others),
            "model": _open_model}
        dataset = None if data is None else self._dataset(data, about_data)
        if dataset and not given:
            options["data"] = dataset
        filled, kept = fill_options(struct, options, handles)
        facts = results(f"dq_model_{name}_facts")
        function = getattr(lib, f"dq_model_{name}")
        own = [dataset.handle if dataset else None] if given else []
        kept.append(dataset)
        self._last, self._facts = None, {}  # rows of the transform before are forgotten
        try:
            self.engine.call(lambda f: function(self.handle, *own, ctypes.byref(filled), ctypes.byref(facts), f))
        except ConditionError as error:
            error.facts = self._keep(name, facts) if TABLES[name] and _has_rows(self.handle, name) else None
            raise
        return self._keep(name, facts)

    def _keep(self, name: str, facts: Any) -> Dict[str, Any]:
        self._last, self._facts = name, as_dict(facts)
        return dict(self._facts)

    def int8(self, data: Any = None, **options: Any) -> Dict[str, Any]:
        """Quantizes the model to 8-bit integers on pictures. Returns facts, as dq_model_int8_facts has them. data: as of
        Dataset; None: the option use_table replays a table. preset, preprocess, norm, limit, strict and labels belong to
        the data. ConditionError: a bound such as min_sqnr does not hold; the model is converted all the same."""
        return self._transform("int8", data, options, True)

    def amp(self, **options: Any) -> Dict[str, Any]:
        """Converts to float16 what gains much and loses little. check: pictures on which values are observed, to which
        preset, preprocess, norm, limit and strict belong. ConditionError: a value is beyond float16 there, or an output
        has NaN or infinity; the model is converted all the same."""
        return self._transform("amp", None, options, False)

    def tucker(self, data: Any = None, **options: Any) -> Dict[str, Any]:
        """Decomposes convolutions, by one of ratio, energy, macs (a share such as 0.75), ranks, vbmf and max_drop. data:
        pictures that the factors are fitted to. ConditionError with `facts` None: no ranks reach `macs`."""
        return self._transform("tucker", data, options, False)

    def mix(self, data: Any, **options: Any) -> Dict[str, Any]:
        """Chooses one precision for each layer, on measured times and losses. The points are in report()."""
        return self._transform("mix", data, options, True)

    def train(self, data: Any, validation: Any, **options: Any) -> Dict[str, Any]:
        """Trains the weights on pictures; the best epoch by the pictures of `validation` is kept. ConditionError: the
        training diverged, or made the model worse, which is then as it was."""
        return self._transform("train", data, {**options, "validation": validation}, False)

    # ---- Facts ----

    def cost(self, shapes: Any = None) -> Dict[str, Any]:
        """Multiply-accumulates, parameters and memory, of the model and of each node (`layers`). shapes: sizes that the
        model leaves open, such as ["x=1,3,224,224"]."""
        fail_if_closed("model", self.handle)
        facts = results("dq_model_cost_facts")
        texts = None if shapes is None else _texts("shapes", shapes)
        self.engine.call(lambda f: lib.dq_model_cost(self.handle, texts, ctypes.byref(facts), f))
        return {**as_dict(facts), "layers": self._rows("dq_model_cost_at", "dq_model_cost_row")}

    def _rows(self, function: str, struct: str) -> List[Dict[str, Any]]:
        with self.engine.used():
            return rows(getattr(lib, function), struct, self.handle)

    def accuracy(self, data: Any, **options: Any) -> Dict[str, Any]:
        """Runs the model on labelled data and compares: `task` and `figures`, the first of which is the main one."""
        fail_if_closed("model", self.handle)
        dataset = self._dataset(data, {key: options.pop(key) for key in DATA_OPTIONS if key in options})
        filled, kept = fill_options("dq_model_accuracy_options", options, {})
        facts = results("dq_model_accuracy_facts")
        self.engine.call(lambda f: lib.dq_model_accuracy(self.handle, dataset.handle, ctypes.byref(filled),
                                                         ctypes.byref(facts), f))
        del kept
        found = as_dict(facts)
        found["figures"] = found["figures"][:found.pop("figure_count")]
        return found

    def compare(self, reference: "Model", data: Any, **options: Any) -> Dict[str, Any]:
        """The noise of each output and layer against a reference, on data: SQNR in dB, `outputs` and `layers`."""
        fail_if_closed("model", self.handle)
        fail_if_closed("reference", reference.handle)
        dataset = self._dataset(data, {key: options.pop(key) for key in DATA_OPTIONS if key in options})
        filled, kept = fill_options("dq_model_compare_options", options, {})
        facts = results("dq_model_compare_facts")
        self.engine.call(lambda f: lib.dq_model_compare(self.handle, reference.handle, dataset.handle,
                                                        ctypes.byref(filled), ctypes.byref(facts), f))
        del kept
        table = self._rows("dq_model_compare_at", "dq_model_compare_row")
        return {"pictures": facts.pictures, "outputs": table[:facts.outputs], "layers": table[facts.outputs:]}

    def report(self) -> Dict[str, Any]:
        """What is known: `cost`, and of the last transform its name (`transform`), facts and rows by layer."""
        found: Dict[str, Any] = {"cost": self.cost(), "transform": self._last}
        if self._last:
            found.update(self._facts)
            for key, function, struct in TABLES[self._last]:
                found[key] = self._rows(function, struct)
        return found

    # ---- Files ----

    def save(self, path: Any) -> None:
        """Writes an ONNX file, which appears under its name when it is complete."""
        fail_if_closed("model", self.handle)
        name = os.fsencode(path)
        self.engine.call(lambda f: lib.dq_model_save(self.handle, name, f))

    def tobytes(self) -> bytes:
        """The model as the bytes of an ONNX file."""
        with tempfile.TemporaryDirectory(prefix="dq-") as folder:
            path = os.path.join(folder, "model.onnx")
            self.save(path)
            if os.path.exists(f"{path}.data"):
                raise UsageError("the model has more than 2 GB, which are two files: save it")
            with open(path, "rb") as file:
                return file.read()

    def c_source(self, **options: Any) -> Dict[str, Any]:
        """The model as C99 without a runtime, as dq-cc writes it: the texts `source` and `header`, `weights` (the bytes of
        the file of constants that the option weights names, else None), and sizes such as `arena_bytes`."""
        fail_if_closed("model", self.handle)
        filled, kept = fill_options("dq_model_source_options", options, {})
        facts = results("dq_model_source_facts")
        self.engine.call(lambda f: lib.dq_model_source(self.handle, ctypes.byref(filled), ctypes.byref(facts), f))
        del kept
        found = as_dict(facts)
        found["weights"] = ctypes.string_at(facts.weights, facts.weights_bytes) if facts.weights else None
        return found

    # ---- Running ----

    def network(self, *, threads: Optional[int] = None, batch: int = 1, shapes: Any = None, plain: bool = False,
                fast: bool = True) -> Network:
        """Makes the model ready to run. threads: of an engine of its own; None: those of the model. batch: the first size of
        inputs where the model leaves it open. shapes: as of cost. plain: run each node as the model has it. fast:
        convolutions of floats by the fastest algorithm, also Winograd's filtering, as `dq-run --data` and dq-bench have
        them; False: with the same bits on every processor."""
        fail_if_closed("model", self.handle)
        model = self if threads is None else Model(self.tobytes(), threads=threads)
        return Network(model, batch=batch, shapes=shapes, plain=plain, fast=fast)

    @property
    def inputs(self) -> List[str]:
        """Names of the inputs that are not weights."""
        fail_if_closed("model", self.handle)
        with self.engine.used():
            return [lib.dq_model_input_name(self.handle, i).decode(errors="replace")
                    for i in range(lib.dq_model_input_count(self.handle))]

    def close(self) -> None:
        """Releases the memory. Networks on the model must be closed before."""
        if self._networks:
            raise UsageError(f"{self._networks} networks are open on the model; close them first")
        with self.engine.used():
            handle, self.handle = self.handle, ctypes.c_void_p()
            if handle:
                lib.dq_model_free(handle)
                self.engine._made -= 1

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "handle", None) and not self._networks:  # a network of a cycle may outlive the model
            self.close()


def _open_model(value: Any) -> Model:
    if not isinstance(value, Model):
        raise UsageError(f"{value!r} is not a Model")
    fail_if_closed("model", value.handle)
    return value


def _has_rows(handle: Any, name: str) -> bool:
    """Whether a transform that ended with a condition has changed the model."""
    return any(bool(getattr(lib, function)(handle, 0, None)) for _, function, _ in TABLES[name])


def load(source: Any, *, engine: Optional[Engine] = None, folder: Optional[str] = None, **threads: Any) -> Model:
    """Loads a model: a path, the bytes of an ONNX file, or an onnx.ModelProto. folder: where files of external data of
    bytes are. Further keywords (threads, memory, seed, progress, ...) are those of Engine, unless an engine is given."""
    return Model(source, engine=engine, folder=folder, **threads)
