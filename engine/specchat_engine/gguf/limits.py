"""How much a header may hold. The largest known ones stay below half of each limit; a bomb is refused at once.

Together they bound the reader to about 200 MB and two seconds, whatever a file claims.
"""

from __future__ import annotations

from typing import Final

MAX_HEADER_BYTES: Final = 64 * 2**20
"""The whole header. 250,000 tokens with scores, types and twice as many merges take 16 MB."""

MAX_KEYS: Final = 2**14
"""Files have 20 to 100 keys."""

MAX_KEY_BYTES: Final = 2**16 - 1
"""The format's own limit."""

MAX_TEXT_BYTES: Final = 16 * 2**20
"""All single strings and keys together: templates, licences, a tokenizer as JSON. Decoded, one takes up to four times
its bytes."""

MAX_STRINGS: Final = 3 * 2**19
"""Strings in all arrays together: each costs a step in Python. 262,144 tokens have twice as many merges."""

MAX_NESTED: Final = 2**14
"""Arrays within arrays: each is an object of its own. No known file has one."""

MAX_DEPTH: Final = 4
"""How deep arrays lie in arrays."""

MAX_TENSORS: Final = 2**15
"""The largest known models have some 2,000."""

MAX_TENSOR_NAME_BYTES: Final = 63
"""llama.cpp refuses longer ones."""

MAX_DIMENSIONS: Final = 4
"""ggml's tensors have up to four."""

MAX_ELEMENTS: Final = 2**63 - 1
"""Elements or bytes of a tensor, and offsets: what a signed 64-bit number holds."""

MAX_ALIGNMENT: Final = 2**20
"""Of the tensors' data in bytes; 32 in nearly all files, 4,096 or 16,384 for some."""
