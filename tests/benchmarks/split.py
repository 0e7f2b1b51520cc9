"""Split speculation over lines of different length: where drafting here for a target there pays.

A real server has one thread, and the draft model here another one, so that neither disturbs the other. A proxy delays
what they say. In every block each way answers the same questions over each line, in changing order. Speeds are medians
of tokens a second, from the request to the last token, of all blocks.

`PYTHONPATH=tests python -m benchmarks.split -m TARGET -d DRAFT --chart assets/media/split.svg`
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import numpy as np
from rich.console import Console
from rich.table import Table

from specchat.bench.plan import read_prompts
from specchat.remote.address import read_address
from specchat.remote.split import SplitSpeculation
from specchat.worker.protocol import ChatMessage, Ended
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions, SamplingParams, Settings
from support.latency import delayed
from support.real_server import real_server

LINES = (0.0, 5.0, 20.0, 80.0)
"""Milliseconds of the round trip."""

SPLIT, WAITING, PLAIN, DRAFTING = (
    "split",
    "split, without drafting ahead",
    "server, plain",
    "server, with its own draft",
)

Answer = Callable[[str, int], int]
"""Answers a prompt with a seed; the number of tokens."""

Speeds = Mapping[tuple[str, float], Sequence[float]]


def by_server(url: str, drafter: str, asked: argparse.Namespace) -> Answer:
    """The server answers, and streams the text. The connection is kept, as the other ways keep theirs."""
    client = httpx2.Client(timeout=600, trust_env=False)

    def answer(prompt: str, seed: int) -> int:
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "seed": seed,
            "temperature": asked.temperature,
            "max_tokens": asked.max_tokens,
            "drafter": drafter,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        tokens = 0
        with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
            for event in httpx2.EventSource(response):
                if event.data != "[DONE]" and (usage := event.json().get("usage")):
                    tokens = usage["completion_tokens"]
        return int(tokens)

    return answer


def by_split(split: SplitSpeculation, asked: argparse.Namespace) -> Answer:
    """The server verifies what is drafted here."""
    settings = Settings(max_tokens=asked.max_tokens, sampling=SamplingParams(temperature=asked.temperature))

    def answer(prompt: str, seed: int) -> int:
        *_, ended = split.answer([ChatMessage("user", prompt)], settings, seed)
        assert isinstance(ended, Ended)
        return int(ended.stats["num_tokens"])

    return answer


def main() -> int:
    """Measures all ways over all lines."""
    parser = argparse.ArgumentParser(prog="split", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("-d", "--draft", type=Path, help="draft model, the built-in one by default")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--questions", type=int, default=4, help="in each block")
    parser.add_argument("-n", "--max-tokens", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--chart", type=Path, help="where to draw the speeds over the length of the line")
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    speeds: dict[tuple[str, float], list[float]] = defaultdict(list)
    prompts = [text for texts in read_prompts(None).values() for text in texts]
    options = LoadOptions(threads=1, n_ctx=2048)
    with ExitStack() as stack:
        flags = ("-m", target, "-d", draft, "-t", "1", "-td", "1", "-c", "2048", "-np", "1")
        server = stack.enter_context(real_server(*flags))
        ways: dict[tuple[str, float], Answer] = {}
        for ms in LINES:
            port = stack.enter_context(delayed(urlsplit(server.url).port or 0, ms))
            url = f"http://127.0.0.1:{port}"
            for name, pipelined in ((SPLIT, True), (WAITING, False)):
                split = SplitSpeculation(read_address(url), draft, options, pipelined=pipelined)
                ways[name, ms] = by_split(stack.enter_context(closing(split)), asked)
            ways[PLAIN, ms] = by_server(url, "none", asked)
            ways[DRAFTING, ms] = by_server(url, "hybrid", asked)
        for block in range(-1, asked.blocks):
            dice = random.Random(block)
            questions = [(prompt, dice.randrange(2**31)) for prompt in dice.sample(prompts, asked.questions)]
            for way in dice.sample([*ways], len(ways)):
                began = time.perf_counter()
                tokens = sum(ways[way](*question) for question in questions)
                if block >= 0:  # the first block warms up
                    speeds[way].append(tokens / (time.perf_counter() - began))
            print(f"block {block + 1} of {asked.blocks}", file=sys.stderr)
    report(speeds)
    if asked.chart:
        asked.chart.write_text(chart(speeds), "utf-8")
    return 0


def report(speeds: Speeds) -> None:
    """A row for each line."""
    table = Table(title="tokens a second by the milliseconds of the round trip", title_justify="left")
    names = (SPLIT, WAITING, PLAIN, DRAFTING)
    for heading in ("ms", *names, "split ÷ plain"):
        table.add_column(heading, justify="right")
    for ms in LINES:
        medians = [f"{np.median(speeds[name, ms]):.1f}" for name in names]
        ratio = np.median(np.divide(speeds[SPLIT, ms], speeds[PLAIN, ms]))
        table.add_row(f"{ms:g}", *medians, f"{ratio:.2f}")
    Console(width=160).print(table)


def chart(speeds: Speeds) -> str:
    """A picture of the medians: speed over the length of the line, which has the scale of its square root."""
    width, height, left, top, right, bottom = 720, 360, 60, 20, 210, 50
    medians = {way: float(np.median(found)) for way, found in speeds.items()}
    most = max(medians.values()) * 1.1

    def x(ms: float) -> float:
        return left + (width - left - right) * (ms / LINES[-1]) ** 0.5

    def y(speed: float) -> float:
        return height - bottom - (height - top - bottom) * speed / most

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<style>text{font-size:13px;fill:#444}.grid{stroke:#bbb}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#555}}</style>",
    ]
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if most / step <= 8)
    for speed in range(0, int(most) + 1, step):
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(speed):.0f}" y2="{y(speed):.0f}"/>')
        parts.append(f'<text x="{left - 8}" y="{y(speed) + 4:.0f}" text-anchor="end">{speed}</text>')
    parts += [f'<text x="{x(ms):.0f}" y="{height - bottom + 20}" text-anchor="middle">{ms:g}</text>' for ms in LINES]
    middle = (left + width - right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 8}" text-anchor="middle">round trip in ms</text>')
    parts.append(f'<text x="{left}" y="14">tokens a second</text>')
    colours = {SPLIT: "#2f7de1", WAITING: "#7fb2f0", PLAIN: "#888888", DRAFTING: "#e07b39"}
    ends = sorted(colours, key=lambda name: -medians[name, LINES[-1]])
    label = 0.0
    for name in ends:
        points = " ".join(f"{x(ms):.0f},{y(medians[name, ms]):.0f}" for ms in LINES)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="2.5"/>')
        label = max(label + 18, y(medians[name, LINES[-1]]) + 4)
        parts.append(f'<text x="{width - right + 8}" y="{label:.0f}" style="fill:{colours[name]}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    raise SystemExit(main())
