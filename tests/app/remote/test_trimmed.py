from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat.engine_process.protocol import ChatMessage
from specchat.remote.trimmed import shortened

_texts = st.text(max_size=20)


@given(st.booleans(), st.lists(st.tuples(_texts, _texts), max_size=5), _texts)
def test_it_ends_with_the_last_question_and_loses_only_from_the_beginning(
    system: bool, turns: list[tuple[str, str]], last: str
) -> None:
    said = [ChatMessage("system", "Be brief.")] if system else []
    for question, answer in turns:
        said += [ChatMessage("user", question), ChatMessage("assistant", answer)]
    said.append(ChatMessage("user", last))
    messages: tuple[ChatMessage, ...] | None = tuple(said)
    rounds = 0
    while (fewer := shortened(messages or ())) is not None:
        assert len(fewer) < len(messages or ())
        first = fewer[1] if system else fewer[0]
        assert first.role == "user"
        assert fewer[0].role == ("system" if system else "user")
        assert said[len(said) - len(fewer) + system :] == [*fewer[system:]]
        messages, rounds = fewer, rounds + 1
    assert messages is not None
    assert messages[-1].content == last
    assert len(messages) == 1 + system
    assert rounds <= len(turns)


def test_about_half_of_the_text_goes_at_a_time() -> None:
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", "x" * 10) for place in range(9)]
    fewer = shortened(said)
    assert fewer is not None
    assert len(fewer) == 3


def test_an_image_counts_as_much_as_a_long_text() -> None:
    talk = [ChatMessage(role, "x") for role in ("user", "assistant", "user", "assistant", "user")]
    assert shortened(talk) == tuple(talk[4:])
    talk[0] = ChatMessage("user", "x", images=("a.png",))
    assert shortened(talk) == tuple(talk[2:])
