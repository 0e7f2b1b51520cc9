from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from specchat.errors import ConfigError
from specchat.settings.config import read_config
from specchat.settings.paths import config_file
from specchat.settings.schema import SETTINGS
from specchat_engine.settings import DRAFTERS, Settings


def write_config(text: str | bytes) -> Path:
    file = config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def complaint(**flags: object) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(flags)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_flags_override_variables_and_variables_override_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).k == "auto"
    write_config("k = 5\ntop_k = 1\nmin_p = 0.1\n")
    monkeypatch.setenv("SPECCHAT_K", "6")
    monkeypatch.setenv("SPECCHAT_TOP_K", "2")
    config = read_config({"k": "7"})
    assert (config.k, config.top_k, config.min_p) == (7, 2, 0.1)


def test_a_sampling_value_that_nobody_sets_is_not_chosen() -> None:
    assert read_config({}).temperature is None
    assert read_config({"temperature": 0.0}).sampling == {"temperature": 0.0}


def test_all_settings_but_those_of_the_screen_have_a_flag_and_no_flag_stands_for_two() -> None:
    flags = [flag for setting in SETTINGS for flag in setting.flags]
    assert len(flags) == len(set(flags))
    assert {setting.key for setting in SETTINGS if not setting.flags} == {"theme", "keys", "drafts", "vi_keys", "math"}


def test_a_model_hides_the_draft_of_the_sources_below() -> None:
    write_config('model = "/big.gguf"\ndraft = "/small.gguf"\n')
    assert read_config({}).draft == Path("/small.gguf")
    assert read_config({"model": Path("/other.gguf")}).draft is None
    assert read_config({"draft": Path("/other.gguf")}).model == Path("/big.gguf")


def test_a_model_in_a_variable_has_no_draft_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('model = "/big.gguf"\ndraft = "/small.gguf"\n')
    monkeypatch.setenv("SPECCHAT_MODEL", "/other.gguf")
    assert read_config({}).draft is None


def test_paths_in_the_file_are_relative_to_its_folder_or_to_home(isolated_machine: Path) -> None:
    file = write_config('model = "models/big.gguf"\ndraft = "~/small.gguf"\n')
    config = read_config({})
    assert config.model == file.parent / "models/big.gguf"
    assert config.draft == isolated_machine / "small.gguf"


def test_lists_are_read_with_commas_or_as_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('device = ["CUDA0", "CUDA1"]\n')
    monkeypatch.setenv("SPECCHAT_TENSOR_SPLIT", "3, 1")
    config = read_config({"device_draft": "CPU"})
    assert (config.device, config.device_draft, config.tensor_split) == (("CUDA0", "CUDA1"), ("CPU",), (3.0, 1.0))


def test_seed_minus_one_is_a_new_seed() -> None:
    assert read_config({"seed": -1}).seed is None
    assert read_config({"seed": 0}).seed == 0


def test_a_wrong_value_in_the_file_is_reported_with_the_file() -> None:
    file = write_config('temperature = "hot"\n')
    assert complaint() == f"{file}: temperature is 'hot': use a number from 0 to 100 (0 is greedy, 0.8 is usual)"


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_TOP_P", "1.5")
    assert complaint() == "SPECCHAT_TOP_P is '1.5': use a number from 0 to 1 (1 keeps all)"


def test_an_unknown_setting_is_named_with_the_nearest_one() -> None:
    file = write_config("temprature = 1\n")
    assert complaint() == f"{file}: there is no setting temprature: did you mean temperature?"


def test_a_file_that_is_not_toml_is_named() -> None:
    file = write_config("temperature =\n")
    assert complaint().startswith(f"{file} is not valid TOML")
    write_config(b'system = "\xff"\n')
    assert complaint().startswith(f"{file} is not valid TOML")


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    file = write_config("")
    monkeypatch.setattr(os, "open", refuse)
    assert complaint() == f"{file} cannot be read: Permission denied; make it readable, or move it away"


@pytest.mark.parametrize("k", ["-1", "1000", "many", "1.5", ""])
def test_an_absurd_k_is_rejected(k: str) -> None:
    usable = "use auto, or a whole number from 0 to 32 (0 is plain decoding)"
    assert complaint(k=k) == f"-k is {k!r}: {usable}"


def test_k_is_a_number_or_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).k == "auto"
    monkeypatch.setenv("SPECCHAT_K", "3")
    assert read_config({}).k == 3
    assert read_config({"k": "auto"}).k == "auto"


def test_threads_are_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (read_config({}).threads, read_config({}).threads_draft) == (0, 0)
    monkeypatch.setenv("SPECCHAT_THREADS", "3")
    file = write_config("threads_draft = 1\n")
    assert (read_config({}).threads, read_config({}).threads_draft) == (3, 1)
    write_config('threads_draft = "some"\n')
    assert complaint() == f"{file}: threads_draft is 'some': use a whole number from 0 to 512"


def test_a_setting_of_older_versions_means_nothing() -> None:
    write_config('combine = "vote"\nk = 3\n')
    assert read_config({}).k == 3


def test_auto_threads_of_older_versions_are_the_usual_number(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('threads = "auto"\nthreads_draft = 2\n')
    monkeypatch.setenv("SPECCHAT_THREADS_DRAFT", " Auto")
    config = read_config({})
    assert (config.threads, config.threads_draft) == (0, 0)
    assert read_config({"threads": "auto"}).threads == 0


@pytest.mark.parametrize("threads", ["-1", "1000", "many", "1.5", ""])
def test_an_absurd_number_of_threads_is_rejected(threads: str) -> None:
    assert complaint(threads=threads) == f"--threads is {threads!r}: use a whole number from 0 to 512"


def test_an_unknown_drafter_is_rejected() -> None:
    names = ", ".join(DRAFTERS[:-1])
    assert complaint(drafter="magic") == f"--drafter is 'magic': use {names} or none"


def test_the_verifier_can_be_set_in_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).verifier == Settings().verifier == "coupled"
    write_config('verifier = "rejection"\n')
    assert read_config({}).verifier == "rejection"
    monkeypatch.setenv("SPECCHAT_VERIFIER", "block")
    assert read_config({}).verifier == "block"
    assert read_config({"verifier": "typical"}).verifier == "typical"


def test_thoughts_have_the_rule_of_the_answer_unless_told_otherwise() -> None:
    assert read_config({}).thought_verifier == Settings().thought_verifier == "same"
    write_config('thought_verifier = "typical"\n')
    assert read_config({}).thought_verifier == "typical"
    assert complaint(thought_verifier="block") == "--thought-verifier is 'block': use same or typical"


def test_thoughts_may_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).think_tokens == 0
    monkeypatch.setenv("SPECCHAT_THINK_TOKENS", "300")
    assert read_config({}).of(Settings)["think_tokens"] == 300
    assert complaint(think_tokens="-1") == (
        "--think-tokens is '-1': use a whole number from 0 to 2147483647 (0 is no limit)"
    )


def test_an_unknown_verifier_is_rejected() -> None:
    file = write_config('verifier = "magic"\n')
    assert complaint() == f"{file}: verifier is 'magic': use coupled, rejection, block or typical"
    assert complaint(verifier="Block") == "--verifier is 'Block': use coupled, rejection, block or typical"


def test_a_draft_without_a_model_is_rejected() -> None:
    assert "has no target" in complaint(draft="/small.gguf")


def test_the_model_drafter_needs_a_draft_model() -> None:
    assert "no draft model" in complaint(model="/big.gguf", drafter="model")


def test_biases_are_read_with_commas_or_as_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).sampling == {}
    write_config('logit_bias = ["5=1.5", "7-inf"]\n')
    assert read_config({}).sampling["logit_bias"] == ((5, 1.5), (7, -math.inf))
    monkeypatch.setenv("SPECCHAT_LOGIT_BIAS", "5+2, 6=-3e0")
    assert read_config({}).sampling["logit_bias"] == ((5, 2.0), (6, -3.0))
    assert read_config({"logit_bias": ["8=1"]}).sampling["logit_bias"] == ((8, 1.0),)


@pytest.mark.parametrize("text", ["5", "x=1", "5=", "5=much", "=1", "5 1", "-5=1", "5.5=1"])
def test_an_unreadable_bias_is_rejected(text: str) -> None:
    assert complaint(logit_bias=[text]).startswith(f"--logit-bias is '{text}': use TOKEN=BIAS")


def test_a_bias_must_be_a_number() -> None:
    assert complaint(logit_bias=["5=nan"]).startswith("--logit-bias is '5=nan': use TOKEN=BIAS")


def test_a_grammar_in_any_form_hides_all_forms_in_the_sources_below(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('grammar = "root ::= [a]"\n')
    assert read_config({}).sampling["grammar"] == "root ::= [a]"
    monkeypatch.setenv("SPECCHAT_JSON_SCHEMA", '{"const": 1}')
    assert '::= "1"' in (read_config({}).sampling["grammar"])
    assert read_config({"grammar": ""}).sampling["grammar"] == ""


def test_two_grammars_in_one_source_are_rejected() -> None:
    both = complaint(grammar="x", json_schema_file=Path("s.json"))
    assert both == "grammar and json_schema_file are both given: an answer follows one grammar, so omit one of them"


def test_a_grammar_file_is_relative_to_the_configuration_file() -> None:
    file = write_config('grammar_file = "my.gbnf"\n')
    (file.parent / "my.gbnf").write_text("\ufeffroot ::= [é]\n", "utf-8")
    assert read_config({}).sampling["grammar"] == "root ::= [é]\n"
    write_config('json_schema_file = "my.json"\n')
    (file.parent / "my.json").write_text('{"type": "null"}')
    assert "::= null" in (read_config({}).sampling["grammar"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff", "save it as UTF-8"),
        (b"", "is empty"),
        (b"#" * 2_000_000, "more than 1000000 bytes"),
    ],
)
def test_a_grammar_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "my.gbnf"
    if content is not None:
        path.write_bytes(content)
    for key in ("grammar_file", "json_schema_file"):
        with pytest.raises(ConfigError) as caught:
            _ = read_config({key: path}).sampling
        assert str(caught.value).startswith(str(path))
        assert words in str(caught.value)


def test_keys_are_a_table_of_the_file_or_words_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_config({}).keys == {}
    write_config('theme = "nord"\n[keys]\n"chat.knobs" = "f4,ctrl+k"\n')
    assert (read_config({}).theme, read_config({}).keys) == ("nord", {"chat.knobs": "f4,ctrl+k"})
    monkeypatch.setenv("SPECCHAT_KEYS", " chat.view=f5 chat.new=alt+n ")
    assert read_config({}).keys == {"chat.view": "f5", "chat.new": "alt+n"}


@pytest.mark.parametrize("text", ["f4", "chat.knobs=", "=f4"])
def test_words_without_an_id_or_a_key_are_rejected(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SPECCHAT_KEYS", text)
    assert complaint() == f"SPECCHAT_KEYS is {text!r}: use ID=KEY, such as chat.knobs=f4"


def test_a_key_that_is_not_a_text_is_reported_with_its_id() -> None:
    file = write_config('[keys]\n"chat.knobs" = 4\n')
    assert complaint() == f"{file}: keys.chat.knobs is 4: use a text"
    write_config('keys = ["f4"]\n')
    assert complaint().startswith(f"{file}: keys is ['f4']: use a table")


def test_a_configuration_that_is_no_regular_file_or_a_huge_one_is_reported_at_once() -> None:
    file = write_config("")
    file.unlink()
    file.symlink_to("/dev/zero")
    assert "it is not a regular file" in complaint()
    file.unlink()
    os.mkfifo(file)
    assert "it is not a regular file" in complaint()
    file.unlink()
    write_config("#" * 2**21)
    assert "has 2,097,152 bytes: use a smaller file" in complaint()
