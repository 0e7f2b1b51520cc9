"""What passes of other widths do to logits and texts, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specchat_engine.analysis.widths import USUAL_LENGTH, WidthNoise

_RARE = 1000


def described(noises: Sequence[tuple[float, WidthNoise]]) -> Iterator[str]:
    """The noise of answers at several temperatures, in sentences: of the logits, then of the texts."""
    yield noise_words(WidthNoise.mean([each for _, each in noises]))
    for temperature in dict.fromkeys(each for each, _ in noises):
        own = WidthNoise.mean([noise for each, noise in noises if each == temperature])
        yield parted_words(own.parted(), temperature)


def noise_words(noise: WidthNoise) -> str:
    """How much the logits of passes over several tokens differ from those of passes over one."""
    passes = f"passes over {noise.width} tokens"
    if noise.equal:
        return f"{passes} give the same bits as passes over one, in {noise.rows} rows"
    return (
        f"logits of {passes} differ from those of passes over one by {noise.rms:.2g} (rms) and {noise.largest:.2g} "
        f"(largest), KL {noise.divergence:.1g} a token"
    )


def parted_words(share: float, temperature: float) -> str:
    """How many answers differ from plain decoding for that."""
    here = f"within {USUAL_LENGTH} tokens at temperature {temperature:g}"
    if share == 0:
        return f"no answer parts from plain decoding {here}"
    if share > 0.5:
        return f"about {share:.0%} of the answers part from plain decoding {here}"
    if share * _RARE < 1:
        return f"fewer than one answer in {_RARE:,} parts from plain decoding {here}"
    return f"about one answer in {1 / share:,.0f} parts from plain decoding {here}"
