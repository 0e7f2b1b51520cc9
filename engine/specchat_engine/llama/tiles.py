"""Compares products that llama.cpp computes in AMX tiles with products of its plain kernels.

A build by a compiler with GCC bug 114098 ends its process in the first product, so the comparison has a process of its
own. It takes a tenth of a second, because this file imports nothing but the standard library and llama.cpp's ggml.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
from array import array
from collections.abc import Collection, Iterable
from math import dist, hypot
from pathlib import Path
from typing import Any

_COLUMNS, _ROWS, _TOKENS = 512, 64, 35
"""Two blocks of K-quants, two tiles of rows, and tokens for two tiles and a part of one."""

_PATIENCE_S = 60.0
_WRONG = 3
"""The exit status after a wrong result; Python itself uses 1 and 2."""


def find_fault(libraries: Collection[Path], types: Iterable[int], tolerance: float = 0.01) -> str:
    """Returns what is wrong with the tiles of these loaded libraries of llama.cpp, or "" if nothing is.

    `types` are ggml's numbers of the weight types that are multiplied in tiles. Results are wrong if they differ by
    more than `tolerance`, relative to the plain ones (root mean squares).
    """
    numbers = ",".join(map(str, types))
    command = [sys.executable, "-I", "-S", __file__, str(tolerance), numbers, *map(str, sorted(libraries))]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return "they could not be checked"
    if done.returncode < 0:
        return "they crash"
    if done.returncode == _WRONG:
        return "their results are wrong"
    return "they could not be checked" if done.returncode else ""


class _Parameters(ctypes.Structure):
    """`ggml_init_params`."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class _Products:
    """Products of one matrix of weights, in any type, and one of activations, by ggml's backend for the CPU."""

    def __init__(self, libraries: Iterable[str]) -> None:
        for path in libraries:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self._ggml = ctypes.CDLL(None)
        chance = random.Random(1)
        self._weights = _floats(chance.uniform(-1, 1) for _ in range(_COLUMNS * _ROWS))
        self._activations = _floats(chance.uniform(-1, 1) for _ in range(_COLUMNS * _TOKENS))
        registry = self._call("ggml_backend_cpu_reg")
        device = self._call("ggml_backend_reg_dev_get", registry, ctypes.c_size_t(0))
        extra = self._call("ggml_backend_reg_get_proc_address", registry, b"ggml_backend_dev_get_extra_bufts")
        listed = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(extra.value or 0)(device)
        self.plain = self._call("ggml_backend_dev_buffer_type", device)
        self.tiles = next((ctypes.c_void_p(kind) for kind in _until_null(listed) if self._name(kind) == b"AMX"), None)
        self._backend = self._call("ggml_backend_cpu_init")
        self._call("ggml_backend_cpu_set_n_threads", self._backend, 1)

    def product(self, buffer_type: ctypes.c_void_p, weight_type: int) -> list[float]:
        """Returns the product with weights of this type in a buffer of that type."""
        weights, rest = (self._call("ggml_init", _Parameters(1 << 20, None, True)) for _ in range(2))
        left = self._matrix(weights, weight_type, _ROWS)
        self._call("ggml_backend_alloc_ctx_tensors_from_buft", weights, buffer_type)
        size = ctypes.c_size_t(self._call("ggml_nbytes", left).value or 0)
        packed = ctypes.create_string_buffer(size.value)
        counts = (ctypes.c_int64(count) for count in (0, _ROWS, _COLUMNS))
        self._call("ggml_quantize_chunk", weight_type, self._weights, packed, *counts, None)
        self._call("ggml_backend_tensor_set", left, packed, ctypes.c_size_t(0), size)
        right = self._matrix(rest, 0, _TOKENS)
        result = self._call("ggml_mul_mat", rest, left, right)
        self._call("ggml_backend_alloc_ctx_tensors_from_buft", rest, self.plain)
        bytes_of_right = ctypes.c_size_t(ctypes.sizeof(self._activations))
        self._call("ggml_backend_tensor_set", right, self._activations, ctypes.c_size_t(0), bytes_of_right)
        graph = self._call("ggml_new_graph", rest)
        self._call("ggml_build_forward_expand", graph, result)
        self._call("ggml_backend_graph_compute", self._backend, graph)
        values = (ctypes.c_float * (_ROWS * _TOKENS))()
        self._call(
            "ggml_backend_tensor_get", result, values, ctypes.c_size_t(0), ctypes.c_size_t(ctypes.sizeof(values))
        )
        return list(values)

    def _matrix(self, context: ctypes.c_void_p, kind: int, rows: int) -> ctypes.c_void_p:
        return self._call("ggml_new_tensor_2d", context, kind, ctypes.c_int64(_COLUMNS), ctypes.c_int64(rows))

    def _name(self, buffer_type: int) -> bytes:
        return ctypes.string_at(self._call("ggml_backend_buft_name", ctypes.c_void_p(buffer_type)).value or 0)

    def _call(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        function = getattr(self._ggml, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*arguments))


def _until_null(pointers: Any) -> Iterable[int]:
    index = 0
    while pointers[index]:
        yield pointers[index]
        index += 1


def _floats(values: Iterable[float]) -> Any:
    numbers = array("f", values)
    return (ctypes.c_float * len(numbers)).from_buffer(numbers)


def _main(tolerance: str, types: str, *libraries: str) -> int:
    """Returns `_WRONG` if a product in tiles differs from the plain one, or 0 if none does or there are no tiles."""
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    products = _Products(libraries)
    if products.tiles is None:
        return 0
    for kind in map(int, types.split(",")):
        plain, tiled = (products.product(buffer_type, kind) for buffer_type in (products.plain, products.tiles))
        if not dist(plain, tiled) <= float(tolerance) * hypot(*plain):
            return _WRONG
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
