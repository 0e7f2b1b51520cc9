"""Writes a model file in another type; llama.cpp chooses the type of each tensor."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

import gguf
import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import ModelFileError
from specchat_engine.llama.library import api
from specchat_engine.llama.logs import native_log
from specchat_engine.llama.machine import ggml_function

FLOAT_TYPES: Final = ("F32", "F16", "BF16")
QUANTISED_TYPES: Final = (
    *("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"),
    *("Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ4_NL", "IQ4_XS"),
)
"""Types that need no importance matrix, by the names of llama.cpp's own tool."""

_encode = ggml_function(
    "ggml_quantize_chunk",
    ctypes.c_size_t,
    *(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p),
)

_BUFFER = 1 << 30
"""At most this many bytes of a tensor's rows are in memory at once."""


def quantise(source: Path, written: Path, kind: str) -> None:
    """Writes `source`, a file in F32, F16 or BF16, to `written` in one of `FLOAT_TYPES` or `QUANTISED_TYPES`.

    Norms stay in F32, and some matrices get a finer type than the name says, as in any file of that type. Raises
    ModelFileError if llama.cpp fails.
    """
    params = api.llama_model_quantize_default_params()
    params.ftype = getattr(api, f"LLAMA_FTYPE_{'ALL' if kind == 'F32' else 'MOSTLY'}_{kind}")
    params.max_buf_size = _BUFFER
    native_log.clear()
    if api.llama_model_quantize(os.fsencode(source), os.fsencode(written), ctypes.byref(params)):
        raise ModelFileError(f"{source} could not be written as {kind}: {native_log.last_error()}")


def encoded(values: NDArray[np.float32], kind: gguf.GGMLQuantizationType) -> NDArray[np.uint8]:
    """The bytes of rows [n, columns], or of a vector, in a type: uint8 [n, bytes of a row], or [bytes]."""
    if kind == gguf.GGMLQuantizationType.F32:
        return values.astype(np.float32, copy=False).view(np.uint8)
    rows, columns = values.shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    written = np.empty((rows, columns // block * size), np.uint8)
    source = np.ascontiguousarray(values, np.float32)
    _encode(kind, source.ctypes.data, written.ctypes.data, 0, rows, columns, None)
    return written
