"""A real vLLM on this machine's CPU with the built-in pair, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from specchat_assets import builtin_pair
from support.hf_models import convert
from support.llama_servers import free_port, wait_until_healthy

_START_SECONDS = 600.0
_LONGEST = 4
_LOOKUP = {"prompt_lookup_min": 2, "prompt_lookup_max": 4}


@contextmanager
def running_vllm(python: Path, method: str, work: Path) -> Iterator[str]:
    """The URL of a server that speculates with `ngram` or `draft_model`; it ends with the context.

    `work` gets the converted models and a log. Raises RuntimeError if the server does not start.
    """
    folders = [work / "target", work / "draft"]
    for source, folder in zip(builtin_pair(), folders, strict=True):
        if not folder.exists():
            convert(source, folder)
    port, log = free_port(), work / f"vllm-{method}.log"
    drafting: dict[str, Any] = {"method": method, "num_speculative_tokens": _LONGEST}
    drafting |= _LOOKUP if method == "ngram" else {"model": str(folders[1])}
    # `vllm serve` looks for a package of the name vllm, which the one for CPUs does not have.
    words = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folders[0])]
    words += ["--served-model-name", "guide", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    words += ["--enforce-eager", "--speculative-config", json.dumps(drafting)]
    words += ["--per-request-spec-decode-metrics", "detailed"]
    environment = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as written:
        process = subprocess.Popen(words, stdout=written, stderr=subprocess.STDOUT, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, process, _START_SECONDS)
        yield url
    except RuntimeError as error:
        raise RuntimeError(f"{error}; its log ends with: {log.read_text(errors='replace')[-2000:]}") from None
    finally:
        process.terminate()
        process.wait(60)
