"""Where the values of the configuration stand, and what is wrong with them: flags over variables over the file.

A source that names a model but no draft takes the draft of the sources below it away: that one belongs to another
model. In the same way one that names a grammar, in whatever form, takes away all other forms.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from pydantic import Field, ValidationError, ValidationInfo, create_model, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from specchat.errors import ConfigError
from specchat.files import reading_toml
from specchat.settings.config import ENV_PREFIX, SAMPLING_KEYS, Config
from specchat.settings.constraints import GRAMMAR_KEYS, check_one_grammar, parse_biases
from specchat.settings.keys import parse_keys
from specchat.settings.paths import config_file, expanded
from specchat_engine.load_options import CACHE_TYPES, FLASH_ATTENTION, check_threads
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, DRAFTERS, K_LIMIT, VERIFIER_NAMES

_NAMES = tuple(field.name for field in fields(Config))

_LIMITS: Mapping[str, Any] = {
    "seed": Field(ge=-1, lt=2**64),
    **dict.fromkeys(("max_tokens", "ctx_size", "main_gpu"), Field(ge=0)),
    **dict.fromkeys(("gpu_layers", "gpu_layers_draft"), Field(ge=-1)),
    **dict.fromkeys(("batch_size", "ubatch_size"), Field(ge=1)),
    # A variable holds these in a form of its own, not as JSON.
    **dict.fromkeys(("logit_bias", "device", "device_draft", "tensor_split", "keys"), NoDecode),
}

_REMEDIES = {
    "int_parsing": "use a whole number",
    "int_type": "use a whole number",
    "int_from_float": "use a whole number",
    "float_parsing": "use a number",
    "float_type": "use a number",
    "string_type": "use a text",
    "path_type": "use a text",
    "dict_type": 'use a table, such as [keys] and below it "chat.knobs" = "f4"',
}


class _Flags(InitSettingsSource):
    def __call__(self) -> dict[str, Any]:
        return _alone(super().__call__())


class _Variables(EnvSettingsSource):
    def __call__(self) -> dict[str, Any]:
        return _alone(super().__call__())


class _File(TomlConfigSettingsSource):
    def __call__(self) -> dict[str, Any]:
        """The file's values; a relative path in it starts from the file's folder. A model's name is none."""
        values = dict(super().__call__())
        for key in ("model", "draft", "grammar_file", "json_schema_file"):
            if isinstance(values.get(key), str):
                path = config_file().parent / expanded(Path(values[key]))
                named = key in ("model", "draft") and path.suffix.lower() != ".gguf" and not path.exists()
                values[key] = Path(values[key]) if named else path
        return values


def _alone(values: dict[str, Any]) -> dict[str, Any]:
    """A source's values, with None for what they take away from the sources below."""
    draft: dict[str, Any] = {"draft": None} if "model" in values else {}
    grammars: dict[str, Any] = dict.fromkeys(GRAMMAR_KEYS) if values.keys() & set(GRAMMAR_KEYS) else {}
    return {**draft, **grammars, **values}


class _Sources(BaseSettings):
    """Reads the sources and checks their values; `_Checked` adds the fields, which are those of `Config`."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags first, then variables, then the file; nothing else is read."""
        del env_settings, dotenv_settings, file_secret_settings
        flags = init_settings()
        return _Flags(settings_cls, flags), _Variables(settings_cls), _File(settings_cls, config_file())

    @field_validator("model", "draft", "grammar_file", "json_schema_file", check_fields=False)
    @classmethod
    def _expand_home(cls, path: Path | None) -> Path | None:
        return None if path is None else expanded(path)

    @field_validator("k", mode="before", check_fields=False)
    @classmethod
    def _check_k(cls, value: object) -> object:
        if value == AUTO:
            return value
        try:
            k = int(str(value))
        except ValueError:
            raise ValueError(f"k is {value!r}: use auto or a whole number, 0 for plain decoding") from None
        if not 0 <= k <= K_LIMIT:
            raise ValueError(f"k is {k}: use auto, or 0 (plain decoding) to {K_LIMIT}")
        return k

    @field_validator("threads", "threads_draft", mode="before", check_fields=False)
    @classmethod
    def _read_threads(cls, value: object, info: ValidationInfo) -> object:
        count = int(text) if (text := str(value)).isdecimal() else value
        check_threads(str(info.field_name), count)
        return count

    @field_validator("drafter", check_fields=False)
    @classmethod
    def _check_drafter(cls, value: str | None) -> str | None:
        if value is not None and value not in DRAFTERS:
            raise ValueError(f"the drafter is {value!r}: use {', '.join(DRAFTERS)}")
        return value

    @field_validator("flash_attention", "cache_type_k", "cache_type_v", check_fields=False)
    @classmethod
    def _check_choice(cls, value: str, info: ValidationInfo) -> str:
        choices = FLASH_ATTENTION if info.field_name == "flash_attention" else CACHE_TYPES
        if value not in choices:
            raise ValueError(f"{str(info.field_name).replace('_', ' ')} is {value!r}: use {', '.join(choices)}")
        return value

    @field_validator("verifier", check_fields=False)
    @classmethod
    def _check_verifier(cls, value: str) -> str:
        if value not in VERIFIER_NAMES:
            raise ValueError(f"the verifier is {value!r}: use {', '.join(VERIFIER_NAMES)}")
        return value

    @field_validator("logit_bias", mode="before", check_fields=False)
    @classmethod
    def _read_biases(cls, value: object) -> object:
        return parse_biases(value)

    @field_validator("keys", mode="before", check_fields=False)
    @classmethod
    def _read_keys(cls, value: object) -> object:
        return parse_keys(value)

    @field_validator(*SAMPLING_KEYS, check_fields=False)
    @classmethod
    def _check_range(cls, value: Any, info: Any) -> Any:
        if value is not None:
            one: dict[str, Any] = {info.field_name: value}
            SamplingParams(**one)
        return value

    @field_validator("device", "device_draft", "tensor_split", mode="before", check_fields=False)
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("seed", check_fields=False)
    @classmethod
    def _random_seed(cls, value: int | None) -> int | None:
        """-1 asks for a new seed, as in llama.cpp."""
        return None if value == -1 else value


def _with_fields_of_config() -> type[_Sources]:
    hints = get_type_hints(Config)
    with_limits = {name: Annotated[hint, _LIMITS[name]] if name in _LIMITS else hint for name, hint in hints.items()}
    unset = Config()
    own: dict[str, Any] = {name: (hint, getattr(unset, name)) for name, hint in with_limits.items()}
    return create_model("_Checked", __base__=_Sources, **own)


_Checked = _with_fields_of_config()


def read_sources(flags: Mapping[str, Any]) -> Config:
    """The configuration under these flags, checked. Raises ConfigError, in one line."""
    file = config_file()
    with reading_toml(file):
        try:
            checked = _Checked(**flags)
        except ValidationError as error:
            raise ConfigError(_explain(error.errors()[0], flags, file)) from None
    config = Config(**{name: getattr(checked, name) for name in _NAMES})
    _check_pair(config)
    check_one_grammar({key: getattr(config, key) for key in GRAMMAR_KEYS})
    return config


def _check_pair(config: Config) -> None:
    if config.draft is not None and config.model is None:
        raise ConfigError(f"the draft model {config.draft} has no target: give one with -m, or leave -d away")
    if config.drafter == "model" and config.model is not None and config.draft is None:
        raise ConfigError("the drafter is 'model', but there is no draft model: give one with -d, or use lookup")


def _explain(error: ErrorDetails, flags: Mapping[str, Any], file: Path) -> str:
    key = str(error["loc"][0]) if error["loc"] else ""
    name = ".".join(map(str, error["loc"]))
    variable = f"{ENV_PREFIX}{key.upper()}"
    if not key or key in flags:
        where = ""
    elif variable in {name.upper() for name in os.environ}:
        where = f"{variable}: "
    else:
        where = f"{file}: "
    if error["type"] == "extra_forbidden":
        close = difflib.get_close_matches(key, _NAMES, 1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(_NAMES)}"
        return f"{where}there is no setting {key}: {hint}"
    if error["type"] == "value_error":
        return f"{where}{error['ctx']['error']}"
    remedy = _REMEDIES.get(error["type"]) or error["msg"].replace("Input should", "it should")
    return f"{where}{name} is {error['input']!r}: {remedy}"
