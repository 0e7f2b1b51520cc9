"""The settings that a benchmark recommends, as the command line of another tool; and what such a tool drafts with.

The flags of llama-server are from the llama.cpp in llama-cpp-python 0.3.36 (`common/arg.cpp`). The flags of vLLM are
from `vllm serve` and the keys of its `--speculative-config` (docs.vllm.ai, "Speculative Decoding").
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from specchat.bench.document import Benchmark, Conditions
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.summary import best_of
from specchat_engine.settings import HEADS, DraftLength, Settings


class ExportTarget(StrEnum):
    """The servers whose command lines are written."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_SERVER = "llama-server"


EXPORTED = (ExportTarget.LLAMA_SERVER, ExportTarget.VLLM)
"""The tools for which a benchmark is exported."""

_USUAL = Settings()
_SPEC_TYPES = {"lookup": "ngram-simple", "model": "draft-simple", "hybrid": "ngram-simple,draft-simple"}
_SPEC_TYPES |= {head: f"draft-{head}" for head in HEADS}
_METHODS = {"lookup": "ngram", "model": "draft_model"} | {head: head for head in HEADS}
"""What llama-server and vLLM call each drafter."""


@dataclass(frozen=True, slots=True)
class Export:
    """A command line, and a note on it, which may be empty."""

    command: str
    note: str


def export(benchmark: Benchmark, tool: ExportTarget) -> Export | None:
    """The command for the best arm that the tool, one of EXPORTED, also supports; None if nothing was compared."""
    choice, means = benchmark.choice, benchmark.overall(None)
    best = best_of(mean for mean in means if mean.arm == PLAIN or (mean.arm.is_fixed and _can(tool, mean.arm)))
    if choice is None or best is None:
        return None
    notes = []
    if choice.best.arm != best.arm:
        notes.append(f"{tool} does not support {choice.best.arm.label}, so this is {best.arm.label}")
    if tool is ExportTarget.VLLM:
        notes.append("vLLM reads GGUF files with its vllm-gguf-plugin on a GPU; otherwise name the original models")
    words = _vllm if tool is ExportTarget.VLLM else _llama_server
    return Export(shlex.join(words(benchmark.conditions, best.arm)), "; ".join(notes))


def _can(tool: ExportTarget, arm: Arm) -> bool:
    """True if the tool has such a drafter. None of the tools adapts k."""
    return arm.drafter in (_SPEC_TYPES if tool is ExportTarget.LLAMA_SERVER else _METHODS)


def llama_server_speculation(
    drafter: str, k: DraftLength, draft: Sequence[str] = (), offload: Sequence[str] = ()
) -> list[str]:
    """The flags with which llama-server drafts at most k tokens at a time.

    `draft` names the draft model or head, and `offload` says where it computes.
    """
    words = ["--spec-type", _SPEC_TYPES[drafter], *draft]
    if drafter != "lookup":
        words += ["--spec-draft-n-max", str(k), *offload]
    if drafter in ("lookup", "hybrid"):
        words += ["--spec-ngram-simple-size-n", str(_USUAL.ngram_min), "--spec-ngram-simple-size-m", str(k)]
    return words


def vllm_speculation(
    drafter: str, k: DraftLength, model: str | None = None, *, ngram_max: int = _USUAL.ngram_max, **further: Any
) -> list[str]:
    """The flag with which vLLM drafts at most k tokens at a time.

    `model` is the draft model or head. A lookup compares `ngram_max` tokens at most. `further` are other keys.
    """
    config: dict[str, Any] = {"method": _METHODS[drafter]}
    if model is not None:
        config["model"] = model
    if drafter == "lookup":
        config |= {"prompt_lookup_min": _USUAL.ngram_min, "prompt_lookup_max": ngram_max}
    return ["--speculative-config", json.dumps(config | further | {"num_speculative_tokens": k})]


def _llama_server(conditions: Conditions, arm: Arm) -> list[str]:
    options = conditions.options
    words = ["llama-server", "-m", conditions.target["path"], "-c", str(options["n_ctx"]), "-np", "1"]
    words += [*_threads(conditions.machine), *_layers("-ngl", options["gpu_layers"])]
    words += _listed("-dev", options["devices"]) + _listed("-ts", options["tensor_split"])
    if options["main_gpu"]:
        words += ["-mg", str(options["main_gpu"])]
    if experts := options.get("n_cpu_moe", 0):
        words += ["-ncmoe", str(experts)] if experts > 0 else ["-cmoe"]
    for override in options.get("tensor_overrides", ()):
        words += ["-ot", override]
    if arm == PLAIN:
        return words
    file = options["head"] if arm.drafter == "eagle3" else (conditions.draft or {}).get("path")
    draft = ["-md", file] if file and arm.drafter in ("model", "hybrid", "eagle3") else []
    offload = ["--spec-draft-n-min", "0", *_layers("-ngld", options["gpu_layers_draft"])]
    offload += _listed("-devd", options["devices_draft"])
    return words + llama_server_speculation(arm.drafter, arm.k, draft, offload)


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
    draft = conditions.draft or {}
    if arm.drafter not in _METHODS or (arm.drafter == "model" and not draft):
        return words
    match arm.drafter:
        case "model":
            model = draft["path"]
        case "eagle3":
            model = conditions.options["head"]
        case _:
            model = None
    return words + vllm_speculation(arm.drafter, arm.k, model)


def _layers(flag: str, count: int) -> list[str]:
    """The layers to offload. Without the flag both tools offload what fits."""
    return [flag, str(count)] if count >= 0 else []


def _listed(flag: str, values: list[Any]) -> list[str]:
    return (
        [flag, ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)] if values else []
    )
