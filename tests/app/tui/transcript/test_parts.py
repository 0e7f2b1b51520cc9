from hypothesis import given
from hypothesis import strategies as st

from app.tui.scripted_client import script
from specchat.tui.transcript.parts import Parts, ShownPart, TokenCursor, tokens_of
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind

WORDS = ["<think>", "</think>", "<thi", "nk>", "\n", " so", "漢", "</", "think>"]


def event(index: int, accepted: list[str], own: str, rejected: str = "") -> Round:
    drafted = [DraftedToken(1, text, 0.5, 0.6, Outcome.ACCEPTED) for text in accepted]
    drafted += [DraftedToken(1, rejected, 0.5, 0.6, Outcome.REJECTED)] if rejected else []
    times = RoundTimes(0.0, 10.0 * (len(accepted) + 1), 0.0)
    kind = TokenKind.CORRECTION if rejected else TokenKind.PLAIN
    return Round(index, "model", 4, "", tuple(drafted), TargetToken(2, own, 0.6, kind), (), times, 0.0)


def parts_of(*rounds: Round) -> list[ShownPart]:
    parts = Parts()
    parts.take(rounds)
    parts.finish()
    return parts.parts


def test_a_thought_has_figures_of_its_own() -> None:
    thought, said = parts_of(
        event(0, [], "<think>"), event(1, [" hm"], " so", rejected=" no"), event(2, [], "</think>"), event(3, [], "Yes")
    )
    assert (thought.thought, said.thought) == (True, False)
    assert thought.text == "hm so"
    assert thought.summary() == "0.0 s · 4 tokens · 100 tok/s · α 0.50"
    assert (said.text, said.num_tokens) == ("Yes", 1)


def test_a_mark_inside_a_token_cuts_the_token_and_counts_it_once() -> None:
    thought, said = parts_of(event(0, [], "<think>a</think>b"))
    assert (thought.text, said.text) == ("a", "b")
    assert thought.num_tokens + said.num_tokens == 1


def test_a_thought_that_the_prompt_opened_reaches_back() -> None:
    thought, said = parts_of(event(0, [" well"], "."), event(1, [], "</think>"), event(2, [], "Yes"))
    assert thought.thought
    assert thought.text.startswith("well.")
    assert said.text == "Yes"


def test_a_thought_that_goes_on_has_no_rates_yet() -> None:
    parts = Parts()
    parts.take([event(0, [], "<think>"), event(1, [" hm"], " so", rejected=" no")])
    assert parts.parts[0].summary() == "0.0 s · 3 tokens"


def test_an_answer_may_begin_inside_a_thought_that_the_prompt_opened() -> None:
    parts = Parts("</think>")
    parts.take([event(0, [" well"], ".")])
    assert parts.parts[0].thought
    parts.take([event(1, ["</think>"], "Yes")])
    parts.finish()
    thought, said = parts.parts
    assert (thought.text, thought.num_tokens, said.text, said.thought) == ("well.", 3, "Yes", False)


def test_a_thought_that_reaches_back_can_end_inside_a_token() -> None:
    thought, said = parts_of(event(0, [], "well</think>Yes"))
    assert (thought.thought, said.thought) == (True, False)
    assert said.text == "Yes"


def test_a_stored_text_says_how_long_its_thought_is() -> None:
    parts = Parts()
    parts.take_text("<think>four</think>\nYes")
    parts.finish()
    assert parts.parts[0].summary() == "4 characters"


def test_text_cut_by_a_stop_string_stays_in_the_trace_only() -> None:
    parts = Parts()
    parts.take([event(0, [" one"], " two")])
    parts.finish()
    assert parts.cut(" one t")
    assert parts.parts[0].text == " one t"
    assert parts.text == " one two"
    assert not parts.cut("else")


def test_every_token_is_found_where_it_is_shown() -> None:
    rounds = script(" all~ needs~/ a/> moves|> on")
    parts = Parts()
    parts.take(rounds)
    parts.finish()
    shown = "".join(piece.text for piece in parts.parts[0].pieces)
    found = [parts.locate(token) for token in range(5)]
    assert [shown[at[1] : at[2]] for at in found if at] == [" all", " needs", " a", " moves", " on"]
    assert parts.locate(5) is None


def test_discarded_tokens_that_are_folded_are_found_at_their_sign() -> None:
    parts = Parts()
    parts.take(script("~ a~/ b//c//e/> d"))
    parts.finish()
    assert parts.locate(1) == parts.locate(3)
    assert parts.locate(4) != parts.locate(3)


@given(st.lists(st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), st.sampled_from(WORDS)), max_size=8))
def test_no_text_and_no_token_is_lost_between_the_parts(answer: list[tuple[list[str], str]]) -> None:
    rounds = [event(index, accepted, own, rejected="no") for index, (accepted, own) in enumerate(answer)]
    parts = Parts()
    for one in rounds:
        parts.take([one])
    parts.finish()
    assert parts.text == "".join(one.text for one in rounds)
    assert sum(sum(part.tokens.values()) for part in parts.parts) == sum(map(tokens_of, rounds))


def test_the_cursor_begins_at_the_last_token_and_moves_by_tokens_and_rounds() -> None:
    cursor = TokenCursor(script(" all~ needs~/ a/> moves|> on"))
    assert (cursor.round_index, cursor.place) == (1, 0)
    cursor.move(-1)
    assert (cursor.round_index, cursor.place) == (0, 3)
    cursor.move(-99)
    assert (cursor.round_index, cursor.place) == (0, 0)
    cursor.move(2)
    cursor.move_rounds(1)
    assert (cursor.round_index, cursor.place) == (1, 0)
