"""What a session asks of the engine beyond answers: branches, closer looks, kept memories, costs and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine_process.conftest import OPTIONS, last_of, load, only, process_of
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
from specchat_engine import Inspection, Settings
from specchat_engine.decoding.rounds import Outcome, Round
from specchat_engine.gguf import read_model
from specchat_engine.llama.model import LlamaModel
from specchat_engine.sampling.params import SamplingParams
from support.memory_models import weights_agree
from support.tiny_models import TinyModels

HELLO = (ChatMessage("user", "What is speculative decoding?"),)
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
    return last_of(Ended, events)


def inspect(
    client: LocalClient,
    ids: Sequence[int],
    position: int,
    asked: Sequence[int],
    settings: Settings,
    sharpness: float = 1.0,
) -> Inspection:
    request = Inspect(HELLO, ids, position, asked=asked, sharpness=sharpness, seed=7, settings=settings)
    return last_of(Inspected, client.inspect(request)).inspection


def test_an_answer_goes_on_from_any_token_of_it(loaded: LocalClient) -> None:
    whole = answer(loaded)
    ids = ids_of(whole)
    for length, k in ((1, 0), (7, 4), (20, "auto")):
        events = answer(loaded, ids[:length], replace(SETTINGS, k=k))  # type: ignore[arg-type]
        assert end_of(events).text == end_of(whole).text
        assert ids_of(events) == ids[length:]
        started = next(event for event in events if isinstance(event, Started))
        assert started.line["prefix"] == ids[:length]


def test_an_answer_goes_on_from_an_edited_text_and_drafts_change_nothing(loaded: LocalClient) -> None:
    text = "  It is a trick,\n1. «drafts»"
    plain, drafted = (answer(loaded, text, replace(SETTINGS, k=k)) for k in (0, 4))
    assert end_of(plain).text == end_of(drafted).text
    assert end_of(plain).text.startswith(text)
    assert any(event.drafted for event in drafted if isinstance(event, Round))


def test_an_inspection_gives_the_probabilities_of_the_rounds(loaded: LocalClient) -> None:
    settings = replace(SETTINGS, drafter="model", max_tokens=12)
    events = answer(loaded, settings=settings)
    ids, position = ids_of(events), 0
    outcomes = set()
    for event in events:
        if not isinstance(event, Round):
            continue
        for place, token in enumerate(event.drafted):
            if token.p is None:
                break
            found = inspect(loaded, ids, position + place, [token.id], settings, event.sharpness)
            assert found.of(token.id).p == pytest.approx(token.p, abs=0.02)
            assert found.of(token.id).q == pytest.approx(token.q, abs=0.02)
            if token.outcome is Outcome.REJECTED:
                assert found.said == event.token.id
                assert found.of(found.said).p == pytest.approx(event.token.p, abs=0.02)
            outcomes.add(token.outcome)
        position += event.num_emitted
    assert outcomes == {Outcome.ACCEPTED, Outcome.REJECTED}
    assert end_of(answer(loaded, settings=settings)).text == end_of(events).text


def test_what_no_answer_has_is_one_failure(loaded: LocalClient) -> None:
    failure = only(TaskFailed, answer(loaded, (10**6,)))
    assert "the answer is to begin with" in failure.message
    (failure,) = loaded.inspect(Inspect(HELLO, (5, 6), 2, seed=7, settings=SETTINGS))
    assert failure == TaskFailed("there is no position 2 in an answer of 2 tokens: use 0 to 1", asked_wrong=True)
    assert end_of(answer(loaded)).text


def test_what_was_read_survives_the_process(own: LocalClient, tmp_path: Path) -> None:
    text = end_of(answer(own)).text
    assert list(own.keep(tmp_path / "kept", limit=MANY)) == [Kept(True)]
    process = process_of(own)
    process.kill()
    process.wait()
    assert list(own.keep(tmp_path / "other", limit=MANY)) == [
        Kept(False, "no model is loaded: nothing was read that could be kept")
    ]
    *before, last = own.recall(tmp_path / "kept")
    assert last == Recalled(True)
    assert any(isinstance(event, Loaded) for event in before)
    again = end_of(answer(own))
    assert again.text == text
    assert list(own.recall(tmp_path / "nothing")) == [Recalled(False)]


def test_caches_that_cannot_be_kept_are_a_reason(loaded: LocalClient, tmp_path: Path) -> None:
    answer(loaded)
    (tmp_path / "taken").touch()
    for folder, limit, reason in (
        ("large", 10, "more than the limit of 0.0 MiB"),
        ("taken", MANY, "cannot be saved"),
    ):
        kept = only(Kept, loaded.keep(tmp_path / folder, limit=limit))
        assert not kept.ok
        assert reason in kept.message
    assert not (tmp_path / "large").exists()


def test_before_a_model_is_loaded_nothing_can_be_asked(fresh: LocalClient, tmp_path: Path) -> None:
    nothing = [TaskFailed("no model is loaded yet")]
    assert list(fresh.inspect(Inspect(HELLO, (1,), 0, seed=1, settings=SETTINGS))) == nothing
    assert list(fresh.recall(tmp_path)) == nothing
    kept = only(Kept, fresh.keep(tmp_path / "kept", limit=MANY))
    assert not kept.ok


def test_the_end_reports_costs_and_the_load_reports_memory(client: LocalClient, tiny_models: TinyModels) -> None:
    last = load(client, tiny_models)
    assert weights_agree(last.memory.target_weights, last.target.size_bytes)
    assert last.memory.target_cache
    assert last.memory.compute
    costs = end_of(answer(client, settings=replace(SETTINGS, k="auto"))).costs
    widths = [width for width, _ in costs.verify]
    assert 1 in widths
    assert widths == sorted(widths)
    assert all(milliseconds > 0 for _, milliseconds in costs.verify)


def test_a_store_drafts_and_can_be_switched_off_between_answers(fresh: LocalClient, tmp_path: Path) -> None:
    target, _ = builtin_pair()
    settings = Settings(k=8, drafter="store", max_tokens=30, sampling=SamplingParams(temperature=0))
    header, collections = read_model(target), Collections()
    (tmp_path / "said.txt").write_text("nothing yet")
    collections.add("said", [str(tmp_path / "said.txt")])
    model = LlamaModel(target, gpu_layers=0, vocabulary_only=True)

    def index() -> None:
        collections.update("said", vocabulary_key(header), lambda text: model.vocabulary.tokenize(text, special=False))

    index()
    last = last_of(Loaded, fresh.load(target, None, replace(OPTIONS, n_ctx=1024)))
    assert "store" in last.drafters
    plain = end_of(answer(fresh, settings=settings))
    (tmp_path / "said.txt").write_text(f"Somebody said: {plain.text}")
    index()
    fast = end_of(answer(fresh, settings=settings))
    assert fast.text == plain.text
    assert fast.stats["num_accepted_tokens"] > plain.stats["num_accepted_tokens"] + 10
    collections.turn("said", on=False)
    assert end_of(answer(fresh, settings=settings)).stats["num_draft_tokens"] == 0
    model.close()
