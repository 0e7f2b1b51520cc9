"""The binding to libmtmd, which reads images. A build may lack it, so it is loaded when it is needed.

Its API is experimental: the defaults that this package relies on are checked, as for llama.cpp itself.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from specchat_engine.errors import NativeLibraryError
from specchat_engine.llama.library import check_defaults
from specchat_engine.llama.logs import native_log

BUILD_WITH: Final = "build llama.cpp with it: make chat VISION=1"

_DEFAULTS: Final = {"use_gpu": True, "print_timings": True, "n_threads": 4, "warmup": True, "image_max_tokens": -1}


@cache
def mtmd() -> Any:
    """The binding. Raises NativeLibraryError if this build of llama.cpp has no libmtmd."""
    try:
        import llama_cpp.mtmd_cpp as binding
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise NativeLibraryError(f"images need libmtmd, which this build leaves out: {error}", BUILD_WITH) from None
    check_defaults(binding.mtmd_context_params_default(), _DEFAULTS)
    binding.mtmd_helper_log_set(native_log.callback, ctypes.c_void_p(0))
    return binding


def has_mtmd() -> bool:
    """Whether this build of llama.cpp has libmtmd."""
    try:
        mtmd()
    except NativeLibraryError:
        return False
    return True
