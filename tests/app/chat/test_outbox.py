from specchat.chat.history import HistoryEntry
from specchat.chat.outbox import Outbox, QueuedMessage


def outbox(*texts: str) -> Outbox:
    found = Outbox()
    for text in texts:
        found.add(QueuedMessage(text, text, HistoryEntry(text)))
    return found


def texts(found: Outbox) -> list[str]:
    return [message.text for message in found.messages]


def test_the_first_message_goes_out_first_and_the_last_is_taken_back() -> None:
    found = outbox("a", "b", "c")
    assert found.next() == QueuedMessage("a", "a", HistoryEntry("a"))
    assert found.take_back() == QueuedMessage("c", "c", HistoryEntry("c"))
    assert texts(found) == ["b"]


def test_a_held_queue_is_held_until_something_is_sent_or_all_is_taken_back() -> None:
    found = outbox("a", "b")
    found.hold()
    assert found.held
    found.take_back()
    assert found.held
    found.next()
    assert not found.held
    found = outbox("a")
    found.hold()
    found.take_back()
    assert not found.held
    found = outbox("a", "b")
    found.hold()
    assert found.clear() == 2
    assert (texts(found), found.held) == ([], False)


def test_an_empty_queue_cannot_be_held() -> None:
    found = outbox()
    found.hold()
    assert (found.held, found.next(), found.take_back()) == (False, None, None)
