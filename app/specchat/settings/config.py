"""The configuration: defaults, under `config.toml`, under `SPECCHAT_*` variables, under the flags of a command.

A sampling value that nobody set is None: the model's own recommendation applies, then llama.cpp's default. What was set
is read and checked in `config_sources`, which takes longer to import than the whole first screen: whoever set nothing
does not wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specchat.settings.constraints import GRAMMAR_KEYS, grammar_text
from specchat.settings.options import DEFAULT_VERIFIER, SamplingOverrides
from specchat.settings.paths import config_file
from specchat_engine.load_options import ThreadCount
from specchat_engine.settings import AUTO, DraftLength

ENV_PREFIX = "SPECCHAT_"
SAMPLING_KEYS = tuple(name for name in SamplingOverrides.__dataclass_fields__ if name not in GRAMMAR_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be configured. Read it with `read_config`, which explains what is wrong in one line."""

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
    logit_bias: tuple[tuple[int, float], ...] | None = None
    grammar: str | None = None
    grammar_file: Path | None = None
    json_schema: str | None = None
    json_schema_file: Path | None = None
    seed: int | None = None
    max_tokens: int = 0
    system: str | None = None
    ctx_size: int = 0
    gpu_layers: int = -1
    gpu_layers_draft: int = -1
    device: tuple[str, ...] = ()
    device_draft: tuple[str, ...] = ()
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = 0
    threads: ThreadCount = 0
    threads_draft: ThreadCount = 0
    batch_size: int = 512
    ubatch_size: int = 512
    flash_attention: str = "auto"
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    theme: str | None = None
    keys: dict[str, str] = field(default_factory=dict)

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
    if not (flags or _any_variable() or _any_file()):
        return Config()
    from specchat.settings.config_sources import read_sources

    return read_sources(flags)


def _any_variable() -> bool:
    return any(name.upper().startswith(ENV_PREFIX) for name in os.environ)


def _any_file() -> bool:
    """Whether there is a file, be it one that cannot be read."""
    try:
        config_file().stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
