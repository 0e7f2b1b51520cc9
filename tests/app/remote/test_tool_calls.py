"""Calls of tools in the answers of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.remote.samples import SGLANG_PAGES, VLLM_PAGES, delta
from app.remote.test_client import OPENAI_PAGES, answer, connected, ended, rounds_of, trace_of
from specchat.engine_process.protocol import ChatMessage, Loaded, Offer
from specchat.remote.address import read_address
from specchat.remote.chunks import read_chunk
from specchat.remote.client import RemoteClient
from specchat.remote.tool_calls import RemoteCalls
from specchat_engine.load_options import LoadOptions
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import Settings
from support.calling_models import DONE, call_text, write_calling_model
from support.real_server import real_server
from support.replaying import Reply, replaying, stream

NOW: dict[str, Any] = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
PAGES = {"openai": OPENAI_PAGES, "vllm": VLLM_PAGES, "sglang": SGLANG_PAGES}


def piece(number: int, arguments: str, name: str = "", **choice: Any) -> dict[str, Any]:
    """A message of a stream with a piece of a call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": number, "function": function} | ({"id": f"chatcmpl-{number}", "type": "function"} if name else {})
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, **choice}]}


def calling(finish: str = "tool_calls", **choice: Any) -> Reply:
    """An answer with two calls."""
    return stream(
        delta("Both"),
        delta(" at once."),
        piece(0, "", "now", **choice),
        piece(0, '{"zone": ', **choice),
        piece(0, '"Rome"}', **choice),
        piece(1, "{}", "now", **choice),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    )


@pytest.mark.parametrize(("engine", "choice"), [*((engine, {}) for engine in PAGES), ("vllm", {"token_ids": [7, 8]})])
def test_the_calls_of_a_server_are_put_together_and_shown(engine: str, choice: dict[str, Any]) -> None:
    with replaying(pages=dict(PAGES[engine])) as server:
        server.replies.append(calling(**choice))
        with connected(server) as client:
            events = [*answer(client, turn=2, tools=Offer((NOW,)))]
    last = ended(events)
    assert last.calls == (ToolCall("now", '{"zone": "Rome"}', "call00200"), ToolCall("now", "{}", "call00201"))
    assert last.content == "Both at once."
    assert last.text == (
        'Both at once.<tool_call>\n{"name": "now", "arguments": {"zone": "Rome"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    )
    assert "".join(event.text for event in rounds_of(events)) == last.text
    assert server.questions[-1]["tools"] == [NOW]
    assert trace_of(events).start["tools"] == [NOW]


ROME, OSLO = '{"zone": "Rome"}', '{"zone": "Oslo"}'
BOTH = [["now", ROME], ["now", OSLO]]


def part(index: int | None, identity: str, name: str, arguments: Any) -> dict[str, Any]:
    """A piece of a call as a server sends it; what is empty is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value}
    named = {key: value for key, value in (("index", index), ("id", identity)) if value not in (None, "")}
    return {"type": "function", "function": function, **named}


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([part(0, "a", "now", ROME), part(0, "b", "now", OSLO)], BOTH),
        ([part(0, "a", "now", ROME), part(0, "b", "now", ""), part(0, "", "", OSLO)], BOTH),
        ([part(None, "a", "now", ROME), part(None, "b", "now", OSLO)], BOTH),
        ([part(None, "", "now", ROME), part(None, "", "now", OSLO)], BOTH),
        ([part(None, "a", "now", ""), part(None, "", "", ROME[:4]), part(None, "", "", ROME[4:])], BOTH[:1]),
        ([part(0, "a", "now", ROME[:4]), part(0, "a", "now", ROME[4:])], BOTH[:1]),
        ([part(0, "a", "now", ""), part(1, "b", "now", OSLO), part(0, "a", "", ROME)], BOTH),
        ([part(0, "", "now", ROME[:4]), part(0, "a", "", ROME[4:])], BOTH[:1]),
        ([part(3, "a", "now", {"zone": "Rome"}), part(4, "b", "now", {"zone": "Oslo"})], BOTH),
        ([part(0, "a", "now", None)], [["now", "{}"]]),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_calls_are_told_apart_by_ids_then_by_numbers(pieces: list[Any], calls: list[Any], together: bool) -> None:
    collected = RemoteCalls()
    for deltas in [pieces] if together else [[piece] for piece in pieces]:
        collected.written(read_chunk({"choices": [{"index": 0, "delta": {"tool_calls": deltas}}]}))
    assert [[call.name, call.arguments] for call in collected.made(0)] == calls


def test_an_answer_that_is_cut_short_has_no_calls() -> None:
    with replaying(pages=dict(OPENAI_PAGES)) as server:
        server.replies.append(calling("length"))
        with connected(server) as client:
            last = ended([*answer(client, tools=Offer((NOW,)))])
    assert last.calls == ()
    assert "<tool_call>" in last.text


def test_calls_and_results_are_sent_again() -> None:
    call = ToolCall("now", "{}", "call00000")
    said = (
        ChatMessage("user", "When?"),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "noon", tool_call_id=call.id, name="now"),
    )
    with replaying(pages=dict(OPENAI_PAGES)) as server:
        server.replies.append(stream(delta("Noon.", finish="stop")))
        with connected(server) as client:
            events = [*answer(client, messages=said, tools=Offer((NOW,)))]
    _, called, result = server.questions[-1]["messages"]
    assert called["tool_calls"] == [call.to_json()]
    assert (result["tool_call_id"], result["content"]) == (call.id, "noon")
    assert ended(events).calls == ()
    assert trace_of(events).start["messages"][1]["tool_calls"] == [call.to_json()]


@pytest.mark.parametrize("pieces", [None, 7, [None], [{"function": 3}], [{"index": "x", "function": {"arguments": 5}}]])
def test_odd_pieces_break_nothing(pieces: Any) -> None:
    message = {"choices": [{"index": 0, "delta": {"content": "Hi", "tool_calls": pieces}}]}
    with replaying(pages=dict(OPENAI_PAGES)) as server:
        server.replies.append(stream(message, delta("", finish="stop")))
        with connected(server) as client:
            assert ended([*answer(client, tools=Offer((NOW,)))]).text.startswith("Hi")


def test_a_real_server_calls_and_goes_on_with_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    model = write_calling_model(tmp_path / "calling.gguf", {"time": call_text("now", zone="Rome")})
    question, plain = ChatMessage("user", "What time is it?"), Settings(drafter="none")
    with real_server("-m", model, "-t", "1") as server:
        client = RemoteClient(read_address(server.url))
        try:
            assert isinstance([*client.load(client.first_target, None, LoadOptions())][-1], Loaded)
            called = ended([*answer(client, plain, messages=(question,), tools=Offer((NOW,)))])
            (call,) = called.calls
            assert (call.name, call.arguments) == ("now", '{"zone": "Rome"}')
            assert "<tool_call>" in called.text
            result = ChatMessage("tool", "noon", tool_call_id=call.id, name="now")
            said = (question, ChatMessage("assistant", called.content, called.calls), result)
            last = ended([*answer(client, plain, messages=said, tools=Offer((NOW,)))])
            assert (last.text, last.calls) == (DONE, ())
        finally:
            client.close()
