"""A conversation with servers that play recorded and made answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.remote.samples import QUESTION, SGLANG, SGLANG_PAGES, VLLM, VLLM_PAGES, delta, models, word
from specchat.engine_process.images import UNSEEN
from specchat.engine_process.protocol import (
    ChatMessage,
    Ended,
    Event,
    Generate,
    Inspect,
    Inspected,
    Kept,
    Loaded,
    Notice,
    Prepare,
    Recalled,
    Started,
    TaskFailed,
)
from specchat.remote.address import read_address
from specchat.remote.client import Patience, RemoteClient
from specchat.traces.trace import Trace, read_trace
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line, round_line
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.drawn_rounds import made_round
from support.llama_servers import free_port
from support.remote_answers import rounds_of
from support.replaying import Replaying, Reply, page, recorded, replaying, stream
from support.vision_models import png

GREEDY = Settings(sampling=SamplingParams(temperature=0.0, top_k=0, min_p=0.0))
OPENAI_PAGES = {"/v1/models": page(models("openai", "guide", "other"))}
HASTY = Patience(attempts=3, first_wait=0.0)


@contextmanager
def connected(server: Replaying, **how: Any) -> Iterator[RemoteClient]:
    """A client that has loaded the first model."""
    client = RemoteClient(read_address(server.url, key="sk-secret"), **({"patience": HASTY} | how))
    try:
        (loaded,) = client.load(client.first_target, None, LoadOptions())
        assert isinstance(loaded, Loaded), loaded
        yield client
    finally:
        client.close()


def answer(client: RemoteClient, settings: Settings = GREEDY, **how: Any) -> Iterator[Event]:
    asked: dict[str, Any] = {"messages": QUESTION, "turn": 0, "attempt": 0, "seed": 7, "settings": settings}
    return client.generate(Generate(**(asked | how)))


def ended(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended), events[-1]
    return events[-1]


def failure(*events: Event) -> str:
    """Why an answer failed of which nothing else came."""
    (last,) = events
    assert isinstance(last, TaskFailed), last
    return last.message


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def trace_of(events: list[Event]) -> Trace:
    """What would be stored, written and read again."""
    started = next(event for event in events if isinstance(event, Started))
    last = ended(events)
    lines = [started.line, *map(round_line, rounds_of(events))]
    lines.append(end_line(last.reason, last.text, last.stats, last.costs))
    (trace,) = read_trace([json.dumps(line) + "\n" for line in lines])
    return trace


def test_a_vllm_answers_with_its_own_counters() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        (loaded,) = client.load(client.first_target, None, LoadOptions())
        server.replies.append(recorded(VLLM / "draft-chat-stream-ids.txt"))
        events = list(answer(client))
    assert isinstance(loaded, Loaded)
    assert loaded.server is not None
    assert loaded.pair_name == f"guide · vLLM at {server.url.removeprefix('http://')}"
    assert (loaded.n_ctx, loaded.drafters, loaded.server.steered) == (1024, ("remote",), False)
    assert isinstance(events[0], Started)
    assert events[0].line["prompt_tokens"] == 13
    last = ended(events)
    assert last.reason == "end"
    assert last.text.startswith("In speculative decoding k is the most tokens")
    assert (last.stats["num_draft_tokens"], last.stats["num_accepted_tokens"], last.stats["num_drafts"]) == (48, 46, 12)
    assert last.stats["num_tokens"] == 58
    assert last.stats["alpha"] == pytest.approx(46 / 47)
    assert last.stats["speedup"] is None
    assert "cached_tokens" not in last.stats
    assert sum(len(event.drafted) for event in rounds_of(events)) == 48
    trace = trace_of(events)
    assert trace.is_remote
    assert trace.text == last.text
    assert trace.tokens[:3] == (815, 617, 535)


def test_another_model_of_the_server_is_loaded_by_its_name() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        (loaded,) = client.load(client.first_target.with_name("other"), None, LoadOptions())
        assert isinstance(loaded, Loaded)
        server.replies.append(stream(delta("a", finish="stop")))
        list(answer(client))
        refused = failure(*client.load(client.first_target.with_name("third"), None, LoadOptions()))
    assert server.questions[0]["model"] == "other"
    assert "has no model third: it has guide, other" in refused


def test_sglang_answers_with_rounds_from_its_totals() -> None:
    with replaying(pages=SGLANG_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(SGLANG / "chat-stream.txt"))
        events = list(answer(client))
    assert [word(event) for event in rounds_of(events)] == [(0, 0, 1), (4, 4, 5), (4, 2, 3), (4, 0, 1), (4, 3, 4)]
    assert ended(events).stats["block_efficiency"] == 14 / 5
    assert trace_of(events).start["engine"]["kind"] == "SGLang"


def test_specchat_answers_with_the_rounds_that_its_engine_made() -> None:
    sent = [made_round(0, 0), made_round(3, 1, index=1)]
    end: dict[str, Any] = {"type": "end", "reason": "end", "text": "aaa", "stats": {"speedup": 1.5}}
    chunks = [delta("a", specchat={"trace": [round_line(event)]}) for event in sent]
    info = {"version": "0.1.0", "drafters": ["hybrid", "none"], "draft": "draft"}
    with replaying(pages={"/v1/models": page(models("specchat", specchat=info))}) as server:
        server.replies.append(stream(*chunks, delta(finish="stop", specchat={"trace": [end]})))
        with connected(server) as client:
            events = list(answer(client))
    assert rounds_of(events) == sent
    assert ended(events).stats["speedup"] == 1.5
    assert ended(events).text == "aaa"
    start = trace_of(events).start
    assert (start["verifier"], start["lossless"], start["draft"]["name"]) == ("coupled", True, "draft")


def test_any_other_server_gives_text_and_rates() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 4}}
    last_chunk = {"choices": [], "usage": usage}
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("Hello"), delta(" there", finish="stop"), last_chunk))
        events = list(answer(client))
    last = ended(events)
    assert last.text == "Hello there"
    assert (last.stats["num_tokens"], last.stats["prompt_tokens"], last.stats["alpha"]) == (40, 9, None)
    assert last.stats["cached_tokens"] == 4
    assert last.stats["tokens_per_second"] > 0
    start = trace_of(events).start
    assert (start["verifier"], start["lossless"], start["draft"], start["drafter"]) == ("", None, None, "remote")


def test_reasoning_is_part_of_the_answer_between_marks() -> None:
    reasoned = {"choices": [{"delta": {"reasoning_content": "Hm"}}]}
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(reasoned, delta("So.", finish="stop")))
        events = list(answer(client))
    assert ended(events).text == "<think>\nHm\n</think>\n\nSo."
    assert ended(events).stats["reasoning"]["num_tokens"] >= 1
    assert "".join(event.text for event in rounds_of(events)) == ended(events).text


def test_the_key_is_sent_and_stays_out_of_everything_that_is_kept() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("a", finish="stop")))
        server.replies.append(page({"error": {"message": "bad key sk-secret"}}, 500))
        events = [*answer(client), *answer(client)]
    assert {one.headers["Authorization"] for one in server.asked} == {"Bearer sk-secret"}
    assert "sk-secret" not in repr(events)
    assert "sk-secret" not in repr(client.__dict__)


def test_a_cancel_closes_the_connection_and_keeps_what_was_said() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("Hello"), delta(" there"), hold_after=1))
        events: list[Event] = []
        for event in answer(client):
            events.append(event)
            if isinstance(event, Round):
                client.cancel()
        assert server.left.wait(600)
    assert (ended(events).reason, ended(events).text) == ("cancelled", "Hello")
    assert trace_of(events).text == "Hello"


def test_a_cancel_while_the_server_reads_the_prompt_closes_the_connection() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(hold_after=0))
        events: list[Event] = []
        reading = threading.Thread(target=lambda: events.extend(answer(client)))
        reading.start()
        assert server.held.wait(600)
        client.cancel()
        reading.join(600)
        assert server.left.wait(600)
    assert ended(events).reason == "cancelled"


def test_a_cancel_before_the_first_event_asks_nothing() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        asked = answer(client)
        client.cancel()
        assert ended(list(asked)).reason == "cancelled"
        assert server.questions == []
        server.replies.append(stream(delta("a", finish="stop")))
        assert ended(list(answer(client))).text == "a"


def test_closing_ends_a_running_answer_with_a_failure() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("Hello"), hold_after=1))
        events: list[Event] = []
        reading = threading.Thread(target=lambda: events.extend(answer(client)))
        reading.start()
        assert server.held.wait(600)
        client.close()
        reading.join(600)
        assert list(answer(client)) == [TaskFailed("there is no connection to a server")]
    assert events[-1] == TaskFailed("the connection was closed")


@contextmanager
def silent() -> Iterator[tuple[str, Callable[[], socket.socket]]]:
    """The address of a server that never answers, and what waits until a client has asked it something."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as opened:
        listening.settimeout(600)

        def asked() -> socket.socket:
            connection = opened.enter_context(listening.accept()[0])
            connection.settimeout(600)
            assert connection.recv(4096)
            return connection

        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked


@pytest.mark.parametrize(
    ("stop", "message"),
    [(RemoteClient.close, "the connection was closed"), (RemoteClient.cancel, "loading was stopped")],
)
def test_a_load_that_waits_for_a_silent_server_can_be_stopped(
    stop: Callable[[RemoteClient], None], message: str
) -> None:
    with silent() as (url, asked):
        client = RemoteClient(read_address(url))
        events: list[Event] = []
        loading = threading.Thread(target=lambda: events.extend(client.load(client.first_target, None, LoadOptions())))
        loading.start()
        connection = asked()
        stop(client)
        loading.join(600)
        assert not loading.is_alive()
        assert connection.recv(4096) == b"", "the server learns that nobody listens"
        client.close()
    assert events == [TaskFailed(message)]


def test_a_cancel_ends_a_load_also_where_the_server_need_not_answer() -> None:
    pages = VLLM_PAGES | {"/metrics": Reply([b"x"], hold_after=0)}
    with replaying(pages=pages) as server:
        client = RemoteClient(read_address(server.url))
        events: list[Event] = []
        loading = threading.Thread(target=lambda: events.extend(client.load(client.first_target, None, LoadOptions())))
        loading.start()
        assert server.held.wait(600)
        client.cancel()
        loading.join(600)
        assert list(answer(client)) == [TaskFailed("there is no connection to a server")]
        client.close()
    assert events == [TaskFailed("loading was stopped")]


@pytest.mark.parametrize("was_loaded", [True, False])
def test_a_load_after_a_cancel_is_a_new_one_and_nothing_is_loaded_after_closing(was_loaded: bool) -> None:
    with replaying(pages=OPENAI_PAGES) as server:
        client = RemoteClient(read_address(server.url))
        if was_loaded:
            client.cancel()
            (loaded,) = client.load(client.first_target, None, LoadOptions())
            assert isinstance(loaded, Loaded)
        client.close()
        before = len(server.asked)
        (failed,) = client.load(client.first_target, None, LoadOptions())
        assert failed == TaskFailed("the connection was closed")
        assert len(server.asked) == before


def test_a_busy_server_is_asked_again_before_the_first_token() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(page({"error": {"message": "full"}}, 429, **{"Retry-After": "0"}))
        server.replies.append(page({"error": {"message": "Loading model"}}, 503))
        server.replies.append(stream(delta("a", finish="stop")))
        events = list(answer(client))
    assert ended(events).text == "a"
    assert len(server.questions) == 3
    assert any("answers 429: full; trying again" in text for text in notices(events))


FULL, DEAD = {"error": {"message": "full"}}, {"error": {"message": "engine\ndied"}}


@pytest.mark.parametrize(
    ("reply", "questions", "words"),
    [
        (page(FULL, 503), 3, "503: full"),
        (page(FULL, 429, **{"Retry-After": "3600"}), 1, "429: full"),
        (page(DEAD, 500), 1, "500: engine died"),
    ],
    ids=["always busy", "a long wait", "an error"],
)
def test_a_server_that_stays_busy_or_fails_is_given_up_in_one_line(reply: Reply, questions: int, words: str) -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.extend([reply] * 5)
        *_, last = answer(client)
    assert last == TaskFailed(f"{server.url.removeprefix('http://')} answers {words}")
    assert len(server.questions) == questions


def test_a_wait_ends_with_a_cancel() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server, patience=Patience(first_wait=30.0)) as client:
        server.replies.append(page({"error": {"message": "full"}}, 503))
        events: list[Event] = []
        for event in answer(client):
            events.append(event)
            if isinstance(event, Notice):
                client.cancel()
    assert ended(events).reason == "cancelled"
    assert len(server.questions) == 1


def test_a_server_that_went_away_is_one_failure() -> None:
    with replaying(pages=OPENAI_PAGES) as server:
        client = RemoteClient(read_address(server.url), patience=HASTY)
        list(client.load(client.first_target, None, LoadOptions()))
    *_, last = answer(client)
    client.close()
    assert isinstance(last, TaskFailed)
    assert "cannot be reached" in last.message
    assert not last.died


def test_an_answer_that_breaks_off_keeps_its_rounds_and_is_not_asked_again() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("Hello"), breaks=True, end=False))
        server.replies.append(stream(delta("Hello"), end=False))
        server.replies.append(stream(delta("Hello"), {"error": {"message": "out of memory"}}))
        for words in ("broke", "before the answer was complete", "with an error: out of memory"):
            events = list(answer(client))
            assert [event.text for event in rounds_of(events)] == ["Hello"]
            assert words in failure(events[-1])
    assert len(server.questions) == 3


TOO_LONG = {"error": {"message": "too long", "type": "exceed_context_size_error"}}


@pytest.mark.parametrize("too_long", [page(TOO_LONG, 400), stream(TOO_LONG)], ids=["as a status", "in the stream"])
def test_a_conversation_that_is_too_long_goes_without_its_oldest_messages(too_long: Reply) -> None:
    long = [ChatMessage("user" if place % 2 == 0 else "assistant", f"{place}" * 40) for place in range(5)]
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.extend([too_long, stream(delta("a", finish="stop"))])
        events = list(answer(client, messages=long))
        server.replies.append(too_long)
        assert failure(*answer(client)), "the question alone is too long"
    assert [len(question["messages"]) for question in server.questions] == [5, 1, 1]
    assert notices(events) == ["the oldest messages no longer fit the server's context: it reads the latest only"]
    assert len(trace_of(events).start["messages"]) == 1


def looking(folder: Path) -> ChatMessage:
    """A question about an image."""
    (folder / "abc.png").write_bytes(png(1))
    return ChatMessage("user", "What is this?", images=(str(folder / "abc.png"),))


NO_IMAGES = page({"error": {"message": "this model reads no images"}}, 400)


def test_an_image_that_a_server_refuses_is_its_own_line_and_one_that_is_gone_asks_nothing(tmp_path: Path) -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(NO_IMAGES)
        (refused,) = answer(client, messages=[looking(tmp_path)])
        lost = failure(*answer(client, messages=[ChatMessage("user", "?", images=(str(tmp_path / "gone.png"),))]))
    assert refused == TaskFailed(f"{server.url.removeprefix('http://')} answers 400: this model reads no images")
    assert "the image gone.png cannot be read" in lost
    assert len(server.questions) == 1


def test_a_server_that_refuses_earlier_images_reads_that_there_were_some(tmp_path: Path) -> None:
    talk = [looking(tmp_path), ChatMessage("assistant", "A cat"), ChatMessage("user", "And now?")]
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.extend([NO_IMAGES, stream(delta("a", finish="stop"))])
        events = list(answer(client, messages=talk))
    first, second = server.questions
    assert first["messages"][0]["content"][0]["type"] == "image_url"
    assert second["messages"][0]["content"] == f"{UNSEEN}\nWhat is this?"
    assert ended(events).text == "a"
    (notice,) = notices(events)
    assert notice.endswith("this model reads no images; asking again without the earlier images")


def test_a_key_that_is_not_accepted_has_nothing_to_do_with_images(tmp_path: Path) -> None:
    talk = [looking(tmp_path), ChatMessage("assistant", "A cat"), ChatMessage("user", "And now?")]
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(page({"error": {"message": "no"}}, 401))
        assert failure(*answer(client, messages=talk))
    assert len(server.questions) == 1


def test_images_that_are_too_large_together_are_left_out_with_the_oldest_messages(tmp_path: Path) -> None:
    talk = [looking(tmp_path), ChatMessage("assistant", "A cat"), ChatMessage("user", "And now? " * 20)]
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.extend([page({"error": {"message": "too large"}}, 413), stream(delta("a", finish="stop"))])
        events = list(answer(client, messages=talk))
    assert [len(question["messages"]) for question in server.questions] == [3, 1]
    assert ended(events).text == "a"


def test_the_trace_has_the_hashes_of_images_and_not_their_data(tmp_path: Path) -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("a", finish="stop")))
        trace = trace_of(list(answer(client, messages=[looking(tmp_path)])))
    assert trace.start["messages"] == [{"role": "user", "content": "What is this?", "images": ["abc"]}]


def test_settings_that_a_server_does_not_take_are_said_once() -> None:
    settings = Settings(k=2, sampling=SamplingParams(typical_p=0.5, min_p=0.0))
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.extend([recorded(VLLM / "draft-chat-stream-ids.txt")] * 2)
        first, second = list(answer(client, settings)), list(answer(client, settings))
    assert notices(first) == ["vLLM does not take typical-p, k: this has no effect there"]
    assert notices(second) == []


def test_a_notice_says_how_to_make_a_vllm_report_its_drafts() -> None:
    with replaying(pages=VLLM_PAGES) as server, connected(server) as client:
        server.replies.append(recorded(VLLM / "draft-chat-stream-nousage.txt"))
        events = list(answer(client))
    assert any("--per-request-spec-decode-metrics detailed" in text for text in notices(events))
    assert not any(event.drafted for event in rounds_of(events))


def test_new_settings_hold_from_the_next_answer_on() -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("a"), delta("b", finish="stop")))
        client.set(GREEDY)  # between two answers there is nothing to say
        events: list[Event] = []
        for event in answer(client):
            events.append(event)
            if isinstance(event, Round):
                client.set(Settings())
    assert notices(events) == ["the server takes other settings from the next answer on"]


@pytest.mark.parametrize(
    ("finish", "limit", "reason"), [("stop", 0, "end"), ("length", 5, "length"), ("length", 0, "context")]
)
def test_the_end_of_an_answer_has_its_reason(finish: str, limit: int, reason: str) -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        server.replies.append(stream(delta("a", finish=finish)))
        assert ended(list(answer(client, Settings(max_tokens=limit)))).reason == reason


def test_what_only_an_engine_on_this_machine_can_do_is_said_in_a_sentence(tmp_path: Any) -> None:
    with replaying(pages=OPENAI_PAGES) as server, connected(server) as client:
        inspected = list(client.inspect(Inspect(QUESTION, (1,), 0, seed=7, settings=GREEDY)))
        timed = list(client.time_draft(tmp_path, tmp_path, LoadOptions(), 1.0))
        branched = list(answer(client, prefix=(1, 2)))
        kept, recalled = list(client.keep(tmp_path, limit=9)), list(client.recall(tmp_path))
        client.freeze(True)
        client.step()
        client.prepare(Prepare(QUESTION, seed=7, settings=GREEDY))
        client.use_threads(LoadOptions())
    for (event,) in (inspected, timed, branched):
        assert isinstance(event, TaskFailed)
        assert "\n" not in event.message
    assert not any(isinstance(event, Inspected) for event in inspected)
    assert [event.ok for event in (*kept, *recalled) if isinstance(event, Kept | Recalled)] == [False, False]


def test_nothing_is_asked_before_a_load() -> None:
    client = RemoteClient(read_address(f"127.0.0.1:{free_port()}"))
    assert list(answer(client)) == [TaskFailed("there is no connection to a server")]
    assert "cannot be reached" in failure(*client.load(client.first_target, None, LoadOptions()))
    client.close()
