"""Images in requests: every API's form of them reaches the engine as PNG, and what cannot be read is named."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import specchat.serve.pictures as pictures
from app.serve.conftest import Served
from specchat.attachments.protocol import Picture
from specchat.chat.attachments import MOST_IMAGES
from specchat.engine_process.images import PNG_URL
from specchat.engine_process.protocol import ChatMessage, Generate
from specchat.serve.api_errors import ApiError
from specchat.serve.pictures import Pictures
from specchat.serve.requests.content import GivenImage
from specchat.serve.server import prompt_log
from support.scripted_server import LOADED, ScriptedEngine
from support.serving import asking
from support.vision_models import png

pytest.importorskip("PIL", reason="needs the extra specchat[files]")

DATA = b64encode(png(1) + b"\0").decode()
"""An image with a byte after its end, so that it is padded in base 64."""
URL = f"data:image/png;base64,{DATA}"
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": URL, "detail": "high"}}
TEXT = {"type": "text", "text": "What is this?"}
BLOCK: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}


def asked_with(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [*parts]}], **more}


def sizes(request: Generate) -> list[list[tuple[int, int]]]:
    """The sizes of the images of each message."""
    from PIL import Image

    found = []
    for message in request.messages:
        assert all(image.startswith(PNG_URL) for image in message.images)
        opened = [Image.open(BytesIO(b64decode(image.removeprefix(PNG_URL)))) for image in message.images]
        assert {image.format for image in opened} <= {"PNG"}
        found.append([image.size for image in opened])
    return found


def test_openais_client_sends_images_beside_texts(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    other = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png(2, 30, 40)).decode()}"}}
    content: Any = [TEXT, IMAGE, other, {"type": "text", "text": " And this?"}]
    messages: Any = [{"role": "system", "content": "Look"}, {"role": "user", "content": content}]
    client.chat.completions.create(model="m", messages=messages)
    assert sizes(engine.asked[0]) == [[], [(20, 16), (30, 40)]]
    assert engine.asked[0].messages[1].content == "What is this?\n And this?"


def test_images_of_other_formats_become_pngs(http: httpx2.Client, engine: ScriptedEngine) -> None:
    from PIL import Image

    written = BytesIO()
    Image.new("RGB", (12, 8), "red").save(written, "WEBP")
    url = f"data:image/webp;base64,{b64encode(written.getvalue()).decode()}"
    part = {"type": "image_url", "image_url": {"url": url}}
    assert http.post("/v1/chat/completions", json=asked_with(part)).status_code == 200
    assert sizes(engine.asked[0]) == [[(12, 8)]]


@pytest.mark.parametrize(
    "url",
    [
        f"DATA:IMAGE/PNG;BASE64,{DATA}",
        f" data:image/png;charset=utf-8;base64,\r\n{DATA[:76]}\r\n{DATA[76:]}\n",
        f"data:;base64,{DATA.rstrip('=')}",
        f"data:image/jpeg;base64,{DATA}",
    ],
    ids=["upper case", "lines", "no padding", "another type"],
)
def test_data_urls_may_be_written_in_other_ways(http: httpx2.Client, engine: ScriptedEngine, url: str) -> None:
    assert DATA.endswith("=")
    part = {"type": "image_url", "image_url": url}
    assert http.post("/v1/chat/completions", json=asked_with(part)).status_code == 200
    assert sizes(engine.asked[0]) == [[(20, 16)]]


def test_the_newer_api_has_images_in_messages_and_outputs(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    image = {"type": "input_image", "image_url": URL, "detail": "auto"}
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    items: Any = [
        {"role": "user", "content": [{"type": "input_text", "text": "Look"}, image]},
        call,
        {"type": "function_call_output", "call_id": "c", "output": [image]},
    ]
    client.responses.create(model="m", input=items)
    assert sizes(engine.asked[0]) == [[(20, 16)], [], [(20, 16)]]


def test_anthropics_client_sends_images_in_messages_and_results(
    claude: anthropic.Anthropic, engine: ScriptedEngine
) -> None:
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "Seen"}, BLOCK]}
    messages: Any = [
        {"role": "user", "content": [BLOCK]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    claude.messages.create(model="m", max_tokens=8, messages=messages)
    assert claude.messages.count_tokens(model="m", messages=messages).input_tokens == 1
    for request in engine.asked:
        assert sizes(request) == [[(20, 16)], [], [(20, 16)]]
    assert engine.asked[0].messages[2].content == "Seen"


def test_all_answers_to_a_request_see_its_images(http: httpx2.Client, engine: ScriptedEngine) -> None:
    http.post("/v1/chat/completions", json=asked_with(IMAGE, n=3))
    assert [sizes(request) for request in engine.asked] == [[[(20, 16)]]] * 3


def test_an_image_that_comes_again_is_not_read_again(
    http: httpx2.Client, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    http.post("/v1/chat/completions", json=asked_with(IMAGE))
    monkeypatch.setattr(pictures, "picture_given", None)
    assert http.post("/v1/chat/completions", json=asked_with(IMAGE, IMAGE)).status_code == 200
    assert sizes(engine.asked[1]) == [[(20, 16)] * 2]


class Reader:
    """Reads images in place of the processes: each has 10 characters, and waits at the gate if there is one."""

    def __init__(self, patch: pytest.MonkeyPatch, gate: threading.Event | None = None) -> None:
        self.read: list[str] = []
        self.stopped: list[Callable[[], bool]] = []
        self._gate = gate
        patch.setattr(pictures, "picture_given", self._picture)

    def _picture(self, place: str, data: str, stopped: Callable[[], bool]) -> Picture:
        self.read.append(data)
        self.stopped.append(stopped)
        assert self._gate is None or self._gate.wait(600)
        return Picture(png=data * 10, thumbnail="", width=1, height=1)


def showing(*images: str) -> Generate:
    given = tuple(GivenImage(f"place {number}", data) for number, data in enumerate(images))
    return replace(asking(""), messages=(ChatMessage("user", "", images=given),))


@pytest.mark.asyncio
async def test_the_images_of_a_request_may_not_be_too_large_together(monkeypatch: pytest.MonkeyPatch) -> None:
    Reader(monkeypatch)
    read = Pictures(ScriptedEngine(), most=30)
    (message,) = (await read.unpacked(showing("a", "b", "a"))).messages
    assert message.images == tuple(PNG_URL + letter * 10 for letter in "aba")
    with pytest.raises(ApiError, match="place 3: all images together have more than"):
        await read.unpacked(showing("a", "b", "a", "b"))


@pytest.mark.asyncio
async def test_the_images_that_were_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch)
    read = Pictures(ScriptedEngine(), most=20)
    for image in "abacab":
        await read.unpacked(showing(image))
    assert reader.read == [*"abcb"]


@pytest.mark.asyncio
async def test_two_images_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    reader = Reader(monkeypatch, gate)
    read = Pictures(ScriptedEngine())
    reading = [asyncio.create_task(read.unpacked(showing(image))) for image in "abcd"]
    while len(reader.read) < 2:
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert sorted(reader.read) == ["a", "b"]
    gate.set()
    await asyncio.gather(*reading)
    assert sorted(reader.read) == [*"abcd"]


@pytest.mark.asyncio
async def test_an_image_is_no_longer_read_once_its_client_left(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    reader = Reader(monkeypatch, gate)
    reading = asyncio.create_task(Pictures(ScriptedEngine()).unpacked(showing("a")))
    while not reader.stopped:
        await asyncio.sleep(0)
    assert not reader.stopped[0]()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reader.stopped[0]()
    gate.set()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.org/a.png", "is an address, and this server fetches nothing: send the image as a data: URL"),
        ("HTTP://169.254.169.254/", "is an address, and this server fetches nothing"),
        ("file:///etc/passwd", "is not a data: URL of an image in base 64"),
        ("data:image/png,plain", "is not a data: URL"),
        ("data:text/html;base64,AAAA", "is damaged, or no picture of a known format"),
        ("data:image/png;base64,A*AA", "is not in base 64"),
        ("data:image/png;base64,iVBORw0KGgo%3D", "is not in base 64"),
        ("data:image/png;base64,", "is damaged, or no picture of a known format"),
        ("", "is not a data: URL"),
        (f"data:image/png;base64,{b64encode(png(1)[:300]).decode()}", "it is probably damaged"),
    ],
)
def test_what_is_no_image_is_named_in_one_line(
    http: httpx2.Client, engine: ScriptedEngine, url: str, said: str
) -> None:
    content = [TEXT, {"type": "image_url", "image_url": {"url": url}}]
    answer = http.post("/v1/chat/completions", json=asked_with(*content))
    error = answer.json()["error"]
    assert answer.status_code == 400, error
    assert error["param"] == "messages[0].content[1].image_url"
    assert error["message"].startswith(f"{error['param']} ")
    assert said in error["message"]
    assert engine.asked == []


def test_anthropics_addresses_of_images_are_refused_too(http: httpx2.Client, engine: ScriptedEngine) -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    answer = http.post("/v1/messages", json=asked_with(block, max_tokens=8))
    assert answer.status_code == 400
    assert "messages[0].content[0].source" in answer.json()["error"]["message"]
    assert engine.asked == []


def test_a_message_shows_so_many_images_at_most(http: httpx2.Client) -> None:
    answer = http.post("/v1/chat/completions", json=asked_with(*[IMAGE] * (MOST_IMAGES + 1)))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == f"messages[0].content[{MOST_IMAGES}].image_url"
    messages = [{"role": "user", "content": [IMAGE] * MOST_IMAGES}] * 8
    assert http.post("/v1/chat/completions", json={"messages": messages}).status_code == 200
    answer = http.post("/v1/chat/completions", json={"messages": [*messages, *messages]})
    assert answer.json()["error"]["param"] == "messages[8].content[0].image_url"


def test_a_model_that_sees_nothing_says_why(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.info = replace(LOADED, no_images_because="it has no projector")
    for path, part in (("/v1/chat/completions", IMAGE), ("/v1/messages", BLOCK), ("/v1/messages/count_tokens", BLOCK)):
        answer = http.post(path, json=asked_with(part, max_tokens=8))
        assert answer.status_code == 400
        assert "it has no projector" in answer.json()["error"]["message"]
    assert engine.asked == []
    assert http.post("/v1/chat/completions", json=asked_with(TEXT)).status_code == 200


def test_a_log_of_prompts_keeps_no_data_of_images(served: Served) -> None:
    text = {"type": "text", "text": f"data: {'x' * 100}"}
    written = StringIO()
    with httpx2.Client(base_url=served(log=prompt_log(written)), timeout=600, trust_env=False) as http:
        for image in (IMAGE, {"type": "image_url", "image_url": URL.replace("data:", "DATA:")}):
            http.post("/v1/chat/completions", json=asked_with(text, image))
        http.post("/v1/messages", json=asked_with(text, BLOCK, max_tokens=8))
    assert written.getvalue().count(text["text"]) == 3
    assert written.getvalue().count(f"{len(URL)} characters") == 2
    assert written.getvalue().count(f"{len(DATA)} characters") == 1
    assert DATA not in written.getvalue()


def test_a_log_of_prompts_takes_what_is_nested_deep(served: Served) -> None:
    deep = b'{"a":' * 800 + b"1" + b"}" * 800
    written = StringIO()
    with httpx2.Client(base_url=served(log=prompt_log(written)), timeout=600, trust_env=False) as http:
        body = b'{"messages": [{"role": "user", "content": "hi"}], "x": %s}' % deep
        assert http.post("/v1/chat/completions", content=body).status_code == 200
    assert "Hello world" in written.getvalue()
