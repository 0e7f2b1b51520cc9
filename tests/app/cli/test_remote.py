"""`--remote` on the command line, with a server that replays."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.remote.samples import VLLM, VLLM_PAGES, delta, models
from specchat.cli import main
from specchat.store.images import StoredImage
from specchat.traces.trace import read_trace
from support.replaying import Replaying, page, recorded, replaying, stream
from support.vision_models import png


@pytest.fixture
def server() -> Iterator[Replaying]:
    with replaying(pages=dict(VLLM_PAGES)) as running:
        yield running


def test_run_prints_the_answer_and_its_statistics(server: Replaying, capsys: pytest.CaptureFixture[str]) -> None:
    server.replies.append(recorded(VLLM / "draft-chat-stream-ids.txt"))
    assert main(["run", "hello", "--remote", server.url, "-s", "7", "--temp", "0", "-n", "60"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("In speculative decoding k is")
    assert captured.err.startswith("specchat: 58 tokens · ")
    assert captured.err.endswith("×? plain · accepted 96 % · α 0.98 · τ 4.5 · seed 7\n")
    (question,) = server.questions
    assert (question["model"], question["max_tokens"], question["temperature"]) == ("guide", 60, 0.0)


def test_a_trace_has_the_rounds_as_they_were_counted_in_the_end(
    server: Replaying, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies.append(recorded(VLLM / "draft-comp-stream.txt"))
    assert main(["run", "hello", "--remote", server.url, "--json"]) == 0
    (trace,) = read_trace(capsys.readouterr().out.splitlines())
    assert trace.is_remote
    assert sum(len(event.drafted) for event in trace.rounds) == 60
    assert trace.start["engine"] == {"kind": "vLLM", "version": "0.32.0", "host": server.url.removeprefix("http://")}


def test_images_of_a_prompt_are_sent_as_they_are_kept(
    server: Replaying, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    server.replies.append(stream(delta("a", finish="stop")))
    (tmp_path / "a.png").write_bytes(png(1))
    words = ["run", "What is this?", "--image", str(tmp_path / "a.png")]
    assert main([*words, "--remote", server.url, "--json"]) == 0
    (trace,) = read_trace(capsys.readouterr().out.splitlines())
    (sha256,) = trace.start["messages"][0]["images"]
    image, text = server.questions[0]["messages"][0]["content"]
    data = b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert data == StoredImage("", sha256).path.read_bytes()
    assert text == {"type": "text", "text": "What is this?"}


def test_the_key_comes_from_the_environment_or_a_flag_and_is_never_written(
    server: Replaying, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, isolated_machine: Path
) -> None:
    monkeypatch.setenv("SPECCHAT_API_KEY", "sk-from-env")
    server.replies.extend([stream(delta("a", finish="stop"))] * 2)
    assert main(["run", "hello", "--remote", server.url, "--json"]) == 0
    assert main(["run", "hello", "--remote", server.url, "--api-key", "sk-from-flag"]) == 0
    sent = [one.headers["Authorization"] for one in server.asked if one.body]
    assert sent == ["Bearer sk-from-env", "Bearer sk-from-flag"]
    captured = capsys.readouterr()
    assert "sk-from" not in captured.out + captured.err
    kept = [file.read_bytes() for file in isolated_machine.rglob("*") if file.is_file()]
    assert not any(b"sk-from" in content for content in kept)


def test_a_plain_chat_talks_to_the_server(
    server: Replaying, capsys: pytest.CaptureFixture[str], pipe_in: Callable[[bytes], None], isolated_machine: Path
) -> None:
    server.replies.extend([stream(delta("One.", finish="stop")), stream(delta("Two.", finish="stop"))])
    pipe_in(b"First\nSecond\n/models\n")
    assert main(["chat", "--plain", "--remote", server.url, "--api-key", "sk-secret", "--system", "Be brief."]) == 0
    captured = capsys.readouterr()
    assert captured.out == "One.\nTwo.\n"
    assert "specchat, guide, vLLM at 127.0.0.1" in captured.err
    assert [message["role"] for message in server.questions[1]["messages"]] == ["system", "user", "assistant", "user"]
    kept = [file.read_bytes() for file in isolated_machine.rglob("*") if file.is_file()]
    assert any(b"First" in content for content in kept)
    assert not any(b"sk-secret" in content for content in kept)


def test_a_plain_chat_sends_images_and_withdraws_a_message_that_the_server_refuses(
    server: Replaying,
    pipe_in: Callable[[bytes], None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(png(1))
    server.replies.append(page({"error": {"message": "no images here"}}, 400))
    server.replies.extend([stream(delta("Hi", finish="stop"))] * 3)
    pipe_in(b"What is @a.png?\nHello\nAnd @a.png?\nNow?\n")
    assert main(["chat", "--plain", "--remote", server.url]) == 0
    refused, hello, seen, now = (question["messages"] for question in server.questions)
    kinds = ["image_url", "text"]
    assert [part["type"] for part in refused[-1]["content"]] == kinds
    assert hello == [{"role": "user", "content": "Hello"}]
    assert [part["type"] for part in seen[-1]["content"]] == kinds
    assert now[2] == seen[2], "the earlier image goes with the next question"
    captured = capsys.readouterr()
    assert "answers 400: no images here" in captured.out + captured.err
    assert "the message was withdrawn" in captured.out + captured.err


def test_one_of_its_models_is_named(server: Replaying, capsys: pytest.CaptureFixture[str]) -> None:
    server.pages["/v1/models"] = page(models("openai", "small", "large"))
    server.replies.append(stream(delta("a", finish="stop")))
    assert main(["run", "hello", "--remote", server.url, "--remote-model", "large"]) == 0
    assert server.questions[0]["model"] == "large"
    assert main(["run", "hello", "--remote", server.url, "--remote-model", "huge"]) == 1
    assert "has no model huge: it has small, large" in capsys.readouterr().err


def test_a_failure_in_the_middle_is_one_line_and_an_exit_code(
    server: Replaying, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/v1/models"] = page(models("openai", "small"))
    server.replies.append(stream(delta("Hello"), breaks=True, end=False))
    assert main(["run", "hello", "--remote", server.url, "--json", "--top-k", "0", "--min-p", "0"]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    types = [json.loads(line)["type"] for line in captured.out.splitlines()]
    assert types == ["start", "round", "error", "end"]
