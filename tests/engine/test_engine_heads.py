"""The engine with heads: they change no token, and every way of leaving an answer leaves them in order."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from specchat_engine import DecodeError, Engine, LoadOptions, Message, PairError, SamplingParams, Session, Settings
from specchat_engine.codec import to_json
from specchat_engine.settings import UNAIDED
from support.conversations import PROMPTS, answers
from support.heads import random_eagle, random_medusa, random_predicting, random_speculator
from support.tiny_models import EngineFiles, write_tiny_model

OPTIONS = LoadOptions(threads=1)
KINDS = ("eagle3", "mtp", "three layers", "medusa", "mlp")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("heads") / "target.gguf", layers=3)


@pytest.fixture(scope="module", params=KINDS)
def paths(
    request: pytest.FixtureRequest, target: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, str]:
    """A target, its head and the head's drafter."""
    folder = tmp_path_factory.mktemp(request.param.replace(" ", "-"))
    path = folder / "head.gguf"
    if request.param in ("medusa", "mlp"):
        path = folder / "head.safetensors"
        (random_medusa if request.param == "medusa" else random_speculator)(path, target)
        return target, str(path), request.param
    if request.param == "eagle3":
        random_eagle(path, target)
        return target, str(path), "eagle3"
    random_predicting(path, target, 1 if request.param == "mtp" else 3)
    return path, "mtp", "mtp"


@pytest.fixture(scope="module")
def engine(paths: tuple[Path, str, str]) -> Iterator[Engine]:
    with Engine.load(*paths[:2], OPTIONS) as engine:
        yield engine


def session_of(engine: Engine, drafter: str, seed: int = 5, **changes: object) -> Session:
    settings = Settings(**({"k": 4, "max_tokens": 50} | changes))  # type: ignore[arg-type]
    return engine.session(settings=replace(settings, drafter=drafter), seed=seed)


def head_of(engine: Engine) -> str:
    assert engine.head is not None
    return engine.head.name


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_text_does_not_depend_on_the_head_or_k(engine: Engine, temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    plain = answers(session_of(engine, "none", sampling=sampling))
    for k in (1, 4, 8, "auto"):
        drafted = session_of(engine, head_of(engine), sampling=sampling, k=k)
        assert answers(drafted) == plain, k
        assert k == "auto" or drafted.stats.num_draft_tokens > 0
    for k in (4, "auto"):
        assert answers(session_of(engine, "hybrid", sampling=sampling, k=k)) == plain, k


@pytest.mark.parametrize("verifier", ["rejection", "block"])
def test_rules_that_compare_p_with_q_get_the_heads_q(engine: Engine, verifier: str) -> None:
    session = session_of(engine, head_of(engine), verifier=verifier)
    found = list(session.generate("Hello"))
    drafted = [token for event in found for token in event.drafted]
    assert drafted
    assert all(token.q is not None and 0 < token.q <= 1 for token in drafted)


def test_rounds_name_the_head_and_time_its_passes(engine: Engine) -> None:
    session = session_of(engine, head_of(engine))
    rounds = [event for event in session.generate("Hello") if event.drafted]
    assert {event.source for event in rounds} == {head_of(engine)}
    assert session.stats.draft_ms > 0
    line = session.start_line()
    assert line["head"] == to_json(engine.head)


def test_the_second_turn_equals_that_of_a_fresh_session(engine: Engine) -> None:
    long = session_of(engine, head_of(engine))
    answers(long)
    fresh = session_of(engine, head_of(engine))
    fresh.messages = long.messages[:-2]
    assert answers(fresh, PROMPTS[1:]) == [long.text]


def test_an_edit_and_a_branch_answer_as_a_fresh_session(engine: Engine) -> None:
    session = session_of(engine, head_of(engine))
    answers(session)
    edited = [Message("user", "Hello here"), *session.messages[1:3]]
    for _ in session.answer(edited, turn=1):
        pass
    one, stats = session.text, session.stats
    other = session_of(engine, "none")
    for _ in other.answer(edited, turn=1):
        pass
    assert one == other.text
    assert stats.num_draft_tokens > 0


def test_a_cancel_leaves_the_session_as_a_fresh_one(engine: Engine) -> None:
    session = session_of(engine, head_of(engine))
    for number, _ in enumerate(session.generate("Hello there")):
        if number == 3:
            session.cancel()
    assert session.end_reason == "cancelled"
    session.messages.clear()
    assert answers(session) == answers(session_of(engine, "none"))


def test_switching_drafters_in_mid_answer_changes_no_token(engine: Engine) -> None:
    plain = answers(session_of(engine, "none", max_tokens=80))
    session = session_of(engine, head_of(engine), max_tokens=80)
    turns = [head_of(engine), "lookup", "none", head_of(engine), "hybrid"]
    texts = []
    for prompt in PROMPTS:
        for number, _ in enumerate(session.generate(prompt)):
            session.settings = replace(session.settings, drafter=turns[number // 3 % len(turns)])
        texts.append(session.text)
    assert texts == plain


def test_a_full_context_ends_the_answer(paths: tuple[Path, str, str]) -> None:
    with Engine.load(*paths[:2], replace(OPTIONS, n_ctx=256)) as engine:
        session = session_of(engine, paths[2], max_tokens=0, sampling=SamplingParams(logit_bias=((2, -100.0),)))
        answers(session, PROMPTS[:1])
        plain = session_of(engine, "none", max_tokens=0, sampling=SamplingParams(logit_bias=((2, -100.0),)))
        assert answers(plain, PROMPTS[:1]) == [session.text]
        assert session.end_reason == plain.end_reason


def test_a_restored_memory_has_no_states_and_answers_the_same(paths: tuple[Path, str, str], tmp_path: Path) -> None:
    with Engine.load(*paths[:2], OPTIONS) as engine:
        session = session_of(engine, paths[2])
        expected = answers(session)
        engine.forget()
        again = session_of(engine, paths[2])
        answers(again, PROMPTS[:1])
        engine.save_memory(tmp_path)
    with Engine.load(*paths[:2], OPTIONS) as engine:
        assert engine.restore_memory(tmp_path)
        restored = session_of(engine, paths[2])
        restored.messages = again.messages
        assert answers(restored, PROMPTS[1:]) == expected[1:]
        assert restored.stats.num_draft_tokens > 0


def test_an_inspection_shows_what_the_head_predicts(engine: Engine) -> None:
    session = session_of(engine, head_of(engine), sampling=SamplingParams(temperature=0.0))
    answers(session, PROMPTS[:1])
    inspection = session.inspect(5)
    assert all(token.q is not None and token.raw_q is not None for token in inspection.tokens)
    assert sum(token.raw_q or 0 for token in inspection.tokens) <= 1.0001


def test_measuring_times_the_head_and_leaves_its_memory_as_it_was(engine: Engine) -> None:
    answers(session_of(engine, head_of(engine)))
    list(engine.measuring())
    assert engine.controller.costs_of(head_of(engine)).by_threads.current.total > 0
    assert answers(session_of(engine, head_of(engine))) == answers(session_of(engine, "none"))


def test_a_closed_engine_is_an_error_and_no_crash(paths: tuple[Path, str, str]) -> None:
    engine = Engine.load(*paths[:2], OPTIONS)
    session = session_of(engine, paths[2])
    rounds = session.generate("Hello")
    next(rounds)
    engine.close()
    with pytest.raises(DecodeError, match="was closed"):
        list(rounds)
    engine.close()


def test_a_head_a_draft_model_and_lookup_draft_side_by_side(target: Path, files: EngineFiles, tmp_path: Path) -> None:
    head = tmp_path / "head.gguf"
    random_eagle(head, files.target, layers=(0, 1, 1))
    with Engine.load(files.target, files.draft, replace(OPTIONS, head=str(head))) as engine:
        assert engine.drafters[:4] == ("hybrid", "model", "eagle3", "lookup")
        plain = answers(session_of(engine, "none"))
        sources = set()
        for drafter in ("model", "eagle3", "lookup", "hybrid"):
            session = session_of(engine, drafter, k="auto" if drafter == "hybrid" else 4)
            texts = []
            for prompt in PROMPTS:
                sources |= {event.source for event in session.generate(prompt)}
                texts.append(session.text)
            assert texts == plain
        assert sources >= {"model", "eagle3", "lookup"}
        assert engine.memory_use.draft_weights == files.draft.stat().st_size or engine.memory_use.draft_weights


def test_costs_are_measured_for_the_threads_that_rounds_are_planned_with(files: EngineFiles, tmp_path: Path) -> None:
    head = tmp_path / "head.gguf"
    random_eagle(head, files.target, layers=(0, 1, 1))
    options = LoadOptions(threads=2, threads_draft=1, head=str(head))
    with Engine.load(files.target, files.draft, options) as engine:
        list(engine.measuring())
        measured = {name: engine.controller.costs_of(name).by_threads.current.total for name in ("model", "eagle3")}
        assert all(measured.values())
        answers(session_of(engine, "hybrid", k="auto"))
        for name, total in measured.items():
            assert engine.controller.costs_of(name).by_threads.current.total >= total


def test_a_target_drafts_for_itself_unless_told_otherwise(target: Path, tmp_path: Path) -> None:
    path = tmp_path / "predicting.gguf"
    random_predicting(path, target)
    with Engine.load(path, None, OPTIONS) as engine:
        assert engine.drafters == ("hybrid", "mtp", "lookup", *UNAIDED, "none")
    with Engine.load(path, None, replace(OPTIONS, head="none")) as engine:
        assert engine.drafters == ("hybrid", "lookup", *UNAIDED, "none")
        assert engine.head is None


def test_mtp_of_a_target_without_such_layers_is_refused(target: Path) -> None:
    with pytest.raises(PairError, match=r"the target \(llama\) has no layers for multi-token prediction"):
        Engine.load(target, "mtp", OPTIONS)


def test_two_heads_are_refused(target: Path, tmp_path: Path) -> None:
    head = tmp_path / "head.gguf"
    random_eagle(head, target)
    with pytest.raises(PairError, match="name one head and one draft model"):
        Engine.load(target, head, replace(OPTIONS, head="mtp"))


def test_a_head_that_is_cut_off_ends_in_one_line(target: Path, tmp_path: Path) -> None:
    head, part = tmp_path / "head.gguf", tmp_path / "part.gguf"
    random_eagle(head, target)
    shutil.copy(head, part)
    with part.open("r+b") as file:
        file.truncate(head.stat().st_size - 5000)
    with pytest.raises(Exception, match=r"part\.gguf") as caught:
        Engine.load(target, part, OPTIONS)
    assert "\n" not in str(caught.value)


def test_a_smaller_vocabulary_of_the_head_is_mapped_to_the_targets(target: Path, tmp_path: Path) -> None:
    head, small = tmp_path / "head.gguf", tmp_path / "small.gguf"
    random_eagle(head, target)
    kept = np.arange(1, 200, 2)
    _with_mapping(head, small, kept)
    with Engine.load(target, small, OPTIONS) as engine:
        session = session_of(engine, "eagle3")
        assert answers(session) == answers(session_of(engine, "none"))
        ids = {token.id for event in session_of(engine, "eagle3").generate("Hi") for token in event.drafted}
        assert ids
        assert ids <= set(kept.tolist())
    _with_mapping(head, small, kept + 200)
    with pytest.raises(PairError, match="its d2t names tokens outside of 0 to 260"):
        Engine.load(target, small, OPTIONS)


def _with_mapping(head: Path, path: Path, ids: np.ndarray) -> None:
    """A copy of a head whose output has rows for these ids alone."""
    reader = gguf.GGUFReader(head)
    writer = gguf.GGUFWriter(path, "eagle3")
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            listed = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, field.contents(), field.types[0], sub_type=listed)
    width = 64
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    random = np.random.default_rng(3)
    writer.add_tensor("output.weight", random.standard_normal((len(ids), width)).astype(np.float32))
    writer.add_tensor("d2t", ids.astype(np.int64))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
