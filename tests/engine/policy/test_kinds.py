"""Requests are told apart roughly."""

import pytest

from specchat_engine.policy.kinds import kind_of


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ("What is block efficiency?", "prose"),
        ("Tell me a short story about a lighthouse.", "free"),
        ("Write a poem on rain", "free"),
        ("Write a query for the stories of a newspaper", "code"),
        ("Show me the code of textwrap.wrap.", "code"),
        ("Write a JSON object for a book", "code"),
        ("Repeat this:\nThe quick brown fox", "pasted"),
        ("word " * 100, "pasted"),
        ("", "prose"),
        ("Explain the classification of birds", "prose"),
    ],
)
def test_kinds(request_: str, kind: str) -> None:
    assert kind_of(request_) == kind
