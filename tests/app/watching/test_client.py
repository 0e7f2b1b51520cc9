"""The connection of a watcher, with real servers: it is made, breaks, is made again, is refused, is closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from app.remote.samples import models
from app.watching.samples import MODELS, end, made, start, state
from specchat.errors import RemoteError
from specchat.remote.address import read_address
from specchat.remote.transport import Timeouts
from specchat.settings.server import Serving
from specchat.watching.client import WatchClient
from specchat.watching.events import (
    Away,
    Began,
    Connected,
    Over,
    RoundEvent,
    Running,
    TurnedAway,
    Unreadable,
    WatchEvent,
)
from support.llama_servers import free_port
from support.replaying import Replaying, Reply, page, replaying, stream
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

WATCH = "/v1/watch"


@contextmanager
def watching(url: str, *, key: str = "", silence: float = 20.0) -> Iterator[WatchClient]:
    timeouts = Timeouts(connect=5.0, ask=5.0, silence=silence)
    client = WatchClient(read_address(url, key=key), timeouts=timeouts, waits=(0.0,))
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def server() -> Iterator[Replaying]:
    with replaying(pages={"/v1/models": MODELS}) as running:
        yield running


def watched(*lines: Any, **how: Any) -> Reply:
    """What a watcher gets before the connection ends."""
    return stream(*lines, end=False, **how)


def kinds(events: list[WatchEvent]) -> list[type]:
    return [type(event) for event in events]


def refused(url: str, key: str = "") -> str:
    with watching(url, key=key) as client, pytest.raises(RemoteError) as caught:
        client.connect()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_answers_to_others_are_sent_by_a_real_server() -> None:
    with on_loopback(scripted_app(ScriptedEngine(), Serving(watch="on"))) as url, watching(url) as client:
        assert client.connect().draft == "draft"
        events = client.events()
        assert kinds([next(events), next(events)]) == [Connected, Running]
        body = {"messages": [{"role": "user", "content": "Who?"}]}
        httpx2.post(f"{url}/v1/chat/completions", json=body, trust_env=False).raise_for_status()
        began, *_, over = [next(events) for _ in range(5)]
        assert isinstance(began, Began)
        assert began.start["messages"][0]["content"] == "Who?"
        assert isinstance(over, Over)
        assert over.end["text"] == "Hello world"


def test_a_server_that_does_not_allow_it_says_how_it_can(server: Replaying) -> None:
    with on_loopback(scripted_app(ScriptedEngine())) as url:
        assert refused(url).endswith("answers 403: watching is off here: `specchat serve --watch on` allows it")


def test_a_server_with_keys_wants_one() -> None:
    with on_loopback(scripted_app(ScriptedEngine(), Serving(watch="on", api_key=("secret",)))) as url:
        assert "wants a key (401" in refused(url)
        assert "does not accept the key" in refused(url, key="wrong")
        with watching(url, key="secret") as client:
            client.connect()


def test_what_is_no_specchat_server_is_named(server: Replaying) -> None:
    server.pages["/v1/models"] = page(models("vllm"))
    assert refused(server.url).endswith("is vLLM: only `specchat serve` can be watched")
    del server.pages["/v1/models"]
    assert "answers 404" in refused(server.url)


def test_an_older_specchat_and_one_that_sends_something_else_are_named(server: Replaying) -> None:
    assert refused(server.url).endswith("runs a specchat that cannot be watched: update it")
    server.pages[WATCH] = watched({"type": "weather"})
    assert "does not report what runs" in refused(server.url)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    assert "cannot be reached" in refused(f"http://127.0.0.1:{free_port()}")


def test_a_connection_that_breaks_is_made_again_and_both_are_reported(server: Replaying) -> None:
    server.pages[WATCH] = watched(state(), start(1), made(1, 0), breaks=True)
    with watching(server.url) as client:
        client.connect()
        found = []
        for event in client.events():
            if isinstance(event, Away):
                server.pages[WATCH] = watched(state(1), start(1), made(1, 0), end(1, "ab"), hold_after=4)
            found.append(event)
            if isinstance(event, Over):
                break
    assert kinds(found) == [Connected, Running, Began, RoundEvent, Away, Connected, Running, Began, RoundEvent, Over]
    (away,) = (event for event in found if isinstance(event, Away))
    assert "broke" in away.reason


def test_it_is_tried_again_as_long_as_the_server_is_away_or_busy(server: Replaying) -> None:
    server.pages[WATCH] = watched(state())
    replies = iter([page({"error": "full"}, 429), page({"error": "loading"}, 503), page("oops", 500), watched(state())])
    with watching(server.url) as client:
        client.connect()
        reasons = []
        for event in client.events():
            if isinstance(event, Away):
                reasons.append(event.reason)
                if len(reasons) == 5:
                    break
                server.pages[WATCH] = next(replies)
    for reason, word in zip(reasons, ("broke", "429", "503", "500", "broke"), strict=True):
        assert word in reason


def test_a_server_that_refuses_later_ends_it(server: Replaying) -> None:
    server.pages[WATCH] = watched(state())
    with watching(server.url) as client:
        client.connect()
        server.pages[WATCH] = page({"error": {"message": "watching is off here", "code": "watching_off"}}, 403)
        *_, last = client.events()
    assert isinstance(last, TurnedAway)
    assert "watching is off here" in last.reason


def test_a_silent_server_is_given_up_and_tried_again(server: Replaying) -> None:
    server.pages[WATCH] = watched(state(), hold_after=1)
    with watching(server.url, silence=0.2) as client:
        client.connect()
        away = next(event for event in client.events() if isinstance(event, Away))
    assert "sent nothing for 0.2 s" in away.reason


def test_a_message_that_cannot_be_read_is_reported_and_the_rest_is_read(server: Replaying) -> None:
    server.pages[WATCH] = watched(state(), {**start(1), "seed": "x"}, start(2))
    with watching(server.url) as client:
        client.connect()
        events = client.events()
        assert kinds([next(events) for _ in range(4)]) == [Connected, Running, Unreadable, Began]


@pytest.mark.parametrize("away", [False, True])
def test_closing_ends_it_while_the_server_is_silent_and_while_it_is_away(server: Replaying, away: bool) -> None:
    server.pages[WATCH] = watched(state(), hold_after=None if away else 1)
    client = WatchClient(read_address(server.url), waits=(60.0,))
    client.connect()
    waits, ended = threading.Event(), threading.Event()

    def read() -> None:
        for event in client.events():
            if isinstance(event, Away if away else Running):
                waits.set()
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert waits.wait(600)
    client.close()
    assert ended.wait(600)
