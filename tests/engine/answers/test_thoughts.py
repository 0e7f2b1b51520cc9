import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.answers.thoughts import THOUGHT_MARKS, Span, ThoughtSplitter, split_thinking, without_marks

TAGS = ["<think>", "</think>", "<thi", "nk>", "</", "think>", "[THINK]", "[/THINK]", "\n", " ", "word", "<"]
TEXTS = st.lists(st.sampled_from(TAGS), max_size=14)


def fed(pieces: list[str]) -> tuple[list[Span], bool]:
    splitter = ThoughtSplitter()
    found = [span for piece in pieces for span in splitter.feed(piece)]
    return [*found, *splitter.finish()], splitter.began_inside


def said(found: list[Span], *, thought: bool) -> str:
    return "".join(span.text for span in found if span.thought is thought)


def split(text: str) -> tuple[str, str]:
    found, _ = fed([text])
    return said(found, thought=True), said(found, thought=False)


@pytest.mark.parametrize(("opening", "closing"), THOUGHT_MARKS)
def test_what_stands_between_the_marks_is_thought(opening: str, closing: str) -> None:
    assert split(f"{opening}\nwell\n{closing}\n\nYes.") == (f"{opening}\nwell\n{closing}", "\n\nYes.")


def test_a_mark_in_pieces_is_held_back_until_it_is_decided() -> None:
    splitter = ThoughtSplitter()
    assert splitter.feed("<th") == []
    assert splitter.feed("ink>") == [Span("<think>", thought=True)]
    assert splitter.feed("so</thi") == [Span("so", thought=True)]
    assert splitter.feed("s") == [Span("</this", thought=True)]


def test_an_answer_may_talk_about_marks_in_the_middle_of_a_line() -> None:
    assert split("Write <think> first.") == ("", "Write <think> first.")


def test_a_closing_mark_shows_that_the_prompt_opened_the_thought() -> None:
    found, began_inside = fed(["Hm, 4.\n</think>\n4"])
    assert found == [Span("Hm, 4.\n", thought=False), Span("</think>", thought=True), Span("\n4", thought=False)]
    assert began_inside


HARMONY = (
    "<|channel|>analysis<|message|>User greets. Reply briefly.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Hello! How can I help?"
)
"""An answer of gpt-oss, with the control tokens that its parser needs to see."""


def test_the_analysis_of_gpt_oss_is_thought_and_its_final_message_is_not() -> None:
    thought, content = split(HARMONY)
    assert content == "Hello! How can I help?"
    assert without_marks(thought) == "User greets. Reply briefly."
    letters, began_inside = fed(list(HARMONY))
    assert said(letters, thought=False) == content
    assert not began_inside


@pytest.mark.parametrize("header", ["<|channel|>final<|message|>", "<|channel|>final <|constrain|>json<|message|>"])
def test_an_answer_of_gpt_oss_without_a_thought_has_no_header(header: str) -> None:
    assert split(f"{header}Hello.") == (header, "Hello.")
    assert split(f"The header is {header}") == ("", f"The header is {header}")


def test_two_messages_of_analysis_are_one_thought() -> None:
    second = "<|start|>assistant<|channel|>analysis<|message|>And more.<|end|>"
    text = HARMONY.replace("<|start|>assistant<|channel|>final", second + "<|start|>assistant<|channel|>final")
    assert split(text)[1] == "Hello! How can I help?"


def test_the_end_of_a_message_closes_only_what_was_opened() -> None:
    assert split("Yes.<|end|>") == ("", "Yes.<|end|>")


def test_a_thought_that_never_ends_is_thought_to_the_end() -> None:
    assert split("<think>still") == ("<think>still", "")


def test_a_thoughts_text_comes_without_its_marks() -> None:
    assert without_marks("<think>\nwell\n</think>") == "well"


@given(TEXTS)
def test_nothing_is_lost(pieces: list[str]) -> None:
    assert "".join(span.text for span in fed(pieces)[0]) == "".join(pieces)


@given(TEXTS)
def test_the_way_an_answer_was_cut_into_tokens_changes_nothing(pieces: list[str]) -> None:
    whole, whole_began = fed(["".join(pieces)])
    letters, letters_began = fed(list("".join(pieces)))
    assert said(whole, thought=True) == said(letters, thought=True)
    assert said(whole, thought=False) == said(letters, thought=False)
    assert whole_began is letters_began


def test_an_answer_that_begins_inside_a_thought_ends_it_at_its_mark_alone() -> None:
    splitter = ThoughtSplitter("</think>")
    found = [*splitter.feed("<think> is a mark</thi"), *splitter.feed("nk>4"), *splitter.finish()]
    assert said(found, thought=True) == "<think> is a mark</think>"
    assert said(found, thought=False) == "4"
    assert not splitter.began_inside


@pytest.mark.parametrize(("opening", "closing"), THOUGHT_MARKS)
def test_the_thinking_of_an_answer_is_apart(opening: str, closing: str) -> None:
    assert split_thinking(f"{opening}\nwell, 4\n{closing}\n\nYes.\n") == ("well, 4", "Yes.\n")


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("Yes.", ("", "Yes.")),
        ("Hm.\n</think>\n\nYes.", ("Hm.", "Yes.")),
        ("A closing </think> is a tag.", ("", "A closing </think> is a tag.")),
        ("Write <think> first.", ("", "Write <think> first.")),
        ("<think>no end", ("no end", "")),
        ("<think>\n\n</think>\n\nYes.", ("", "Yes.")),
        ("<think>a</think>\n<think>b</think>\nYes.", ("a\nb", "Yes.")),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", ("Hm.", "Yes.")),
        ("<|channel|>final<|message|>Yes.", ("", "Yes.")),
        ("", ("", "")),
    ],
)
def test_what_is_no_thinking_is_the_rest(answer: str, parts: tuple[str, str]) -> None:
    assert split_thinking(answer) == parts
