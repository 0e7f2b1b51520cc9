"""llama.cpp's CPU code without llamafile's matrix products, which round passes over one token unlike wider ones.

It is a second library beside the usual one; engine/llama-slim.cmake builds both. ggml gives a model, and each of its
contexts, the first CPU in its register when it is made. So the second library takes the place of the first meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from specchat_engine.llama.library import LIBRARIES
from specchat_engine.llama.machine import ggml_function

NO_EXACT_KERNELS = (
    "this build of llama.cpp has no kernels that round passes of all widths alike; `make chat` in a checkout makes one"
)

_NAME = "*ggml-cpu-exact.*"


def has_exact_kernels() -> bool:
    """Whether this build has the second library. A portable build does not."""
    return _exact_cpu() is not None


@contextmanager
def exact_kernels() -> Iterator[None]:
    """Models and contexts made meanwhile compute with the second library, if there is one, as long as they live."""
    exact = _exact_cpu()
    if exact is None:
        yield
        return
    usual = ggml_function("ggml_backend_reg_by_name", ctypes.c_void_p, ctypes.c_char_p)(b"CPU")
    _replace(usual, exact)
    try:
        yield
    finally:
        _replace(exact, usual)


def _replace(old: int, new: int) -> None:
    """Replaces a CPU in ggml's register."""
    ggml_function("ggml_backend_unload", None, ctypes.c_void_p)(old)
    ggml_function("ggml_backend_register", None, ctypes.c_void_p)(new)


@cache
def _exact_cpu() -> int | None:
    """The CPU of the second library, as ggml's register holds it; None without the library."""
    path = next(LIBRARIES.glob(_NAME), None)
    if path is None:
        return None
    function: Any = ctypes.CDLL(str(path)).ggml_backend_cpu_reg
    function.restype, function.argtypes = ctypes.c_void_p, ()
    cpu: int = function()
    return cpu
