from __future__ import annotations

import pytest

from specchat.bench.exports import ExportTarget
from specchat.errors import ConfigError
from specchat.remote.deploy.plan import Method, ServerPlan, plan
from specchat_assets.catalog import catalog


def test_the_draft_of_which_most_is_reported_is_chosen_with_its_k_and_llama_server_loads_files_of_the_hub() -> None:
    found = plan(ExportTarget.VLLM, "llama-3.1-8b")
    assert (found.target, found.draft) == ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.2-1B-Instruct")
    assert (found.method, found.k) == (Method.DRAFT, 5)
    assert "1.71 × plain" in found.why
    files = plan(ExportTarget.LLAMA_SERVER, "Qwen3 8B")
    assert (files.target, files.draft) == ("Qwen/Qwen3-8B-GGUF:Q4_K_M", "unsloth/Qwen3-0.6B-GGUF:Q8_0")


def test_a_head_comes_first_where_the_server_can_load_it_and_layers_of_the_targets_own_need_no_file() -> None:
    for tool in (ExportTarget.VLLM, ExportTarget.SGLANG):
        found = plan(tool, "openai/gpt-oss-20b")
        assert (found.method, found.draft, found.k) == (Method.EAGLE3, "nebius/EAGLE3-gpt-oss-20b", 7)
    assert plan(ExportTarget.LLAMA_SERVER, "gpt-oss-20b").method is not Method.EAGLE3
    own = plan(ExportTarget.LLAMA_SERVER, "qwen3.5-27b")
    assert (own.method, own.draft) == (Method.MTP, "")


def test_vocabularies_of_different_sizes_are_known_and_sglang_refuses_them() -> None:
    assert plan(ExportTarget.VLLM, "qwen2.5-7b").mixed
    assert not plan(ExportTarget.VLLM, "qwen3-8b").mixed
    assert plan(ExportTarget.SGLANG, "qwen2.5-7b").method is Method.LOOKUP
    with pytest.raises(ConfigError, match="SGLang needs equal vocabularies"):
        plan(ExportTarget.SGLANG, "qwen2.5-7b", "qwen2.5-0.5b")


def test_a_model_that_nobody_knows_is_drafted_for_by_lookup() -> None:
    assert plan(ExportTarget.VLLM, "org/new").method is Method.LOOKUP
    assert plan(ExportTarget.LLAMA_SERVER, "/data/a.gguf", "/data/b.gguf") == ServerPlan(
        ExportTarget.LLAMA_SERVER, "/data/a.gguf", Method.DRAFT, "/data/b.gguf", 4, why="as you asked"
    )


def test_a_draft_may_be_no_model_and_a_k_of_ones_own_holds() -> None:
    for draft, method in (("none", Method.NONE), ("lookup", Method.LOOKUP), ("MTP", Method.MTP)):
        found = plan(ExportTarget.VLLM, "qwen3-8b", draft)
        assert (found.method, found.draft) == (method, "")
    assert plan(ExportTarget.VLLM, "qwen3-8b", k=9).k == 9
    assert plan(ExportTarget.VLLM, "qwen3-8b", k=0).method is Method.NONE


def test_a_head_of_another_target_and_a_model_without_gguf_files_for_llama_server_are_refused() -> None:
    with pytest.raises(ConfigError, match="is a head for gpt-oss 20B"):
        plan(ExportTarget.VLLM, "qwen3-8b", "nebius/EAGLE3-gpt-oss-20b")
    with pytest.raises(ConfigError, match=r"no GGUF file of OPT 6\.7B"):
        plan(ExportTarget.LLAMA_SERVER, "opt-6.7b")


def test_every_target_of_the_catalog_has_a_plan_for_every_server() -> None:
    targets = {one.target.id: one.target for one in (*catalog().pairs, *catalog().heads)}
    for tool in ExportTarget:
        for model in targets.values():
            if tool is ExportTarget.LLAMA_SERVER and not model.repository:
                continue
            found = plan(tool, model.id)
            assert found.target
            assert found.method is not Method.NONE
            assert found.k > 0
            assert found.why
