"""The tokens of an answer that can be inspected."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.tui.scripted_client import script
from specchat.traces.trace import Trace
from specchat.tui.recording import asked_in
from specchat.tui.spots import asked_at, output_tokens, position_of, prefix_at, spots, visible
from specchat_engine.decoding.rounds import Outcome, Round, TargetToken, TokenKind


def numbered(rounds: list[Round]) -> list[Round]:
    """The same rounds with ids that count up; rejected and discarded tokens count from 1,000."""
    said, thrown = iter(range(1000)), iter(range(1000, 2000))
    made = []
    for event in rounds:
        drafted = tuple(
            replace(token, id=next(said if token.outcome is Outcome.ACCEPTED else thrown)) for token in event.drafted
        )
        made.append(replace(event, drafted=drafted, token=replace(event.token, id=next(said))))
    return made


def trace(notation: str, prefix: tuple[int, ...] = ()) -> Trace:
    return Trace({"prefix": list(prefix)}, tuple(numbered(script(notation))))


def test_a_rejected_token_has_its_corrections_position_and_discarded_ones_have_none() -> None:
    rows = spots(trace("> one| two~bad~/late/> three"), 1)
    assert [(row.text, row.position) for row in rows] == [(" two", 1), ("bad", 2), ("late", None), (" three", 2)]
    assert rows[1].remark == "rejected: the target drew ·three"
    assert rows[2].remark == "never compared"
    assert [row.glyph for row in rows] == ["●", "○", "·", "◆"]


def test_a_given_prefix_counts_as_output() -> None:
    made = trace("> one| two> three", prefix=(7, 8))
    assert output_tokens(made) == (7, 8, 0, 1, 2)
    assert position_of(made, 1) == 3
    assert prefix_at(made, 3, 99) == (7, 8, 0, 99)


def test_a_position_is_inspected_with_all_its_tokens() -> None:
    made = trace("~bad~> good")
    assert asked_at(made, 0, 0) == (1000, 0)


def test_a_round_that_ends_on_an_accepted_token_has_no_target_token() -> None:
    [event] = numbered(script(" a b> c"))
    made = Trace({}, (replace(event, token=TargetToken(None, "", None, TokenKind.NONE)),))
    assert [row.text for row in spots(made, 0)] == [" a", " b"]
    assert output_tokens(made) == (0, 1)


@given(st.text(max_size=20))
def test_a_token_is_shown_on_one_line_without_control_characters(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(text)


@given(st.lists(st.sampled_from(["> a", " b> c", " b~x~> c", "~x~/y/> d", " a b/z/> e"]), min_size=1, max_size=8))
def test_every_emitted_token_has_exactly_one_position(parts: list[str]) -> None:
    made = trace("|".join(parts))
    tokens = output_tokens(made)
    found = {
        row.position: row.id
        for place in range(len(made.rounds))
        for row in spots(made, place)
        if row.position is not None and row.id < 1000
    }
    assert found == dict(enumerate(tokens))


def test_an_old_answer_is_inspected_with_its_own_messages() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    found = asked_in(Trace({"messages": messages}, ()))
    assert [(message.role, message.content) for message in found] == [("system", "Be brief."), ("user", "Who?")]
