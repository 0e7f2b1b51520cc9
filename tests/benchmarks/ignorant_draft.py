"""Writes a draft model that knows nothing, to measure what the default policy loses with it.

It is a copy of a draft model, by default the built-in one, with the values of each 16-bit matrix in random order. Run
`PYTHONPATH=tests python -m benchmarks.ignorant_draft ignorant.gguf`, and then
`specchat bench -m TARGET -d ignorant.gguf --arms none,hybrid:auto -n 256`.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np

from specchat_assets import builtin_pair
from specchat_engine.gguf.reader import read_file


def shuffle_weights(draft: Path, copy: Path) -> None:
    """Writes a copy of a draft model with shuffled weights."""
    shutil.copyfile(draft, copy)
    header = read_file(draft)
    random = np.random.default_rng(1)
    data = np.memmap(copy, np.uint8, "r+")
    for tensor in header.tensors:
        if tensor.type_name in ("F16", "BF16"):
            start = header.data_offset + tensor.offset
            random.shuffle(data[start : start + 2 * tensor.elements].view(np.uint16))
    data.flush()


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copy", type=Path, metavar="OUT.gguf")
    parser.add_argument("-d", "--draft", type=Path, default=builtin_pair()[1])
    asked = parser.parse_args()
    shuffle_weights(asked.draft, asked.copy)


if __name__ == "__main__":
    main()
