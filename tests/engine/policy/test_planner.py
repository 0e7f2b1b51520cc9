"""Who drafts the next round, how many tokens, and what is learned from it: in real sessions on scripted models."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import pytest

from specchat_engine import Message, Round, SamplingParams, Session, TokenKind
from specchat_engine.drafters import PromptLookupDrafter
from specchat_engine.drafters.ngram_index import MatchIndex
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.lookup_state import Lookout
from specchat_engine.policy.planner import Planner
from specchat_engine.policy.situation import Decision, Outcome, Situation
from support.clocks import Clock
from support.controllers import Watched, knowing, taught
from support.conversations import GREEDY, ask, conversation, letters, saying

PASSAGE = "the quick brown fox jumps over the lazy dog again"


def rounds_of(session: Session, prompt: str = "hello") -> list[Round]:
    return list(session.generate(prompt))


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


def test_what_stood_nowhere_comes_from_the_draft_model() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", sampling=GREEDY, controller=knowing(0.05, 0.05)
    )
    rounds = rounds_of(session)
    assert {event.source for event in rounds[:3]} == {"model"}
    assert len(rounds) < len(PASSAGE) / 3


def test_where_drafts_cost_more_than_they_give_none_are_made() -> None:
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", sampling=GREEDY, controller=knowing(1.2, 0.5)
    )
    rounds = rounds_of(session)
    assert [event.source for event in rounds].count("model") <= 1, "it is tried once"
    assert "× plain" in rounds[-1].reason


def test_a_fixed_k_with_hybrid_chooses_only_who_drafts() -> None:
    session = conversation(saying(PASSAGE), letters(5), drafter="hybrid", k=3, controller=knowing(1.2, 0.5))
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert {event.k for event in rounds[:-2]} == {3}
    assert {event.source for event in rounds[2:-2]} >= {"lookup"}


@pytest.mark.parametrize("drafter", ["model", "lookup"])
def test_auto_keeps_to_the_drafter_that_was_chosen(drafter: str) -> None:
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter=drafter, k="auto", controller=knowing(0.05, 0.05))
    rounds = rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert {event.source for event in rounds if event.drafted} == {drafter}


def test_what_lookup_would_have_said_is_learned_from_every_round_that_is_decided_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nothing was drafted: the match is compared with what was emitted, up to the first difference."""
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e9)
    controller = knowing(5.0, 5.0)
    session = conversation(saying("abcdabcdabcX"), drafter="lookup", k="auto", ngram_min=3, controller=controller)
    rounds_of(session, "?")
    told = [list(outcome.foretold) for source, outcome in controller.heard if source == "none" and outcome.foretold]
    assert told[0] == [True], "behind the second abc"
    assert [False] in told, "X"


def decided(controller: Watched, monkeypatch: pytest.MonkeyPatch) -> list[Situation]:
    """Every situation that the controller is asked about from now on."""
    asked: list[Situation] = []
    decide = controller.decide
    monkeypatch.setattr(controller, "decide", lambda now: (asked.append(now), decide(now))[1])
    return asked


@pytest.mark.parametrize(("share", "most"), [(1e-9, 12), (1e9, 100)], ids=["deciding is dear", "deciding is cheap"])
def test_a_decision_is_followed_for_some_rounds_where_deciding_takes_too_much_of_the_time(
    share: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", share)
    controller = knowing(1.2, 0.5)
    asked = decided(controller, monkeypatch)
    text = PASSAGE + PASSAGE.upper()
    session = conversation(
        saying(text), saying(text), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds = rounds_of(session)
    assert len(asked) <= most
    assert share < 1 or len(asked) == len(rounds) >= 60
    assert len(controller.heard) == len(rounds)


def test_a_draft_model_that_waits_with_the_prompt_drafts_right_behind_the_first_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long deciding takes: what is decided before it may draft holds for one round."""
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", sampling=GREEDY, controller=knowing(0.01, 0.01)
    )
    assert [event.source for event in rounds_of(session, "x" * 100)][:2] == ["none", "model"]


@pytest.mark.parametrize(("cost", "always"), [(5.0, False), (0.01, True)], ids=["plain", "drafting"])
def test_only_where_nothing_is_drafted_is_a_decision_followed_for_longer(
    cost: float, always: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e9)
    monkeypatch.setattr("specchat_engine.policy.patience._PLAINLY", 1e-18)
    controller = knowing(cost, cost)
    asked = decided(controller, monkeypatch)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds = rounds_of(session)
    assert (len(asked) == len(rounds)) is always
    assert always or len(asked) < len(rounds) / 2


def test_where_the_last_answer_was_drafted_for_in_vain_less_is_decided_from_the_first_round_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._PLAINLY", 1e-9)
    decisions = []
    for hopeless in (False, True):
        monkeypatch.setattr("specchat_engine.policy.controller.Controller.hopeless", hopeless)
        controller = knowing(5.0, 5.0)
        asked = decided(controller, monkeypatch)
        script = PASSAGE * 2
        rounds_of(conversation(saying(script), drafter="lookup", k="auto", sampling=GREEDY, controller=controller))
        decisions.append(len(asked))
    assert decisions[1] < decisions[0]


def test_what_was_heard_with_other_threads_is_learned_as_theirs() -> None:
    learned: list[tuple[int, int]] = []

    class Counting(Watched):
        def learn(self, now, decision, outcome):  # type: ignore[no-untyped-def]
            learned.append((now.depth, self.threads[0]))
            super().learn(now, decision, outcome)

    controller = taught(Counting(0.05, 0.05), 0.05, 0.05)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", controller=controller)
    made: dict[int, int] = {}
    for event in session.generate("hello"):
        depth = len(session.prompt_ids) + len(session.answer_ids) - event.num_emitted
        made[depth] = session._target.threads
        session._target.threads = 1 + event.index % 3
    assert len(learned) > 2
    assert all(made[depth] == threads for depth, threads in learned)


@pytest.mark.parametrize("name", ["_target", "_draft"])
def test_other_threads_are_minded_in_the_next_round(name: str) -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(letters(3, end=-50), letters(3, end=-50), k=3, controller=controller)
    for event in session.generate("hello"):
        in_force = session._target.threads, session._draft.threads if session._draft else 0
        if event.index == 5:
            getattr(session, name).threads = 7
        else:
            assert controller.threads == in_force


def test_where_the_draft_model_reads_behind_the_first_token_nothing_is_decided_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = knowing(0.05, 0.05)
    asked = decided(controller, monkeypatch)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="hybrid", k="auto", sampling=GREEDY, controller=controller
    )
    first, second, *_ = rounds_of(session, "x" * 100)
    assert (first.source, first.reason) == ("none", "the draft model reads the prompt behind the first token")
    assert second.source == "model"
    assert asked[0].depth == session.stats.prompt_tokens + 1


def test_a_match_that_is_lost_ends_what_was_decided_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    controller = knowing(0.01, 0.5)
    session = conversation(saying("abcdefXghijYklm"), drafter="lookup", k="auto", controller=controller)
    rounds = rounds_of(session, "abcdefghijklm abcdefghijklm")
    assert all(event.reason.startswith("match of") for event in rounds if event.drafted)
    assert any(event.reason == "no match" for event in rounds)


@pytest.mark.parametrize("watched", [24, 0])
def test_behind_an_edit_lookup_goes_on_with_the_next_token(watched: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long ago it was decided to follow the text."""
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr("specchat_engine.policy.patience._WATCHED", watched)
    edited = PASSAGE.replace("fox", "CAT").replace("over", "OFF")
    session = conversation(saying(edited), drafter="lookup", k="auto", controller=knowing(0.01, 0.5), sampling=GREEDY)
    rounds = rounds_of(session, f"Change it:\n{PASSAGE}")
    assert session.text == edited
    behind = [event for event in rounds if event.reason.startswith("match of 1 behind an edit")]
    assert [event.num_accepted for event in behind] == [len("jumps "), len("the lazy dog again") + 1]


def test_other_settings_are_obeyed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    controller = knowing(0.05, 0.05)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    events = session.generate("hello")
    assert next(events).drafted
    session.settings = replace(session.settings, drafter="lookup")
    assert next(events).source != "model"


def test_what_lookup_said_behind_its_first_mistake_was_never_tested() -> None:
    controller = knowing(0.05, 0.05)
    law = letters(3, end=-50)
    whole = SamplingParams(min_p=0.0)
    session = conversation(law, law, drafter="hybrid", k=6, ngram_min=1, controller=controller, sampling=whole)
    ask(session, "abc abd abc abd")
    told = [list(outcome.foretold) for _, outcome in controller.heard]
    assert any(len(each) > 1 for each in told)
    assert not any(False in each[:-1] for each in told)


def test_times_and_outcomes_of_a_round_reach_the_controller() -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(
        saying("abcdefgh"), saying("abcxefgh"), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds = rounds_of(session)
    for event, (source, outcome) in zip(rounds, controller.heard, strict=True):
        assert source == event.source
        assert (outcome.drafted, outcome.accepted, outcome.emitted) == (
            len(event.drafted),
            event.num_accepted,
            event.num_emitted,
        )
        assert outcome.compared == sum(token.p is not None for token in event.drafted)
        assert len(outcome.confidence) in (0, outcome.drafted)
        assert (outcome.verify_ms, outcome.draft_ms) == (event.ms.verify, event.ms.draft)
        assert outcome.first_ms == pytest.approx(outcome.draft_ms / max(outcome.drafted, 1)), "all passes take as long"
    assert any(outcome.drafted > 1 for _, outcome in controller.heard)


def test_a_confidence_is_told_for_every_drafted_token_of_a_free_draft() -> None:
    controller = knowing(0.05, 0.05)
    session = conversation(letters(3, end=-50), letters(3, end=-50), drafter="model", k="auto", controller=controller)
    ask(session)
    free = [outcome for source, outcome in controller.heard if source == "model"]
    assert any(outcome.confidence for outcome in free)
    assert all(0 <= sure <= 1 for outcome in free for sure in outcome.confidence)


def test_the_index_of_lookup_is_made_with_the_prompt_and_kept_between_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    begun: list[int] = []
    at_the_first_round: list[int] = []
    learn, begin, plan = MatchIndex.learn, PromptLookupDrafter.begin, Planner.plan
    monkeypatch.setattr(
        PromptLookupDrafter, "begin", lambda self, *arguments: (begun.append(1), begin(self, *arguments))[1]
    )
    monkeypatch.setattr(
        Planner,
        "plan",
        lambda self, *arguments, **rest: (at_the_first_round.append(sum(learned)), plan(self, *arguments, **rest))[1],
    )
    monkeypatch.setattr(MatchIndex, "learn", lambda self, tokens: (learned.append(len(tokens)), learn(self, tokens))[1])
    session = conversation(saying("abcabcabc"), drafter="lookup", k=4)
    events = session.generate(PASSAGE * 4)
    next(events)
    assert at_the_first_round[0] == session.stats.prompt_tokens, "before the clock of decoding runs"
    list(events)
    assert len(begun) == 1
    learned.clear()
    list(session.generate("again"))
    assert sum(learned) < 60, "what the first turn had is not indexed again"


def test_a_draft_model_that_was_in_vain_reads_the_next_prompt_only_when_it_drafts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = knowing(0.2, 0.2)
    session = conversation(
        saying("abcdefgh" * 4), saying("X" * 32), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds_of(session, "one")
    assert not controller.hopeless
    for _ in range(3):
        drafted = any(event.drafted for event in rounds_of(session, "two"))
        assert controller.hopeless
        assert (session.stats.draft_prompt_ms > 0) is drafted
    monkeypatch.setattr(controller, "_probe", lambda *_: (0, "not now"))
    assert not any(event.drafted for event in rounds_of(session, "three"))
    assert session.stats.draft_prompt_ms == 0


@pytest.mark.parametrize(("verify", "reads"), [(0.05, True), (0.97, False), (2.0, False)])
def test_a_prompt_is_read_ahead_only_for_drafts_that_promise_much(verify: float, reads: bool) -> None:
    controller = knowing(verify, 0.02)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    controller.begin("prose")
    for _ in range(40):
        controller.rehearsed(1, 1, [0.9])
    next(session.generate("one"))
    assert (session.stats.draft_prompt_ms > 0) is reads
    unknown = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=knowing(verify, 0.02)
    )
    next(unknown.generate("one"))
    assert unknown.stats.draft_prompt_ms > 0, "before anything is known of a kind of text it is read"


def test_the_prompt_that_a_draft_model_reads_late_counts_for_the_decision_and_not_for_what_its_draft_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = knowing(0.01, 0.01)
    asked, learned = list[int](), list[int]()
    decide, learn = controller.decide, controller.learn
    monkeypatch.setattr(controller, "decide", lambda now: (asked.append(now.unread), decide(now))[1])
    monkeypatch.setattr(controller, "learn", lambda now, *made: (learned.append(now.unread), learn(now, *made)))
    law = letters(3, end=-50)
    session = conversation(law, law, drafter="model", k="auto", sampling=GREEDY, controller=controller)
    rounds_of(session, "x" * 300)
    assert max(asked) > 300
    assert set(learned) <= {0, 1, 2}, "where the draft model may not draft yet, nothing is unread"


def test_sessions_share_what_is_learned() -> None:
    controller = Controller()
    for seed in (1, 2):
        session = conversation(letters(3), letters(3), drafter="hybrid", k="auto", controller=controller, seed=seed)
        first = rounds_of(session)[0]
    assert first.reason != "measures plain passes"


def test_a_lookup_that_was_asked_for_in_the_middle_reads_the_whole_context() -> None:
    session = conversation(saying(PASSAGE * 2), drafter="none")
    session.messages = [Message("user", "x"), Message("assistant", "y")]
    kinds = []
    for event in session.generate(f"Repeat:\n{PASSAGE}"):
        kinds.append(event.token.kind)
        if event.index == 5:
            session.settings = type(session.settings)(drafter="lookup", k=6)
    assert kinds[:6] == [TokenKind.PLAIN] * 6
    assert TokenKind.BONUS in kinds[6:9]


def test_the_time_of_deciding_is_not_taken_for_the_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round behind many that were learned from at once would make the draft model look dear."""
    controller = knowing(0.05, 0.05)
    decide = controller.decide
    monkeypatch.setattr(controller, "decide", lambda now: (time.sleep(0.02), decide(now))[1])
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e9)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    rounds = rounds_of(session)
    decided = sum(event.ms.other > 20 for event in rounds)
    assert decided >= 4
    assert sum(outcome.other_ms > 15 for _, outcome in controller.heard) <= decided / 2, "but for a busy machine, none"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("session", "decoding.recorder", "policy.planner"):
        monkeypatch.setattr(f"specchat_engine.{module}.perf_counter_ns", clock)
    return clock


def test_the_time_of_whoever_reads_the_rounds_is_not_taken_for_the_drafts(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    controller = knowing(0.05, 0.05)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    rounds = []
    for event in session.generate("hello"):
        rounds.append(event)
        clock.pass_by(20)
    assert sum(event.ms.other > 19 for event in rounds) >= 3
    assert max(outcome.other_ms for _, outcome in controller.heard) < 1


def test_a_drafter_that_was_asked_for_just_now_does_not_wait_for_the_end_of_a_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="lookup", k="auto", controller=knowing(0.05, 0.05), sampling=GREEDY
    )
    events = session.generate("?")
    assert not any(next(events).drafted for _ in range(6))
    session.settings = replace(session.settings, drafter="hybrid")
    assert next(events).source == "model"


def test_what_was_said_is_indexed_when_an_answer_ends_and_the_next_conversation_apart_from_it() -> None:
    session = conversation(saying(PASSAGE), drafter="lookup", k="auto", controller=knowing(1.2, 0.5), sampling=GREEDY)
    for asked in ("one thing", "quite another one"):
        rounds_of(session, asked)
        drafter = session._planner._lookout._drafter
        assert drafter._conversation == [*session.prompt_ids, *session.answer_ids]
        session.messages = []


def test_rounds_that_do_not_look_tell_nothing_of_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("model", 2, "", lasts=True))
    said = "".join(f"ab{letter} " for letter in PASSAGE)
    controller = knowing(0.05, 0.05)
    session = conversation(
        saying(said), saying(said), drafter="hybrid", k="auto", controller=controller, sampling=GREEDY
    )
    session.settings = replace(session.settings, max_tokens=len(said))
    heard: list[tuple[int, int]] = []
    learn = controller.learn

    def hear(now: Situation, decision: Decision, outcome: Outcome) -> None:
        heard.append((now.match, len(outcome.foretold)))
        learn(now, decision, outcome)

    monkeypatch.setattr(controller, "learn", hear)
    rounds_of(session)
    assert any(match and foretold for match, foretold in heard)
    assert not any(foretold for match, foretold in heard if not match)


def test_a_long_match_ends_a_stretch_of_plain_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    session = conversation(
        saying("0123456789" + PASSAGE), drafter="lookup", k="auto", controller=knowing(0.01, 0.5), sampling=GREEDY
    )
    rounds = rounds_of(session, PASSAGE)
    assert session.text == "0123456789" + PASSAGE
    assert sum(not event.drafted for event in rounds) < 10 + 6 + 4 + 3


def test_a_copy_of_what_was_pasted_begins_at_once_however_hopeless_drafts_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr("specchat_engine.policy.controller.Controller.hopeless", True)
    found = []
    said = "0123456789" + PASSAGE
    for asked in (f"Repeat:\n{PASSAGE}", f"Repeat: {PASSAGE}"):
        session = conversation(saying(said), drafter="lookup", k="auto", controller=knowing(0.01, 0.5), sampling=GREEDY)
        rounds = rounds_of(session, asked)
        assert session.text == said
        found.append(next((event.index for event in rounds if event.drafted), 99))
    pasted, asked_for = found
    assert pasted <= 10 + 3
    assert asked_for > pasted


def test_what_is_decided_in_the_opening_is_decided_anew_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried before, and a decision for no draft would be followed far beyond it."""
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    controller = knowing(1.2, 0.5)
    asked = decided(controller, monkeypatch)
    session = conversation(
        saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", sampling=GREEDY, controller=controller
    )
    rounds_of(session)
    places = [now.depth - len(session.prompt_ids) for now in asked]
    assert 4 in places
    assert len(places) < 20


@pytest.mark.parametrize(("known", "followed"), [(False, 2), (True, 24)])
def test_drafts_that_an_answer_opens_with_go_on_behind_its_opening_the_longer_the_more_is_known_of_them(
    known: bool, followed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr(Controller, "knows", known)
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("model", 4, "", lasts=True))
    said = PASSAGE * 3
    session = conversation(saying(said), saying(said), drafter="model", k="auto", sampling=GREEDY)
    session.settings = replace(session.settings, max_tokens=len(said))
    rounds_of(session)  # until then nothing is known of how long rounds take
    first = next(events := session.generate("?"))
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("model", 2, "", lasts=True))
    assert [event.k for event in (first, *events)].index(2) == 1 + followed


@pytest.mark.parametrize(("promised", "held"), [(1.0, 25), (5.0, 8)])
def test_a_decision_to_draft_is_not_followed_where_it_gives_clearly_less_than_it_promised(
    promised: float, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of these drafts stands, so that each round gives one token."""
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr(Controller, "knows", True)
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("model", 4, "", lasts=True, tokens=promised))
    said = PASSAGE * 3
    session = conversation(saying(said), saying(said.replace(" ", "_").upper()), drafter="model", k="auto")
    session.settings = replace(session.settings, max_tokens=len(said), sampling=GREEDY)
    rounds_of(session)  # until then nothing is known of how long rounds take
    first = next(events := session.generate("?"))
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("model", 2, "", lasts=True))
    assert [event.k for event in (first, *events)].index(2) == held


def test_what_a_decision_gives_counts_from_where_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr(Controller, "knows", True)
    said = PASSAGE * 3
    session = conversation(saying(said), saying(said.replace(" ", "_").upper()), drafter="model", k="auto")
    session.settings = replace(session.settings, max_tokens=len(said), sampling=GREEDY)
    monkeypatch.setattr(Controller, "decide", lambda *_: model_decision(2, 0.0))
    rounds_of(session)
    promises = iter([(5, 1.0), (4, 2.0), *[(3, 1.0)] * 9])
    monkeypatch.setattr(Controller, "decide", lambda *_: model_decision(*next(promises)))
    drafted = [event.k for event in session.generate("?")]
    assert drafted[:34] == [5] * 25 + [4] * 8 + [3], "until the first one was over it had given enough"


def model_decision(k: int, tokens: float) -> Decision:
    return Decision("model", k, "", lasts=True, tokens=tokens)


def test_a_copy_is_watched_for_in_so_many_rounds_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    monkeypatch.setattr(Controller, "decide", lambda *_: Decision("none", 0, "", lasts=True, milliseconds=1e-3))
    said = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    looked: list[int] = []
    look = Lookout.look
    monkeypatch.setattr(
        Lookout, "look", lambda self, context, ways: (looked.append(context.position), look(self, context, ways))[1]
    )
    session = conversation(saying(said), drafter="lookup", k="auto")
    rounds_of(session, f"Repeat:\n{PASSAGE}")
    assert looked[:24] == [*range(24)]
    assert len(looked) < 32 < len(said)


def test_a_run_of_plain_passes_is_planned_at_once_and_each_of_them_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e9)
    controller = knowing(0.05, 0.05)
    asked = decided(controller, monkeypatch)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    decisions = iter([Decision("none", 0, "measures", besides=4), *[Decision("model", 2, "")] * 99])
    monkeypatch.setattr(controller, "decide", lambda now: (asked.append(now), next(decisions))[1])
    rounds = rounds_of(session)
    assert [event.source for event in rounds[:6]] == ["none"] * 5 + ["model"]
    assert [now.depth - asked[0].depth for now in asked[:2]] == [0, 5]
    assert [source for source, _ in controller.heard[:6]] == ["none"] * 5 + ["model"]


def test_what_the_draft_model_reads_apart_is_told_where_k_is_free() -> None:
    told = []
    for k in ("auto", 4):
        controller = knowing(0.01, 0.01)
        controller.read = lambda depth, milliseconds: told.append((depth, milliseconds))  # type: ignore[method-assign]
        law = letters(3, end=-50)
        session = conversation(law, law, drafter="model", k=k, sampling=GREEDY, controller=controller)
        rounds_of(session, "x" * 300)
    assert len(told) == 1
    assert told[0][0] > 300
    assert told[0][1] > 0


def test_the_controller_hears_which_rounds_begin_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, bool]] = []

    def decide(controller: Controller, now: Situation) -> Decision:
        heard.append((now.depth, now.opening))
        return Decision("none", 0, "")

    monkeypatch.setattr(Controller, "decide", decide)
    session = conversation(saying(PASSAGE), drafter="lookup", k="auto")
    rounds_of(session)
    first = len(session.prompt_ids)
    assert [depth - first for depth, opening in heard if opening] == [0, 1, 2, 3]


def test_a_long_match_ends_a_stretch_of_the_draft_models_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.policy.patience._THINKING_SHARE", 1e-9)
    said = "0123456789" + PASSAGE * 3
    session = conversation(saying(said), saying(said), k="auto", controller=knowing(0.01, 0.2), sampling=GREEDY)
    session.settings = replace(session.settings, drafter="hybrid", max_tokens=len(said))
    rounds = rounds_of(session, PASSAGE * 3)
    assert session.text == said
    assert {event.source for event in rounds[:2]} == {"none", "model"}
    assert sum(event.num_accepted for event in rounds if event.source == "lookup") > 20


def test_whoever_waits_between_rounds_or_answers_makes_no_round_dear_or_cheap() -> None:
    """The time between two rounds is no cost of either, and that behind the last one is nobody's."""
    controller = knowing(0.05, 0.05)
    session = conversation(saying(PASSAGE), drafter="lookup", k="auto", controller=controller)
    for _ in range(2):
        for _event in session.generate(PASSAGE):
            time.sleep(0.04)
    others = [outcome.other_ms for _, outcome in controller.heard]
    assert len(others) > 4
    assert min(others) >= 0
    assert median(others) < 20


def test_an_answer_that_is_cut_short_is_learned_from_under_its_own_kind() -> None:
    controller = knowing(1.2, 0.5)
    session = conversation(saying(PASSAGE), saying(PASSAGE), drafter="model", k="auto", controller=controller)
    events = session.generate("hello")
    for _ in range(6):
        next(events)
    events.close()
    assert len(controller.heard) >= 3
