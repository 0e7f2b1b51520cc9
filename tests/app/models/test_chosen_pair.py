from __future__ import annotations

from pathlib import Path

import pytest

from specchat.models.chosen_pair import chat_options, is_first_run, remember_welcome
from specchat.models.preferences import PairNames, Preferences, preferences_file, write_preferences
from specchat.settings.config import read_config
from specchat.settings.paths import data_folder, sessions_db
from specchat.settings.schema import Config
from specchat_assets import DRAFT_NAME, TARGET_NAME, BuiltinPairError, builtin_pair


@pytest.fixture
def assets_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("specchat_assets.MODELS", tmp_path / "models")
    models = tmp_path / "models"
    models.mkdir()
    return models


def test_without_a_model_the_built_in_pair_answers(assets_folder: Path) -> None:
    for name in (TARGET_NAME, DRAFT_NAME):
        (assets_folder / name).touch()
    options = chat_options(read_config({}))
    assert (options.target, options.draft) == (assets_folder / TARGET_NAME, assets_folder / DRAFT_NAME)


def test_a_missing_built_in_model_says_how_to_make_it(assets_folder: Path) -> None:
    (assets_folder / TARGET_NAME).touch()
    with pytest.raises(BuiltinPairError, match=f"{DRAFT_NAME} is missing: make it with `make builtin-pair`"):
        builtin_pair()


def test_a_configured_model_without_a_draft_has_none_and_the_verifier_is_the_configured_one() -> None:
    options = chat_options(read_config({"model": "/big.gguf", "verifier": "block"}))
    assert (options.target, options.draft, options.chosen["verifier"]) == (Path("/big.gguf"), None, "block")


def test_the_flags_for_loading_reach_the_engine() -> None:
    flags = {"model": "/big.gguf", "ctx_size": 512, "gpu_layers": 3, "device": "A,B", "threads": 1, "k": 32}
    options = chat_options(read_config(flags)).load
    assert (options.n_ctx, options.gpu_layers, options.devices, options.threads) == (512, 3, ("A", "B"), 1)
    more = {"flash_attention": "on", "cache_type_k": "q8_0", "cache_type_v": "q4_0", "batch_size": 64}
    options = chat_options(read_config({"model": "/big.gguf", "threads_draft": 3, "ubatch_size": 32, **more})).load
    assert (options.flash_attention, options.cache_type_k, options.cache_type_v) == ("on", "q8_0", "q4_0")
    assert (options.batch_size, options.ubatch_size, options.threads_draft) == (64, 32, 3)


def test_only_the_first_start_is_a_first_run() -> None:
    assert is_first_run(Config())
    remember_welcome()
    assert not is_first_run(Config())


def test_a_user_who_has_chosen_a_model_is_not_new(tmp_path: Path) -> None:
    assert is_first_run(Config())
    assert not is_first_run(Config(model=tmp_path / "a.gguf"))
    write_preferences(Preferences(default=PairNames("a", "b")))
    assert not is_first_run(Config())


def test_a_user_who_has_sessions_is_not_new() -> None:
    data_folder().mkdir(parents=True)
    sessions_db().touch()
    assert not is_first_run(Config())


def test_damaged_preferences_are_not_a_first_run() -> None:
    preferences_file().parent.mkdir(parents=True)
    preferences_file().write_text("damaged")
    assert not is_first_run(Config())


def test_a_data_folder_that_cannot_be_written_stops_nothing() -> None:
    data_folder().parent.mkdir(parents=True)
    data_folder().touch()
    remember_welcome()
    assert not is_first_run(Config())
