"""What a session asks of the engine beyond answers: branches, closer looks, kept memories, costs and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine_process.conftest import OPTIONS, process_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import (
    ChatMessage,
    Ended,
    Event,
    Generate,
    Inspect,
    Inspected,
    Kept,
    Loaded,
    Recalled,
    Started,
    TaskFailed,
)
from specchat.texts import Collections, vocabulary_key
from specchat_assets import builtin_pair
from specchat_engine import Inspection, LoadOptions, Settings
from specchat_engine.decoding.rounds import Outcome, Round
from specchat_engine.gguf import read_model
from specchat_engine.llama.model import LlamaModel
from specchat_engine.sampling.params import SamplingParams
from support.memory_models import tells_weights
from support.tiny_models import TinyModels

HELLO = (ChatMessage("user", "What is speculative decoding?"),)
STORY = (ChatMessage("user", "Tell me a short story about a fox."),)
SETTINGS = Settings(k=4, max_tokens=40)
MANY = 10**9


def answer(client: LocalClient, prefix: Sequence[int] | str = (), settings: Settings = SETTINGS) -> list[Event]:
    given = prefix if isinstance(prefix, str) else tuple(prefix)
    return list(client.generate(Generate(HELLO, seed=7, settings=settings, prefix=given)))


def ids_of(events: list[Event]) -> list[int]:
    """The tokens that the rounds emitted."""
    ids: list[int] = []
    for event in events:
        if isinstance(event, Round):
            ids += [token.id for token in event.drafted if token.outcome is Outcome.ACCEPTED]
            ids += [event.token.id] if event.token.id is not None else []
    return ids


def end_of(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended)
    return events[-1]


def inspect(
    client: LocalClient,
    ids: Sequence[int],
    position: int,
    asked: Sequence[int],
    settings: Settings,
    sharpness: float = 1.0,
) -> Inspection:
    *_, last = client.inspect(
        Inspect(HELLO, ids, position, asked=asked, sharpness=sharpness, seed=7, settings=settings)
    )
    assert isinstance(last, Inspected)
    return last.inspection


@pytest.fixture
def builtin(client: LocalClient) -> LocalClient:
    """A client with the built-in pair."""
    *_, last = client.load(*builtin_pair(), LoadOptions(threads=1, n_ctx=1024))
    assert isinstance(last, Loaded)
    return client


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_an_answer_of_the_built_in_pair_goes_on_from_any_token_of_it(builtin: LocalClient, temperature: float) -> None:
    settings = replace(SETTINGS, sampling=SamplingParams(temperature=temperature))
    whole = answer(builtin, settings=settings)
    ids = ids_of(whole)
    for length, k in ((1, 0), (7, 4), (20, "auto")):
        events = answer(builtin, ids[:length], replace(settings, k=k))  # type: ignore[arg-type]
        assert end_of(events).text == end_of(whole).text
        assert ids_of(events) == ids[length:]
        started = next(event for event in events if isinstance(event, Started))
        assert started.line["prefix"] == ids[:length]
        assert end_of(whole).text.startswith(started.line["prefix_text"])


def test_the_built_in_pair_drafts_in_every_fourth_round_whatever_that_costs(builtin: LocalClient) -> None:
    blunt = replace(SETTINGS, k="auto", drafter="model", sharpness=0.1, sampling=SamplingParams(temperature=1.5))
    for turn in range(3):
        events = builtin.generate(Generate(STORY, turn=turn, seed=7, settings=replace(blunt, max_tokens=100)))
        rounds = [event for event in events if isinstance(event, Round)]
        drafted = [bool(event.drafted) for event in rounds[:-1]]  # the last may have no room for a draft
        assert all(any(drafted[at : at + 4]) for at in range(len(drafted) - 3))


def test_an_answer_of_the_built_in_pair_goes_on_from_an_edited_text(builtin: LocalClient) -> None:
    text = "  It is a trick,\n1. «drafts»"
    answers = [answer(builtin, text, replace(SETTINGS, k=k)) for k in (0, 4)]
    assert end_of(answers[0]).text == end_of(answers[1]).text
    assert end_of(answers[0]).text.startswith(text)
    assert any(event.drafted for event in answers[1] if isinstance(event, Round))


def test_an_inspection_gives_the_probabilities_of_the_rounds(builtin: LocalClient) -> None:
    warm = replace(SETTINGS, drafter="model", sampling=SamplingParams(temperature=3.0, top_p=1.0, min_p=0.001))
    events = answer(builtin, settings=warm)
    ids, position = ids_of(events), 0
    outcomes = set()
    for event in events:
        if not isinstance(event, Round):
            continue
        for place, token in enumerate(event.drafted):
            if token.p is None:
                break
            found = inspect(builtin, ids, position + place, [token.id], warm, event.sharpness)
            assert found.of(token.id).p == pytest.approx(token.p, abs=0.02)
            assert found.of(token.id).q == pytest.approx(token.q, abs=0.02)
            if token.outcome is Outcome.REJECTED:
                assert found.said == event.token.id
                assert found.of(found.said).p == pytest.approx(event.token.p, abs=0.02)
            outcomes.add(token.outcome)
        position += event.num_emitted
    assert outcomes == {Outcome.ACCEPTED, Outcome.REJECTED}
    assert end_of(answer(builtin, settings=warm)).text == end_of(events).text


def test_a_branch_begins_with_a_rejected_token(loaded: LocalClient) -> None:
    events = answer(loaded)
    ids, position = ids_of(events), 0
    rounds = [event for event in events if isinstance(event, Round)]
    for event in rounds:
        rejected = [token for token in event.drafted if token.outcome is Outcome.REJECTED]
        if rejected:
            prefix = [*ids[: position + event.num_accepted], rejected[0].id]
            branch = answer(loaded, prefix)
            assert end_of(branch).reason == "length"
            assert len(ids_of(branch)) == 40 - len(prefix)
            return
        position += event.num_emitted
    pytest.fail("no token was rejected")


@pytest.mark.parametrize("prefix", [(10**6,), (-1,), tuple(range(3, 10)) * 10])
def test_a_prefix_that_cannot_be_is_one_failure(loaded: LocalClient, prefix: tuple[int, ...]) -> None:
    (failure,) = answer(loaded, prefix)
    assert isinstance(failure, TaskFailed)
    assert "the answer is to begin with" in failure.message
    assert end_of(answer(loaded)).text


def test_a_place_that_is_not_there_is_one_failure(loaded: LocalClient) -> None:
    (failure,) = loaded.inspect(Inspect(HELLO, (5, 6), 2, seed=7, settings=SETTINGS))
    assert failure == TaskFailed("there is no position 2 in an answer of 2 tokens: use 0 to 1", asked_wrong=True)


def test_what_was_read_survives_the_process(loaded: LocalClient, tmp_path: Path) -> None:
    text = end_of(answer(loaded)).text
    assert list(loaded.keep(tmp_path / "kept", limit=MANY)) == [Kept(True)]
    process = process_of(loaded)
    process.kill()
    process.wait()
    assert list(loaded.keep(tmp_path / "other", limit=MANY)) == [
        Kept(False, "no model is loaded: nothing was read that could be kept")
    ]
    *before, last = loaded.recall(tmp_path / "kept")
    assert last == Recalled(True)
    assert any(isinstance(event, Loaded) for event in before)
    again = end_of(answer(loaded))
    assert again.text == text
    assert list(loaded.recall(tmp_path / "nothing")) == [Recalled(False)]


def test_caches_that_are_too_large_are_not_kept_and_the_reason_is_given(loaded: LocalClient, tmp_path: Path) -> None:
    answer(loaded)
    (kept,) = loaded.keep(tmp_path / "kept", limit=10)
    assert isinstance(kept, Kept)
    assert not kept.ok
    assert "more than the limit of 0.0 MiB" in kept.message
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_is_reported(loaded: LocalClient, tmp_path: Path) -> None:
    answer(loaded)
    (tmp_path / "taken").touch()
    (kept,) = loaded.keep(tmp_path / "taken", limit=MANY)
    assert isinstance(kept, Kept)
    assert "cannot be saved" in kept.message


def test_before_a_model_is_loaded_nothing_can_be_asked(client: LocalClient, tmp_path: Path) -> None:
    nothing = [TaskFailed("no model is loaded yet")]
    assert list(client.inspect(Inspect(HELLO, (1,), 0, seed=1, settings=SETTINGS))) == nothing
    assert list(client.recall(tmp_path)) == nothing
    (kept,) = client.keep(tmp_path / "kept", limit=MANY)
    assert isinstance(kept, Kept)
    assert not kept.ok


def test_the_end_tells_costs_and_the_load_tells_memory(client: LocalClient, tiny_models: TinyModels) -> None:
    *_, last = client.load(tiny_models.target, tiny_models.draft, OPTIONS)
    assert isinstance(last, Loaded)
    assert tells_weights(last.memory.target_weights, last.target.size_bytes)
    assert last.memory.target_cache
    assert last.memory.compute
    costs = end_of(answer(client, settings=replace(SETTINGS, k="auto"))).costs
    widths = [width for width, _ in costs.verify]
    assert 1 in widths
    assert widths == sorted(widths)
    assert all(milliseconds > 0 for _, milliseconds in costs.verify)


def test_a_predicted_text_is_drafted_by_lookup(builtin: LocalClient) -> None:
    settings = Settings(k=8, drafter="lookup", max_tokens=40, sampling=SamplingParams(temperature=0))
    plain = end_of(answer(builtin, settings=settings))
    events = list(builtin.generate(Generate(HELLO, seed=7, settings=settings, prediction=plain.text)))
    assert end_of(events).text == plain.text
    assert end_of(events).stats["num_rounds"] < plain.stats["num_rounds"] / 3


def test_a_store_drafts_and_can_be_switched_off_between_answers(client: LocalClient, tmp_path: Path) -> None:
    settings = Settings(k=8, drafter="store", max_tokens=30, sampling=SamplingParams(temperature=0))
    target, _ = builtin_pair()
    header, collections = read_model(target), Collections()
    (tmp_path / "said.txt").write_text("nothing yet")
    collections.add("said", [str(tmp_path / "said.txt")])
    model = LlamaModel(target, gpu_layers=0, vocabulary_only=True)

    def index() -> None:
        collections.update("said", vocabulary_key(header), lambda text: model.vocabulary.tokenize(text, special=False))

    index()
    *_, last = client.load(target, None, LoadOptions(threads=1, n_ctx=1024))
    assert isinstance(last, Loaded)
    assert "store" in last.drafters
    plain = end_of(answer(client, settings=settings))
    (tmp_path / "said.txt").write_text(f"Somebody said: {plain.text}")
    index()
    fast = end_of(answer(client, settings=settings))
    assert fast.text == plain.text
    assert fast.stats["num_accepted_tokens"] > plain.stats["num_accepted_tokens"] + 10
    collections.turn("said", on=False)
    assert end_of(answer(client, settings=settings)).stats["num_draft_tokens"] == 0
    model.close()
