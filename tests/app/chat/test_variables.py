import pytest

from specchat.chat.variables import filled, variable_after, variables

TRANSLATE = "Translate into {{language}}, {{ style }}: {{text}} ({{language}})"


def test_variables_are_named_once_in_their_order() -> None:
    assert variables(TRANSLATE) == ("language", "style", "text")
    assert variables("{x} {{ }} {{1}} {{{{") == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", TRANSLATE),
        ("German", "Translate into German, {{ style }}: {{text}} (German)"),
        ("German plain", "Translate into German, plain: {{text}} (German)"),
        ("German plain all of the rest", "Translate into German, plain: all of the rest (German)"),
        ('"old German"  "very plain" "one"', "Translate into old German, very plain: one (old German)"),
        ("German plain two\nlines {{style}}", "Translate into German, plain: two\nlines {{style}} (German)"),
    ],
)
def test_words_fill_the_variables_and_the_last_one_gets_the_rest(words: str, expected: str) -> None:
    assert filled(TRANSLATE, words) == expected


def test_words_follow_a_text_without_variables() -> None:
    assert filled("Review this.", " x = 1 ") == "Review this.\n\nx = 1"
    assert filled("Review this.", "") == "Review this."


def test_the_next_variable_comes_after_the_place_or_is_the_first() -> None:
    text = "a {{b}} c {{d}}"
    assert variable_after(text, 0) == (2, 7)
    assert variable_after(text, 3) == (10, 15)
    assert variable_after(text, 11) == (2, 7)
    assert variable_after("none", 0) is None
