"""The settings that a benchmark recommends, as the command line of another tool.

The flags of llama-server are those of the llama.cpp in llama-cpp-python 0.3.36 (`common/arg.cpp`). Those of vLLM are
`vllm serve` and the keys of its `--speculative-config` (docs.vllm.ai, "Speculative Decoding").
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from specchat.bench.document import Benchmark, Conditions
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.summary import best_of
from specchat_engine.settings import HEADS, Settings


class Tool(StrEnum):
    """The tool whose command line is written."""

    LLAMA_SERVER = "llama-server"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class Export:
    """A command line, and a note on it, which may be empty."""

    command: str
    note: str


def export(benchmark: Benchmark, tool: Tool) -> Export | None:
    """The command for the best arm that the tool also supports; None if nothing was compared."""
    choice, means = benchmark.choice, benchmark.overall(None)
    best = best_of(mean for mean in means if mean.arm == PLAIN or (mean.arm.is_fixed and _can(tool, mean.arm)))
    if choice is None or best is None:
        return None
    notes = []
    if choice.best.arm != best.arm:
        notes.append(f"{tool} does not support {choice.best.arm.label}, so this is {best.arm.label}")
    if tool is Tool.VLLM:
        notes.append("vLLM reads GGUF files with its vllm-gguf-plugin on a GPU; otherwise name the original models")
    words = _vllm if tool is Tool.VLLM else _llama_server
    return Export(shlex.join(words(benchmark.conditions, best.arm)), "; ".join(notes))


def _can(tool: Tool, arm: Arm) -> bool:
    """True if the tool has such a drafter. None of the tools adapts k."""
    return tool is Tool.LLAMA_SERVER or arm.drafter != "hybrid"


def _llama_server(conditions: Conditions, arm: Arm) -> list[str]:
    options, k = conditions.options, str(arm.k)
    words = ["llama-server", "-m", conditions.target["path"], "-c", str(options["n_ctx"]), "-np", "1"]
    words += [*_threads(conditions.machine), *_layers("-ngl", options["gpu_layers"])]
    words += _listed("-dev", options["devices"]) + _listed("-ts", options["tensor_split"])
    if options["main_gpu"]:
        words += ["-mg", str(options["main_gpu"])]
    types = {"lookup": "ngram-simple", "model": "draft-simple", "hybrid": "ngram-simple,draft-simple"}
    types |= {head: f"draft-{head}" for head in HEADS}
    if arm != PLAIN:
        words += ["--spec-type", types[arm.drafter]]
    draft = options["head"] if arm.drafter == "eagle3" else (conditions.draft or {}).get("path")
    if arm.drafter in ("model", "hybrid", "eagle3") and draft:
        words += ["-md", draft]
    if arm.drafter in ("model", "hybrid", *HEADS):
        words += ["--spec-draft-n-max", k, "--spec-draft-n-min", "0"]
        words += [*_layers("-ngld", options["gpu_layers_draft"]), *_listed("-devd", options["devices_draft"])]
    if arm.drafter in ("lookup", "hybrid"):
        words += ["--spec-ngram-simple-size-n", str(Settings().ngram_min), "--spec-ngram-simple-size-m", k]
    return words


def _threads(machine: Mapping[str, Any]) -> list[str]:
    """The thread options of the target, and of prompts and the draft if they differ."""
    own = str(machine["threads"])
    words = ["-t", own]
    for flag, name in (("-tb", "threads_prompt"), ("-td", "threads_draft")):
        if str(machine.get(name, own)) != own:
            words += [flag, str(machine[name])]
    return words


def _vllm(conditions: Conditions, arm: Arm) -> list[str]:
    words = ["vllm", "serve", conditions.target["path"]]
    if conditions.options["n_ctx"]:
        words += ["--max-model-len", str(conditions.options["n_ctx"])]
    config: dict[str, Any] = {}
    if arm.drafter == "model" and conditions.draft:
        config = {"method": "draft_model", "model": conditions.draft["path"]}
    elif arm.drafter in HEADS:
        config = {"method": arm.drafter} | ({"model": conditions.options["head"]} if arm.drafter == "eagle3" else {})
    elif arm.drafter == "lookup":
        usual = Settings()
        config = {"method": "ngram", "prompt_lookup_min": usual.ngram_min, "prompt_lookup_max": usual.ngram_max}
    return [*words, "--speculative-config", json.dumps(config | {"num_speculative_tokens": arm.k})] if config else words


def _layers(flag: str, count: int) -> list[str]:
    """The layers to offload. Without the flag both tools offload what fits."""
    return [flag, str(count)] if count >= 0 else []


def _listed(flag: str, values: list[Any]) -> list[str]:
    return (
        [flag, ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)] if values else []
    )
