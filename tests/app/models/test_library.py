"""The models on this machine and their names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from specchat.errors import LibraryError
from specchat.models import library
from specchat.models.library import loadable_models, models
from specchat.models.names import find, find_path
from specchat.models.preferences import PairNames, Preferences, preferences_file, read_preferences, write_preferences
from specchat.models.sources import ModelSource
from specchat.settings.paths import cache_folder
from specchat_assets import builtin_heads, builtin_pair
from support.hub_faults import Fault, Wrong
from support.hub_samples import REPOSITORY, listed, pulled, tiny_repository
from support.hub_server import Hub, Repository
from support.tiny_models import TinyModels

DIGEST = "ab" * 32


def put(model: Path, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(model, place))


def put_into_ollama(model: Path, folder: Path, name: str, tag: str, digest: str = DIGEST) -> Path:
    """A model as Ollama stores one."""
    manifest = folder / "manifests" / "registry.ollama.ai" / name / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'0' * 64}", "size": 1},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": 1},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return put(model, folder / "blobs" / f"sha256-{digest}")


@pytest.fixture
def everywhere(isolated_machine: Path, tiny_models: TinyModels, hub: Hub, tiny: Repository, tmp_path: Path) -> Path:
    """A model in the folder of each program, and in one of the user's folders."""
    pulled(listed()).result()
    put(tiny_models.target, isolated_machine / ".lmstudio/models/Qwen/Qwen3-GGUF/Qwen3-4B-Q4_K_M.gguf")
    put_into_ollama(tiny_models.target, isolated_machine / ".ollama/models", "library/llama3.2", "3b")
    put_into_ollama(tiny_models.draft, isolated_machine / ".ollama/models", "library/llama3.2", "1b", "cd" * 32)
    put_into_ollama(tiny_models.draft, isolated_machine / ".ollama/models", "someone/smollm", "latest", "ef" * 32)
    put(tiny_models.target, isolated_machine / ".cache/llama.cpp/ggml-org_gemma-Q8_0.gguf")
    put(tiny_models.draft, tmp_path / "own/deep/mine-F16.gguf")
    write_preferences(Preferences().with_folder(tmp_path / "own"))
    return tmp_path


def test_models_of_all_programs_are_listed_under_names(everywhere: Path) -> None:
    entries = models()
    assert [(entry.name, entry.found.source) for entry in entries] == [
        ("tests/tiny-GGUF:F16", ModelSource.HUB),
        ("lmstudio:Qwen/Qwen3-GGUF:Q4_K_M", ModelSource.LM_STUDIO),
        ("ollama:llama3.2:1b", ModelSource.OLLAMA),
        ("ollama:llama3.2:3b", ModelSource.OLLAMA),
        ("ollama:someone/smollm:latest", ModelSource.OLLAMA),
        ("llama.cpp:ggml-org_gemma-Q8_0", ModelSource.LLAMA_CPP),
        ("mine-F16", ModelSource.FOLDER),
    ]
    assert not any(entry.problem for entry in entries)
    first = entries[0]
    assert (first.summary.architecture, first.summary.layers, first.size) == ("llama", 2, first.path.stat().st_size)


MEANT = {
    "tests/tiny-GGUF:F16": "tests/tiny-GGUF:F16",
    "tests/tiny-GGUF": "tests/tiny-GGUF:F16",
    "tests/tiny-gguf:f16": "tests/tiny-GGUF:F16",
    "Qwen/Qwen3-GGUF:Q4_K_M": "lmstudio:Qwen/Qwen3-GGUF:Q4_K_M",
    "Qwen/Qwen3-GGUF": "lmstudio:Qwen/Qwen3-GGUF:Q4_K_M",
    "ollama:llama3.2:3b": "ollama:llama3.2:3b",
    "llama3.2:1b": "ollama:llama3.2:1b",
    "ollama:someone/smollm": "ollama:someone/smollm:latest",
    "mine-F16": "mine-F16",
    "ggml-org_gemma-Q8_0": "llama.cpp:ggml-org_gemma-Q8_0",
    "llama.cpp:ggml-org_gemma-Q8_0.gguf": "llama.cpp:ggml-org_gemma-Q8_0",
    "favourite": "ollama:llama3.2:3b",
}
UNCLEAR = {
    "ollama:llama3.2": "can be ollama:llama3.2:1b, ollama:llama3.2:3b: name one of them",
    "ollama:llama3.3:3b": "similar names: ollama:llama3.2:3b",
    "Qwen/Qwen3-GGUF:Q2_K": "`specchat models pull Qwen/Qwen3-GGUF:Q2_K` downloads it",
    "zzz": "see `specchat models ls`",
}


def test_a_name_means_a_model_or_says_what_to_do(everywhere: Path) -> None:
    write_preferences(read_preferences().with_alias("favourite", "ollama:llama3.2:3b"))
    assert {name: find(name).name for name in MEANT} == MEANT
    assert [name for name in MEANT if find_path(name) != find(name).files[0]] == []
    for name, words in UNCLEAR.items():
        with pytest.raises(LibraryError) as caught:
            find_path(name)
        assert words in str(caught.value), name


def test_a_blob_of_ollama_is_listed_and_found_under_each_of_its_tags(
    isolated_machine: Path, tiny_models: TinyModels
) -> None:
    for tag in ("1b", "latest", "1b-instruct"):
        blob = put_into_ollama(tiny_models.target, isolated_machine / ".ollama/models", "library/llama3.2", tag)
    put_into_ollama(tiny_models.target, isolated_machine / ".ollama/models", "me/copy", "latest")
    names = ["ollama:llama3.2:1b", "ollama:llama3.2:1b-instruct", "ollama:llama3.2:latest", "ollama:me/copy:latest"]
    assert [entry.name for entry in models()] == names
    assert [find(name).name for name in names] == names
    assert find_path("llama3.2") == find_path(blob.name) == blob


@pytest.mark.parametrize("path", ["/none.gguf", "none.gguf", "./none", "~/none", "models/none.gguf"])
def test_a_name_that_looks_like_a_path_is_one(path: str) -> None:
    assert find_path(path) == Path(path).expanduser()


def test_an_existing_file_comes_before_a_name(everywhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(everywhere)
    (everywhere / "mine-F16").write_bytes(b"GGUF")
    assert find_path("mine-F16") == Path("mine-F16")


def test_a_second_listing_reads_the_headers_of_changed_files_alone(
    everywhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = models()
    with monkeypatch.context() as patch:
        patch.setattr(library, "read_model", lambda path: pytest.fail(f"{path} was read again"))
        assert models() == before
    path = everywhere / "own/deep/mine-F16.gguf"
    path.write_bytes(path.read_bytes()[:500])
    assert "is truncated" in models()[-1].problem


def test_damaged_summaries_are_read_again(everywhere: Path) -> None:
    before = models()
    of_one = f'{{"schema": 1, "headers": {{"{before[0].path}": {{"mark": 1}}}}}}'
    for kept in ("", "[]", "{}", of_one, '{"schema": 1, "headers": []}', "[" * 9000):
        (cache_folder() / "headers.json").write_text(kept)
        assert models() == before, kept[:50]


def test_broken_models_are_listed_with_their_reason_and_cannot_be_used(
    everywhere: Path, isolated_machine: Path, tiny_models: TinyModels
) -> None:
    (everywhere / "own/broken.gguf").write_bytes(b"GGUF\x03\0\0\0")
    put(tiny_models.target, everywhere / "own/big-00001-of-00002.gguf")
    (isolated_machine / ".ollama/models/blobs" / f"sha256-{DIGEST}").unlink()
    (isolated_machine / ".ollama/models/manifests/registry.ollama.ai/library/llama3.2/bad").write_text("[]")
    problems = {entry.name: entry.problem for entry in models() if entry.problem}
    assert problems.keys() == {"ollama:llama3.2:3b", "ollama:llama3.2:bad", "broken", "big-00001-of-00002"}
    assert "is truncated" in problems["broken"]
    assert "big-00002-of-00002.gguf is missing" in problems["big-00001-of-00002"]
    assert "is missing: pull it again with Ollama" in problems["ollama:llama3.2:3b"]
    with pytest.raises(LibraryError, match="cannot be used: its blob"):
        find_path("ollama:llama3.2:3b")


def test_an_interrupted_download_is_listed_and_cannot_be_used(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.misbehave(Fault(Wrong.CUT, files[0].size // 2, times=1), Fault(Wrong.STATUS, 404))
    pulled(files)
    [entry] = models()
    assert entry.problem.startswith("only 50 % is downloaded")
    with pytest.raises(LibraryError, match="cannot be used: only 50 %"):
        find_path(entry.name)
    hub.misbehave()
    pulled(files).result()
    [entry] = models()
    assert not entry.problem


def test_of_two_revisions_main_is_listed(hub: Hub, tiny: Repository, tmp_path: Path) -> None:
    pulled(listed()).result()
    hub.repositories[REPOSITORY] = tiny_repository(seed=2)
    [path] = pulled(listed()).result()
    assert [entry.path for entry in models()] == [path]


def test_the_variables_of_ollama_and_llama_cpp_are_honoured(
    tmp_path: Path, tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into_ollama(tiny_models.target, tmp_path / "o", "library/x", "1b")
    put(tiny_models.target, tmp_path / "l/y.gguf")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "o"))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "l"))
    assert [entry.name for entry in models()] == ["ollama:x:1b", "llama.cpp:y"]


def test_two_files_with_one_name_are_distinguished_by_their_paths_and_one_in_two_folders_is_listed_once(
    tmp_path: Path, tiny_models: TinyModels
) -> None:
    second = put(tiny_models.draft, tmp_path / "b/c/m.gguf")
    put(tiny_models.target, tmp_path / "a/m.gguf")
    write_preferences(Preferences().with_folder(tmp_path / "a").with_folder(tmp_path / "b").with_folder(second.parent))
    assert [entry.name for entry in models()] == ["m", str(second)]


def test_preferences_are_stored(tmp_path: Path) -> None:
    preferences = Preferences(default=PairNames("a", "b")).with_alias("x", "y").with_folder(tmp_path)
    for number in range(25):
        preferences = preferences.with_pair(PairNames(f"t{number}"))
    preferences = preferences.with_pair(PairNames("t20"))
    write_preferences(preferences)
    assert read_preferences() == preferences
    assert [pair.target for pair in preferences.pairs[:3]] == ["t20", "t24", "t23"]
    assert len(preferences.pairs) == 20
    assert read_preferences().without_alias("x").aliases == {}


@pytest.mark.parametrize("alias", ["a/b", "x.gguf", "", "-m", "a:b", "../x", "é"])
def test_an_alias_cannot_look_like_something_else(alias: str) -> None:
    with pytest.raises(LibraryError, match="cannot be an alias"):
        Preferences().with_alias(alias, "x")


@pytest.mark.parametrize("text", ["{", "[]", '{"aliases": []}', '{"aliases": {"a": 1}}', '{"pairs": [{}]}', "[" * 9000])
def test_damaged_preferences_are_an_error_and_are_left_alone(text: str) -> None:
    preferences_file().parent.mkdir(parents=True)
    preferences_file().write_text(text)
    with pytest.raises(LibraryError, match="is not what specchat wrote"):
        models()
    assert preferences_file().read_text() == text


def test_the_built_in_models_have_the_names_that_the_screen_shows_unless_the_user_has_one_of_the_name(
    tiny_models: TinyModels, tmp_path: Path
) -> None:
    built_in = builtin_pair()[0]
    assert [find_path(name) for name in ("specchat-guide-18m", "specchat-guide 18M")] == [built_in] * 2
    assert [entry.path for entry in loadable_models() if entry.name == built_in.stem] == [built_in]
    assert [find_path(head.stem) for head in builtin_heads()] == [*builtin_heads()]
    own = put(tiny_models.target, tmp_path / "own" / "specchat-guide-18m.gguf")
    write_preferences(Preferences().with_folder(own.parent))
    assert find_path("specchat-guide-18m") == own
