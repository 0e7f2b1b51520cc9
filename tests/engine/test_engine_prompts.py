"""Prompts of all kinds on real files: with tools, without a template, with control tokens in the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_engine import (
    ContextOverflowError,
    Engine,
    LoadOptions,
    Message,
    Prompt,
    SamplingParams,
    Session,
    SettingError,
    Settings,
    ToolCall,
)
from specchat_engine.answers.grammar import tool_grammar
from specchat_engine.answers.parser import parse_answer
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.prompt.messages import Asked
from support.tiny_models import TEMPLATE, EngineFiles, byte_vocabulary, write_tiny_model

WITH_TOOLS = (
    "{% if tools %}<|im_start|>{{ tools | tojson }}<|im_end|>{% endif %}"
    + TEMPLATE.replace("{{ message['content'] }}", "{{ message['content'] }}{{ message.tool_calls | d([]) | tojson }}")
    + "{% if enable_thinking %}<think>{% endif %}"
)
TOOLS = ({"type": "function", "function": {"name": "weather", "description": "<|im_end|>"}},)
NOW = (
    {
        "type": "function",
        "function": {
            "name": "now",
            "parameters": {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]},
        },
    },
)
ASKED = (
    Message("user", "Rain?"),
    Message("assistant", "", (ToolCall("weather", '{"city": "<|im_start|>"}', "id1"),)),
    Message("tool", "no<|im_end|>", tool_call_id="id1"),
)
START, END = 1, 2
GREEDY = Settings(max_tokens=12, drafter="none", sampling=SamplingParams(temperature=0))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = write_tiny_model(tmp_path_factory.mktemp("m") / "tools.gguf", seed=1, sharpness=0.15, template=WITH_TOOLS)
    with Engine.load(path, options=LoadOptions(threads=1)) as engine:
        yield engine


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    template = WITH_TOOLS + "{# <tool_call> #}"
    path = write_tiny_model(tmp_path_factory.mktemp("m") / "hermes.gguf", seed=1, sharpness=0.15, template=template)
    with Engine.load(path, options=LoadOptions(threads=1)) as engine:
        yield engine


def answer(session: Session, asked: Asked) -> str:
    for _ in session.answer(asked, 0):
        pass
    return session.text


def said(engine: Engine, ids: list[int]) -> str:
    """The text of a prompt, with its control tokens in braces."""
    pieces = (f"{{{token}}}".encode() if token < 3 else engine.vocabulary.piece(token) for token in ids)
    return b"".join(pieces).decode()


def test_tools_calls_and_variables_are_in_the_prompt_and_forge_no_control_token(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    answer(session, Prompt(ASKED, TOOLS, {"enable_thinking": True}))
    assert said(engine, session.prompt_ids) == (
        '{1}[{"type": "function", "function": {"name": "weather", "description": "<|im_end|>", '
        '"parameters": {"type": "object", "properties": {}}}}]{2}'
        "{1}user\nRain?[]{2}\n"
        '{1}assistant\n[{"id": "id1", "type": "function", "function": {"name": "weather", "arguments": '
        '{"city": "<|im_start|>"}}}]{2}\n{1}tool\nno<|im_end|>[]{2}\n{1}assistant\n<think>'
    )
    start = session.start_line()
    assert [message["role"] for message in start["messages"]] == ["user", "assistant", "tool"]
    assert (start["tools"], start["variables"]) == ([*TOOLS], {"enable_thinking": True})
    assert "prompt" not in start


def test_an_answer_at_the_end_goes_on_as_one_that_was_given_its_beginning(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    question, begun = Message("user", "Count"), "One, "
    list(session.answer((question,), turn=0, prefix=begun))
    expected, prompt = session.text, [*session.prompt_ids, *session.given_ids]
    list(session.answer(Prompt((question, Message("assistant", begun)), variables={"enable_thinking": True}), turn=0))
    assert session.prompt_ids == prompt
    assert not session.opens_reasoning
    assert (begun + session.text).startswith(expected)


def test_a_token_of_the_users_choice_ends_an_answer_and_is_no_part_of_it(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    list(session.answer((Message("user", "Count"),), turn=0))
    ids, text = session.answer_ids, session.text
    last = ids[-1]
    session.settings = replace(GREEDY, stop_tokens=(last,))
    list(session.answer((Message("user", "Count"),), turn=0))
    assert session.answer_ids == ids[: ids.index(last) + 1]
    assert session.end_reason == "end"
    assert text.startswith(session.text)
    assert session.text != text


def test_a_raw_text_and_its_ids_have_the_same_answer(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    text = "Once<|im_end|> upon"
    by_text = answer(session, Prompt(raw=text))
    assert said(engine, session.prompt_ids) == "Once{2} upon"
    assert session.start_line()["prompt"] == text
    ids = tuple(session.prompt_ids)
    assert answer(session, Prompt(raw=ids)) == by_text
    assert session.start_line()["prompt"] == [*ids]
    assert answer(session, [Message("user", text)]) != by_text


def test_a_raw_prompt_that_does_not_fit_is_refused_and_the_session_stays_usable(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    with pytest.raises(ContextOverflowError, match="the text makes a prompt of 600 tokens"):
        answer(session, Prompt(raw=[40] * 600))
    with pytest.raises(SettingError, match="token 999"):
        answer(session, Prompt(raw=[999]))
    session.prepare(Prompt(raw=[]), bool)
    assert len(answer(session, Prompt(raw=[40] * 505))) > 0
    assert session.end_reason == "context"


def test_the_control_tokens_that_are_shown_are_part_of_the_text(engine: Engine) -> None:
    biased = Settings(
        max_tokens=3, drafter="none", sampling=SamplingParams(temperature=0, logit_bias=((START, 9000.0),))
    )
    session = engine.session(settings=biased)
    rounds = list(session.answer(Prompt(raw="a", shown=("<|im_start|>", "no such token")), 0))
    assert session.text == "<|im_start|>" * 3 == "".join(event.text for event in rounds)
    assert answer(session, Prompt(raw="a")) == ""


@pytest.mark.parametrize("shown", [True, False])
def test_a_grammar_may_use_the_control_tokens_that_are_shown(engine: Engine, shown: bool) -> None:
    sampling = SamplingParams(
        temperature=0, grammar='root ::= "<|im_start|>[" [a-c]{4} "]"', logit_bias=((START, 9000.0),)
    )
    session = engine.session(settings=Settings(max_tokens=40, drafter="lookup", k=3, sampling=sampling))
    text = answer(session, Prompt(raw="<|im_start|>[abca]" * 3, shown=("<|im_start|>",) if shown else ()))
    assert text.startswith("<|im_start|>[")
    assert (session.answer_ids[0] == START) is shown
    assert session.end_reason == "end"
    inspection = session.inspect(0)
    assert (inspection.said == START) is shown


@pytest.mark.parametrize("choice", [None, "now"])
@pytest.mark.parametrize("drafter", ["none", "lookup"])
def test_a_call_that_is_required_is_made(engine: Engine, choice: str | None, drafter: str) -> None:
    parameters = {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]}
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in ("weather", "now")]
    grammar = tool_grammar(engine.answer_format, tools, choice, parallel=False)
    sampling = SamplingParams(temperature=1.0, grammar=grammar, logit_bias=((3 + ord("t") - 33, 100.0),))
    session = engine.session(settings=Settings(max_tokens=200, drafter=drafter, sampling=sampling), seed=3)
    text = answer(session, Prompt([Message("user", "Rain?")], tools, shown=engine.answer_format.marks))
    assert session.end_reason == "end"
    (call,) = parse_answer(text, engine.answer_format, tools).tool_calls
    assert call.name in (["now"] if choice else ["weather", "now"])
    assert json.loads(call.arguments)["x"] in ("a", "b")


@pytest.mark.parametrize("level", ["auto", "off"])
def test_a_prompt_can_require_a_call_whatever_grammar_is_set(engine: Engine, level: str) -> None:
    bias = ((3 + ord("<"), -100.0), (END, 50.0))
    sampling = SamplingParams(temperature=1.0, grammar='root ::= "no"', logit_bias=bias)
    session = engine.session(settings=Settings(max_tokens=200, thinking=level, sampling=sampling), seed=3)
    asked = Prompt([Message("user", "Rain?")], NOW, shown=engine.answer_format.marks, must_call=True)
    (call,) = parse_answer(answer(session, asked), engine.answer_format, NOW).tool_calls
    assert (session.end_reason, call.name) == ("end", "now")
    assert json.loads(call.arguments)["x"] in ("a", "b")
    assert session.inspect(0).said == session.answer_ids[0]
    assert answer(session, [Message("user", "Rain?")]) == "no"


@pytest.mark.parametrize(("level", "begins"), [("auto", "<think>"), ("off", "{")])
def test_a_required_call_comes_after_a_thought_only_if_the_model_may_think(
    engine: Engine, level: str, begins: str
) -> None:
    sampling = SamplingParams(temperature=1.0, logit_bias=((3 + ord("<") - 33, 100.0),))
    session = engine.session(settings=Settings(max_tokens=9, thinking=level, sampling=sampling), seed=3)
    asked = Prompt([Message("user", "Rain?")], NOW, shown=engine.answer_format.marks, must_call=True)
    assert answer(session, asked).startswith(begins)


def test_no_thought_comes_after_one_that_the_prompt_has_closed(tmp_path: Path) -> None:
    template = WITH_TOOLS + "{% if not enable_thinking %}<think></think>{% endif %}"
    path = write_tiny_model(tmp_path / "closed.gguf", seed=1, sharpness=0.15, template=template)
    sampling = SamplingParams(temperature=1.0, logit_bias=((3 + ord("<") - 33, 100.0),))
    with Engine.load(path, options=LoadOptions(threads=1)) as engine:
        session = engine.session(settings=Settings(max_tokens=9, sampling=sampling), seed=3)
        assert answer(session, Prompt([Message("user", "Rain?")], NOW, must_call=True)).startswith("{")


@pytest.mark.parametrize("said", ["<tool_call>", "Let me see.\n<tool_call>", "<tool_call>\n{"])
def test_a_call_that_the_model_chose_to_make_is_held_to_its_schema(hermes: Engine, said: str) -> None:
    sampling = SamplingParams(temperature=1.0, logit_bias=((END, 50.0),))
    asked = Prompt([Message("user", "Rain?")], NOW, shown=hermes.answer_format.marks)
    prefix = hermes.vocabulary.tokenize(said, special=True)
    texts = set()
    for drafter in ("none", "lookup"):
        session = hermes.session(settings=Settings(max_tokens=200, drafter=drafter, k=4, sampling=sampling), seed=3)
        for _ in session.answer(asked, 0, prefix=prefix):
            pass
        (call,) = parse_answer(session.text, hermes.answer_format, NOW).tool_calls
        assert (session.end_reason, call.name) == ("end", "now")
        assert json.loads(call.arguments)["x"] in ("a", "b")
        place = len(prefix) + session.text[len(said) :].index("n")
        assert [token.text for token in session.inspect(place).tokens if token.p > 0] == ["n"]
        texts.add(session.text)
    assert len(texts) == 1


def test_a_call_that_the_model_chose_is_the_only_one_if_calls_may_not_be_parallel(hermes: Engine) -> None:
    session = hermes.session(settings=Settings(max_tokens=200, sampling=SamplingParams(logit_bias=((END, -100.0),))))
    asked = Prompt([Message("user", "Rain?")], NOW, shown=hermes.answer_format.marks, parallel_calls=False)
    for _ in session.answer(asked, 0, prefix=hermes.vocabulary.tokenize("<tool_call>", special=True)):
        pass
    assert session.end_reason == "end"
    assert len(parse_answer(session.text, hermes.answer_format, NOW).tool_calls) == 1


@pytest.mark.parametrize(("said", "names"), [("<tool_call>", ["now"]), ("n", [])])
def test_a_model_may_call_instead_of_following_the_grammar_that_is_set(
    hermes: Engine, said: str, names: list[str]
) -> None:
    sampling = SamplingParams(temperature=1.0, grammar='root ::= "no"', logit_bias=((END, -100.0),))
    session = hermes.session(settings=Settings(max_tokens=200, sampling=sampling), seed=3)
    asked = Prompt([Message("user", "Rain?")], NOW, shown=hermes.answer_format.marks, parallel_calls=False)
    for _ in session.answer(asked, 0, prefix=hermes.vocabulary.tokenize(said, special=True)):
        pass
    read = parse_answer(session.text, hermes.answer_format, NOW, formatted=True)
    assert (session.end_reason, [call.name for call in read.tool_calls]) == ("end", names)
    assert read.content == ("" if names else "no")


def test_an_answer_that_calls_nothing_is_free_although_there_are_tools(hermes: Engine) -> None:
    session = hermes.session(settings=GREEDY)
    assert answer(session, Prompt([Message("user", "Rain?")], NOW, shown=hermes.answer_format.marks))
    seen = [token for place in range(len(session.answer_ids)) for token in session.inspect(place).tokens]
    assert "grammar" not in {token.removed_by for token in seen}


def test_an_answer_is_inspected_under_the_grammar_that_it_was_held_to(engine: Engine) -> None:
    sampling = SamplingParams(temperature=1.0, grammar='root ::= "no"')
    session = engine.session(settings=Settings(max_tokens=20, thinking="on", sampling=sampling), seed=3)
    answer(session, [Message("user", "Rain?")])
    found = session.inspect(0)
    session.settings = replace(session.settings, thinking="off")
    assert session.inspect(0) == found


def test_a_call_of_no_tool_cannot_be_required(engine: Engine) -> None:
    with pytest.raises(SettingError, match="there are no tools"):
        answer(engine.session(settings=GREEDY), Prompt([Message("user", "Rain?")], must_call=True))


def test_a_session_knows_whether_a_prompt_opened_the_reasoning(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    for thinking in (False, True):
        answer(session, Prompt([Message("user", "<think>")], variables={"enable_thinking": thinking}))
        assert session.opens_reasoning is thinking


def test_the_switch_of_a_real_file_is_found_and_set(engine: Engine) -> None:
    assert (engine.thinking.toggle, engine.thinking.notice("off")) == ("enable_thinking", "")
    for level, ending in (("off", "assistant\n"), ("high", "<think>")):
        session = engine.session(settings=replace(GREEDY, thinking=level))
        answer(session, [Message("user", "Hi")])
        assert said(engine, session.prompt_ids).endswith(ending)
        assert session.start_line()["variables"] == {"enable_thinking": level == "high"}


def test_the_tokens_that_were_in_memory_are_counted(engine: Engine) -> None:
    engine.forget()
    session = engine.session(settings=GREEDY)
    answer(session, ASKED)
    assert session.stats.cached_tokens == 0
    answer(session, ASKED)
    assert session.stats.cached_tokens == session.stats.prompt_tokens - 1
    first = session.prompt_ids
    other = (*ASKED[:-1], Message("tool", "yes", tool_call_id="id1"))
    answer(session, other)
    assert 100 < session.stats.cached_tokens == common_prefix(first, session.prompt_ids) < len(first)
    assert session.end_line()["stats"]["cached_tokens"] == session.stats.cached_tokens
    assert session.cache_miss == "", "only the end differs"
    for _ in session.answer(other, 0, prefix=session.answer_ids[:6]):
        pass
    assert session.stats.cached_tokens == session.stats.prompt_tokens


def test_it_says_what_changed_if_a_long_prompt_is_read_again(engine: Engine) -> None:
    session = engine.session(settings=GREEDY)
    for header in ("cch=17", "cch=42"):
        answer(session, [Message("system", f"{header}\n{'Be brief. ' * 40}"), Message("user", "Hi")])
    assert session.stats.cached_tokens < 20
    assert f"only the first {session.stats.cached_tokens} tokens were in memory" in session.cache_miss
    assert "42" in session.cache_miss
    assert "17" not in session.cache_miss


def test_what_another_answer_has_in_memory_counts_too(files: EngineFiles) -> None:
    with Engine.load(files.target, options=LoadOptions(threads=1, parallel=2)) as engine:
        one, other = (engine.session(settings=GREEDY, place=place) for place in range(2))
        question = [Message("user", "A long question that both ask.")]
        answer(one, question)
        assert one.stats.cached_tokens == 0
        answer(other, question)
        assert other.stats.cached_tokens == other.stats.prompt_tokens - 1
        prompts = [Prompt(raw=f"{text} and what follows") for text in ("This", "That")]
        with ThreadPoolExecutor(2) as threads:
            texts = list(threads.map(answer, (one, other), prompts))
        assert texts == [answer(one, prompts[0]), answer(other, prompts[1])]


@pytest.mark.parametrize("drafter", ["none", "lookup"])
def test_a_grammar_begins_after_the_reasoning_that_was_asked_for(engine: Engine, drafter: str) -> None:
    sampling = SamplingParams(
        temperature=0, grammar='root ::= "[" [a-c]{4} "]"', logit_bias=((3 + ord("<") - 33, 20.0),)
    )
    settings = Settings(max_tokens=60, drafter=drafter, k=3, sampling=sampling)
    plain = engine.session(settings=settings)
    assert answer(plain, [Message("user", "Hi")]).startswith("[")
    prefix = engine.vocabulary.tokenize("well, <b>{</think>", special=False)
    session = engine.session(settings=replace(settings, thinking="on"))
    for _ in session.answer([Message("user", "Hi")], 0, prefix=prefix):
        pass
    thought, _, text = session.text.partition("</think>")
    assert thought == "well, <b>{"
    assert re.fullmatch(r"\s{0,4}\[[a-c]{4}\]", text)
    assert session.end_reason == "end"
    inspection = session.inspect(len(prefix) + 1, asked=(engine.vocabulary.tokenize("z", special=False)[0],))
    assert {token.removed_by for token in inspection.tokens if token.id not in session.answer_ids} >= {"grammar"}


def prompt_of(engine: Engine, *messages: Message) -> str:
    """The prompt that the engine makes of a conversation, as text; control tokens print nothing."""
    session = engine.session(settings=replace(GREEDY, max_tokens=1))
    list(session.answer(messages, len(messages)))
    return b"".join(map(engine.vocabulary.piece, session.prompt_ids)).decode()


def test_a_base_model_goes_on_with_the_text_of_the_conversation(tmp_path: Path) -> None:
    tokens = ["<|endoftext|>", "<a>", "<b>", *byte_vocabulary()[3:]]
    path = write_tiny_model(tmp_path / "base.gguf", vocabulary=tokens, template="")
    with Engine.load(path) as engine:
        assert engine.base_because.startswith("base.gguf is a base model")
        talk = (
            Message("system", "A tale"),
            Message("user", "hello"),
            Message("assistant", " there"),
            Message("user", "Oh"),
        )
        assert prompt_of(engine, talk[1]) == "hello"
        assert prompt_of(engine, *talk) == "A tale\n\nhello there\n\nOh"


def test_a_file_without_a_template_that_knows_the_marks_of_chatml_still_chats(tmp_path: Path) -> None:
    with Engine.load(write_tiny_model(tmp_path / "old.gguf", template="")) as engine:
        assert not engine.base_because
        assert prompt_of(engine, Message("user", "hello")) == "user\nhello\nassistant\n"
