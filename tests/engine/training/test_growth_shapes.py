"""A number of parameters becomes the sizes of a model that the small one can be grown to."""

from __future__ import annotations

import pytest

from specchat_engine.errors import SettingError
from specchat_engine.training.growth import Growth
from specchat_engine.training.growth_shapes import Shape, choose_shape

GUIDE = Shape(4096, width=512, layers=6, heads=8, kv_heads=2, head_width=64, feed_forward=1280)
DRAFT = Shape(4096, width=256, layers=2, heads=4, kv_heads=2, head_width=64, feed_forward=320)


@pytest.mark.parametrize("vocabulary", [4096, 152_000])
@pytest.mark.parametrize("wanted", [400_000_000, 500_000_000, 1_000_000_000, 1_500_000_000])
def test_a_size_becomes_a_shape_of_usual_proportions(wanted: int, vocabulary: int) -> None:
    shape = choose_shape(GUIDE, wanted, vocabulary)
    assert shape.parameters == pytest.approx(wanted, rel=0.02)
    assert 16 <= shape.layers <= 48
    assert 768 <= shape.width <= 2048
    assert 2.5 <= shape.feed_forward / shape.width <= 4.5
    assert shape.heads * shape.head_width == shape.width
    Growth(GUIDE, shape, 1e-5, 1)


@pytest.mark.parametrize("vocabulary", [4096, 12_000])
@pytest.mark.parametrize("share", [0.03, 0.05, 0.1])
def test_a_draft_gets_its_share(share: float, vocabulary: int) -> None:
    shape = choose_shape(DRAFT, round(500_000_000 * share), vocabulary)
    assert shape.parameters == pytest.approx(500_000_000 * share, rel=0.05)
    Growth(DRAFT, shape, 1e-5, 1)


@pytest.mark.parametrize(
    ("wanted", "vocabulary", "complaint"),
    [
        (10_000_000, 4096, "no model of 10,000,000 parameters .* the nearest has 17,832,448"),
        (25_000_000, 152_000, "with 152,000 tokens: the nearest has"),
        (500_000_000, 100, "a vocabulary of 100"),
    ],
)
def test_a_size_that_nothing_has_is_refused(wanted: int, vocabulary: int, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        choose_shape(GUIDE, wanted, vocabulary)
