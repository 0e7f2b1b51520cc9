"""How much of an answer may be sent while a stop string may still cut it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat.engine_process.protocol import LikelyToken, Position
from specchat.serve.answers.released import Portion, Releasing

LETTERS = st.text("abc", max_size=3)


def fed(releasing: Releasing, *texts: str) -> Portion:
    """What is certain after tokens with these texts."""
    return releasing.feed(texts, [Position(LikelyToken(0, text, -1.0)) for text in texts])


def cut(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """A text up to the first stop string, and whether there is one."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(places, default=len(text))], bool(places)


@given(st.lists(st.lists(LETTERS)), st.lists(LETTERS.filter(bool), max_size=3).map(tuple))
def test_what_was_sent_is_the_answer_however_it_is_cut_into_rounds(
    rounds: list[list[str]], stops: tuple[str, ...]
) -> None:
    releasing = Releasing(stops)
    sent = ""
    said = ""
    for texts in rounds:
        said += "".join(texts)
        sent += fed(releasing, *texts).text
        whole, stopped = cut(said, stops)
        assert whole.startswith(sent), "nothing is sent that has to be taken back"
        if not stops:
            assert sent == said, "nothing waits without a reason"
        if stopped:
            break
    assert sent + releasing.finish(whole if rounds else "").text == (whole if rounds else "")


@given(st.lists(st.lists(LETTERS)))
def test_each_token_with_a_text_is_sent_once_and_in_order(rounds: list[list[str]]) -> None:
    releasing = Releasing(("cab",))
    texts = [text for each in rounds for text in each]
    whole, _ = cut("".join(texts), ("cab",))
    positions = [position for each in rounds for position in fed(releasing, *each).positions]
    positions += releasing.finish(whole).positions
    expected, place = [], 0
    for text in texts:
        if place < len(whole):
            expected.append(text)
        place += len(text)
    assert [position.token.text for position in positions] == expected


def test_a_token_that_ends_the_answer_is_not_sent() -> None:
    releasing = Releasing()
    assert [position.token.text for position in fed(releasing, "a", "").positions] == ["a"]
    assert releasing.finish("a").positions == ()


def test_it_is_sent_where_the_end_is_to_be_sent_unless_a_stop_string_cut_it_off() -> None:
    for whole, expected in (("ab", ["b", ""]), ("a", [])):
        releasing = Releasing(("b",), sends_end=True)
        fed(releasing, "a", "b", "")
        assert [position.token.text for position in releasing.finish(whole).positions] == expected


def test_a_token_of_an_unfinished_character_is_sent_with_the_rest_of_it() -> None:
    releasing = Releasing()
    assert fed(releasing, "").positions == ()
    assert [position.token.text for position in fed(releasing, "é").positions] == ["", "é"]
