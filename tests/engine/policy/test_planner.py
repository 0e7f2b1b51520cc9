"""Who drafts the next round, how many tokens, and what is learned from it: in real sessions on scripted models."""

from __future__ import annotations

import pytest

from specchat_engine import Round, SamplingParams, Session, Settings
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.planner import AllowedDrafters, followed
from support.controllers import Clock, knowing
from support.conversations import GREEDY, ask, conversation, letters, saying

PASSAGE = "the quick brown fox jumps over the lazy dog again"
LOADED = ("model", "lookup")


def rounds_of(session: Session, prompt: str = "hello") -> list[Round]:
    return list(session.generate(prompt))


@pytest.mark.parametrize(
    ("settings", "names", "because"),
    [
        (Settings(), ("model", "lookup"), ""),
        (Settings(drafter="model", k=4), ("model",), ""),
        (Settings(drafter="lookup"), ("lookup",), ""),
        (Settings(drafter="none"), (), "no drafter"),
        (Settings(k=0), (), "k is 0"),
    ],
)
def test_settings_say_who_may_draft(settings: Settings, names: tuple[str, ...], because: str) -> None:
    allowed = AllowedDrafters.under(settings, LOADED)
    assert allowed.names == names
    assert names or allowed.because == because


def test_lookup_drafts_if_there_is_no_draft_model() -> None:
    assert AllowedDrafters.under(Settings(drafter="model"), ("lookup",)).names == ("lookup",)


def test_a_target_that_cannot_go_back_gets_no_drafts() -> None:
    allowed = AllowedDrafters.under(Settings(), LOADED, "it cannot go back")
    assert (allowed.names, allowed.because) == ((), "it cannot go back")


@pytest.mark.parametrize(
    ("settings", "may_vary"),
    [
        (Settings(k=4), True),
        (Settings(k=4, verifier="rejection"), False),
        (Settings(verifier="rejection"), True),
        (Settings(k=4, verifier="typical"), False),
    ],
)
def test_drafts_may_vary_unless_the_text_depends_on_them(settings: Settings, may_vary: bool) -> None:
    assert AllowedDrafters.under(settings, LOADED).may_vary is may_vary


def test_a_pasted_text_that_is_repeated_comes_from_lookup_in_long_drafts() -> None:
    controller = knowing(0.05, 0.3)
    session = conversation(saying(PASSAGE), letters(5), drafter="hybrid", k="auto", controller=controller)
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert session.text == PASSAGE
    assert controller.kinds == ["pasted"]
    from_lookup = [event for event in rounds if event.source == "lookup"]
    assert sum(event.num_accepted for event in from_lookup) > len(PASSAGE) / 2
    assert max(event.k for event in from_lookup) > 16
    assert all("match of" in event.reason for event in from_lookup)


def test_new_text_comes_from_the_draft_model() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", sampling=GREEDY, controller=knowing(0.05, 0.05)
    )
    rounds = rounds_of(session)
    assert {event.source for event in rounds[:3]} == {"model"}
    assert len(rounds) < len(PASSAGE) / 3


def test_a_fixed_k_with_hybrid_chooses_only_who_drafts() -> None:
    session = conversation(saying(PASSAGE), letters(5), drafter="hybrid", k=3, controller=knowing(1.2, 0.5))
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert {event.k for event in rounds[1:-2]} == {3}
    assert {event.source for event in rounds[2:-2]} >= {"lookup"}


@pytest.mark.parametrize("drafter", ["model", "lookup"])
def test_auto_k_uses_the_chosen_drafter(drafter: str) -> None:
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter=drafter, k="auto", controller=knowing(0.05, 0.05))
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert {event.source for event in rounds if event.drafted} == {drafter}


@pytest.mark.parametrize("name", ["target", "draft"])
def test_other_threads_count_in_the_next_round(name: str) -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(letters(3, end=-50), letters(3, end=-50), k=3, controller=controller)
    for event in session.generate("hello"):
        in_force = session.pair.target.threads, session.pair.draft.threads if session.pair.draft else 0
        if event.index == 5:
            getattr(session.pair, name).threads = 7
        else:
            assert controller.threads == in_force


def test_lookup_is_judged_up_to_its_first_mistake() -> None:
    controller = knowing(0.05, 0.05)
    law = letters(3, end=-50)
    whole = SamplingParams(min_p=0.0)
    session = conversation(law, law, drafter="hybrid", k=6, ngram_min=1, controller=controller, sampling=whole)
    ask(session, "abc abd abc abd")
    matched = [list(right) for _, outcome in controller.learned for right in outcome.matched.values()]
    assert any(len(each) > 1 for each in matched)
    assert not any(False in each[:-1] for each in matched)


def test_times_and_outcomes_of_a_round_reach_the_controller() -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(
        saying("abcdefgh"), saying("abcxefgh"), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds = rounds_of(session)
    for event, (source, outcome) in zip(rounds, controller.learned, strict=True):
        assert source == event.source
        assert (outcome.drafted, outcome.accepted, outcome.emitted) == (
            len(event.drafted),
            event.num_accepted,
            event.num_emitted,
        )
        assert outcome.compared == sum(token.p is not None for token in event.drafted)
        assert len(outcome.confidence) in (0, outcome.drafted)
        assert (outcome.verify_ms, outcome.draft_ms) == (event.ms.verify, event.ms.draft)
    assert any(outcome.drafted > 1 for _, outcome in controller.learned)


def test_a_draft_without_a_fixed_k_reports_a_confidence_for_every_token() -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(letters(3, end=-50), letters(3, end=-50), drafter="model", k="auto", controller=controller)
    ask(session)
    free = [outcome for source, outcome in controller.learned if source == "model"]
    assert any(outcome.confidence for outcome in free)
    assert all(0 <= sure <= 1 for outcome in free for sure in outcome.confidence)


def test_sessions_share_what_is_learned() -> None:
    controller = Controller()
    for seed in (1, 2):
        session = conversation(letters(3), letters(3), drafter="hybrid", k="auto", controller=controller, seed=seed)
        first = rounds_of(session)[0]
    assert first.reason != "measures plain passes"


def test_an_interrupted_answer_counts_for_its_own_kind_of_text() -> None:
    controller = knowing(1.2, 0.5)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    events = session.generate("hello")
    for _ in range(6):
        next(events)
    events.close()
    assert len(controller.learned) >= 3


def test_the_draft_model_reads_a_long_prompt_after_the_first_token() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=knowing(0.05, 0.05)
    )
    first, second, *_ = rounds_of(session, "x" * 100)
    assert (first.source, first.reason) == ("none", "the drafter reads the prompt after the first token")
    assert second.source == "model"
    assert session.stats.draft_prompt_ms > 0


def test_reading_a_prompt_does_not_count_as_drafting() -> None:
    controller = knowing(0.05, 0.01)
    law = letters(3, end=-50)
    session = conversation(law, law, drafter="model", k="auto", sampling=GREEDY, controller=controller)
    rounds_of(session, "x" * 300)
    drafting = [outcome for source, outcome in controller.learned if source == "model"]
    assert max(outcome.draft_ms / outcome.drafted for outcome in drafting) < session.stats.draft_prompt_ms


def test_a_draft_model_that_never_pays_reads_no_prompt() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=knowing(2.0, 0.5)
    )
    rounds_of(session, "x" * 300)
    assert session.stats.draft_prompt_ms == 0


def test_a_copy_goes_on_after_an_edit_with_the_next_token() -> None:
    edited = PASSAGE.replace("fox", "CAT").replace("over", "OFF")
    session = conversation(saying(edited), drafter="lookup", k="auto", controller=knowing(0.01, 0.5), sampling=GREEDY)
    rounds = rounds_of(session, f"Change it:\n{PASSAGE}")
    assert session.text == edited
    resumed = [event for event in rounds if event.reason.startswith("match of 1 after an edit")]
    assert [event.num_accepted for event in resumed] == [len("jumps "), len("the lazy dog again") + 1]


def test_a_copy_of_a_pasted_text_begins_at_once_however_bad_drafts_were() -> None:
    controller = knowing(0.05, 0.05)
    for _ in range(2):
        ask(conversation(saying("xyz" * 9), letters(5), drafter="hybrid", k="auto", controller=controller))
    session = conversation(saying(PASSAGE), letters(5), drafter="hybrid", k="auto", controller=controller)
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert "lookup" in {event.source for event in rounds[:8]}


def test_the_time_of_deciding_does_not_count_as_drafting(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = knowing(0.05, 0.05)
    decide = controller.decide
    monkeypatch.setattr(controller, "decide", lambda now: (clock.pass_by(20), decide(now))[1])
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    rounds = rounds_of(session)
    assert all(event.ms.other > 19 for event in rounds[1:])
    assert max(outcome.other_ms for _, outcome in controller.learned) < 1


def test_the_readers_time_does_not_count_as_drafting(clock: Clock) -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    rounds = []
    for event in session.generate("hello"):
        rounds.append(event)
        clock.pass_by(20)
    assert sum(event.ms.other > 19 for event in rounds) >= 3
    assert max(outcome.other_ms for _, outcome in controller.learned) < 1


def test_a_round_records_what_was_expected_of_its_draft() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=knowing(0.1, 0.1)
    )
    rounds = rounds_of(session)
    drafted = [event for event in rounds if event.drafted]
    assert {event.reason for event in drafted} == {"a draft pays"}
    assert all(event.expected is not None and event.expected > 1.04 for event in drafted)


def test_emitted_tokens_count_up_to_the_first_that_was_not_predicted() -> None:
    assert followed([4, 5, 9, 7], (4, 5, 6, 7)) == [True, True, False]
    assert followed([4], (4, 5)) == [True]
    assert followed([4, 5], ()) == []
