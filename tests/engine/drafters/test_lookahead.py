"""A window of guesses yields n-grams, which are verified in the same passes."""

from __future__ import annotations

import pytest

from specchat_engine.drafters.lookahead import NGRAM, VERIFIED, WINDOW, LookaheadDrafter
from specchat_engine.testing import ScriptedModel
from specchat_engine.trees import leaves_of
from support.conversations import ask, conversation, letters

LAW = letters(3, order=1, end=-50)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_it_changes_no_token_and_saves_passes_where_texts_repeat_themselves(temperature: float) -> None:
    plain, drafted = conversation(LAW, max_tokens=120), conversation(LAW, drafter="lookahead", k=3, max_tokens=120)
    for session in (plain, drafted):
        sampling = session.settings.sampling
        object.__setattr__(session.settings, "sampling", type(sampling)(temperature=temperature))
    assert ask(drafted) == ask(plain)
    assert drafted.stats.num_rounds < plain.stats.num_rounds * (0.6 if temperature == 0 else 0.95)


def test_every_pass_has_a_window_and_no_more_than_was_reserved() -> None:
    session = conversation(LAW, drafter="lookahead", k=3, max_tokens=60)
    rounds = [*session.generate("hello")]
    widths = [len(event.drafted) for event in rounds[:-3]]
    assert max(widths) <= (NGRAM - 1) * (WINDOW + VERIFIED)
    assert min(widths) >= 3
    assert all(len(leaves_of(event.parents)) <= 9 for event in rounds)


def test_a_target_with_narrow_passes_or_one_continuation_has_no_room_for_it() -> None:
    drafter, refusal = LookaheadDrafter(), "needs passes over 28 tokens of several continuations"
    assert drafter.unfit(ScriptedModel(LAW)) == ""
    assert refusal in drafter.unfit(ScriptedModel(LAW, max_rows=20))
    alone = ScriptedModel(LAW)
    alone.max_leaves = 1
    assert refusal in drafter.unfit(alone)
