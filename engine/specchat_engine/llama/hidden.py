"""What a target hands to a head besides logits: the hidden states of the tokens that it has read.

Heads need functions of llama.cpp's staging header `src/llama-ext.h`. They are exported under C++ names, which differ
between compilers. Others may come and go with llama.cpp's versions, so each is looked for when it is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import NativeLibraryError
from specchat_engine.llama.library import PINNED, api, floats
from specchat_engine.load_options import NORMED

_CONTEXT, _FLOATS = ctypes.c_void_p, ctypes.POINTER(ctypes.c_float)

_FUNCTIONS: Final = {
    "llama_set_embeddings_nextn": (
        (
            "_Z26llama_set_embeddings_nextnP13llama_contextbb",
            "?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z",
        ),
        (_CONTEXT, ctypes.c_bool, ctypes.c_bool),
        None,
    ),
    "llama_get_embeddings_nextn": (
        ("_Z26llama_get_embeddings_nextnP13llama_context", "?llama_get_embeddings_nextn@@YAPEAMPEAUllama_context@@@Z"),
        (_CONTEXT,),
        _FLOATS,
    ),
    "llama_set_nextn_layer_offset": (
        (
            "_Z28llama_set_nextn_layer_offsetP13llama_contexti",
            "?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z",
        ),
        (_CONTEXT, ctypes.c_int32),
        None,
    ),
    "llama_set_embeddings_layer_inp": (
        (
            "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
            "?llama_set_embeddings_layer_inp@@YAXPEAUllama_context@@I_N@Z",
        ),
        (_CONTEXT, ctypes.c_uint32, ctypes.c_bool),
        None,
    ),
    "llama_get_embeddings_layer_inp": (
        (
            "_Z30llama_get_embeddings_layer_inpP13llama_contextj",
            "?llama_get_embeddings_layer_inp@@YAPEAMPEAUllama_context@@I@Z",
        ),
        (_CONTEXT, ctypes.c_uint32),
        _FLOATS,
    ),
}


@cache
def staged(name: str) -> Any:
    """The function of this name. Raises NativeLibraryError if the build has none."""
    mangled, arguments, result = _FUNCTIONS[name]
    for exported in (name, *mangled):
        function = getattr(api._lib, exported, None)
        if function is not None:
            function.argtypes, function.restype = arguments, result
            return function
    raise NativeLibraryError(
        f"this build of llama.cpp does not export {name}, which heads need",
        f"install llama-cpp-python=={PINNED}, or use a draft model or lookup",
    )


_KEPT_BYTES = 64 * 2**20
"""How much memory the states may take. When it is full, the older half goes."""


class HiddenStates:
    """The states of the latest tokens, up to the last one in the target's memory: a row [width] for each.

    A row joins the inputs of several layers; the number of layers of the model stands for the output of its last one,
    and NORMED for that output after the final norm, from which the logits are computed. Rows from `first` to `end` are
    kept, by the position of their token.
    """

    def __init__(self, context: Any, layers: Sequence[int], *, depth: int, width: int, batch_size: int) -> None:
        """Makes the target's `context` hand out the inputs of these `layers`, of `width` numbers each.

        `depth` is how many layers the model has. A pass reads at most `batch_size` tokens. The caller must make sure
        that the architecture hands them out. Raises NativeLibraryError if the build lacks a function.
        """
        self.first = self.end = 0
        self.width = len(layers) * width
        self._context = context
        self._sources: list[tuple[Any, tuple[int, ...]]] = []
        self._normed = NORMED in layers
        self._given = True
        for layer in layers:
            if layer == NORMED:
                self._sources.append((api.llama_get_embeddings, ()))
            elif layer < depth:
                staged("llama_set_embeddings_layer_inp")(context, layer, True)
                self._sources.append((staged("llama_get_embeddings_layer_inp"), (layer,)))
            else:
                staged("llama_set_embeddings_nextn")(context, True, False)
                self._sources.append((staged("llama_get_embeddings_nextn"), ()))
        self._most = max(2 * batch_size, _KEPT_BYTES // (4 * self.width))
        self._rows = np.empty((0, self.width), np.float32)

    def expect(self, count: int, rows: int) -> None:
        """Before a pass that reads `count` tokens for `rows` rows of logits.

        llama.cpp gives normed states only together with logits, so a pass that reads a prompt gives none.
        """
        if self._normed:
            self._given = rows == count
            api.llama_set_embeddings(self._context, self._given)

    def record(self, start: int, count: int) -> None:
        """Takes the states of the pass that just read `count` tokens from position `start` on."""
        if not self._given:
            return
        if self.end != start:
            self.first = self.end = start
        num_rows = self.end - self.first
        if num_rows + count > self._most:
            dropped = num_rows - min(num_rows, self._most // 2)
            self._rows[: num_rows - dropped] = self._rows[dropped:num_rows]
            self.first += dropped
            num_rows -= dropped
        if num_rows + count > len(self._rows):
            grown = np.empty((min(self._most, 2 * (num_rows + count)), self.width), np.float32)
            grown[:num_rows] = self._rows[:num_rows]
            self._rows = grown
        width = self.width // len(self._sources)
        for index, (read, layer) in enumerate(self._sources):
            into = self._rows[num_rows : num_rows + count, index * width : (index + 1) * width]
            into[:] = floats(read(self._context, *layer), count, width)
        self.end = start + count

    def take(self, start: int, path: Sequence[int]) -> None:
        """Of the states from position `start` on, which are those of a tree, keeps those of a path."""
        if self.end > start:
            first = start - self.first
            self._rows[first : first + len(path)] = self._rows[[first + node for node in path]]
            self.end = start + len(path)

    def cut(self, length: int) -> None:
        """Forgets the states of all but the first `length` tokens of the memory."""
        self.end = min(self.end, length)
        self.first = min(self.first, self.end)

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """The states [stop - start, width] of the tokens at these positions, which must be kept."""
        return self._rows[start - self.first : stop - self.first]
