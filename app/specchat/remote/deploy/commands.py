"""The command line of each server for a plan.

The flags are those of vLLM 0.32.0, SGLang 0.5.23 and the llama.cpp in llama-cpp-python 0.3.36, read in their sources.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat.remote.deploy.planning import Method, Plan, Tool
from specchat_engine.settings import Settings

PORTS = {Tool.VLLM: 8000, Tool.SGLANG: 30000, Tool.LLAMA_SERVER: 8080}
"""The port that each server listens on if none is given."""

_LOOKUP = Settings()
_NGRAM_MAX = 8


@dataclass(frozen=True, slots=True)
class Where:
    """Where the server runs: its address, the number of GPUs (0 for none), and tokens of context (0 is the model's)."""

    host: str
    port: int
    gpus: int = 1
    n_ctx: int = 0


def command(plan: Plan, where: Where) -> list[str]:
    """The words of the command line."""
    match plan.tool:
        case Tool.VLLM:
            return _vllm(plan, where)
        case Tool.SGLANG:
            return _sglang(plan, where)
        case Tool.LLAMA_SERVER:
            return _llama_server(plan, where)


def _vllm(plan: Plan, where: Where) -> list[str]:
    words = ["vllm", "serve", plan.target, *_address(where)]
    if where.gpus > 1:
        words += ["--tensor-parallel-size", str(where.gpus)]
    if where.n_ctx:
        words += ["--max-model-len", str(where.n_ctx)]
    if plan.method is Method.NONE:
        return words
    config: dict[str, Any] = {}
    match plan.method:
        case Method.DRAFT:
            config = {"method": "draft_model", "model": plan.draft}
            if where.gpus > 1:
                config["draft_tensor_parallel_size"] = where.gpus
            if plan.mixed:
                config["use_heterogeneous_vocab"] = True
        case Method.EAGLE3:
            config = {"method": "eagle3", "model": plan.draft}
        case Method.MTP:
            config = {"method": "mtp"}
        case Method.LOOKUP:
            config = {"method": "ngram", "prompt_lookup_min": _LOOKUP.ngram_min, "prompt_lookup_max": _NGRAM_MAX}
    config["num_speculative_tokens"] = plan.k
    return [*words, "--speculative-config", json.dumps(config), "--per-request-spec-decode-metrics", "detailed"]


def _sglang(plan: Plan, where: Where) -> list[str]:
    words = ["python3", "-m", "sglang.launch_server", "--model-path", plan.target, *_address(where)]
    if where.gpus > 1:
        words += ["--tp", str(where.gpus)]
    if where.n_ctx:
        words += ["--context-length", str(where.n_ctx)]
    names = {Method.DRAFT: "STANDALONE", Method.EAGLE3: "EAGLE3", Method.MTP: "NEXTN", Method.LOOKUP: "NGRAM"}
    if plan.method is Method.NONE:
        return words
    words += ["--speculative-algorithm", names[plan.method]]
    if plan.draft:
        words += ["--speculative-draft-model-path", plan.draft]
    if plan.method is not Method.LOOKUP:
        words += ["--speculative-num-steps", str(plan.k), "--speculative-eagle-topk", "1"]
    return [*words, "--speculative-num-draft-tokens", str(plan.k + 1)]


def _llama_server(plan: Plan, where: Where) -> list[str]:
    words = ["llama-server", *_model(plan.target, "-m", "-hf"), *_address(where)]
    if where.n_ctx:
        words += ["-c", str(where.n_ctx)]
    if where.gpus:
        words += ["-ngl", "all"]
    match plan.method:
        case Method.DRAFT:
            words += ["--spec-type", "draft-simple", *_model(plan.draft, "-md", "-hfd")]
        case Method.EAGLE3:
            words += ["--spec-type", "draft-eagle3", *_model(plan.draft, "-md", "-hfd")]
        case Method.MTP:
            words += ["--spec-type", "draft-mtp"]
        case Method.LOOKUP:
            sizes = ["--spec-ngram-simple-size-n", str(_LOOKUP.ngram_min), "--spec-ngram-simple-size-m", str(plan.k)]
            return [*words, "--spec-type", "ngram-simple", *sizes]
        case Method.NONE:
            return words
    return [*words, "--spec-draft-n-max", str(plan.k), *(["-ngld", "all"] if where.gpus and plan.draft else [])]


def is_file(name: str) -> bool:
    """Whether a model is named by a file, and not by a repository."""
    return Path(name).suffix.lower() == ".gguf"


def _model(name: str, file_flag: str, hub_flag: str) -> list[str]:
    return [file_flag if is_file(name) else hub_flag, name]


def _address(where: Where) -> list[str]:
    return ["--host", where.host, "--port", str(where.port)]
