"""The memory of a real process that loads a model and fills its context. `taken` runs this file as a script."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.estimate import Use


def taken(path: Path, use: Use) -> int:
    """The resident bytes that a new process gains by loading and decoding."""
    ran = subprocess.run(
        [sys.executable, __file__, str(path), json.dumps(asdict(use) | {"repacked": []})],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return int(ran.stdout)


def _resident() -> int:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


def _measure(path: Path, use: Use) -> int:
    """Fills almost the whole context, the last tokens as in a verification pass, so that every buffer is written."""
    from specchat_engine.llama.context import LlamaContext
    from specchat_engine.llama.model import LlamaModel
    from specchat_engine.llama.native import NativeContext

    options = LoadOptions(
        batch_size=use.batch_size,
        ubatch_size=use.ubatch_size,
        cache_type_k=use.cache_type_k,
        cache_type_v=use.cache_type_v,
        flash_attention="on" if use.flash_attention else "off",
    )
    before = _resident()
    model = LlamaModel(path)
    context = LlamaContext(NativeContext(model, n_ctx=use.n_ctx, max_rows=use.rows, threads=1, options=options))
    rows = context.max_rows
    ids = [place % model.vocabulary.size for place in range(use.n_ctx - 1)]
    context.read(ids[:-rows], lambda: False)
    context.advance(ids[-rows:], rows)
    return _resident() - before


if __name__ == "__main__":
    print(_measure(Path(sys.argv[1]), Use(**json.loads(sys.argv[2]))))  # noqa: T201
