"""Functions of llama.cpp's staging header `src/llama-ext.h`: heads need them, and a build may lack any of them.

They are exported under C++ names, which differ between compilers. Others may come and go with llama.cpp's versions, so
each is looked for when it is needed.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from specchat_engine.errors import NativeLibraryError
from specchat_engine.llama.library import PINNED, api

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
