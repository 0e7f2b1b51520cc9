"""What a real vLLM sent when answers were cancelled or did not come."""

from __future__ import annotations

import json
from dataclasses import replace

from app.remote.samples import VLLM, VLLM_PAGES, messages
from app.remote.test_client import GREEDY, answer, connected, ended, notices
from specchat.engine_process.protocol import Event, Loaded, TaskFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings
from support.remote_answers import rounds_of, totals
from support.replaying import page, recorded, replaying, stream

RECORDED = VLLM / "draft-chat-at-once-0.txt"


def test_a_cancelled_answer_keeps_what_came_and_says_nothing_of_unreported_drafts() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "draft-chat-cancelled.txt", hold_after=6))
        events: list[Event] = []
        for event in answer(client):
            events.append(event)
            if len([one for one in events if isinstance(one, Round)]) == 5:
                client.cancel()
        assert server.left.wait(600)
    last = ended(events)
    assert (last.reason, last.text) == ("cancelled", "I cannot do that. I am specchat's small built-in guide")
    assert [len(event.drafted) for event in rounds_of(events)] == [0, 0, 0, 4, 4]
    assert notices(events) == []


def test_a_long_prompt_is_counted_and_the_drafts_from_it_are_whole() -> None:
    file = VLLM / "ngram-chat-long-prompt.txt"
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(file))
        events = list(answer(client, replace(GREEDY, max_tokens=40)))
    shown, said = totals(events)
    assert shown == said
    assert shown["num_drafts"] == messages(file)[-1]["metrics"]["speculative_decoding"]["num_spec_steps"]
    last = ended(events)
    assert last.stats["prompt_tokens"] == messages(file)[-1]["usage"]["prompt_tokens"] > 600
    assert last.reason == "length"


def test_an_engine_that_dies_and_a_refusal_inside_a_stream_are_one_line() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "engine-died.txt"))
        server.replies.append(page(json.loads((VLLM / "engine-dead.json").read_text()), 500))
        server.replies.append(recorded(VLLM / "refused-min-p.txt"))
        events, (dead,), (refused,) = list(answer(client)), answer(client), answer(client)
    text = "".join(event.text for event in rounds_of(events))
    assert text == "I cannot do that. I am specchat's small built-in guide, and"
    for failed in (events[-1], dead):
        assert isinstance(failed, TaskFailed)
        assert "EngineCore encountered an issue" in failed.message
        assert "\n" not in failed.message
    assert isinstance(refused, TaskFailed)
    assert "min_p and logit_bias sampling parameters are not yet supported" in refused.message


def test_it_drafts_so_the_usual_settings_hold_no_min_p() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        (loaded,) = client.load(client.first_target, None, LoadOptions())
        assert isinstance(loaded, Loaded)
        server.replies.append(recorded(RECORDED))
        events = list(answer(client, Settings(sampling=loaded.recommended)))
    assert ended(events)
    assert "min_p" not in server.questions[0]
    assert notices(events) == []


def test_drafts_that_do_not_follow_from_their_sums_are_said_to_be_missing() -> None:
    sent = messages(RECORDED)
    sums = {"num_spec_steps": 9, "num_draft_tokens": 36, "num_accepted_draft_tokens": 20, "num_spec_tokens": 4}
    sent[-1]["metrics"]["speculative_decoding"] = sums
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(stream(*sent))
        events = list(answer(client))
    (notice,) = notices(events)
    assert "reports only how much it drafted, so not all drafts are shown" in notice
    assert "--per-request-spec-decode-metrics detailed" in notice
    assert ended(events).stats["num_draft_tokens"] == 36
