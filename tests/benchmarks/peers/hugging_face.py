"""Hugging Face transformers on the same weights: plain, assisted by the draft model, and prompt lookup."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks.peers.contest import Result, Task

CONFIGURATIONS = ("plain", "draft", "lookup 8")
"""With `draft`, transformers chooses the number of drafted tokens, as it does by default."""


class Models:
    """The pair as torch models, loaded once for all configurations."""

    def __init__(self, target: Path, draft: Path, threads: int, kind: torch.dtype) -> None:
        torch.set_num_threads(threads)
        self.target, self.draft = (
            AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=kind).eval()
            for path in (target, draft)
        )


class Transformers:
    """One way of `generate`."""

    peer = "transformers"

    def __init__(self, models: Models, name: str, end: int) -> None:
        self.name = name
        self._models = models
        self._end = end

    def answer(self, task: Task) -> Result:
        """One call of `generate` on token ids."""
        torch.manual_seed(task.seed)
        ids = torch.tensor([task.ids])
        how: dict[str, Any] = {"do_sample": False}
        if task.temperature:
            how = {"do_sample": True, "temperature": task.temperature, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
        if self.name == "draft":
            how["assistant_model"] = self._models.draft
        elif self.name.startswith("lookup"):
            how["prompt_lookup_num_tokens"] = int(self.name.split()[1])
        how |= {"max_new_tokens": task.max_tokens, "eos_token_id": self._end, "pad_token_id": self._end}
        begin = perf_counter()
        with torch.inference_mode():
            output = self._models.target.generate(ids, attention_mask=torch.ones_like(ids), **how)
        return Result(output.shape[1] - len(task.ids), (perf_counter() - begin) * 1000)

    def close(self) -> None:
        """Does nothing: the models are shared."""
