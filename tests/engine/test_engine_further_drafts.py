"""Several draft models of one target: each drafts under its own name, none changes a token, one can be exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_engine import Engine, LoadOptions, PairError, SamplingParams, Settings
from specchat_engine.errors import DecodeError, ModelFileError
from specchat_engine.llama import context
from specchat_engine.llama.context import LlamaContext
from specchat_engine.pairing import several
from support import conversations
from support.conversations import PROMPTS
from support.heads import random_eagle
from support.tiny_models import EngineFiles, write_tiny_model

OPTIONS = LoadOptions(threads=1)


@pytest.fixture(scope="module")
def engine(files: EngineFiles) -> Iterator[Engine]:
    options = replace(OPTIONS, drafts=(str(files.short), str(files.stranger)))
    with Engine.load(files.target, files.draft, options) as engine:
        yield engine


def answers(engine: Engine, drafter: str, **changes: object) -> list[str]:
    settings = Settings(**({"k": 4, "max_tokens": 50, "drafter": drafter} | changes))  # type: ignore[arg-type]
    return conversations.answers(engine.session(settings=settings, seed=5))


def test_each_draft_model_has_a_name_its_own_description_and_its_own_context(
    engine: Engine, files: EngineFiles
) -> None:
    assert engine.drafters[:4] == ("hybrid", "model", "model-2", "model-3")
    assert [info.n_ctx for info in engine.further.values()] == [256, 512]
    assert [Path(info.path) for info in engine.further.values()] == [files.short, files.stranger]


@pytest.mark.parametrize("drafter", ["model", "model-2", "model-3", "hybrid"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_text_is_the_same_whoever_drafts(engine: Engine, drafter: str, temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    engine.forget()
    drafted = answers(engine, drafter, k="auto" if drafter == "hybrid" else 4, sampling=sampling)
    engine.forget()
    assert drafted == answers(engine, "none", k=0, sampling=sampling)


def test_rounds_say_which_of_them_drafted(engine: Engine) -> None:
    session = engine.session(settings=Settings(drafter="model-2", k=4, max_tokens=40), seed=5)
    sources = {event.source for event in session.generate("Hello there") if event.drafted}
    assert sources == {"model-2"}
    assert session.stats.draft_ms > 0


def test_the_costs_of_each_are_measured_under_its_name(engine: Engine) -> None:
    for _ in engine.measuring():
        pass
    for name in ("model", "model-2"):
        assert engine.controller.costs_of(name).by_threads.current.seen(1)


def test_their_memories_are_saved_and_restored(engine: Engine, tmp_path: Path) -> None:
    answers(engine, "model-2")
    engine.save_memory(tmp_path)
    assert (tmp_path / "model-2.state").exists()
    engine.forget()
    assert engine.restore_memory(tmp_path)


def test_files_may_be_draft_models_and_one_head_in_any_order(files: EngineFiles, tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", layers=3)
    head = tmp_path / "head.gguf"
    random_eagle(head, target)
    draft = str(files.draft)
    assert several(head, [draft], "auto") == (draft, [], str(head))
    assert several(draft, [str(head), str(files.short)], "auto") == (draft, [str(files.short)], str(head))
    assert several(draft, [], "none") == (draft, [], "none")
    with pytest.raises(PairError, match="a target can have one of them"):
        several(head, [str(head)], "auto")


def test_a_further_draft_that_does_not_fit_or_is_missing_is_one_line(files: EngineFiles, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"gone\.gguf"):
        Engine.load(files.target, files.draft, replace(OPTIONS, drafts=(str(tmp_path / "gone.gguf"),)))


def test_a_draft_that_is_added_drafts_from_the_next_answer_on(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, OPTIONS) as engine:
        plain = answers(engine, "none", k=0)
        engine.forget()
        session = engine.session(settings=Settings(drafter="model", k=4, max_tokens=50), seed=5)
        list(session.generate(PROMPTS[0]))
        assert engine.add_draft(files.short) == "model-2"
        assert engine.drafters[:3] == ("hybrid", "model", "model-2")
        session.settings = replace(session.settings, drafter="model-2")
        sources = {event.source for event in session.generate(PROMPTS[1]) if event.drafted}
        assert sources == {"model-2"}
        assert session.text == plain[1]
        engine.use_threads(2, 1)
        assert engine.threads.in_force.draft == 1
        with pytest.raises(PairError, match="none is loaded"):
            engine.exchange_draft(files.draft, "model-7")
        engine.exchange_draft(files.draft, "model-2")
        assert Path(engine.further["model-2"].path) == files.draft


def test_a_draft_is_exchanged_between_two_answers(files: EngineFiles, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", seed=9)
    with Engine.load(files.target, files.draft, OPTIONS) as engine:
        before = answers(engine, "model")
        session = engine.session(settings=Settings(drafter="model", k=4, max_tokens=50), seed=5)
        list(session.generate(PROMPTS[0]))
        first = session.stats.num_accepted_tokens
        engine.exchange_draft(other)
        assert engine.draft is not None
        assert Path(engine.draft.path) == other
        list(session.generate(PROMPTS[1]))
        assert [before[0], session.text] == before
        assert session.stats.num_draft_tokens > 0
        engine.exchange_draft(files.draft)
        engine.forget()
        session = engine.session(settings=Settings(drafter="model", k=4, max_tokens=50), seed=5)
        list(session.generate(PROMPTS[0]))
        assert session.stats.num_accepted_tokens == first
        with pytest.raises(PairError, match="is not a version of"):
            engine.exchange_draft(files.stranger)
    with (
        Engine.load(files.target, options=OPTIONS) as alone,
        pytest.raises(PairError, match="none is loaded"),
    ):
        alone.exchange_draft(other)


def test_a_draft_that_does_not_decode_leaves_the_one_before(
    files: EngineFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(files.draft.read_bytes())
    with Engine.load(files.target, files.draft, OPTIONS) as engine:
        before = answers(engine, "model")
        probe_rollback = context.probe_rollback

        def fails_for_the_new_one(text: LlamaContext, *more: object) -> bool:
            if text.model.path == broken:
                raise DecodeError("no logits")
            return probe_rollback(text, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(context, "probe_rollback", fails_for_the_new_one)
        with pytest.raises(ModelFileError, match="does not decode"):
            engine.exchange_draft(broken)
        engine.forget()
        assert answers(engine, "model") == before
