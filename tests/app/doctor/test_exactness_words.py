"""The noise of passes of another width, in words that say what it does to texts."""

from __future__ import annotations

import pytest

from specchat.doctor.exactness import described, parted_words
from specchat_engine.analysis.widths import WidthNoise


def test_equal_passes_are_said_to_give_the_same_bits_and_no_answer_parts() -> None:
    logits, texts = described([(0.0, WidthNoise(equal=True, width=5, rows=64))])
    assert logits == "passes over 5 tokens give the same bits as passes over one, in 64 rows"
    assert texts.startswith("no answer parts")


def test_each_temperature_has_its_own_share_of_answers() -> None:
    noise = WidthNoise(False, 5, 64, rms=0.09, largest=0.7, divergence=2e-4)
    logits, greedy, sampled = described(
        [(0.0, noise), (0.8, WidthNoise(False, 5, 64, rms=0.09, largest=0.7, divergence=2e-4, parting=0.001))]
    )
    assert "0.09 (rms) and 0.7 (largest), KL 0.0002 a token" in logits
    assert greedy == "no answer parts from plain decoding within 200 tokens at temperature 0"
    assert sampled == "about one answer in 6 parts from plain decoding within 200 tokens at temperature 0.8"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.8, "about 80% of the answers part from plain decoding"),
        (0.02, "about one answer in 50 parts from plain decoding"),
        (1e-5, "fewer than one answer in 1,000 parts from plain decoding"),
    ],
)
def test_a_share_of_answers_is_said_as_one_would_say_it(share: float, words: str) -> None:
    assert parted_words(share, 0.8).startswith(words)
