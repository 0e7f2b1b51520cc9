"""The binding to llama.cpp, checked once: a struct that changed between versions would silently be read wrongly.

`llama_cpp` has no type stubs, so `Any` enters here and stops in this package.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Final

import llama_cpp
import llama_cpp.llama_cpp as binding

from specchat_engine.errors import EngineError

PINNED: Final = "0.3.36"

CONTEXT_DEFAULTS: Final = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_rs_seq": 0,
    "n_outputs_max": 0,
    "n_outputs_max_per_seq": 1,
    "flash_attn_type": -1,
    "yarn_ext_factor": -1.0,
    "type_k": 1,
    "type_v": 1,
    "offload_kqv": True,
    "no_perf": True,
    "op_offload": True,
    "swa_full": True,
    "n_samplers": 0,
}
MODEL_DEFAULTS: Final = {
    "n_gpu_layers": -1,
    "split_mode": 1,
    "main_gpu": 0,
    "vocab_only": False,
    "check_tensors": False,
}


def check_defaults(params: Any, expected: Mapping[str, object]) -> None:
    """Compares default parameters with the values of the pinned version.

    Raises EngineError at the first difference: the binding was then made from another llama.cpp than this code.
    """
    for name, value in expected.items():
        found = getattr(params, name, None)
        if found != value:
            raise EngineError(
                f"llama-cpp-python does not fit: the default of {name} is {found}, expected {value}; "
                f"install llama-cpp-python=={PINNED}"
            )


check_defaults(binding.llama_context_default_params(), CONTEXT_DEFAULTS)
check_defaults(binding.llama_model_default_params(), MODEL_DEFAULTS)
binding.llama_backend_init()

api: Final[Any] = binding
abort_callback: Final[Any] = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def set_abort_callback(callback: Any) -> None:
    """Sets who is called for a failed assertion, which ends the process; not every build supports this."""
    function = getattr(binding._lib, "ggml_set_abort_callback", None)
    if function is not None:
        function(callback)


def system_info() -> str:
    """The build's features in llama.cpp's own words."""
    return str(api.llama_print_system_info().decode("utf-8", "replace"))


def binding_version() -> str:
    """The version of llama-cpp-python."""
    return str(llama_cpp.__version__)


def llama_version() -> str:
    """The version of llama.cpp that was built in."""
    version = api._lib.llama_version
    version.restype = ctypes.c_char_p
    return str(version().decode("utf-8", "replace"))
