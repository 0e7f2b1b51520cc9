"""llama.cpp's server, one process per configuration, built from the sources that llama-cpp-python ships."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.contest import Result, Task

CONFIGURATIONS: Mapping[str, Sequence[str]] = {
    "plain": (),
    "draft 2": ("--spec-type", "draft-simple", "--spec-draft-n-max", "2"),
    "draft 4": ("--spec-type", "draft-simple", "--spec-draft-n-max", "4"),
    "draft 8": ("--spec-type", "draft-simple", "--spec-draft-n-max", "8"),
    "draft 16": ("--spec-type", "draft-simple", "--spec-draft-n-max", "16"),
    "draft 8 drawn on the host": (
        "--spec-type",
        "draft-simple",
        "--spec-draft-n-max",
        "8",
        "--no-spec-draft-backend-sampling",
    ),
    "eagle3 4": ("--spec-type", "draft-eagle3", "--spec-draft-n-max", "4"),
    "ngram-simple": ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3"),
    "ngram-map-k": ("--spec-type", "ngram-map-k", "--spec-ngram-map-k-size-n", "3"),
    "ngram-map-k4v": ("--spec-type", "ngram-map-k4v", "--spec-ngram-map-k4v-size-n", "3"),
    "ngram-mod": ("--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", "4", "--spec-ngram-mod-n-min", "2"),
    "ngram-cache": ("--spec-type", "ngram-cache"),
    "draft 8 + ngram-map-k": (
        "--spec-type",
        "draft-simple,ngram-map-k",
        "--spec-draft-n-max",
        "8",
        "--spec-ngram-map-k-size-n",
        "3",
    ),
}
WITHOUT_HEAD = [name for name in CONFIGURATIONS if "eagle3" not in name]
START_SECONDS = 120.0


class LlamaServer:
    """A running server. Times come from its own clock, so HTTP's milliseconds do not count against it."""

    peer = "llama-server"

    def __init__(
        self,
        binary: Path,
        target: Path,
        draft: Path,
        threads: int,
        name: str,
        log: Path,
        parallel: int = 1,
        head: Path | None = None,
    ) -> None:
        """Starts the server, for so many answers at a time. Raises RuntimeError if it does not start."""
        self.name = name
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        flags = CONFIGURATIONS[name]
        drafting = head if "eagle3" in name else draft if "draft" in name else None
        pair = ["-md", str(drafting), "-td", str(threads)] if drafting else []
        command = [str(binary), "-m", str(target), *pair, "-t", str(threads), "-tb", str(threads)]
        command += [
            "-np",
            str(parallel),
            "-c",
            str(1024 * parallel),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            *flags,
        ]
        with log.open("wb") as file:
            self._process = subprocess.Popen(command, stdout=file, stderr=file)
        end = time.monotonic() + START_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.close()
                raise RuntimeError(f"llama-server {name} does not start: see {log}")
            time.sleep(0.1)

    def answer(self, task: Task) -> Result:
        """One completion of token ids. Nothing from the last one is reused."""
        tokens, _, milliseconds = self.answer_with_counts(task)
        return Result(tokens, milliseconds)

    def answer_with_counts(self, task: Task) -> tuple[int, int, float]:
        """The same, as the number of tokens, the number of the target's passes, and the milliseconds."""
        reply = self._post(
            "/completion",
            {
                "prompt": list(task.ids),
                "n_predict": task.max_tokens,
                "temperature": task.temperature,
                "seed": task.seed,
                "cache_prompt": False,
                "stream": False,
            },
        )
        timings = reply["timings"]
        tokens = int(timings["predicted_n"])
        return tokens, tokens - int(timings.get("draft_n_accepted", 0)), timings["prompt_ms"] + timings["predicted_ms"]

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self._url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)
