"""Split speculation with a real server: its target's text, whatever drafts here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from specchat.errors import RemoteError
from specchat.remote.address import read_address
from specchat.remote.split import SplitSpeculation
from specchat.remote.verifying import Opened, Verifying
from specchat.worker.protocol import ChatMessage, Ended, Started
from specchat_engine import Engine, LoadOptions, Message, SamplingParams, Settings
from specchat_engine.decoding.rounds import Outcome, Round
from support.latency import delayed
from support.other_tokens import write_other_tokens
from support.processes import wait_until
from support.real_server import RealServer, real_server
from support.tiny_models import TinyModels

OPTIONS = LoadOptions(threads=1, n_ctx=1024)
MESSAGES = [ChatMessage("user", "Tell me a story")]
SETTINGS = Settings(max_tokens=40, sampling=SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0))
SEED = 7


@pytest.fixture(scope="module")
def server(tiny_models: TinyModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        with real_server("-m", tiny_models.target, "-t", "1", "-c", "1024", "-np", "2") as started:
            yield started


def split(server: RealServer, draft: Path) -> closing[SplitSpeculation]:
    return closing(SplitSpeculation(read_address(server.url), draft, OPTIONS))


def alone(models: TinyModels, settings: Settings = SETTINGS) -> tuple[str, str | None]:
    """The text of the target on this machine, and why it ends."""
    with Engine.load(models.target, None, OPTIONS) as engine:
        session = engine.session(settings=replace(settings, drafter="none"), seed=SEED)
        for _ in session.answer([Message("user", MESSAGES[0].content)], 0):
            pass
        return session.text, session.end_reason


@pytest.mark.parametrize("k", ["auto", 1, 6])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_text_is_that_of_the_target_on_this_machine(
    server: RealServer, tiny_models: TinyModels, temperature: float, k: int
) -> None:
    settings = replace(SETTINGS, k=k, sampling=replace(SETTINGS.sampling, temperature=temperature))
    with split(server, tiny_models.draft) as answering:
        started, *rounds, ended = answering.answer(MESSAGES, settings, SEED)
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert (ended.text, ended.reason) == alone(tiny_models, settings)
    assert ended.text == "".join(one.text for one in rounds if isinstance(one, Round))


@pytest.mark.parametrize("round_trip_ms", [5, 20, 80])
def test_the_text_is_the_same_over_a_long_line(server: RealServer, tiny_models: TinyModels, round_trip_ms: int) -> None:
    with delayed(urlsplit(server.url).port or 0, round_trip_ms) as port:
        address = read_address(f"http://127.0.0.1:{port}")
        with closing(SplitSpeculation(address, tiny_models.draft, OPTIONS)) as answering:
            *_, ended = answering.answer(MESSAGES, SETTINGS, SEED)
    assert isinstance(ended, Ended)
    assert (ended.text, ended.reason) == alone(tiny_models)


def test_a_round_shows_what_was_drafted_here(server: RealServer, tiny_models: TinyModels) -> None:
    with split(server, tiny_models.draft) as answering:
        events = [*answering.answer(MESSAGES, replace(SETTINGS, k=4), SEED)]
    drafted = [token for event in events if isinstance(event, Round) for token in event.drafted]
    assert {token.outcome for token in drafted} >= {Outcome.ACCEPTED, Outcome.REJECTED}
    assert all(token.id is not None for token in drafted)
    assert any(token.text for token in drafted if token.outcome is Outcome.REJECTED)


def test_the_target_as_its_own_draft_model_is_always_right(server: RealServer, tiny_models: TinyModels) -> None:
    with split(server, tiny_models.target) as answering:
        events = [*answering.answer(MESSAGES, replace(SETTINGS, k=4), SEED)]
    drafted = [token for event in events if isinstance(event, Round) for token in event.drafted]
    assert drafted
    assert all(token.outcome is not Outcome.REJECTED for token in drafted), "both sides draw with the same noise"


def test_a_stop_string_ends_the_answer_on_both_sides(server: RealServer, tiny_models: TinyModels) -> None:
    whole, _ = alone(tiny_models)
    settings = replace(SETTINGS, stop=(whole[12:15],))
    with split(server, tiny_models.draft) as answering:
        *_, ended = answering.answer(MESSAGES, settings, SEED)
    assert isinstance(ended, Ended)
    assert (ended.text, ended.reason) == (whole[: whole.find(whole[12:15])], "stop")


def test_an_answer_that_is_stopped_frees_its_place(server: RealServer, tiny_models: TinyModels) -> None:
    with split(server, tiny_models.draft) as answering:
        events = answering.answer(MESSAGES, replace(SETTINGS, max_tokens=500), SEED)
        started, first = next(events), next(events)
        answering.cancel()
        *_, ended = events
    assert isinstance(started, Started)
    assert isinstance(first, Round)
    assert isinstance(ended, Ended)
    assert ended.reason == "cancelled"
    wait_until(lambda: running(server).endswith(" 0.0"))


def running(server: RealServer) -> str:
    lines = httpx2.get(f"{server.url}/metrics", trust_env=False).text.splitlines()
    return next(line for line in lines if line.startswith("specchat:num_requests_running{"))


def test_a_draft_with_another_vocabulary_is_refused(server: RealServer, tmp_path: Path) -> None:
    with (
        split(server, write_other_tokens(tmp_path).draft) as answering,
        pytest.raises(RemoteError, match="another vocabulary"),
    ):
        list(answering.answer(MESSAGES, SETTINGS, SEED))


@pytest.mark.parametrize("told", [None, {}, {"id": "x"}, {"id": "x", "seed": "y", "prompt_ids": [1], "longest": 4}])
def test_an_answer_that_is_no_beginning_is_refused(told: object) -> None:
    with pytest.raises(RemoteError, match="another version"):
        Opened.of(told)


def test_a_server_of_another_kind_is_refused() -> None:
    with pytest.raises(RemoteError, match="cannot be reached"):
        Verifying(read_address("http://127.0.0.1:9"))
