from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from app.remote.samples import SGLANG, VLLM, models
from specchat.errors import RemoteError
from specchat.remote.address import read_address
from specchat.remote.servers import EngineKind, RemoteServer, recognise
from specchat_engine.sampling.params import SamplingParams


class Pages:
    """What a server gives, by path."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    def ask(self, url: str) -> Any:
        path = url.removeprefix("http://host:1")
        self.asked.append(path)
        if path not in self.pages:
            raise RemoteError("not there")
        return self.pages[path]


def recognised(pages: Mapping[str, Any], model: str = "") -> RemoteServer:
    return recognise(Pages(pages), read_address("host:1", model=model))


def loaded(file: Any) -> Any:
    return json.loads(file.read_text())


def test_a_llama_server_reports_its_context_and_its_sampling() -> None:
    params = {"temperature": 0.800000011920929, "top_k": 20, "repeat_last_n": 32, "min_p": "none", "typical_p": 1.0}
    found = recognised(
        {
            "/v1/models": models("llamacpp", "/models/guide.gguf", meta={"n_ctx": 4096, "n_params": 18, "size": 36}),
            "/props": {"default_generation_settings": {"params": params, "n_ctx": 1024}, "build_info": "b1-0c1e570"},
        }
    )
    assert (found.engine, found.version, found.model.n_ctx) == (EngineKind.LLAMA_SERVER, "b1-0c1e570", 1024)
    assert (found.model.id, found.model.name, found.model.n_params) == ("/models/guide.gguf", "guide.gguf", 18)
    assert found.sampling == SamplingParams(temperature=0.8, top_k=20, penalty_last_n=32)


def test_a_vllm_that_drafts_has_counters_of_drafts() -> None:
    pages = {"/v1/models": loaded(VLLM / "models.json"), "/version": {"version": "0.32.0"}}
    metrics = (VLLM / "metrics.txt").read_text()
    found = recognised(pages | {"/metrics": metrics})
    assert (found.engine, found.version, found.speculates) == (EngineKind.VLLM, "0.32.0", True)
    assert (found.model.id, found.model.n_ctx) == ("guide", 1024)
    assert found.sampling.min_p == 0.0
    assert recognised(pages | {"/metrics": "vllm:num_requests_running 0"}).speculates is False
    assert recognised(pages).speculates is False


def test_sglang_reports_its_algorithm_under_its_new_and_its_old_address() -> None:
    info = loaded(SGLANG / "server_info.json")
    pages = {"/v1/models": loaded(SGLANG / "models.json")}
    for path in ("/server_info", "/get_server_info"):
        found = recognised(pages | {path: info})
        assert (found.engine, found.version, found.speculates) == (EngineKind.SGLANG, "0.5.23", True)
    assert recognised(pages | {"/server_info": info | {"speculative_algorithm": None}}).speculates is False


def test_specchat_reports_what_a_request_may_choose() -> None:
    offer = {"version": "0.1.0", "drafters": ["hybrid", "lookup", "none"], "draft": "specchat-draft"}
    found = recognised({"/v1/models": models("specchat", specchat=offer, max_model_len=1024)})
    assert (found.engine, found.drafters, found.draft) == (
        EngineKind.SPECCHAT,
        ("hybrid", "lookup", "none"),
        "specchat-draft",
    )


def test_any_other_is_used_as_it_is() -> None:
    found = recognised({"/v1/models": models("openai", "gpt-x")})
    assert (found.engine, found.speculates, found.drafters) == (EngineKind.OPENAI, False, ())
    assert (found.sampling.top_k, found.sampling.min_p) == (0, 0.0)


def test_a_model_is_found_by_its_name_or_a_part_of_it() -> None:
    pages = {"/v1/models": models("vllm", "org/Llama-8B", "org/llama-70b", "/models/x.gguf")}
    assert recognised(pages).model.id == "org/Llama-8B"
    assert recognised(pages, "70B").model.id == "org/llama-70b"
    assert recognised(pages, "/models/x.gguf").model.id == "/models/x.gguf"
    assert recognised(pages).models == ("org/Llama-8B", "org/llama-70b", "/models/x.gguf")
    for unclear in ("llama", "gpt"):
        with pytest.raises(RemoteError, match=f"host:1 has no model {unclear}: it has org/Llama-8B, org/llama-70b"):
            recognised(pages, unclear)


def test_each_model_of_a_server_has_a_name_of_its_own() -> None:
    pages = {"/v1/models": models("vllm", "org/a", "org/b", "other/a", "a")}
    names = {identity: recognised(pages, identity).model.name for identity in ("org/b", "org/a", "other/a", "a")}
    assert names == {"org/b": "b", "org/a": "org/a", "other/a": "other/a", "a": "a"}


@pytest.mark.parametrize("body", [{}, [], "hello", {"data": []}, {"data": [{"id": 3}, None]}])
def test_what_lists_no_models_is_refused(body: Any) -> None:
    with pytest.raises(RemoteError, match="host:1 lists no models at /v1/models: check the address"):
        recognised({"/v1/models": body})


def test_hostile_names_are_filtered() -> None:
    found = recognised({"/v1/models": models("vllm", "a\x1b[2Jb"), "/version": {"version": "1\n2"}})
    assert "\x1b" not in found.model.name
    assert found.version == "1 2"
