"""Answers with a given prefix: text that no round brought is shown, and is not a token."""

from app.tui.scripted_client import script
from specchat.tui.transcript.answer import TranscriptAnswer, View

WIDTH = 60


def rows(answer: TranscriptAnswer) -> str:
    return "\n".join(line.text for line in answer.rows(WIDTH))


async def test_the_given_prefix_is_shown_before_the_first_round() -> None:
    answer = TranscriptAnswer("guide", View.TRACE)
    answer.begin_with("So far")
    answer.append(script("> so|~bad~> good"))
    assert "So far so" in rows(answer)
    assert answer.raw == "So far so good"
    answer.finish("9 tok/s", "So far so good")
    answer.show(View.TRACE)
    assert "So far" in rows(answer)
    assert "bad" in rows(answer)


async def test_a_stored_answer_shows_its_prefix_and_the_outcomes_of_the_rest() -> None:
    answer = TranscriptAnswer.stored("guide", "So far so good", trace=script("> so|~bad~> good"), view=View.TRACE)
    assert "So far so" in rows(answer)
    assert "bad" in rows(answer)
    cursor = answer.start_cursor()
    assert cursor is not None
    assert cursor.count == 3
    assert answer.marked_row() is not None


async def test_the_key_of_the_views_is_named_only_where_it_fits_beside_the_name() -> None:
    answer = TranscriptAnswer("specchat-guide 18M", View.COLOURED)
    assert [answer.rows(width)[0].text for width in (60, 38)] == [
        "specchat-guide 18M   coloured · F3 view",
        "specchat-guide 18M   coloured",
    ]


async def test_an_answer_cut_by_a_stop_string_has_no_prefix() -> None:
    answer = TranscriptAnswer.stored("guide", " so", trace=script("> so| good"), view=View.TRACE)
    assert answer.text == " so"
