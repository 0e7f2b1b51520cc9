"""Measures what the app's drawing costs: the same answers from `specchat run`, the engine's process, and the app.

Prints, for each k, the tokens/s that the engine counts in all three cases, relative to the engine's process without a
UI; then the CPU time of the app's process from the question to the stored answer. The cases take turns, prompt by
prompt in shuffled order. The process without a UI is the baseline: like the app's it stays loaded, while `run` loads
the models for each answer. `PYTHONPATH=tests python -m benchmarks.drawing`; it needs tmux and Linux.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from e2e.terminal import SPECCHAT, Terminal, clean_environment
from specchat.bench.summary import estimate, paired_ratios
from specchat.chat.guide import with_help
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Loaded
from specchat.models.chosen_pair import chat_options
from specchat.settings.config import read_config
from specchat.settings.options import ChatOptions
from specchat.store import Store
from specchat_assets.benchmark import benchmark_prompts

BASE = "engine process"
_PATIENCE = 120.0
_CALM = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer: its text, the engine's counts, and the app's CPU seconds for it."""

    text: str
    stats: Mapping[str, Any]
    drawing: float | None = None

    @property
    def speed(self) -> float:
        """Tokens per second of decoding."""
        return float(self.stats["tokens_per_second"])


class Way(Protocol):
    """One way to get an answer."""

    name: str

    def answer(self, prompt: str) -> Answered:
        """Answer a conversation that begins with this prompt."""

    def close(self) -> None:
        """End what was started."""


class Run:
    """`specchat run --json`, a new process for each answer."""

    name = "specchat run"

    def __init__(self, flags: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = [*SPECCHAT, "run", "--json", *flags]
        self._environment = dict(environment)

    def answer(self, prompt: str) -> Answered:
        """The answer, with the figures of the end line."""
        done = subprocess.run(
            [*self._command, prompt],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE,
        )
        end = json.loads(done.stdout.splitlines()[-1])
        return Answered(end["text"], end["stats"])

    def close(self) -> None:
        """Does nothing: each process has ended."""


class Bare:
    """The engine's process as the app starts it, without a UI."""

    name = BASE

    def __init__(self, options: ChatOptions, folder: Path) -> None:
        self._client = LocalClient(folder / "bare.log")
        self._seed = options.seed or 0
        self._target = options.target
        [loaded] = [
            event
            for event in self._client.load(options.target, options.draft, options.load)
            if isinstance(event, Loaded)
        ]
        self._settings = options.settings(loaded.recommended, loaded.drafters)

    def answer(self, prompt: str) -> Answered:
        """The answer, with the figures of the last event. Rounds are read and dropped."""
        question, _ = with_help(prompt, self._target)
        asked = self._client.generate(Generate((ChatMessage("user", question),), self._settings, self._seed))
        [end] = [event for event in asked if isinstance(event, Ended)]
        return Answered(end.text, end.stats)

    def close(self) -> None:
        """End the process."""
        self._client.close()


class App:
    """The app in its own terminal. The figures are those that it stores with each answer."""

    def __init__(
        self, name: str, flags: Sequence[str], home: Path, size: tuple[int, int], views: int, keys: Sequence[str]
    ) -> None:
        """Starts the app. F3 is pressed `views` times during the first answer, and `keys` are pressed before it."""
        self.name = name
        self._store = home / "data" / "specchat" / "sessions.db"
        self._terminal = Terminal([*SPECCHAT, "chat", *flags], clean_environment(home), *size)
        self._terminal.wait_for("● active|○ off")
        self._keys = [*keys]
        self._views = views

    def answer(self, prompt: str) -> Answered:
        """Asks in a new session and polls slowly until its trace is stored."""
        self._terminal.keys("C-n", *self._keys)
        self._keys = []
        time.sleep(_CALM)
        before = _spent(self._terminal.app())
        self._terminal.type(prompt)
        for _ in range(self._views):
            self._terminal.keys("F3")
        self._views = 0
        deadline = time.monotonic() + _PATIENCE
        while (found := self._kept(prompt)) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"no answer was stored; the screen:\n{self._terminal.screen()}")
            time.sleep(_CALM)
        return Answered(found["text"], found["stats"], _spent(self._terminal.app()) - before)

    def close(self) -> None:
        """End the app, its engine and the terminal."""
        self._terminal.close()

    def _kept(self, prompt: str) -> Mapping[str, Any] | None:
        """The last line of the newest session's trace, if that session is for this prompt."""
        if not self._store.exists():
            return None
        with Store.open(self._store, read_only=True) as store:
            for session in store.sessions(1):
                messages = store.messages(session.id)
                if len(messages) == 2 and messages[0].content == prompt:
                    lines = store.trace(messages[1].id)
                    return json.loads(lines[-1]) if lines else None
        return None


def _spent(process: int) -> float:
    """The CPU seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure(ways: Sequence[Way], prompts: Sequence[str], repeats: int) -> dict[str, dict[tuple[str, int], Answered]]:
    """The answers of each case, by prompt and repeat. The first answer of each is thrown away."""
    found: dict[str, dict[tuple[str, int], Answered]] = {way.name: {} for way in ways}
    for way in ways:
        way.answer("Say hello.")
    for repeat in range(repeats):
        for number, prompt in enumerate(prompts):
            for way in random.Random(f"{repeat} {number}").sample([*ways], len(ways)):
                found[way.name][prompt, repeat] = way.answer(prompt)
            print(f"{repeat + 1}: {number + 1} of {len(prompts)}", end="\r", file=sys.stderr, flush=True)
    return found


def report(k: str, found: Mapping[str, Mapping[tuple[str, int], Answered]]) -> None:
    """Prints one row of a Markdown table for each case."""
    speeds = {name: {key: each.speed for key, each in answers.items()} for name, answers in found.items()}
    for name, answers in found.items():
        ratio = estimate(paired_ratios(speeds[name], speeds[BASE]))
        sure = f"{ratio.interval[0]:.2f} to {ratio.interval[1]:.2f}" if ratio and ratio.interval else ""
        drawn = [(each.drawing, each.stats["num_tokens"]) for each in answers.values() if each.drawing is not None]
        whole = f"{median(spent for spent, _ in drawn) * 1e3:.0f}" if drawn else ""
        token = f"{median(spent / tokens for spent, tokens in drawn) * 1e6:.0f}" if drawn else ""
        same = sum(answers[key].text == found[BASE][key].text for key in answers)
        cells = (k, name, f"{median(speeds[name].values()):.0f}", f"{ratio.value:.3f}" if ratio else "", sure)
        print("|", " | ".join((*cells, whole, token, f"{same} of {len(answers)}")), "|", flush=True)


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(prog="drawing", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("-k", nargs="+", default=["0", "4"], help="0 is plain decoding")
    parser.add_argument("-n", "--max-tokens", type=int, default=256)
    parser.add_argument("--each", type=int, default=2, help="prompts of each kind")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sizes", nargs="+", default=["140x40", "80x24"], help="of the terminal")
    parser.add_argument("--views", type=int, default=0, help="presses of F3: 0 trace, 1 coloured, 2 markdown")
    parser.add_argument("--folded", action="store_true", help="without the side panel")
    parser.add_argument(
        "--ban",
        nargs="+",
        default=[],
        help="token ids to ban; with those that end an answer (built-in pair: 0 2), every answer has -n tokens",
    )
    asked = parser.parse_args()
    prompts = [prompt for some in benchmark_prompts().values() for prompt in some[: asked.each]]
    print("| k | way | tokens/s | × engine process | 95 % | app: ms per answer | µs per token | same text |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for k in asked.k:
        chosen = {"temperature": 0.0, "k": k, "seed": 7, "max_tokens": asked.max_tokens}
        chosen |= {} if asked.model is None else {"model": asked.model}
        chosen |= {} if asked.draft is None else {"draft": asked.draft}
        chosen |= {"logit_bias": tuple((int(token), -math.inf) for token in asked.ban)} if asked.ban else {}
        flags = ["--temp", "0", "-k", k, "--seed", "7", "-n", str(asked.max_tokens)]
        flags += [flag for token in asked.ban for flag in ("--logit-bias", f"{token}=-inf")]
        flags += [] if asked.model is None else ["-m", str(asked.model)]
        flags += [] if asked.draft is None else ["-d", str(asked.draft)]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            environment = clean_environment(folder / "run")
            os.environ.update({name: value for name, value in environment.items() if name.startswith(("HOME", "XDG_"))})
            options = chat_options(read_config(chosen))
            ways: list[Way] = [Bare(options, folder), Run(flags, environment)]
            try:
                for size in asked.sizes:
                    width, height = map(int, size.split("x"))
                    keys = ("F9", "F9") if asked.folded else ()
                    ways.append(App(f"app {size}", flags, folder / size, (width, height), asked.views, keys))
                report(k, measure(ways, prompts, asked.repeats))
            finally:
                for way in ways:
                    way.close()


if __name__ == "__main__":
    main()
