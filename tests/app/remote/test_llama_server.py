"""A real llama-server with the built-in pair: what is reconstructed is what it counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.llama_servers import is_built, json_at, running_llama_server, until
from support.remote_answers import counters, totals

pytestmark = pytest.mark.skipif(not is_built(), reason="llama-server is not built: `make bench-peers` builds it")

TARGET, DRAFT = builtin_pair()
DRAFTING = ("-md", str(DRAFT), "--spec-type", "draft-simple,ngram-simple", "--spec-draft-n-max", "4")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("llama-server") / "log"
    threads = ("-t", "1", "-tb", "1", "-np", "1", "-c", "1024")
    flags = (*DRAFTING, "--spec-ngram-simple-size-n", "3", *threads, "--slots", "--metrics")
    with running_llama_server(TARGET, *flags, "--api-key", "sk-test", log=log) as running:
        yield running


@pytest.fixture
def client(url: str) -> Iterator[RemoteClient]:
    client = RemoteClient(read_address(url, key="sk-test"))
    (loaded,) = client.load(client.first_target, None, LoadOptions())
    assert isinstance(loaded, Loaded), loaded
    yield client
    client.close()


def answer(client: RemoteClient, prompt: str, settings: Settings, attempt: int = 0) -> list[Event]:
    asked = (ChatMessage("user", prompt),)
    return list(client.generate(Generate(asked, turn=0, attempt=attempt, seed=7, settings=settings)))


PROMPTS = [prompt for prompts in benchmark_prompts().values() for prompt in prompts][:20]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_rounds_add_up_to_the_servers_own_counters(client: RemoteClient, url: str, temperature: float) -> None:
    settings = Settings(sampling=SamplingParams(temperature=temperature), max_tokens=96)
    before, all_shown = counters(url, key="sk-test"), Counter[str]()
    for prompt in PROMPTS:
        events = answer(client, prompt, settings)
        last = events[-1]
        assert isinstance(last, Ended), last
        shown, said = totals(events)
        assert shown == said
        assert "".join(event.text for event in events if isinstance(event, Round)) == last.text
        assert last.stats["prompt_tokens"] > 0
        all_shown += shown
    assert all_shown == counters(url, key="sk-test") - before
    assert all_shown["num_draft_tokens"] > 200


def test_another_attempt_gives_another_text_and_the_same_one_the_same(client: RemoteClient) -> None:
    settings = Settings(sampling=SamplingParams(temperature=1.5), max_tokens=48)
    texts = [answer(client, "Tell me a story.", settings, attempt) for attempt in (0, 0, 1)]
    first, same, other = (events[-1].text for events in texts if isinstance(events[-1], Ended))
    assert first == same
    assert first != other


def test_a_cancel_frees_the_slot(client: RemoteClient, url: str) -> None:
    asked = client.generate(
        Generate(
            (ChatMessage("user", "Count as far as you can."),),
            seed=7,
            settings=Settings(sampling=SamplingParams(temperature=1.5, logit_bias=((2, float("-inf")),))),
        )
    )
    seen = 0
    for event in asked:
        seen += isinstance(event, Round)
        if seen == 3:
            assert json_at(f"{url}/slots", key="sk-test")[0]["is_processing"]
            client.cancel()
    assert isinstance(event, Ended)
    assert event.reason == "cancelled"
    assert until(lambda: not json_at(f"{url}/slots", key="sk-test")[0]["is_processing"])


def test_a_wrong_key_is_said(url: str) -> None:
    client = RemoteClient(read_address(url, key="sk-wrong"))
    (failed,) = client.load(client.first_target, None, LoadOptions())
    client.close()
    assert "does not accept the key (401" in str(failed)
    assert "sk-wrong" not in str(failed)


def test_a_grammar_holds(client: RemoteClient) -> None:
    grammar = 'root ::= "yes" | "no"'
    settings = Settings(sampling=SamplingParams(grammar=grammar), max_tokens=8)
    last = answer(client, "Is a draft model small?", settings)[-1]
    assert isinstance(last, Ended)
    assert last.text in ("yes", "no")


def test_a_long_conversation_is_shortened_until_it_fits(client: RemoteClient) -> None:
    said = [
        ChatMessage("user" if place % 2 == 0 else "assistant", f"Sentence {place} about drafts and rounds. " * 20)
        for place in range(9)
    ]
    events = list(client.generate(Generate(said, turn=4, seed=7, settings=Settings(max_tokens=8))))
    last = events[-1]
    assert isinstance(last, Ended), last
    assert last.stats["prompt_tokens"] < 1024
