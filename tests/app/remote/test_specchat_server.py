"""A real `specchat serve` on tiny models: a client gets the rounds that its engine made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat.worker.protocol import ChatMessage, Ended, Event, Loaded, Started
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.real_server import RealServer, real_server
from support.remote_answers import counters, totals
from support.tiny_models import TinyModels

SAMPLING = SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)


@pytest.fixture(scope="module")
def server(tiny_models: TinyModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        flags = ("-m", tiny_models.target, "-d", tiny_models.draft, "-t", "1", "-c", "2048", "-np", "2")
        with real_server(*flags) as started:
            yield started


@pytest.fixture
def client(server: RealServer) -> Iterator[RemoteClient]:
    client = RemoteClient(read_address(server.url))
    (loaded,) = client.load(client.first_target, None, LoadOptions())
    assert isinstance(loaded, Loaded), loaded
    yield client
    client.close()


def answer(client: RemoteClient, prompt: str, settings: Settings) -> list[Event]:
    return list(client.generate((ChatMessage("user", prompt),), turn=0, attempt=0, seed=7, settings=settings))


def rounds_of(events: list[Event]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def test_the_rounds_are_whole_and_add_up_to_the_servers_counters(client: RemoteClient, server: RealServer) -> None:
    before, all_shown = counters(server.url), Counter[str]()
    for prompt in ("hello", "hello hello hello", "What is 1 + 1?"):
        events = answer(client, prompt, Settings(k=3, max_tokens=24, sampling=SAMPLING))
        last, rounds = events[-1], rounds_of(events)
        assert isinstance(last, Ended), last
        assert "".join(event.text for event in rounds) == last.text
        assert not any(token.is_unknown for event in rounds for token in event.drafted)
        shown, said = totals(events)
        assert shown == said
        all_shown += shown
    assert all_shown == counters(server.url) - before
    assert all_shown["num_drafts"] > 5


def test_a_request_chooses_what_drafts_and_how_far(client: RemoteClient) -> None:
    by_k = {k: answer(client, "hello", Settings(k=k, max_tokens=24, sampling=SAMPLING)) for k in (0, 5)}
    lookup = answer(client, "hello", Settings(drafter="lookup", k=4, max_tokens=24, sampling=SAMPLING))
    assert not any(event.drafted for event in rounds_of(by_k[0]))
    assert max(len(event.drafted) for event in rounds_of(by_k[5])) == 5
    assert {event.source for event in rounds_of(lookup)} <= {"lookup", "none"}
    texts = {last.text for *_, last in (*by_k.values(), lookup) if isinstance(last, Ended)}
    assert len(texts) == 1, "the same noise gives the same text, whatever drafts"


def test_the_trace_names_the_models_of_the_server(client: RemoteClient, server: RealServer) -> None:
    started, *_ = answer(client, "hello", Settings(max_tokens=4))
    assert isinstance(started, Started)
    assert started.line["engine"] == {
        "kind": "specchat",
        "version": started.line["versions"]["specchat"],
        "host": server.url.removeprefix("http://"),
    }
    assert started.line["target"]["n_params"] > 0
    assert started.line["draft"]["name"]


def test_a_long_conversation_is_shortened_until_it_fits(client: RemoteClient) -> None:
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", "hello there " * 60) for place in range(9)]
    events = list(client.generate(said, turn=4, attempt=0, seed=7, settings=Settings(max_tokens=8)))
    last = events[-1]
    assert isinstance(last, Ended), last
    assert 0 < last.stats["prompt_tokens"] < 2048
