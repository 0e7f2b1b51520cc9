from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specchat.bench.exports import ExportTarget
from specchat.remote.deploy.commands import Where, command
from specchat.remote.deploy.plan import Method, ServerPlan, plan
from specchat_assets import builtin_pair
from support.llama_servers import free_port, is_built, json_at, started

HERE = Where("127.0.0.1", 8000)


def speculative_config(words: list[str]) -> Any:
    return json.loads(words[words.index("--speculative-config") + 1])


def test_vllm_gets_its_drafts_as_json_and_is_asked_to_report_its_rounds() -> None:
    words = command(plan(ExportTarget.VLLM, "llama-3.1-8b"), Where("127.0.0.1", 8000, gpus=2, n_ctx=4096))
    assert words[:3] == ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"]
    assert words[words.index("--tensor-parallel-size") + 1] == "2"
    assert words[words.index("--max-model-len") + 1] == "4096"
    assert words[-2:] == ["--per-request-spec-decode-metrics", "detailed"]
    assert speculative_config(words) == {
        "method": "draft_model",
        "model": "meta-llama/Llama-3.2-1B-Instruct",
        "draft_tensor_parallel_size": 2,
        "num_speculative_tokens": 5,
    }


@pytest.mark.parametrize(
    ("model", "draft", "config"),
    [
        ("gpt-oss-20b", None, {"method": "eagle3", "model": "nebius/EAGLE3-gpt-oss-20b", "num_speculative_tokens": 7}),
        ("qwen3.5-27b", "mtp", {"method": "mtp", "num_speculative_tokens": 2}),
        (
            "qwen3-8b",
            "lookup",
            {"method": "ngram", "prompt_lookup_min": 2, "prompt_lookup_max": 8, "num_speculative_tokens": 4},
        ),
    ],
)
def test_vllm_knows_each_method_by_its_name(model: str, draft: str | None, config: dict[str, Any]) -> None:
    assert speculative_config(command(plan(ExportTarget.VLLM, model, draft), HERE)) == config


def test_vllm_draws_from_what_both_vocabularies_have_and_has_nothing_to_report_without_drafts() -> None:
    assert speculative_config(command(plan(ExportTarget.VLLM, "qwen2.5-7b"), HERE))["use_heterogeneous_vocab"] is True
    assert command(plan(ExportTarget.VLLM, "qwen3-8b", "none"), HERE) == [
        *("vllm", "serve", "Qwen/Qwen3-8B", "--host", "127.0.0.1", "--port", "8000")
    ]


def test_sglang_verifies_one_token_more_than_it_drafts() -> None:
    words = command(plan(ExportTarget.SGLANG, "llama-3.1-8b"), HERE)
    assert words[-10:] == [
        *("--speculative-algorithm", "STANDALONE"),
        *("--speculative-draft-model-path", "meta-llama/Llama-3.2-1B-Instruct"),
        *("--speculative-num-steps", "5", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "6"),
    ]
    names = {Method.EAGLE3: "EAGLE3", Method.MTP: "NEXTN", Method.LOOKUP: "NGRAM"}
    for method, name in names.items():
        assert name in command(ServerPlan(ExportTarget.SGLANG, "org/x", method, k=3), HERE)


def test_llama_server_loads_files_and_repositories() -> None:
    words = command(plan(ExportTarget.LLAMA_SERVER, "/data/a.gguf", "org/b-GGUF:Q8_0"), HERE)
    assert words[:3] == ["llama-server", "-m", "/data/a.gguf"]
    assert words[words.index("-hfd") + 1] == "org/b-GGUF:Q8_0"
    assert words[words.index("--spec-type") + 1] == "draft-simple"


@pytest.mark.skipif(not is_built(), reason="llama-server is not built: `make bench-peers` builds it")
@pytest.mark.parametrize("draft", ["model", "lookup", "none"])
def test_a_real_llama_server_starts_with_the_command(draft: str, tmp_path: Path) -> None:
    target, small = builtin_pair()
    planned = plan(ExportTarget.LLAMA_SERVER, str(target), str(small) if draft == "model" else draft, 3)
    where = Where("127.0.0.1", free_port(), gpus=0, n_ctx=512)
    with started(command(planned, where)[1:], where.port, tmp_path / "log") as url:
        assert json_at(f"{url}/slots")[0]["speculative"] is (draft != "none")
