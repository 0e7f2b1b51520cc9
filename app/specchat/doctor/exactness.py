"""Findings about one model: what a perfect draft could gain, how the width of a pass changes its logits, and what
`--exact` achieves and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from specchat.doctor.report import Finding, Status
from specchat.doctor.speculation import measured_limit
from specchat_engine import Engine, LoadOptions, Message, Settings
from specchat_engine.analysis.widths import USUAL_LENGTH, WidthNoise, read_both_ways
from specchat_engine.policy.calibration import pass_ms
from specchat_engine.settings import USUAL_K

_SECTION = "Exactness"
_TEMPERATURES = (0.0, 0.8)
_QUESTION = "Explain in a few sentences how a bicycle stays upright, and give an example in code."
_ANSWER = 64
"""Tokens of the answer that is read both ways."""

_CONTEXT, _REPEATS = 1024, 3
_RARE = 1000


def exactness_findings(target: Path) -> Iterator[Finding]:
    """Loads a model twice, as usual and with `--exact`, and compares. What passes cost as usual is kept for later.

    Raises EngineError if the model cannot be loaded.
    """
    options = LoadOptions(n_ctx=_CONTEXT)
    with Engine.load(target, options=options) as usual:
        yield from measured_limit(usual)
        session = usual.session(settings=Settings(k=0, drafter="none", max_tokens=_ANSWER), seed=1)
        answer = [token.id for each in session.answer([Message("user", _QUESTION)], 0) for token in each.emitted]
        text = [*session.prompt_ids, *(token for token in answer if token is not None)]
        rows = read_both_ways(usual.memory, text, len(session.prompt_ids), USUAL_K + 1)
        noises = {each: WidthNoise.of(rows, replace(usual.recommended, temperature=each)) for each in _TEMPERATURES}
        for words in described([*noises.items()]):
            yield Finding(_SECTION, "widths", words)
        with Engine.load(target, options=replace(options, exact="on")) as exact:
            if exact.plain_because:
                yield Finding(_SECTION, "--exact on", "decodes plainly", Status.NOTE, exact.plain_because)
                return
            yield Finding(_SECTION, "--exact on", exact.exactness)
            yield Finding(_SECTION, "its cost", _cost(usual, exact, text))


def described(noises: Sequence[tuple[float, WidthNoise]]) -> Iterator[str]:
    """The noise of answers at several temperatures, in sentences: of the logits, then of the texts."""
    yield noise_words(WidthNoise.mean([each for _, each in noises]))
    for temperature in dict.fromkeys(each for each, _ in noises):
        own = WidthNoise.mean([noise for each, noise in noises if each == temperature])
        yield parted_words(own.parted(), temperature)


def noise_words(noise: WidthNoise) -> str:
    """Says how much the logits of passes over several tokens differ from passes over one."""
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


def _cost(usual: Engine, exact: Engine, text: Sequence[int]) -> str:
    """How much longer passes take with exact on. Both take turns, since a machine's speed changes."""
    width = min(USUAL_K + 1, exact.memory.max_rows)
    turns = [[_times(engine, text, width) for engine in (usual, exact)] for _ in range(_REPEATS)]
    ratios = [[after / before for before, after in zip(*pair, strict=True)] for pair in turns]
    token, drafted, reading = (f"{median(each):.2f} ×" for each in zip(*ratios, strict=True))
    return f"a token takes {token} the time, a pass over {width} tokens {drafted}, reading a prompt {reading}"


def _times(engine: Engine, text: Sequence[int], width: int) -> tuple[float, float, float]:
    """Milliseconds of a pass over one token, of one over several, and of reading a text."""
    target = engine.memory
    target.clear()
    begin = perf_counter()
    target.read(text, lambda: False)
    pass_ms(target, 1, 1)
    reading = 1000 * (perf_counter() - begin)
    return pass_ms(target, 1, 1), pass_ms(target, width, width), reading
