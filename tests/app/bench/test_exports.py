from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from specchat.bench.document import Benchmark
from specchat.bench.exports import Export, ExportTarget, export
from specchat.bench.plan import PLAIN, Arm
from support.bench_samples import CONDITIONS, LOOKUP, MODEL, benchmark

AUTO, HYBRID = Arm("hybrid", "auto"), Arm("hybrid", 4)


def run(*, options: dict[str, Any] | None = None, **speeds: float) -> Benchmark:
    arms = {"plain": PLAIN, "model": MODEL, "lookup": LOOKUP, "auto": AUTO, "hybrid": HYBRID}
    return benchmark(
        {PLAIN: (100.0, 100.0)} | {arms[name]: (speed, speed) for name, speed in speeds.items()},
        options={**CONDITIONS.options, **(options or {})},
    )


def exported(benchmark: Benchmark, tool: ExportTarget) -> Export:
    found = export(benchmark, tool)
    assert found is not None
    return found


def test_a_draft_model_on_llama_server() -> None:
    assert exported(run(model=150, lookup=120), ExportTarget.LLAMA_SERVER) == Export(
        "llama-server -m /models/guide.gguf -c 0 -np 1 -t 2 --spec-type draft-simple -md '/models/my draft.gguf' "
        "--spec-draft-n-max 4 --spec-draft-n-min 0",
        "",
    )


def test_separate_threads_for_prompts_and_drafts_become_flags_of_llama_server() -> None:
    found = run(model=150)
    for machine, words in (
        ({"threads": 2, "threads_prompt": 2, "threads_draft": 2}, "-t 2 --spec-type"),
        ({"threads": 4, "threads_prompt": 8, "threads_draft": 1}, "-t 4 -tb 8 -td 1 --spec-type"),
    ):
        one = replace(found, conditions=replace(found.conditions, machine=machine))
        assert words in exported(one, ExportTarget.LLAMA_SERVER).command


def test_lookup_and_both_on_llama_server() -> None:
    assert exported(run(model=110, lookup=120), ExportTarget.LLAMA_SERVER).command == (
        "llama-server -m /models/guide.gguf -c 0 -np 1 -t 2 --spec-type ngram-simple "
        "--spec-ngram-simple-size-n 2 --spec-ngram-simple-size-m 8"
    )
    words = shlex.split(exported(run(model=110, hybrid=140), ExportTarget.LLAMA_SERVER).command)
    assert words[words.index("--spec-type") + 1] == "ngram-simple,draft-simple"
    assert words[words.index("--spec-draft-n-max") + 1] == words[words.index("--spec-ngram-simple-size-m") + 1] == "4"


def test_offload_and_devices_reach_llama_server() -> None:
    options = {
        "n_ctx": 4096,
        "gpu_layers": 20,
        "gpu_layers_draft": 0,
        "devices": ["CUDA0", "CUDA1"],
        "devices_draft": ["CUDA1"],
        "tensor_split": [3.0, 1.0],
        "main_gpu": 1,
        "n_cpu_moe": 12,
        "tensor_overrides": ["attn=CUDA0"],
    }
    command = exported(run(model=150, options=options), ExportTarget.LLAMA_SERVER).command
    assert "-c 4096 -np 1 -t 2 -ngl 20 -dev CUDA0,CUDA1 -ts 3,1 -mg 1 -ncmoe 12 -ot attn=CUDA0 --spec-type" in command
    assert command.endswith("-ngld 0 -devd CUDA1")


def test_a_draft_model_on_vllm() -> None:
    found = exported(run(model=150, lookup=120, options={"n_ctx": 2048}), ExportTarget.VLLM)
    *words, config = shlex.split(found.command)
    assert words == ["vllm", "serve", "/models/guide.gguf", "--max-model-len", "2048", "--speculative-config"]
    assert json.loads(config) == {
        "method": "draft_model",
        "model": "/models/my draft.gguf",
        "num_speculative_tokens": 4,
    }
    assert "vllm-gguf-plugin" in found.note


def test_lookup_on_vllm() -> None:
    config = json.loads(shlex.split(exported(run(lookup=120), ExportTarget.VLLM).command)[-1])
    assert (config["method"], config["num_speculative_tokens"]) == ("ngram", 8)
    assert 1 <= config["prompt_lookup_min"] <= config["prompt_lookup_max"]


@pytest.mark.parametrize(
    ("tool", "speeds", "best"),
    [
        (ExportTarget.LLAMA_SERVER, {"model": 120, "auto": 150}, "model 4"),
        (ExportTarget.VLLM, {"lookup": 120, "hybrid": 150}, "lookup 8"),
        (ExportTarget.VLLM, {"lookup": 80, "hybrid": 150}, "plain"),
    ],
)
def test_what_the_tool_lacks_is_said_and_its_best_is_taken(
    tool: ExportTarget, speeds: dict[str, float], best: str
) -> None:
    found = exported(run(**speeds), tool)
    assert f"so this is {best}" in found.note


@pytest.mark.parametrize("tool", [ExportTarget.LLAMA_SERVER, ExportTarget.VLLM])
@pytest.mark.parametrize("own", [Arm("store", 4), Arm("recycling", 4), Arm("my-drafter", 4)])
def test_a_drafter_that_only_specchat_has_is_replaced_by_the_best_that_the_tool_has(
    tool: ExportTarget, own: Arm
) -> None:
    found = exported(benchmark({PLAIN: (100.0, 100.0), own: (190.0, 190.0), LOOKUP: (120.0, 120.0)}), tool)
    assert f"{tool} does not support {own.label}, so this is lookup 8" in found.note
    assert "ngram" in found.command


def test_where_plain_is_best_nothing_speculates() -> None:
    assert exported(run(model=80, lookup=90), ExportTarget.LLAMA_SERVER) == Export(
        "llama-server -m /models/guide.gguf -c 0 -np 1 -t 2", ""
    )
    assert exported(run(model=80), ExportTarget.VLLM).command == "vllm serve /models/guide.gguf"


def test_where_nothing_was_compared_nothing_is_exported() -> None:
    assert export(run(), ExportTarget.VLLM) is None
    assert export(replace(run(model=2), samples=[]), ExportTarget.LLAMA_SERVER) is None
