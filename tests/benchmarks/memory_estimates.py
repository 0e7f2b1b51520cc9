"""Compares the memory estimate from a model's header with that of a process that loads and uses the model.

    PYTHONPATH=tests python -m benchmarks.memory_estimates [more.gguf …]

Without files, it uses small models of many architectures. Prints a Markdown table. Linux only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from specchat_engine.gguf import read_model
from specchat_engine.llama.machine import this_machine
from specchat_engine.memory.estimate import Use, estimate
from support.resident import taken
from support.roomy_models import KINDS

MB = 2**20


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("-c", "--ctx-size", type=int, default=4096)
    options = parser.parse_args()
    use = Use(n_ctx=options.ctx_size, repacked=this_machine().repacked)
    print("| model | weights | second copy | cache | compute | other | estimate | measured | off by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files or [write(Path(folder) / f"{kind}.gguf") for kind, write in KINDS.items()]:
            header = read_model(path)
            need = estimate(header, use)
            measured = taken(path, use)
            host = need.host
            parts = [host.weights, host.repacked, host.cache, host.compute, host.other, need.total, measured]
            name = f"{header.architecture}, {header.n_params / 1e6:.0f}M, {header.quantisation}"
            off = f"{100 * (need.total / measured - 1):+.1f} %"
            print("|", " | ".join([name, *(f"{part / MB:.1f}" for part in parts), off]), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
