"""The sampling parameters, with llama.cpp's names and defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from specchat_engine.allowed import Range, check, setting
from specchat_engine.errors import SettingError

BIAS_LIMIT = 10_000.0
"""No logit is larger than this: a bias at the limit decides alone."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn, in llama.cpp's order.

    That is: grammar, logit bias, penalties, top-k, typical-p, top-p, min-p, temperature. `logit_bias` holds pairs of a
    token id and what is added to its logit, -inf banning it; a mapping will do, and what is given twice adds up.
    `grammar` is what the whole answer has to follow, empty for none: a JSON schema, GBNF, Lark, or a regular expression
    between slashes.

    Raises SettingError for a value out of range or not finite.
    """

    temperature: float = setting(0.8, Range(0.0, 100.0, "0 is greedy, 0.8 is usual"))
    top_k: int = setting(40, Range(0, 2**31 - 1, "0 keeps all", whole=True))
    top_p: float = setting(0.95, Range(0.0, 1.0, "1 keeps all"))
    min_p: float = setting(0.05, Range(0.0, 1.0, "0 keeps all"))
    typical_p: float = setting(1.0, Range(0.0, 1.0, "1 keeps all"))
    repeat_penalty: float = setting(1.0, Range(1e-3, 100.0, "1 is off"))
    frequency_penalty: float = setting(0.0, Range(-10.0, 10.0, "0 is off"))
    presence_penalty: float = setting(0.0, Range(-10.0, 10.0, "0 is off"))
    penalty_last_n: int = setting(64, Range(-1, 2**31 - 1, "0 is off, -1 the whole context", whole=True))
    logit_bias: tuple[tuple[int, float], ...] = ()
    grammar: str = ""

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.grammar, str):
            raise SettingError(f"grammar is {self.grammar!r}: use a text, empty for none")
        if self.logit_bias:
            object.__setattr__(self, "logit_bias", _added_up(self.logit_bias))

    @property
    def penalises(self) -> bool:
        """Whether any penalty depends on the tokens before."""
        active = (self.repeat_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)
        return active and self.penalty_last_n != 0

    def check_tokens(self, n_vocab: int) -> None:
        """Raises SettingError for a bias on a token that a vocabulary of this size does not have."""
        for token, _ in self.logit_bias:
            if token >= n_vocab:
                raise SettingError(f"logit_bias names token {token}: this vocabulary has 0 to {n_vocab - 1}")


def _added_up(pairs: Any) -> tuple[tuple[int, float], ...]:
    """Pairs of a token id and its bias, ids ascending, each id once."""
    if isinstance(pairs, dict):
        pairs = pairs.items()
    total: dict[int, float] = {}
    for pair in pairs if isinstance(pairs, Iterable) and not isinstance(pairs, str) else [pairs]:
        try:
            token, bias = pair
            bias = float(bias)
        except (TypeError, ValueError):
            raise SettingError(f"logit_bias holds {pair!r}: use pairs of a token id and a number") from None
        if not isinstance(token, int) or token < 0:
            raise SettingError(f"logit_bias names token {token!r}: use the token's id, 0 or more")
        if bias != -math.inf and not abs(bias) <= BIAS_LIMIT:
            raise SettingError(
                f"logit_bias is {bias} for token {token}: use -{BIAS_LIMIT:g} to {BIAS_LIMIT:g}, or -inf to ban it"
            )
        total[token] = total.get(token, 0.0) + bias
    return tuple(sorted(total.items()))
