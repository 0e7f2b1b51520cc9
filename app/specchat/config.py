"""The configuration: defaults, under `config.toml`, under `SPECCHAT_*` variables, under the flags of a command.

A sampling value that nobody set is None: the model's own recommendation applies, then llama.cpp's default. A source
that names a model but no draft takes the draft of the sources below it away: that one belongs to another model. In the
same way one that names a grammar, in whatever form, takes away all other forms.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
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

from specchat.constraints import GRAMMAR_KEYS, check_one_grammar, grammar_text, parse_biases
from specchat.errors import ConfigError
from specchat.keys import parse_keys
from specchat.options import DEFAULT_VERIFIER, SamplingOverrides
from specchat.paths import config_file, expanded
from specchat_engine.options import CACHE_TYPES, FLASH_ATTENTION
from specchat_engine.params import SamplingParams
from specchat_engine.settings import AUTO, DRAFTERS, K_LIMIT, VERIFIER_NAMES, DraftLength

ENV_PREFIX = "SPECCHAT_"
SAMPLING_KEYS = tuple(name for name in SamplingOverrides.__dataclass_fields__ if name not in GRAMMAR_KEYS)

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


class Config(BaseSettings):
    """Everything that can be configured. Read it with `read_config`, which explains what is wrong in one line."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    model: Path | None = None
    draft: Path | None = None
    k: DraftLength = AUTO
    drafter: str | None = None
    verifier: str = DEFAULT_VERIFIER
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repeat_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    penalty_last_n: int | None = None
    logit_bias: Annotated[tuple[tuple[int, float], ...] | None, NoDecode] = None
    grammar: str | None = None
    grammar_file: Path | None = None
    json_schema: str | None = None
    json_schema_file: Path | None = None
    seed: int | None = Field(default=None, ge=-1, lt=2**64)
    max_tokens: int = Field(default=0, ge=0)
    system: str | None = None
    ctx_size: int = Field(default=0, ge=0)
    gpu_layers: int = Field(default=-1, ge=-1)
    gpu_layers_draft: int = Field(default=-1, ge=-1)
    device: Annotated[tuple[str, ...], NoDecode] = ()
    device_draft: Annotated[tuple[str, ...], NoDecode] = ()
    tensor_split: Annotated[tuple[float, ...], NoDecode] = ()
    main_gpu: int = Field(default=0, ge=0)
    threads: int = Field(default=0, ge=0)
    threads_draft: int = Field(default=0, ge=0)
    batch_size: int = Field(default=512, ge=1)
    ubatch_size: int = Field(default=512, ge=1)
    flash_attention: str = "auto"
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    theme: str | None = None
    keys: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)

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

    @field_validator("model", "draft", "grammar_file", "json_schema_file")
    @classmethod
    def _expand_home(cls, path: Path | None) -> Path | None:
        return None if path is None else expanded(path)

    @field_validator("k", mode="before")
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

    @field_validator("drafter")
    @classmethod
    def _check_drafter(cls, value: str | None) -> str | None:
        if value is not None and value not in DRAFTERS:
            raise ValueError(f"the drafter is {value!r}: use {', '.join(DRAFTERS)}")
        return value

    @field_validator("flash_attention", "cache_type_k", "cache_type_v")
    @classmethod
    def _check_choice(cls, value: str, info: ValidationInfo) -> str:
        choices = FLASH_ATTENTION if info.field_name == "flash_attention" else CACHE_TYPES
        if value not in choices:
            raise ValueError(f"{str(info.field_name).replace('_', ' ')} is {value!r}: use {', '.join(choices)}")
        return value

    @field_validator("verifier")
    @classmethod
    def _check_verifier(cls, value: str) -> str:
        if value not in VERIFIER_NAMES:
            raise ValueError(f"the verifier is {value!r}: use {', '.join(VERIFIER_NAMES)}")
        return value

    @field_validator("logit_bias", mode="before")
    @classmethod
    def _read_biases(cls, value: object) -> object:
        return parse_biases(value)

    @field_validator("keys", mode="before")
    @classmethod
    def _read_keys(cls, value: object) -> object:
        return parse_keys(value)

    @field_validator(*SAMPLING_KEYS)
    @classmethod
    def _check_range(cls, value: Any, info: Any) -> Any:
        if value is not None:
            one: dict[str, Any] = {info.field_name: value}
            SamplingParams(**one)
        return value

    @field_validator("device", "device_draft", "tensor_split", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("seed")
    @classmethod
    def _random_seed(cls, value: int | None) -> int | None:
        """-1 asks for a new seed, as in llama.cpp."""
        return None if value == -1 else value

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        if self.draft is not None and self.model is None:
            raise ValueError(f"the draft model {self.draft} has no target: give one with -m, or leave -d away")
        if self.drafter == "model" and self.model is not None and self.draft is None:
            raise ValueError("the drafter is 'model', but there is no draft model: give one with -d, or use lookup")
        return self

    @model_validator(mode="after")
    def _check_grammar(self) -> Self:
        check_one_grammar({key: getattr(self, key) for key in GRAMMAR_KEYS})
        return self

    @property
    def sampling(self) -> SamplingOverrides:
        """The sampling values that were set.

        Raises ConfigError for a file of a grammar that cannot be read, SettingError for a schema that cannot be used.
        """
        grammar = grammar_text(**{key: getattr(self, key) for key in GRAMMAR_KEYS})
        return SamplingOverrides(grammar=grammar, **{key: getattr(self, key) for key in SAMPLING_KEYS})


def read_config(flags: Mapping[str, Any]) -> Config:
    """The configuration under these flags; `flags` holds those that were given, by their key.

    Raises ConfigError, in one line: where the value stands, what it is, what to do.
    """
    file = config_file()
    try:
        return Config(**flags)
    except ValidationError as error:
        raise ConfigError(_explain(error.errors()[0], flags, file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}; correct it, or move it away") from None
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror or error}; make it readable, or move it away"
        ) from None


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
        close = difflib.get_close_matches(key, Config.model_fields, 1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(Config.model_fields)}"
        return f"{where}there is no setting {key}: {hint}"
    if error["type"] == "value_error":
        return f"{where}{error['ctx']['error']}"
    remedy = _REMEDIES.get(error["type"]) or error["msg"].replace("Input should", "it should")
    return f"{where}{name} is {error['input']!r}: {remedy}"
