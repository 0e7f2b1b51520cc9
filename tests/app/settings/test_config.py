from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from specchat.errors import ConfigError
from specchat.settings.config import read_config
from specchat.settings.paths import config_file
from specchat.settings.schema import SETTINGS
from specchat_engine.settings import DRAFTERS


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


def test_a_model_hides_the_draft_of_the_sources_below(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('model = "/big.gguf"\ndraft = "/small.gguf"\n')
    assert read_config({}).draft == Path("/small.gguf")
    assert read_config({"model": Path("/other.gguf")}).draft is None
    assert read_config({"draft": Path("/other.gguf")}).model == Path("/big.gguf")
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('temperature = "hot"', ": temperature is 'hot': use a number from 0 to 100 (0 is greedy, 0.8 is usual)"),
        ('threads_draft = "some"', ": threads_draft is 'some': use a whole number from 0 to 512"),
        ('verifier = "magic"', ": verifier is 'magic': use coupled, rejection, block or typical"),
        ("temprature = 1", ": there is no setting temprature: did you mean temperature?"),
        ("temperature =", " is not valid TOML"),
        (b'system = "\xff"', " is not valid TOML"),
        ('[keys]\n"chat.knobs" = 4', ": keys.chat.knobs is 4: use a text"),
        ('keys = ["f4"]', ": keys is ['f4']: use a table"),
    ],
)
def test_what_is_wrong_in_the_file_is_reported_with_the_file(text: str | bytes, words: str) -> None:
    file = write_config(text)
    assert complaint().startswith(f"{file}{words}")


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    file = write_config("")
    monkeypatch.setattr(os, "open", refuse)
    assert complaint() == f"{file} cannot be read: Permission denied; make it readable, or move it away"


@pytest.mark.parametrize("value", ["-1", "1000", "many", "1.5", ""])
def test_an_absurd_k_or_number_of_threads_is_rejected(value: str) -> None:
    usable = "use auto, or a whole number from 0 to 32 (0 is plain decoding)"
    assert complaint(k=value) == f"-k is {value!r}: {usable}"
    assert complaint(threads=value) == f"--threads is {value!r}: use a whole number from 0 to 512"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"drafter": "magic"}, f"--drafter is 'magic': use {', '.join(DRAFTERS[:-1])} or none"),
        ({"verifier": "Block"}, "--verifier is 'Block': use coupled, rejection, block or typical"),
        ({"thought_verifier": "block"}, "--thought-verifier is 'block': use same or typical"),
        (
            {"think_tokens": "-1"},
            "--think-tokens is '-1': use a whole number from 0 to 2147483647 (0 is no limit)",
        ),
        ({"logit_bias": ["5=nan"]}, "--logit-bias is '5=nan': use TOKEN=BIAS"),
        ({"draft": "/small.gguf"}, "/small.gguf has no target"),
        ({"model": "/big.gguf", "drafter": "model"}, "no draft model"),
        (
            {"grammar": "x", "json_schema_file": Path("s.json")},
            "grammar and json_schema_file are both given: an answer follows one grammar, so omit one of them",
        ),
    ],
)
def test_what_cannot_be_used_is_rejected(flags: dict[str, object], words: str) -> None:
    assert words in complaint(**flags)


def test_settings_of_older_versions_mean_nothing_and_auto_threads_the_usual_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_config('combine = "vote"\nk = 3\nthreads = "auto"\nthreads_draft = 2\n')
    monkeypatch.setenv("SPECCHAT_THREADS_DRAFT", " Auto")
    config = read_config({})
    assert (config.k, config.threads, config.threads_draft) == (3, 0, 0)
    assert read_config({"threads": "auto"}).threads == 0


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


def test_a_grammar_in_any_form_hides_all_forms_in_the_sources_below(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('grammar = "root ::= [a]"\n')
    assert read_config({}).sampling["grammar"] == "root ::= [a]"
    monkeypatch.setenv("SPECCHAT_JSON_SCHEMA", '{"const": 1}')
    assert read_config({}).sampling["grammar"] == '{"const": 1}'
    assert read_config({"grammar": ""}).sampling["grammar"] == ""


def test_a_grammar_file_is_relative_to_the_configuration_file() -> None:
    file = write_config('grammar_file = "my.gbnf"\n')
    (file.parent / "my.gbnf").write_text("\ufeffroot ::= [é]\n", "utf-8")
    assert read_config({}).sampling["grammar"] == "root ::= [é]\n"
    write_config('json_schema_file = "my.json"\n')
    (file.parent / "my.json").write_text('{"type": "null"}')
    assert read_config({}).sampling["grammar"] == '{"type": "null"}'


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
