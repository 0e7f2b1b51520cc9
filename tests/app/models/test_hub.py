"""Search and listing against a real server on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url

from specchat.errors import HubError
from specchat.models.control import Stopped
from specchat.models.model_files import is_safe_path
from support.hub_faults import Fault, Wrong
from support.hub_samples import REPOSITORY, client, listed, retry_for
from support.hub_server import TOKEN, Hub, Repository


def test_huggingface_hubs_own_client_accepts_the_server_of_these_tests(hub: Hub, tiny: Repository) -> None:
    api = HfApi(endpoint=hub.url, token=TOKEN)
    hub.repositories["tests/other-GGUF"] = Repository({"other.gguf": b"GGUF"}, downloads=9)
    hub.page_size = 1
    assert [found.id for found in api.list_models(filter="gguf", sort="downloads")] == ["tests/other-GGUF", REPOSITORY]
    info = api.model_info(REPOSITORY, files_metadata=True)
    tree = {entry.path: entry for entry in api.list_repo_tree(REPOSITORY)}
    siblings = info.siblings or []
    assert [sibling.lfs.sha256 for sibling in siblings if sibling.lfs] == [
        tree[sibling.rfilename].lfs.sha256
        for sibling in siblings  # type: ignore[union-attr]
    ]
    [file] = listed()
    metadata = get_hf_file_metadata(hf_hub_url(REPOSITORY, file.path, endpoint=hub.url))
    assert (metadata.commit_hash, metadata.etag, metadata.size) == (file.commit, file.digest, file.size)
    assert metadata.location.startswith(hub.cdn)


def test_a_search_finds_gguf_repositories_most_downloaded_first(hub: Hub) -> None:
    hub.repositories |= {
        "a/Qwen3-4B-GGUF": Repository({"q.gguf": b""}, downloads=5),
        "b/Qwen3-0.6B-GGUF": Repository({"q.gguf": b""}, downloads=50, gated=True),
        "c/Qwen3-4B": Repository({"model.safetensors": b""}, downloads=500),
        "d/Llama-GGUF": Repository({"l.gguf": b""}),
    }
    found = client().search("qwen3")
    assert [one.id for one in found] == ["b/Qwen3-0.6B-GGUF", "a/Qwen3-4B-GGUF"]
    assert (found[0].downloads, found[0].gated, found[0].parameters, found[0].architecture) == (50, True, 1000, "llama")
    assert not found[1].gated
    assert len(client().search("", limit=2)) == 2


def test_files_are_listed_with_size_and_quantisation_parts_together(hub: Hub) -> None:
    names = ["m-Q4_K_M.gguf", "big/m-F16-00002-of-00002.gguf", "big/m-F16-00001-of-00002.gguf", "mmproj-F16.gguf"]
    hub.repositories[REPOSITORY] = Repository({name: name.encode() for name in [*names, "README.md"]})
    listing = client().files(REPOSITORY)
    assert [(model.quantisation, model.size, len(model.files)) for model in listing.models] == [
        ("Q4_K_M", 13, 1),
        ("F16", 58, 2),
    ]
    assert listing.choose("f16").path == "big/m-F16-00001-of-00002.gguf"
    with pytest.raises(HubError, match="has no Q2_K: there are Q4_K_M, F16"):
        listing.choose("Q2_K")


def test_an_incomplete_set_of_parts_is_not_chosen(hub: Hub) -> None:
    hub.repositories[REPOSITORY] = Repository({"m-F16-00001-of-00002.gguf": b""})
    with pytest.raises(HubError, match=r"lacks m-F16-00002-of-00002\.gguf"):
        client().files(REPOSITORY).choose()


def test_an_unknown_repository_is_reported_with_similar_names(hub: Hub, tiny: Repository) -> None:
    hub.repositories["Qwen/Qwen3-4B-GGUF"] = Repository({"q.gguf": b""})
    with pytest.raises(HubError) as caught:
        client().files("Qwen/Qwen3-4b-GUF")
    assert "there is no repository Qwen/Qwen3-4b-GUF" in str(caught.value)
    assert "similar names: Qwen/Qwen3-4B-GGUF" in str(caught.value)


@pytest.mark.parametrize("name", ["qwen", "a/b/c", "../etc", "a/..", "a b/c", "", "a/b?x=1", "a/%2e%2e"])
def test_an_invalid_repository_name_is_never_requested(hub: Hub, name: str) -> None:
    with pytest.raises(HubError, match="is not a repository: use USER/REPO"):
        client().files(name)
    assert hub.asked == []


def test_a_token_goes_to_the_hub_and_a_wrong_one_is_explained(
    hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    listed()
    assert hub.asked[-1].headers["Authorization"] == f"Bearer {TOKEN}"
    hub.misbehave(Fault(Wrong.STATUS, 401, api=True))
    with pytest.raises(HubError, match="does not accept your token"):
        listed()
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(HubError, match=r"tests/tiny-GGUF wants a token: log in with `hf auth login`, or set HF_TOKEN"):
        listed()
    with pytest.raises(HubError, match=r"^the hub wants a token"):
        client().search("tiny")


@pytest.mark.parametrize("number", [10**30, 2**63, -1])
def test_a_number_that_cannot_be_one_is_not_believed(hub: Hub, tiny: Repository, number: int) -> None:
    tiny.downloads = number
    [found] = client().search("tiny")
    assert found.downloads == 0


def test_offline_mode_asks_nobody(hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(HubError, match="HF_HUB_OFFLINE is set"):
        client().search("tiny")
    assert hub.asked == []


def test_a_busy_hub_is_asked_again(hub: Hub, tiny: Repository) -> None:
    hub.misbehave(Fault(Wrong.LIMIT, 0, times=1, api=True), Fault(Wrong.STATUS, 503, times=1, api=True))
    assert listed()
    assert len(hub.asked) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(Wrong.STATUS, 503, api=True), "answers 503, 3 times in a row"),
        (Fault(Wrong.LIMIT, 600, api=True), "asks to wait 600 s"),
        (Fault(Wrong.STALL, 0, api=True), "sent nothing for 2 s"),
        (Fault(Wrong.PORTAL, api=True), "does not answer as a hub does"),
        (Fault(Wrong.LOOP, api=True), "redirects in circles"),
        (
            Fault(Wrong.STATUS, 403, api=True),
            "refused with status 403: out of order; log in with `hf auth login` if it",
        ),
        (Fault(Wrong.STATUS, 418, api=True), "the hub is refused with status 418: out of order; try again later"),
    ],
)
def test_a_hub_that_misbehaves_is_an_error_of_one_line(hub: Hub, tiny: Repository, fault: Fault, words: str) -> None:
    hub.misbehave(fault)
    with pytest.raises(HubError) as caught:
        client(retry_for(fault)).search("tiny")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "ftp://hub", "no address"])
def test_an_invalid_endpoint_is_an_error(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(HubError, match=r"cannot be reached|cannot be used: correct HF_ENDPOINT"):
        client().search("tiny")


def test_a_cancel_ends_a_request(hub: Hub) -> None:
    asking = client()
    asking.control.cancel()
    with pytest.raises(Stopped):
        asking.search("tiny")


@pytest.mark.parametrize(
    "path",
    ["../up.gguf", "/root.gguf", "a//b.gguf", "a/./b.gguf", "back\\slash.gguf", "new\nline.gguf", "C:x.gguf", ""],
)
def test_a_path_that_leads_out_of_the_cache_is_not_listed(hub: Hub, path: str) -> None:
    assert not is_safe_path(path)
    hub.repositories[REPOSITORY] = Repository({path: b"", "good.gguf": b""})
    assert [model.path for model in client().files(REPOSITORY).models] == ["good.gguf"]


def test_the_variables_choose_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from specchat.models.environment import hub_environment

    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert hub_environment().cache == tmp_path / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    assert hub_environment().cache == tmp_path / "elsewhere"
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HF_HOME")
    assert hub_environment().cache == Path.home() / ".cache" / "huggingface" / "hub"
