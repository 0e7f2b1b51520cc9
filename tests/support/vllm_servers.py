"""A real vLLM on this machine's CPU with the built-in pair, in an environment of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from specchat_assets import builtin_pair
from support.hf_models import convert
from support.llama_servers import free_port, until, wait_until_healthy

_START_SECONDS = 600.0
_END_SECONDS = 10.0
_LONGEST = 4
_LOOKUP = {"prompt_lookup_min": 2, "prompt_lookup_max": 4}


@contextmanager
def running_vllm(python: Path, method: str, work: Path, *flags: str) -> Iterator[str]:
    """The URL of a server that speculates with `ngram` or `draft_model`; all of its processes end with the context.

    `work` gets the converted models and a log. Raises RuntimeError if the server does not start.
    """
    target, draft = _converted(work)
    port, log = free_port(), work / f"vllm-{method}.log"
    drafting: dict[str, Any] = {"method": method, "num_speculative_tokens": _LONGEST}
    drafting |= _LOOKUP if method == "ngram" else {"model": str(draft)}
    # `vllm serve` looks for a package of the name vllm, which the one for CPUs does not have.
    words = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(target)]
    words += ["--served-model-name", "guide", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    words += ["--enforce-eager", "--speculative-config", json.dumps(drafting)]
    words += ["--per-request-spec-decode-metrics", "detailed", *flags]
    with _started(words, log) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_healthy(url, process, _START_SECONDS)
        except RuntimeError as error:
            raise RuntimeError(f"{error}; its log ends with: {log.read_text(errors='replace')[-2000:]}") from None
        yield url


def _converted(work: Path) -> list[Path]:
    """The folders of the target and the draft."""
    folders = [work / "target", work / "draft"]
    for source, folder in zip(builtin_pair(), folders, strict=True):
        if not folder.exists():
            convert(source, folder)
    return folders


@contextmanager
def _started(words: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process with these words, in a group of its own with the processes that it starts. The group is ended."""
    environment = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as written:
        process = subprocess.Popen(
            words, stdout=written, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not until(lambda: _is_gone(process.pid)):
            raise RuntimeError(f"processes of the group {process.pid} are left")


def _is_gone(group: int) -> bool:
    """Whether a group has no process any more."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False
