"""What a real vLLM sent when answers were cancelled, came several at once, or did not come."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app.remote.samples import QUESTION, VLLM, VLLM_PAGES, messages
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded, Notice, TaskFailed
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.remote_answers import rounds_of, totals
from support.replaying import Replaying, page, recorded, replaying, stream

GREEDY = Settings(sampling=SamplingParams(temperature=0.0, min_p=0.0))
AT_ONCE = sorted(VLLM.glob("draft-chat-at-once-*.txt"))


@contextmanager
def connected(server: Replaying) -> Iterator[RemoteClient]:
    client = RemoteClient(read_address(server.url))
    try:
        (loaded,) = client.load(client.first_target, None, LoadOptions())
        assert isinstance(loaded, Loaded), loaded
        yield client
    finally:
        client.close()


def answer(
    client: RemoteClient, settings: Settings = GREEDY, messages: tuple[ChatMessage, ...] = QUESTION
) -> list[Event]:
    return list(client.generate(Generate(messages, seed=7, settings=settings)))


def told(file: Path) -> Counter[str]:
    """What a stream's last message tells of its drafts, by our names."""
    own = messages(file)[-1]["metrics"]["speculative_decoding"]
    return Counter(
        num_drafts=own["num_spec_steps"],
        num_draft_tokens=own["num_draft_tokens"],
        num_accepted_tokens=own["num_accepted_draft_tokens"],
    )


def test_a_cancelled_answer_keeps_what_came_and_says_nothing_of_untold_drafts() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "draft-chat-cancelled.txt", hold_after=6))
        events: list[Event] = []
        for event in client.generate(Generate(QUESTION, seed=7, settings=GREEDY)):
            events.append(event)
            if len([one for one in events if isinstance(one, Round)]) == 5:
                client.cancel()
        assert server.left.wait(10)
    last = events[-1]
    assert isinstance(last, Ended)
    assert (last.reason, last.text) == ("cancelled", "I cannot do that. I am specchat's small built-in guide")
    assert [len(event.drafted) for event in rounds_of(events)] == [0, 0, 0, 4, 4]
    assert not any(isinstance(event, Notice) for event in events)


def test_answers_that_come_at_once_keep_their_own_drafts() -> None:
    found: list[Counter[str]] = []

    def ask(server: Replaying) -> None:
        with connected(server) as client:
            shown, said = totals(answer(client))
            assert shown == said
            found.append(shown)

    with replaying(pages=VLLM_PAGES) as server:
        server.replies.extend(map(recorded, AT_ONCE))
        clients = [threading.Thread(target=ask, args=(server,)) for _ in AT_ONCE]
        for client in clients:
            client.start()
        for client in clients:
            client.join(10)
    assert len(found) == 4
    assert sorted(map(str, found)) == sorted(str(told(file)) for file in AT_ONCE)


def test_a_long_prompt_is_counted_and_the_drafts_from_it_are_whole() -> None:
    file = VLLM / "ngram-chat-long-prompt.txt"
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(file))
        events = answer(client, replace(GREEDY, max_tokens=40))
    assert totals(events) == (told(file), told(file))
    last = events[-1]
    assert isinstance(last, Ended)
    assert last.stats["prompt_tokens"] == messages(file)[-1]["usage"]["prompt_tokens"] > 600
    assert last.reason == "length"


def test_an_engine_that_dies_leaves_its_rounds_and_one_line() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "engine-died.txt"))
        server.replies.append(page(json.loads((VLLM / "engine-dead.json").read_text()), 500))
        events, (dead,) = answer(client), answer(client)
    died = events[-1]
    assert (
        "".join(event.text for event in rounds_of(events))
        == "I cannot do that. I am specchat's small built-in guide, and"
    )
    for failed in (died, dead):
        assert isinstance(failed, TaskFailed)
        assert "EngineCore encountered an issue" in failed.message
        assert "\n" not in failed.message


def test_a_refusal_inside_a_stream_is_one_line() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "refused-min-p.txt"))
        (failed,) = answer(client)
    assert isinstance(failed, TaskFailed)
    assert "min_p and logit_bias sampling parameters are not yet supported" in failed.message


def test_a_conversation_that_it_calls_too_long_is_shortened() -> None:
    said = (ChatMessage("user", "First."), ChatMessage("assistant", "One."), ChatMessage("user", "Second."))
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(page(json.loads((VLLM / "too-long.json").read_text()), 400))
        server.replies.append(recorded(AT_ONCE[0]))
        events = answer(client, messages=said)
    assert isinstance(events[-1], Ended)
    assert server.questions[1]["messages"] == [{"role": "user", "content": "Second."}]


def test_it_drafts_so_the_usual_settings_hold_no_min_p() -> None:
    with replaying(pages=VLLM_PAGES) as server:
        client = RemoteClient(read_address(server.url))
        (loaded,) = client.load(client.first_target, None, LoadOptions())
        assert isinstance(loaded, Loaded)
        server.replies.append(recorded(AT_ONCE[0]))
        events = answer(client, Settings(sampling=loaded.recommended))
        client.close()
    assert isinstance(events[-1], Ended)
    assert "min_p" not in server.questions[0]
    assert not any(isinstance(event, Notice) for event in events)


def test_drafts_that_do_not_follow_from_their_sums_are_said_to_be_missing() -> None:
    told = messages(AT_ONCE[0])
    told[-1]["metrics"]["speculative_decoding"] = {
        "num_spec_steps": 9,
        "num_draft_tokens": 36,
        "num_accepted_draft_tokens": 20,
        "num_spec_tokens": 4,
    }
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(stream(*told))
        events = answer(client)
    (notice,) = [event.text for event in events if isinstance(event, Notice)]
    assert "tells only how much it drafted, so not all drafts are shown" in notice
    assert "--per-request-spec-decode-metrics detailed" in notice
    last = events[-1]
    assert isinstance(last, Ended)
    assert last.stats["num_draft_tokens"] == 36
