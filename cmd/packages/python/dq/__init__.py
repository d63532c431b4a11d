"""dq: neural networks for pictures and signals made smaller and faster, ONNX in and ONNX out.

    import dq
    model = dq.load("model.onnx")
    facts = model.int8(pictures, preset="imagenet")     # a numpy array, an iterable of dicts, or "pictures/"
    model.save("int8.onnx")
    answers = model.network().run({"x": array})

The package brings the commands dq, dq-int8, dq-amp, ... as well, which need no Python. Names below are loaded with the
library when they are first used.
"""
import os
import shutil
import sysconfig

__all__ = ["load", "Model", "Network", "Dataset", "Engine", "Port", "Error", "ConditionError", "UsageError", "InputError",
           "UnsupportedError", "SystemFailure", "CancelledError", "version", "program"]

_PLACES = {"load": "_model", "Model": "_model", "Network": "_network", "Port": "_network", "Dataset": "_data",
           "Engine": "_engine"}


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'dq' has no attribute '{name}'")
    import importlib
    found = getattr(importlib.import_module(f"dq.{_PLACES.get(name, '_library')}"), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted(__all__)


def version():
    """The version of the library, such as "0.2.0"."""
    from dq._library import lib
    return lib.dq_version().decode()


def program():
    """The path of the program `dq`: the one that this package has installed, else the one of PATH."""
    name = os.path.join(sysconfig.get_path("scripts"), "dq")
    user = os.path.join(sysconfig.get_path("scripts", f"{os.name}_user"), "dq")
    for found in (name, user, shutil.which("dq")):
        if found and os.path.isfile(found):
            return found
    raise FileNotFoundError(f"the program dq is neither {name} nor {user} nor in PATH: install dq-onnx anew")
