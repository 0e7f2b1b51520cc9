"""Images on real files: a tiny target with a tiny projector. Speculation after an image changes nothing either."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_engine import (
    Engine,
    Image,
    LoadOptions,
    Message,
    ModelFileError,
    Prompt,
    SamplingParams,
    Session,
    SettingError,
    Settings,
)
from specchat_engine.analysis.audit import Case, audit
from specchat_engine.llama.mtmd import has_mtmd
from support.memory_models import write_memory_model
from support.tiny_models import EngineFiles, write_tiny_model
from support.vision_models import IMAGE_TOKENS, png, write_mrope_model, write_mrope_projector, write_projector

pytestmark = pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")

ONE, OTHER = Image(png(1)), Image(png(2, 30, 40))
QUESTION = "What is this? What is this?"
PLAIN = Settings(0, "none", sampling=SamplingParams(temperature=0.0), max_tokens=60, ngram_min=1)


@pytest.fixture(scope="module")
def projector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_projector(tmp_path_factory.mktemp("projector") / "mmproj.gguf")


def is_rope(engine: Engine) -> bool:
    """Whether its images take as many positions as tokens."""
    return engine.header.architecture == "llama"


@pytest.fixture(scope="module")
def options(projector: Path) -> LoadOptions:
    return LoadOptions(threads=1, mmproj=str(projector))


@pytest.fixture(scope="module", params=["rope", "mrope"])
def engine(
    request: pytest.FixtureRequest,
    files: EngineFiles,
    options: LoadOptions,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    """A tiny llama, and a tiny qwen2vl, whose images take fewer positions than tokens."""
    target = files.target
    if request.param == "mrope":
        folder = tmp_path_factory.mktemp("mrope")
        target = write_mrope_model(folder / "target.gguf", seed=7, like=1)
        options = replace(options, mmproj=str(write_mrope_projector(folder / "mmproj.gguf")))
    with Engine.load(target, files.draft, options) as engine:
        yield engine


def answer(session: Session, *images: Image, prompt: str = QUESTION) -> str:
    for _ in session.generate(prompt, images):
        pass
    return session.text


def alone(engine: Engine, *images: Image, settings: Settings = PLAIN) -> str:
    """An answer by an engine that has read nothing before."""
    engine.forget()
    return answer(engine.session(settings=settings, seed=5), *images)


def test_the_answer_depends_on_the_image(engine: Engine) -> None:
    texts = {
        alone(engine),
        alone(engine, ONE),
        alone(engine, OTHER),
        alone(engine, ONE, OTHER),
        alone(engine, OTHER, ONE),
    }
    assert len(texts) == 5


def test_an_image_is_so_many_tokens_of_the_prompt(engine: Engine) -> None:
    lengths = []
    for images in ((), (ONE,), (ONE, ONE)):
        session = engine.session(settings=PLAIN, seed=5)
        answer(session, *images)
        lengths.append(session.stats.prompt_tokens)
    newline = 1
    count = lengths[1] - lengths[0] - newline
    assert lengths[2] - lengths[0] == 2 * count + newline
    if is_rope(engine):
        assert count == IMAGE_TOKENS


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(("drafter", "k"), [("model", 1), ("model", 5), ("lookup", 8), ("recycling", 4)])
def test_speculation_after_an_image_leads_to_the_text_of_plain_decoding(
    engine: Engine, temperature: float, drafter: str, k: int
) -> None:
    settings = replace(PLAIN, sampling=SamplingParams(temperature=temperature))
    drafted = 0
    for images in ((ONE,), (OTHER, ONE)):
        plain = alone(engine, *images, settings=settings)
        session = engine.session(settings=replace(settings, drafter=drafter, k=k), seed=5)
        assert answer(session, *images) == plain
        drafted += session.stats.num_draft_tokens
    assert drafted


def test_a_tree_after_an_image_leads_to_the_same_text(engine: Engine) -> None:
    plain = alone(engine, ONE)
    settings = replace(PLAIN, drafter="model", k=6, tree=4)
    session = engine.session(settings=settings, seed=5)
    rounds = list(session.generate(QUESTION, (ONE,)))
    assert session.text == plain
    assert any(event.parents for event in rounds), "a tree was drafted"


def test_a_conversation_goes_on_from_the_image_that_is_in_memory(engine: Engine) -> None:
    engine.forget()
    session = engine.session(settings=PLAIN, seed=5)
    answer(session, ONE)
    read = session.stats.prompt_tokens
    second = answer(session, prompt="And now?")
    assert session.stats.cached_tokens >= read - 1
    messages = [Message("user", QUESTION, images=(ONE,)), *session.messages[1:-1]]
    engine.forget()
    for _ in session.answer(messages, 2):
        pass
    assert session.stats.cached_tokens == 0
    assert session.text == second


def test_another_image_of_the_same_size_is_read_anew(engine: Engine) -> None:
    expected = alone(engine, Image(png(3)))
    alone(engine, ONE)
    session = engine.session(settings=PLAIN, seed=5)
    assert answer(session, Image(png(3))) == expected
    before = "<|im_start|>user\n" if is_rope(engine) else "<|im_start|>user\n<|vision_start|>"
    assert session.stats.cached_tokens == len(engine.vocabulary.tokenize(before, special=True))


def test_placeholders_that_a_text_spells_out_are_no_image(engine: Engine) -> None:
    session = engine.session(settings=PLAIN, seed=5)
    answer(session, ONE)
    for _ in session.answer(Prompt(raw=session.prompt_ids), 1):
        pass
    assert session.stats.cached_tokens < 30


def test_a_position_after_an_image_can_be_inspected(engine: Engine) -> None:
    session = engine.session(settings=replace(PLAIN, drafter="model", k=4), seed=5)
    answer(session, ONE)
    said = session.answer_ids
    engine.forget()
    found = session.inspect(3)
    best = min(found.tokens, key=lambda token: token.rank)
    assert best.id == said[3]
    again = session.inspect(3, messages=[Message("user", QUESTION, images=(ONE,))], tokens=said)
    assert again.tokens == found.tokens


def test_saved_memories_know_their_images(engine: Engine, tmp_path: Path) -> None:
    text = alone(engine, ONE)
    engine.save_memory(tmp_path)
    engine.forget()
    assert engine.restore_memory(tmp_path)
    session = engine.session(settings=PLAIN, seed=5)
    assert answer(session, ONE) == text
    assert session.stats.cached_tokens == session.stats.prompt_tokens - 1
    assert engine.restore_memory(tmp_path)
    session = engine.session(settings=PLAIN, seed=5)
    answer(session, OTHER)
    assert session.stats.cached_tokens < 30


def test_the_audit_finds_no_unexplained_difference_after_images(engine: Engine) -> None:
    def session_for(settings: Settings) -> Session:
        session = engine.session(settings=settings, seed=5)
        session.messages += [Message("user", "Look at these.", images=(ONE, OTHER)), Message("assistant", "I see.")]
        return session

    cases = [
        Case("image", prompt, Settings(k, drafter, sampling=SamplingParams(temperature=temperature), max_tokens=40))
        for prompt in ("What do you see?", "aaa aaa aaa")
        for temperature in (0.0, 0.8)
        for drafter, k in (("model", 1), ("model", 6), ("lookup", 4), ("recycling", 3))
    ]
    found = audit(session_for, engine.memory, engine.vocabulary, cases)
    assert found.compared == len(cases)
    assert found.positions > 200
    assert not found.unexplained


def test_a_memory_that_cannot_drop_its_end_reads_the_image_again(tmp_path: Path, options: LoadOptions) -> None:
    path = write_memory_model(tmp_path / "recurrent.gguf", "mamba2")
    mmproj = str(write_projector(tmp_path / "mmproj.gguf", width=32))
    with Engine.load(path, None, replace(options, mmproj=mmproj)) as engine:
        plain = alone(engine, ONE)
        session = engine.session(settings=replace(PLAIN, drafter="lookup", k=6), seed=5)
        assert answer(session, ONE) == plain
        assert session.stats.num_draft_tokens


def test_old_turns_with_images_are_dropped_with_their_turns(files: EngineFiles, options: LoadOptions) -> None:
    with Engine.load(files.target, None, replace(options, n_ctx=256)) as engine:
        session = engine.session(settings=replace(PLAIN, max_tokens=40), seed=5)
        for _ in range(4):
            answer(session, ONE)
        assert any("dropped" in notice for notice in session.notices)


def test_a_model_without_a_projector_says_what_it_needs(files: EngineFiles) -> None:
    with Engine.load(files.target, None, LoadOptions(threads=1)) as engine:
        assert engine.no_images_because == (
            "target.gguf has no projector for images beside it: name one with --mmproj FILE"
        )
        with pytest.raises(SettingError, match="name one with --mmproj FILE"):
            answer(engine.session(settings=PLAIN, seed=5), ONE)


def test_a_projector_beside_the_model_is_found_and_loaded_with_the_first_image(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", seed=1, sharpness=0.15, n_ctx=1024)
    write_projector(tmp_path / "mmproj-f16.gguf")
    with Engine.load(target, None, LoadOptions(threads=1)) as found:
        assert not found.no_images_because
        (tmp_path / "mmproj-f16.gguf").rename(tmp_path / "away.gguf")
        with pytest.raises(ModelFileError, match="does not exist"):
            alone(found, ONE)
        (tmp_path / "away.gguf").rename(tmp_path / "mmproj-f16.gguf")
        assert alone(found, ONE) != alone(found)
    (tmp_path / "mmproj-f16.gguf").write_bytes(b"GGUF, but damaged")
    with Engine.load(target, None, LoadOptions(threads=1)) as found:
        assert alone(found)
        with pytest.raises(ModelFileError):
            alone(found, ONE)
    with Engine.load(target, None, LoadOptions(threads=1, mmproj="none")) as blind:
        assert "turned off" in blind.no_images_because


@pytest.mark.parametrize("data", [b"", b"no image", png(1)[:60]])
def test_what_is_no_image_is_one_line(engine: Engine, data: bytes) -> None:
    session = engine.session(settings=PLAIN, seed=5)
    with pytest.raises(SettingError, match="an image cannot be read") as caught:
        answer(session, Image(data))
    assert "\n" not in str(caught.value)
    assert answer(session, ONE)


def test_a_prompt_with_images_is_not_scored(engine: Engine) -> None:
    with pytest.raises(SettingError, match="images cannot be scored"):
        engine.session(settings=PLAIN).score([Message("user", "Hi", images=(ONE,))])


def test_a_projector_that_does_not_fit_is_one_line(tmp_path: Path, files: EngineFiles) -> None:
    narrow = write_projector(tmp_path / "mmproj.gguf", width=32)
    for path, why in (
        (files.target, "is a model and no projector"),
        (narrow, "use the model's own mmproj"),
        (tmp_path / "gone.gguf", "does not exist"),
    ):
        with pytest.raises(ModelFileError, match=why) as caught:
            Engine.load(files.target, None, LoadOptions(threads=1, mmproj=str(path)))
        assert "\n" not in str(caught.value)


def test_drafts_of_several_answers_at_once_see_their_own_images(files: EngineFiles, options: LoadOptions) -> None:
    with Engine.load(files.target, files.draft, replace(options, parallel=2)) as engine:
        settings = replace(PLAIN, drafter="model", k=4)
        at_once = [engine.session(settings=settings, seed=5, place=place) for place in (0, 1)]
        with ThreadPoolExecutor(2) as threads:
            texts = list(threads.map(answer, at_once, (ONE, OTHER)))
        assert all(session.stats.num_draft_tokens for session in at_once)
        engine.forget()
        for place, image in ((1, ONE), (0, OTHER)):
            session = engine.session(settings=PLAIN, seed=5, place=place)
            assert answer(session, image) == texts[1 - place]


def test_an_image_that_another_place_has_read_is_not_read_again(tmp_path: Path, options: LoadOptions) -> None:
    target = write_mrope_model(tmp_path / "target.gguf", seed=7)
    mmproj = str(write_mrope_projector(tmp_path / "mmproj.gguf"))
    with Engine.load(target, None, replace(options, mmproj=mmproj, parallel=2)) as engine:
        first, second = (engine.session(settings=PLAIN, seed=5, place=place) for place in (0, 1))
        text = answer(first, ONE, OTHER)
        assert answer(second, ONE, OTHER) == text
        assert second.stats.cached_tokens == second.stats.prompt_tokens - 1
