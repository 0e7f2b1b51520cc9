"""Sessions on scripted models whose tokens are letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine import SamplingParams, Session, Settings
from specchat_engine.drafters import DraftModel
from specchat_engine.pair import Pair
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import END, ByteTokenizer, Law, ScriptedModel, random_law

N_VOCAB = ByteTokenizer.size
LETTERS = np.array([*range(97, 105), 32, 10, END])
GREEDY = SamplingParams(temperature=0)
PROMPTS = ("Hello there", "And again: hello there, hello there")


def letters(seed: int = 0, *, end: float = -1.0, order: int = 2) -> Law:
    """A law over a few letters, space and newline; `end` is added to the logit of the end token."""
    law = random_law(len(LETTERS), seed=seed, order=order)

    def spoken(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.full(N_VOCAB, -30.0, dtype=np.float32)
        row[LETTERS] = law(tokens)
        row[END] += end
        return row

    return spoken


def saying(text: str, *, again: str = "") -> Law:
    """A law that says one text whatever the prompt, optionally another in the second turn, and then ends."""
    scripts = [[*text.encode(), END], [*(again or text).encode(), END]]

    def spoken(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        head = [257, *b"assistant\n"]
        starts = [place for place in range(len(tokens)) if list(tokens[place : place + len(head)]) == head]
        said = len(tokens) - starts[-1] - len(head) if starts else 0
        script = scripts[min(max(len(starts), 1), 2) - 1]
        row = np.zeros(N_VOCAB, dtype=np.float32)
        row[script[min(said, len(script) - 1)]] = 30.0
        return row

    return spoken


def as_model(law: Law | ScriptedModel) -> ScriptedModel:
    """A model that follows the law."""
    return law if isinstance(law, ScriptedModel) else ScriptedModel(law)


def conversation(
    target: Law | ScriptedModel, draft: Law | ScriptedModel | None = None, template: str = FALLBACK, **given: Any
) -> Session:
    """A session. Laws become models; arguments that neither Session nor Pair has change its settings."""
    settings = Settings(k=4, drafter="model" if draft else "none", max_tokens=60)
    shared = {
        name: given.pop(name)
        for name in ("plain_because", "controller", "about", "passed", "plugins", "on_cpu", "stores", "answer_format")
        if name in given
    }
    drafts = {"model": DraftModel(as_model(draft))} if draft else {}
    pair = Pair(as_model(target), ByteTokenizer(), ChatTemplate(template), drafts, **shared)
    seed, system = given.pop("seed", 1), given.pop("system", None)
    return Session(pair, settings=replace(settings, **given), seed=seed, system=system)


def ask(session: Session, prompt: str = "hello") -> str:
    """The whole answer to one message."""
    for _ in session.generate(prompt):
        pass
    return session.text


def answers(session: Session, prompts: Sequence[str] = PROMPTS) -> list[str]:
    """The whole answers to several messages."""
    return [ask(session, prompt) for prompt in prompts]


def model_of(session: Session, name: str = "target") -> ScriptedModel:
    """The scripted model of a session."""
    model = getattr(session.pair, name)
    assert isinstance(model, ScriptedModel)
    return model


def read_by_a_fresh_session(session: Session) -> list[int]:
    """The target's cache after a new session without a draft repeats the last turn. Checks that the texts match."""
    fresh = conversation(model_of(session).law, seed=session.seed, sampling=session.settings.sampling)
    fresh.messages = list(session.messages[:-2])
    assert ask(fresh, session.messages[-2].content) == session.text
    return model_of(fresh).tokens
