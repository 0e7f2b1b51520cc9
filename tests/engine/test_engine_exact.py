"""With exact on, the width of a pass changes no bit, and so no draft changes a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, Message, SamplingParams, SettingError, Settings
from specchat_engine.llama.kernels import has_exact_kernels
from support.quantise import quantise
from support.tiny_models import write_tiny_model

EXACT = LoadOptions(exact="on", threads=1, n_ctx=512)
TEXT = [(place * 31 + 7) % 250 for place in range(400)]

compiled = pytest.mark.skipif(not has_exact_kernels(), reason="this build of llama.cpp has one set of kernels")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A small model in any type of weights."""
    folder = tmp_path_factory.mktemp("models")
    source = write_tiny_model(folder / "F16.gguf", seed=1, layers=8, width=256, n_ctx=512)

    def written(kind: str) -> Path:
        path = folder / f"{kind}.gguf"
        if not path.exists():
            quantise(source, path, kind)
        return path

    return written


@compiled
@pytest.mark.parametrize(
    ("kind", "cache"),
    [
        *((kind, "f16") for kind in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K_M", "Q6_K")),
        ("Q4_K_M", "q8_0"),
    ],
)
@pytest.mark.parametrize("depth", [40, 300])
def test_no_pass_that_a_draft_may_have_changes_a_bit(
    model: Callable[[str], Path], kind: str, cache: str, depth: int
) -> None:
    options = LoadOptions(exact="on", threads=1, n_ctx=512, cache_type_k=cache, cache_type_v=cache)
    with Engine.load(model(kind), options=options) as engine:
        memory = engine.memory
        memory.read(TEXT[:depth], lambda: False)
        singly = [memory.advance([token], 1)[0].copy() for token in TEXT[depth : depth + 16]]
        assert memory.max_rows > 1
        for width in range(2, memory.max_rows + 1):
            memory.rewind(depth)
            rows = memory.advance(TEXT[depth : depth + width], width)
            assert np.array_equal(rows, singly[:width]), width


@compiled
@pytest.mark.parametrize("kind", ["F16", "Q8_0", "Q4_K_M"])
@pytest.mark.parametrize("first", [3, 100, 250, 255, 259])
def test_a_prompt_that_is_read_in_two_parts_gives_the_same_bits(
    model: Callable[[str], Path], kind: str, first: int
) -> None:
    prompt, after = TEXT[:261], TEXT[261:267]
    with Engine.load(model(kind), options=EXACT) as engine:
        memory = engine.memory
        memory.read(prompt, lambda: False)
        whole = memory.advance(after, len(after)).copy()
        memory.clear()
        memory.read(prompt[:first], lambda: False)
        memory.read(prompt, lambda: False)
        assert np.array_equal(memory.advance(after, len(after)), whole)


@pytest.fixture(scope="module")
def pair() -> Iterator[Engine]:
    with Engine.load(*builtin_pair(), EXACT) as engine:
        yield engine


@compiled
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(
    ("drafter", "k"), [("model", 1), ("model", 6), ("lookup", 15), ("recycling", 3), ("hybrid", "auto")]
)
def test_no_draft_changes_a_text(pair: Engine, temperature: float, drafter: str, k: int) -> None:
    def ids(drafter: str, k: int) -> list[int | None]:
        pair.forget()
        sampling = SamplingParams(temperature=temperature)
        session = pair.session(settings=Settings(drafter=drafter, k=k, sampling=sampling, max_tokens=60), seed=4)
        return [token.id for each in session.answer([Message("user", "How do I begin?")], 0) for token in each.emitted]

    assert ids(drafter, k) == ids("none", 0)


@compiled
def test_what_is_said_of_the_longest_draft_is_what_applies(pair: Engine) -> None:
    assert f"at most {pair.memory.max_rows - 1} tokens" in pair.exactness
    assert not pair.plain_because


def test_without_its_kernels_exact_decoding_is_plain_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.engine.has_exact_kernels", lambda: False)
    with Engine.load(builtin_pair()[0], options=EXACT) as engine:
        assert "no kernels" in engine.plain_because
        assert not engine.exactness


def test_trees_are_refused_with_the_reason(pair: Engine) -> None:
    with pytest.raises(SettingError, match="with exact on drafts are chains"):
        pair.check(Settings(drafter="model", tree=4))


@pytest.mark.parametrize(("name", "value"), [("parallel", 2), ("flash_attention", "on")])
def test_what_cannot_be_exact_is_refused(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{name} is .*exact"):
        LoadOptions(exact="on", **{name: value})
