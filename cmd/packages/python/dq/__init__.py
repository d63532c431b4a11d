"""dq: neural networks for pictures and signals made smaller and faster, ONNX in and ONNX out.

The package brings the commands dq, dq-int8, dq-amp, ... which need no Python.
"""
import os
import sysconfig

__all__ = ["program"]


def program():
    """The path of the program `dq` that this package has installed."""
    name = os.path.join(sysconfig.get_path("scripts"), "dq")
    if os.path.isfile(name):
        return name
    user = os.path.join(sysconfig.get_path("scripts", f"{os.name}_user"), "dq")
    if os.path.isfile(user):
        return user
    raise FileNotFoundError(f"the program dq is neither {name} nor {user}: install dq-onnx anew")
