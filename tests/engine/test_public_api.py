"""The names that the package promises are there."""

from __future__ import annotations

import pytest

import specchat_engine


@pytest.mark.parametrize("name", specchat_engine.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(specchat_engine, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        specchat_engine.nothing_of_the_kind  # noqa: B018
