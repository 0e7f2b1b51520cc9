"""llama-cpp-python's `Llama`, plain and with its prompt lookup."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from llama_cpp import Llama
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from benchmarks.peers.contest import Result, Task

LOOKUPS = (0, 2, 8)
_CONTEXT = 1024
"""Also the batch size: with a draft model, `Llama` keeps the logits of at most one batch."""


class LlamaPython:
    """Prompt lookup drafts `lookup` tokens; None means plain decoding."""

    peer = "llama-cpp-python"

    def __init__(self, target: Path, threads: int, lookup: int) -> None:
        self.name = f"lookup {lookup}" if lookup else "plain"
        draft = LlamaPromptLookupDecoding(num_pred_tokens=lookup) if lookup else None
        sizes = {"n_ctx": _CONTEXT, "n_batch": _CONTEXT, "n_threads": threads, "n_threads_batch": threads}
        self._llama = Llama(str(target), **sizes, draft_model=draft, verbose=False)

    def answer(self, task: Task) -> Result:
        """Its own loop over token ids."""
        llama, tokens = self._llama, 0
        llama.reset()
        llama.set_seed(task.seed)
        begin = perf_counter()
        sampling = {"temp": task.temperature, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repeat_penalty": 1.0}
        for token in llama.generate(task.ids, **sampling):
            tokens += 1
            if token == llama.token_eos() or tokens == task.max_tokens:
                break
        return Result(tokens, (perf_counter() - begin) * 1000)

    def close(self) -> None:
        """Frees the model."""
        self._llama.close()
