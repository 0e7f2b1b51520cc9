"""Answers made beside the conversation."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.tui.scripted_client import ScriptedClient, ended, script
from specchat.engine_process.protocol import ChatMessage, Event, Generate, Offer, TaskFailed
from specchat.errors import SpecchatError
from specchat.settings.paths import images_folder
from specchat.traces.trace import Trace
from specchat.tui.side_answer import SideAnswer, asked_in, from_reading, question_of, speculative
from specchat_engine.decoding.trace_lines import settings_in
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import AUTO, Settings
from support.sample_traces import sample_trace


def recording(client: ScriptedClient) -> SideAnswer:
    return SideAnswer(client, question_of(sample_trace(prefix=[4, 5], prefix_text="ab"), 3), Settings())


def test_what_was_asked_is_asked_again_with_thoughts_and_calls() -> None:
    call = ToolCall("now", "{}", "call00000")
    asked = (
        ChatMessage("user", "hello"),
        ChatMessage("assistant", "<think>\nHm.\n</think>\n\nI look.", (call,)),
        ChatMessage("tool", "noon", tool_call_id="call00000", name="now"),
    )
    messages = [message.for_engine().to_json() for message in asked]
    assert messages[1]["reasoning_content"] == "Hm."
    again = asked_in(sample_trace(messages=messages))
    assert again == asked
    assert [message.for_engine().to_json() for message in again] == messages


def test_an_answer_about_an_image_is_made_again_with_the_image() -> None:
    shown, hostile = "ab" * 32, "../" * 21 + "x"
    asked = {"role": "user", "content": "What is it?", "images": [shown, hostile, 3]}
    (message,) = asked_in(sample_trace(messages=[asked]))
    assert message.images == (str(images_folder() / f"{shown}.png"),)


def test_a_recording_is_the_trace_of_an_answer_with_the_noise_and_the_beginning_of_another() -> None:
    client = ScriptedClient(script("> one| two> three"))
    made = recording(client)
    trace = made.run()
    assert trace is not None
    assert trace.text == " one two three"
    assert trace.end is not None
    assert trace.end["stats"] == ended(client.rounds).stats
    assert "verify" in trace.end["costs"]
    assert (client.noises, client.prefixes) == ([(7, 0, 3)], [(4, 5)])
    assert made.num_tokens == 3


def test_an_answer_after_a_call_is_made_again_with_the_call_its_result_and_the_tools() -> None:
    call = ToolCall("now", "{}", "call00000")
    messages = (
        ChatMessage("user", "When?"),
        ChatMessage("assistant", "Let me see.", (call,)),
        ChatMessage("tool", "noon", (), call.id, "now"),
    )
    tool = {"type": "function", "function": {"name": "now"}}
    said = [message.for_engine().to_json() for message in messages]
    trace = sample_trace()
    trace = trace._replace(start={**trace.start, "messages": said, "tools": [tool]})
    client = ScriptedClient()
    SideAnswer(client, question_of(trace, 0), Settings()).run()
    assert client.asked == [messages]
    assert client.offers == [Offer((tool,))]


def test_one_that_is_stopped_before_it_begins_asks_nothing() -> None:
    client = ScriptedClient()
    made = recording(client)
    made.stop()
    assert made.run() is None
    assert client.asked == []


def test_one_that_is_stopped_while_it_begins_is_stopped() -> None:
    class Hurried(ScriptedClient):
        def generate(self, request: Generate) -> Iterator[Event]:
            made.stop()
            return super().generate(request)

    client = Hurried()
    made = recording(client)
    assert made.run() is None
    assert client.stopped


def test_what_the_engine_says_when_it_fails_is_raised() -> None:
    with pytest.raises(SpecchatError, match="out of memory"):
        recording(ScriptedClient(failure=TaskFailed("out of memory"))).run()


def test_both_sides_differ_in_nothing_but_the_speculation() -> None:
    """Which does not copy the other side's answer, nor the one that is raced."""
    settings = Settings(k=0, drafter="none", max_tokens=9, verifier="typical")
    assert Settings(k=5, drafter="model", max_tokens=9).plain == Settings(k=0, drafter="none", max_tokens=9)
    assert settings.plain.verifier == "coupled"
    assert speculative(settings, ("model", "none")) == replace(settings, k=AUTO, drafter="model", lookup="conversation")
    assert speculative(Settings(k=3, drafter="lookup"), ("hybrid",)) == Settings(
        k=3, drafter="lookup", lookup="conversation"
    )


def test_the_clock_begins_when_the_prompt_has_been_read() -> None:
    trace = sample_trace(step_ms=100.0)
    assert trace.end is not None
    trace.end["stats"]["prompt_ms"] = 60.0  # type: ignore[index]
    assert [event.t_ms for event in from_reading(trace).rounds] == [40.0, 140.0, 240.0, 340.0]
    trace.end["stats"]["prompt_ms"] = 500.0  # type: ignore[index]
    assert from_reading(trace).rounds[0].t_ms == 0.0


def test_an_old_answer_is_inspected_with_its_own_messages() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    found = asked_in(Trace({"messages": messages}, ()))
    assert [(message.role, message.content) for message in found] == [("system", "Be brief."), ("user", "Who?")]


def test_an_answer_is_looked_at_with_the_sampling_and_the_thinking_that_it_had() -> None:
    now = Settings(thinking="on", lookup="conversation")
    line = {"verifier": "coupled", "params": {"temperature": 0.1, "thinking": "off"}}
    before = settings_in(line, now)
    assert (before.sampling.temperature, before.thinking, before.lookup) == (0.1, "off", "conversation")
    assert settings_in({"verifier": "coupled"}, now).thinking == AUTO, "older traces do not have it"
