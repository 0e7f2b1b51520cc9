"""A real `specchat serve` on tiny models: a client gets the rounds that its engine made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded, Notice, Started, TaskFailed
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat_engine import Engine, Image, Message
from specchat_engine.llama.mtmd import has_mtmd
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.real_server import RealServer, real_server
from support.remote_answers import counters, rounds_of, totals
from support.tiny_models import TinyModels
from support.vision_models import IMAGE_TOKENS, png, write_seeing_pair

SAMPLING = SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)
LOOKING = Settings(k=3, max_tokens=16, sampling=SAMPLING)


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
    return list(client.generate(Generate((ChatMessage("user", prompt),), seed=7, settings=settings)))


def test_the_rounds_are_whole_and_add_up_to_the_servers_counters_and_the_trace_names_its_models(
    client: RemoteClient, server: RealServer
) -> None:
    before, all_shown = counters(server.url), Counter[str]()
    for prompt in ("hello", "hello hello hello", "What is 1 + 1?"):
        events = answer(client, prompt, Settings(k=3, max_tokens=24, sampling=SAMPLING))
        started, last, rounds = events[0], events[-1], rounds_of(events)
        assert isinstance(started, Started)
        assert isinstance(last, Ended), last
        assert "".join(event.text for event in rounds) == last.text
        assert not any(token.is_unknown for event in rounds for token in event.drafted)
        shown, said = totals(events)
        assert shown == said
        all_shown += shown
    assert all_shown == counters(server.url) - before
    assert all_shown["num_drafts"] > 5
    version, host = started.line["versions"]["specchat"], server.url.removeprefix("http://")
    assert started.line["engine"] == {"kind": "specchat", "version": version, "host": host}
    assert started.line["target"]["n_params"] > 0
    assert started.line["draft"]["name"]


def test_a_request_chooses_what_drafts_and_how_far(client: RemoteClient) -> None:
    by_k = {k: answer(client, "hello", Settings(k=k, max_tokens=24, sampling=SAMPLING)) for k in (0, 5)}
    lookup = answer(client, "hello", Settings(drafter="lookup", k=4, max_tokens=24, sampling=SAMPLING))
    assert not any(event.drafted for event in rounds_of(by_k[0]))
    assert max(len(event.drafted) for event in rounds_of(by_k[5])) == 5
    assert {event.source for event in rounds_of(lookup)} <= {"lookup", "none"}
    texts = {last.text for *_, last in (*by_k.values(), lookup) if isinstance(last, Ended)}
    assert len(texts) == 1, "the same noise gives the same text, whatever drafts"


def test_a_long_conversation_is_shortened_until_it_fits(client: RemoteClient) -> None:
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", "hello there " * 60) for place in range(9)]
    events = list(client.generate(Generate(said, turn=4, seed=7, settings=Settings(max_tokens=8))))
    last = events[-1]
    assert isinstance(last, Ended), last
    assert 0 < last.stats["prompt_tokens"] < 2048


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """A target with a projector beside it, and a draft model."""
    return write_seeing_pair(tmp_path_factory.mktemp("seeing"))


@pytest.fixture(scope="module")
def seeing(pair: TinyModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A server whose model sees, and which takes requests of 1 MiB at most."""
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    if not has_mtmd():
        pytest.skip("this build of llama.cpp has no libmtmd: make test VISION=1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        flags = ("-m", pair.target, "-d", pair.draft, "-t", "1", "-c", "2048", "-np", "2")
        with real_server(*flags, "--max-body", "1") as started:
            yield started


def ask(server: RealServer, *images: Path, before: Sequence[ChatMessage] = ()) -> list[Event]:
    """What a server answers about pictures."""
    client = RemoteClient(read_address(server.url))
    (loaded,) = client.load(client.first_target, None, LoadOptions())
    assert isinstance(loaded, Loaded)
    assert loaded.no_images_because == ""
    message = ChatMessage("user", "What is this?", images=tuple(map(str, images)))
    events = list(client.generate(Generate((*before, message), seed=7, settings=LOOKING)))
    client.close()
    return events


def text_about(server: RealServer, *images: Path, before: Sequence[ChatMessage] = ()) -> str:
    last = ask(server, *images, before=before)[-1]
    assert isinstance(last, Ended), last
    return last.text


def pictures(folder: Path, *seeds: int) -> list[Path]:
    for seed in seeds:
        (folder / f"{seed}.png").write_bytes(png(seed))
    return [folder / f"{seed}.png" for seed in seeds]


def test_the_server_sees_images_as_an_engine_here_does(seeing: RealServer, pair: TinyModels, tmp_path: Path) -> None:
    one, other = pictures(tmp_path, 1, 2)
    texts = [text_about(seeing), text_about(seeing, one), text_about(seeing, other), text_about(seeing, one, other)]
    assert len(set(texts)) == 4
    seed = turn_seed(7, 0, 0) % 2**31
    with Engine.load(pair.target, None, LoadOptions(threads=1, n_ctx=2048)) as engine:
        for shown, text in zip(([], [one], [other], [one, other]), texts, strict=True):
            session = engine.session(settings=replace(LOOKING, k=0, drafter="none"), seed=seed)
            images = tuple(Image(path.read_bytes()) for path in shown)
            for _ in session.answer([Message("user", "What is this?", images=images)], 0):
                pass
            assert session.text == text


def test_the_server_sees_earlier_images_too(seeing: RealServer, tmp_path: Path) -> None:
    counts = []
    for images in ([], pictures(tmp_path, 1), pictures(tmp_path, 1, 2)):
        earlier = ChatMessage("user", "Look", images=tuple(map(str, images)))
        last = ask(seeing, before=[earlier, ChatMessage("assistant", "Yes")])[-1]
        assert isinstance(last, Ended)
        counts.append(last.stats["prompt_tokens"])
    newline = 1
    assert [count - counts[0] for count in counts[1:]] == [IMAGE_TOKENS + newline, 2 * IMAGE_TOKENS + newline]


def test_a_request_that_is_too_large_and_a_file_that_is_no_image_are_one_line(
    seeing: RealServer, tmp_path: Path
) -> None:
    noise = tmp_path / "noise.png"
    noise.write_bytes(png(1, 1200, 900))
    (failed,) = ask(seeing, noise)
    assert isinstance(failed, TaskFailed)
    assert "answers 413: the request is too large" in failed.message
    noise.write_bytes(b"no image")
    (failed,) = ask(seeing, noise)
    assert isinstance(failed, TaskFailed)
    assert "answers 400: messages[0].content[0].image_url is damaged" in failed.message


def test_a_server_that_sees_nothing_says_why_and_gets_a_note_on_earlier_images(
    server: RealServer, tmp_path: Path
) -> None:
    (one,) = pictures(tmp_path, 1)
    (failed,) = ask(server, one)
    assert isinstance(failed, TaskFailed)
    assert "answers 400: messages[0].content[0].image_url: " in failed.message
    assert "name one with --mmproj FILE" in failed.message
    earlier = ChatMessage("user", "Look", images=(str(one),))
    notice, *_, last = ask(server, before=[earlier, ChatMessage("assistant", "Yes")])
    assert isinstance(notice, Notice)
    assert notice.text.endswith("asking again without the earlier images")
    assert isinstance(last, Ended)
