from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.stack import KEPT, Stack


def stack_of(*texts: str) -> Stack:
    stack = Stack()
    stack.resize(20)
    stack.add([UserMessage(text) for text in texts])
    return stack


def test_a_height_is_an_estimate_until_it_is_measured() -> None:
    stack = stack_of("one", "x" * 19 + " " + "y" * 19, "three")
    assert stack.unknown(0, 2) == [0, 1, 2]
    assert [stack.measure(index) for index in range(3)] == [0, 0, 0]
    assert stack.unknown(0, 2) == []
    assert (stack.top(1), stack.top(2), stack.height) == (2, 5, 7)


def test_every_row_belongs_to_an_entry() -> None:
    stack = stack_of("one", "two", "three")
    assert [stack.at(row) for row in (0, 1, 2, 5, 99)] == [0, 0, 1, 2, 2]


def test_removing_an_entry_moves_those_below_up() -> None:
    stack = stack_of("one\nmore", "two")
    assert stack.top(1) == 3
    stack.remove(0)
    assert stack.at(0) == 0
    assert stack.height == 2


def test_only_the_latest_entries_keep_their_rows() -> None:
    stack = stack_of(*map(str, range(KEPT + 50)))
    for index in range(KEPT + 50):
        stack.measure(index)
    assert sum(entry._rows is not None for entry in stack.entries) == KEPT
    assert stack.knows(0)


def test_a_new_width_makes_all_heights_estimates_again() -> None:
    stack = stack_of("word " * 10)
    stack.measure(0)
    stack.resize(80)
    assert stack.unknown(0, 0) == [0]
    stack.measure(0)
    assert stack.height == 2
