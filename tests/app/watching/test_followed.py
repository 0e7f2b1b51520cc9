"""Which answer is followed, and which of those that run are known."""

from __future__ import annotations

from app.watching.samples import end, event, start
from specchat.watching.followed import Following, LiveAnswer


def following(*numbers: int) -> Following:
    """These answers began in this order, and the first is followed."""
    found = Following()
    for number in numbers:
        found.began(number, start(number))
    found.choose()
    return found


def followed(answers: Following) -> int | None:
    return answers.followed.number if answers.followed else None


def test_one_answer_is_followed_until_its_end_then_the_one_that_runs_longest() -> None:
    answers = following(4, 5, 6)
    assert (followed(answers), answers.others) == (4, 2)
    answers.ended(5, end(5, ""))
    assert answers.choose() is None
    answers.ended(4, end(4, ""))
    chosen = answers.choose()
    assert chosen is not None
    assert (chosen.number, followed(answers), answers.others) == (6, 6, 0)


def test_an_answer_that_is_over_stays_until_another_begins() -> None:
    answers = following(1)
    answers.ended(1, end(1, "text"))
    assert answers.choose() is None
    assert answers.followed is not None
    assert answers.followed.over
    assert answers.followed.trace().text == "text"
    answers.began(2, start(2))
    assert answers.choose() is answers.followed
    assert followed(answers) == 2


def test_the_next_one_is_that_which_began_after_it_and_at_the_end_the_first() -> None:
    answers = following(1, 2, 3)
    seen = []
    for _ in range(4):
        answers.follow_next()
        seen.append(followed(answers))
    assert seen == [2, 3, 1, 2]
    assert following(1).follow_next() is None
    assert Following().follow_next() is None


def test_what_is_sent_again_changes_nothing() -> None:
    answers = following(1)
    answers.made(1, event(0, "ab"))
    answers.made(1, event(1, "cd"))
    assert answers.only([1]) == []
    answers.began(1, start(1))
    assert answers.made(1, event(0, "ab")) is None
    assert answers.made(1, event(1, "cd")) is None
    assert answers.made(1, event(2, "ef")) is answers.followed
    assert answers.followed is not None
    assert answers.followed.trace().text == "abcdef"


def test_a_round_after_a_gap_and_one_of_an_unknown_answer_are_left_out() -> None:
    answers = following(1)
    assert answers.made(1, event(1)) is None
    assert answers.made(9, event(0)) is None
    assert answers.ended(9, end(9, "")) is None


def test_answers_that_no_longer_run_have_lost_their_end() -> None:
    answers = following(1, 2)
    (gone,) = answers.only([2])
    assert gone.number == 1
    assert gone.over
    assert gone.lost
    chosen = answers.choose()
    assert chosen is not None
    assert chosen.number == 2
    assert [answer.number for answer in answers.only()] == [2]


def test_the_question_is_the_last_one_of_the_user_or_the_raw_prompt() -> None:
    assert LiveAnswer(1, start(1, "Why?")).question == "Why?"
    assert LiveAnswer(1, start(1, "", prompt="Once upon")).question == "Once upon"
    assert LiveAnswer(1, start(1, "", prompt=[1, 2, 3])).question == "3 token ids"
    assert LiveAnswer(1, start(1, "")).question == ""
