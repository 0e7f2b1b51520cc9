"""With exact on, the width of a pass changes no bit, and so no draft changes a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from specchat_engine import Engine, LoadOptions, SamplingParams, Session, SettingError, Settings
from specchat_engine.llama.kernels import has_exact_kernels
from specchat_engine.settings import DraftLength
from support.conversations import ask
from support.quantise import quantise
from support.tiny_models import EngineFiles, write_tiny_model

EXACT = LoadOptions(exact="on", threads=1, n_ctx=512)
TEXT = [(place * 31 + 7) % 250 for place in range(400)]

compiled = pytest.mark.skipif(not has_exact_kernels(), reason="this build of llama.cpp has one set of kernels")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A small model in any type of weights."""
    folder = tmp_path_factory.mktemp("models")
    source = write_tiny_model(folder / "F16.gguf", seed=1, layers=4, width=256, n_ctx=512, sharpness=0.1)

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
def test_no_pass_that_a_draft_may_have_changes_a_bit(model: Callable[[str], Path], kind: str, cache: str) -> None:
    options = LoadOptions(exact="on", threads=1, n_ctx=512, cache_type_k=cache, cache_type_v=cache)
    with Engine.load(model(kind), options=options) as engine:
        memory = engine.memory
        assert memory.max_rows > 1
        for depth in (40, 300):
            memory.read(TEXT[:depth], lambda: False)
            singly = [memory.advance([token], 1)[0].copy() for token in TEXT[depth : depth + memory.max_rows]]
            for width in range(2, memory.max_rows + 1):
                memory.rewind(depth)
                rows = memory.advance(TEXT[depth : depth + width], width)
                assert np.array_equal(rows, singly[:width]), (depth, width)


@compiled
@pytest.mark.parametrize("kind", ["F16", "Q8_0", "Q4_K_M"])
def test_a_prompt_that_is_read_in_two_parts_gives_the_same_bits(model: Callable[[str], Path], kind: str) -> None:
    prompt, after = TEXT[:261], TEXT[261:267]
    with Engine.load(model(kind), options=EXACT) as engine:
        memory = engine.memory
        memory.read(prompt, lambda: False)
        whole = memory.advance(after, len(after)).copy()
        for first in (3, 100, 250, 255, 259):
            memory.clear()
            memory.read(prompt[:first], lambda: False)
            memory.read(prompt, lambda: False)
            assert np.array_equal(memory.advance(after, len(after)), whole), first


@pytest.fixture(scope="module")
def pair(model: Callable[[str], Path]) -> Iterator[Engine]:
    """A quantised target, and a draft that is often right."""
    with Engine.load(model("Q4_K_M"), model("Q8_0"), EXACT) as engine:
        yield engine


DRAFTS: tuple[tuple[str, DraftLength], ...] = (
    ("model", 1), ("model", 6), ("lookup", 15), ("recycling", 3), ("hybrid", "auto"),
)  # fmt: skip


@compiled
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_no_draft_changes_a_text(pair: Engine, temperature: float) -> None:
    def session(drafter: str, k: DraftLength) -> Session:
        pair.forget()
        settings = Settings(drafter=drafter, k=k, sampling=SamplingParams(temperature=temperature), max_tokens=60)
        session = pair.session(settings=settings, seed=4)
        ask(session, "How do I begin?")
        return session

    plain = session("none", 0).answer_ids
    assert len({*plain}) > 2
    for drafter, k in DRAFTS:
        drafted = session(drafter, k)
        assert drafted.answer_ids == plain, (drafter, k)
        assert k == "auto" or drafted.stats.num_draft_tokens > 0, (drafter, k)


@compiled
def test_what_is_said_of_the_longest_draft_is_what_applies(pair: Engine) -> None:
    assert f"at most {pair.memory.max_rows - 1} tokens" in pair.exactness
    assert not pair.plain_because


def test_without_its_kernels_exact_decoding_is_plain_decoding(
    files: EngineFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.engine.has_exact_kernels", lambda: False)
    with Engine.load(files.target, options=EXACT) as engine:
        assert "no kernels" in engine.plain_because
        assert not engine.exactness


def test_trees_are_refused_with_the_reason(pair: Engine) -> None:
    with pytest.raises(SettingError, match="with exact on drafts are chains"):
        pair.check(Settings(drafter="model", tree=4))


@pytest.mark.parametrize(("name", "value"), [("parallel", 2), ("flash_attention", "on")])
def test_what_cannot_be_exact_is_refused(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{name} is .*exact"):
        LoadOptions(exact="on", **{name: value})
