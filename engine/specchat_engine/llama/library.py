"""The binding to llama.cpp, checked once: a struct that changed between versions would silently be read wrongly.

A build for one machine has its CPU code linked in. A portable build has one library for each kind of processor; ggml
picks the best of those that lie beside it.

`llama_cpp` has no type stubs, so `Any` enters here and stops in this package.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import NativeLibraryError

PINNED: Final = "0.3.36"

_AGAIN: Final = f"install it again: pip install --force-reinstall --no-cache-dir llama-cpp-python=={PINNED}"

_SPINS, _CHOOSING = "GOMP_SPINCOUNT", ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_sets_spins = not any(name in os.environ for name in _CHOOSING)
if _sets_spins:
    # libgomp reads this when it is loaded: threads that wait for each other spin for some 0.2 ms and then sleep. By
    # itself it spins for 15 ms, so that a thread spends its share of a busy core on waiting.
    os.environ[_SPINS] = "4000"

try:
    import llama_cpp
    import llama_cpp._ggml as ggml
    import llama_cpp.llama_cpp as binding
except (ImportError, OSError, RuntimeError, AttributeError) as error:
    raise NativeLibraryError(f"llama.cpp cannot be loaded: {error}", _AGAIN) from error

LIBRARIES = Path(os.environ.get("LLAMA_CPP_LIB_PATH") or Path(llama_cpp.__file__).parent / "lib")
"""The folder of llama.cpp's libraries; the variable is the one that the binding reads."""

_OF_LLAMA = re.compile(r"/lib(ggml|llama)[^/]*$")
_VARIANT = re.compile(r"ggml-cpu-(?!exact)(\w+)")

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

    Raises NativeLibraryError at the first difference: the binding was then made from another llama.cpp than this code.
    """
    for name, value in expected.items():
        default = getattr(params, name, None)
        if default != value:
            raise NativeLibraryError(
                f"llama-cpp-python does not fit: the default of {name} is {default}, expected {value}",
                f"install llama-cpp-python=={PINNED}",
            )


def check_structs(library: Any) -> None:
    """Lets llama.cpp fill the structs that this package reads, and looks for what it wrote where the binding reads it.

    Raises NativeLibraryError if anything is in another place.
    """
    batch = library.llama_batch_init(2, 0, 1)
    right = batch.n_tokens == 0 and not batch.embd and all((batch.token, batch.pos, batch.logits, batch.seq_id))
    library.llama_batch_free(batch)
    candidates = (library.llama_token_data * 3)(*(library.llama_token_data(logit=logit) for logit in (0.5, 2.5, 1.5)))
    array = library.llama_token_data_array(data=candidates, size=3, selected=-1, sorted=False)
    greedy = library.llama_sampler_init_greedy()
    library.llama_sampler_apply(greedy, ctypes.byref(array))
    library.llama_sampler_free(greedy)
    if not right or array.selected != 1:
        raise NativeLibraryError("llama-cpp-python does not fit its llama.cpp", f"install llama-cpp-python=={PINNED}")


def _load_backends(folder: Path) -> None:
    """Loads the code for this processor, and for its GPU, from a portable build; other builds have it linked in."""
    if not ggml.libggml.ggml_backend_reg_count():
        ggml.libggml.ggml_backend_load_all_from_path(bytes(folder))
    if not ggml.libggml.ggml_backend_reg_count():
        raise NativeLibraryError(f"llama.cpp cannot be loaded: {folder} has no code for this processor", _AGAIN)


_silent = binding.llama_log_callback(lambda *_: None)
binding.llama_log_set(_silent, ctypes.c_void_p(0))  # until `NativeLog` listens: loading a backend logs to stderr
_load_backends(LIBRARIES)
check_defaults(binding.llama_context_default_params(), CONTEXT_DEFAULTS)
check_defaults(binding.llama_model_default_params(), MODEL_DEFAULTS)
check_structs(binding)
binding.llama_backend_init()
if _sets_spins:
    del os.environ[_SPINS]  # torch has a libgomp of its own, and trains half as fast without spinning

api: Final[Any] = binding
abort_callback: Final[Any] = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def floats(pointer: Any, rows: int, width: int) -> NDArray[np.float32]:
    """llama.cpp's own memory as [rows, width]; the next pass overwrites it. Without rows the pointer may be null."""
    if not rows:
        return np.empty((0, width), np.float32)
    block: Any = (ctypes.c_float * (rows * width)).from_address(ctypes.addressof(pointer.contents))
    return np.frombuffer(block, np.float32).reshape(rows, width)


def set_abort_callback(callback: Any) -> None:
    """Sets who is called for a failed assertion, which ends the process; not every build supports this."""
    function = getattr(binding._lib, "ggml_set_abort_callback", None)
    if function is not None:
        function(callback)


def cpu_variant() -> str:
    """For which processor the code in use was made: such as "haswell" or "zen4" of a portable build, else ""."""
    loaded = (_VARIANT.search(path.name) for path in loaded_libraries())
    return next((match[1] for match in loaded if match), "")


def loaded_libraries() -> set[Path]:
    """The files of llama.cpp in this process, as Linux lists them; none on other systems."""
    try:
        maps = Path("/proc/self/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return set()
    return {Path(line.split(maxsplit=5)[5]) for line in maps.splitlines() if _OF_LLAMA.search(line)}


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
