"""What the tests of grammars share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specchat_engine.testing import Choices


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Choices]]:
    """Every place in a grammar that the test made; all of them have to be closed in the end."""
    made: list[Choices] = []
    original = Choices.__init__

    def init(self: Choices, *given: object) -> None:
        original(self, *given)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(Choices, "__init__", init)
    yield made
    assert all(place.closed for place in made)
