"""What the requests of all APIs share: sampling parameters, drafting, limits, and what the server offers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from specchat.engine_process.protocol import Generate
from specchat.serve.api_errors import bad
from specchat.settings.schema import API_SETTINGS, Config
from specchat.settings.values import Number
from specchat_engine.allowed import OneOf
from specchat_engine.errors import SettingError
from specchat_engine.prompt.thinking_switch import SWITCHES
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

SEEDS = 2**64
MAX_STOPS = 16
MAX_CHOICES = 16
"""The most answers to one request."""


MaxTokens = Annotated[int | None, Field(ge=1, lt=2**31), BeforeValidator(lambda value: None if value == -1 else value)]
"""The longest answer. Clients of llama.cpp and LM Studio send -1 for no limit."""


class Wire(BaseModel):
    """A part of a request. Fields that are not known are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True, populate_by_name=True)


WireType = TypeVar("WireType", bound=Wire)


def with_settings(model: type[WireType]) -> type[WireType]:
    """The model with an optional field for each setting that requests can choose and that it does not declare."""
    hints, fields = get_type_hints(Config), dict[str, Any]()
    for setting, names in API_SETTINGS:
        key, kind = setting.key, setting.kind
        low, high = (kind.rule.low, kind.rule.high) if isinstance(kind, Number) and not kind.rule.auto else (None, None)
        others = sorted({*names} - {"", key})
        field = Field(default=None, ge=low, le=high, validation_alias=AliasChoices(key, *others) if others else None)
        if key not in model.model_fields:
            fields[key] = hints[key] | None, field
    return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """What the server offers: the settings that hold where a request says nothing, and its limits.

    `model` is the model's name in the API. `max_tokens` is the longest answer, 0 for as long as the context allows.
    `ends` are the tokens that end an answer. `thinking` are the variables of the chat template for requests that do not
    say how much to think.
    """

    model: str
    settings: Settings
    drafters: tuple[str, ...]
    k_max: int
    n_ctx: int
    ends: tuple[int, ...] = ()
    thinking: Mapping[str, Any] = field(default_factory=dict)

    @property
    def max_tokens(self) -> int:
        """The longest answer; 0 is no limit."""
        return self.settings.max_tokens


class SpecchatOptions(Wire):
    """What only this server knows: with `rounds` every round is sent."""

    rounds: bool = False


@with_settings
class Sampling(Wire):
    """Sampling and drafting. What is not given, or null, is as the server was started or the model recommends."""

    model: str | None = None
    stream: bool | None = None
    top_k: int | None = Field(default=None, ge=-1, le=2**31 - 1)
    logit_bias: dict[int, float] | None = Field(default=None, max_length=1024)
    seed: int | None = Field(default=None, ge=-(2**63), lt=SEEDS)
    ignore_eos: bool | None = None
    min_tokens: int | None = None
    stop_token_ids: list[int] | None = Field(default=None, max_length=1024)
    specchat: SpecchatOptions | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    @property
    def first_seed(self) -> int:
        """The seed of the first answer: the given one, else a random one."""
        return secrets.randbits(32) if self.seed in (None, -1) else (self.seed or 0) % SEEDS

    @property
    def sends_rounds(self) -> bool:
        """True if every round is to be sent."""
        return self.specchat is not None and self.specchat.rounds

    @property
    def sends_usage(self) -> bool:
        """True if a stream ends with a chunk that has the usage."""
        return False

    @property
    def sends_progress(self) -> bool:
        """True if each chunk of a stream has the figures so far."""
        return False

    def variables(self, offer: ModelOffer, effort: str | None, thinks: bool | None = None) -> dict[str, Any]:
        """The further variables of the chat template: those of the request, and how much to think.

        The server's own ones for thinking hold if the request has none.
        """
        given = ({"reasoning_effort": effort} if effort else {}) | (self.chat_template_kwargs or {})
        if thinks is not None:
            given = {"enable_thinking": thinks} | given
        return given if given.keys() & SWITCHES else {**offer.thinking, **given}

    def settings(
        self, offer: ModelOffer, *, max_tokens: int | None, stop: Sequence[str], grammar: str = ""
    ) -> Settings:
        """The engine's settings. Raises ApiError for a value that the loaded models cannot serve."""
        if self.min_tokens:
            raise bad(f"min_tokens is {self.min_tokens}: answers end where the model ends them", "min_tokens")
        drafting = {setting.name: getattr(self, setting.key) for setting, _ in API_SETTINGS if setting.home is Settings}
        _check_drafting(drafting, offer)
        usual = offer.settings
        given = {name: getattr(self, name) for name in SamplingParams.__dataclass_fields__ if hasattr(self, name)}
        banned = dict.fromkeys(offer.ends, -math.inf) if self.ignore_eos else {}
        given["logit_bias"] = tuple(((self.logit_bias or {}) | banned).items()) or None
        if self.top_k == -1:
            given["top_k"] = 0
        limits = [limit for limit in (max_tokens, offer.max_tokens) if limit]
        try:
            sampling = replace(usual.sampling, grammar=grammar, **_without_none(given))
            return replace(
                usual,
                sampling=sampling,
                max_tokens=min(limits, default=0),
                stop=tuple(stop),
                stop_tokens=tuple(self.stop_token_ids or ()),
                **_without_none(drafting),
            )
        except SettingError as error:
            name = str(error).partition(" ")[0]
            raise bad(str(error), name if name in type(self).model_fields else None) from None


class StreamOptions(Wire):
    """What a stream sends besides the answer."""

    include_usage: bool | None = None


class OpenaiSampling(Sampling):
    """What OpenAI's two older APIs share: `stop`, `n`, and the usage at the end of a stream."""

    stop: str | list[str] | None = None
    n: int | None = Field(default=None, ge=1, le=MAX_CHOICES)
    stream_options: StreamOptions | None = None
    timings_per_token: bool | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings. Raises ApiError for too many."""
        return checked_stops([self.stop] if isinstance(self.stop, str) else self.stop or (), "stop")

    @property
    def sends_usage(self) -> bool:
        """True if a stream ends with a chunk that has the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def sends_progress(self) -> bool:
        """True if each chunk of a stream has the figures so far."""
        return bool(self.timings_per_token)

    def repeated(self, request: Generate) -> tuple[Generate, ...]:
        """The same request for each answer, each with a seed of its own."""
        return tuple(replace(request, seed=(request.seed + number) % SEEDS) for number in range(self.n or 1))


def checked_stops(stops: Sequence[str], param: str) -> tuple[str, ...]:
    """The stop strings without empty ones, which some clients send. Raises ApiError for too many."""
    if len(stops) > MAX_STOPS:
        raise bad(f"{param} has {len(stops)} texts: at most {MAX_STOPS} are allowed", param)
    return tuple(filter(None, stops))


def _check_drafting(chosen: Mapping[str, Any], offer: ModelOffer) -> None:
    k, drafter = chosen["k"], chosen["drafter"]
    if isinstance(k, int) and not 0 <= k <= offer.k_max:
        raise bad(f"k is {k}: use auto, or a whole number from 0 to {offer.k_max}", "k")
    if drafter is not None and drafter not in offer.drafters:
        raise bad(f"drafter is {drafter[:80]!r}: {OneOf(offer.drafters).remedy}", "drafter")


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
