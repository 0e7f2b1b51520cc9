"""The command line of each server for a plan.

The flags are those of vLLM 0.32.0, SGLang 0.5.23 and the llama.cpp in llama-cpp-python 0.3.36, read in their sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat.bench.exports import ExportTarget, llama_server_speculation, vllm_speculation
from specchat.remote.deploy.plan import Method, ServerPlan

PORTS = {ExportTarget.VLLM: 8000, ExportTarget.SGLANG: 30000, ExportTarget.LLAMA_SERVER: 8080}
"""The port that each server listens on if none is given."""

_DRAFTERS = {Method.DRAFT: "model", Method.EAGLE3: "eagle3", Method.MTP: "mtp", Method.LOOKUP: "lookup"}
_NGRAM_MAX = 8
"""The most tokens that vLLM's lookup compares."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where the server runs: its address, the number of GPUs (0 for none), and tokens of context (0 is the model's)."""

    host: str
    port: int
    gpus: int = 1
    n_ctx: int = 0


def command(plan: ServerPlan, where: Where) -> list[str]:
    """The words of the command line."""
    match plan.tool:
        case ExportTarget.VLLM:
            return _vllm(plan, where)
        case ExportTarget.SGLANG:
            return _sglang(plan, where)
        case ExportTarget.LLAMA_SERVER:
            return _llama_server(plan, where)


def _vllm(plan: ServerPlan, where: Where) -> list[str]:
    words = ["vllm", "serve", plan.target, *_address(where)]
    if where.gpus > 1:
        words += ["--tensor-parallel-size", str(where.gpus)]
    if where.n_ctx:
        words += ["--max-model-len", str(where.n_ctx)]
    if plan.method is Method.NONE:
        return words
    further: dict[str, Any] = {}
    if plan.method is Method.DRAFT:
        further |= {"draft_tensor_parallel_size": where.gpus} if where.gpus > 1 else {}
        further |= {"use_heterogeneous_vocab": True} if plan.mixed else {}
    words += vllm_speculation(_DRAFTERS[plan.method], plan.k, plan.draft or None, ngram_max=_NGRAM_MAX, **further)
    return [*words, "--per-request-spec-decode-metrics", "detailed"]


def _sglang(plan: ServerPlan, where: Where) -> list[str]:
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


def _llama_server(plan: ServerPlan, where: Where) -> list[str]:
    words = ["llama-server", *_model(plan.target, "-m", "-hf"), *_address(where)]
    if where.n_ctx:
        words += ["-c", str(where.n_ctx)]
    if where.gpus:
        words += ["-ngl", "all"]
    if plan.method is Method.NONE:
        return words
    draft = _model(plan.draft, "-md", "-hfd") if plan.draft else []
    offload = ["-ngld", "all"] if where.gpus and plan.draft else []
    return words + llama_server_speculation(_DRAFTERS[plan.method], plan.k, draft, offload)


def is_file(name: str) -> bool:
    """Whether a model is named by a file, and not by a repository."""
    return Path(name).suffix.lower() == ".gguf"


def _model(name: str, file_flag: str, hub_flag: str) -> list[str]:
    return [file_flag if is_file(name) else hub_flag, name]


def _address(where: Where) -> list[str]:
    return ["--host", where.host, "--port", str(where.port)]
