"""Measures placements of a pair: the memory of each device, estimated and as its driver reports it, and the speed.

Target and draft on the GPU, the draft on the CPU, half of the target's layers on the CPU, all on the CPU. Every
placement answers the same prompt plainly and with drafts of 4 tokens; medians, in tokens a second. The last line is
what `--placement auto` chooses.
`PYTHONPATH=tests python -m benchmarks.placements -m TARGET -d DRAFT`
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, Settings
from specchat_engine.gguf import read_model
from specchat_engine.llama.machine import this_machine
from specchat_engine.memory.placement import where_it_goes

_GIGABYTE = 1e9
_PROMPT = "Explain how a suspension bridge carries its load, and why its cables hang in a curve."


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target, draft = builtin_pair()
    parser.add_argument("-m", "--model", type=Path, default=target)
    parser.add_argument("-d", "--draft", type=Path, default=draft)
    parser.add_argument("-c", "--ctx-size", type=int, default=4096)
    parser.add_argument("-n", "--max-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    half = read_model(asked.model).layers // 2
    for name, layers, of_draft in (("both", -1, -1), ("draft on CPU", -1, 0), ("half", half, -1), ("CPU", 0, 0)):
        options = LoadOptions(n_ctx=asked.ctx_size, gpu_layers=layers, gpu_layers_draft=of_draft)
        estimated = where_it_goes(read_model(asked.model), read_model(asked.draft), options, this_machine())
        before = {device.name: device.free for device in this_machine().devices}
        with Engine.load(asked.model, asked.draft, options) as engine:
            for device in this_machine().devices:
                taken, expected = before[device.name] - device.free, estimated.on(device.name)
                print(f"{name:14} {device.name:8} {expected / _GIGABYTE:6.2f} GB estimated {taken / _GIGABYTE:6.2f} GB")
            for drafter, k in (("none", 0), ("model", 4)):
                settings = Settings(drafter=drafter, k=k, max_tokens=asked.max_tokens)
                speeds = [speed(engine, settings, seed) for seed in range(asked.repeats)]
                print(f"{name:14} {drafter:8} {median(speeds):8.1f} tokens/s", flush=True)
    with Engine.load(asked.model, asked.draft, LoadOptions(n_ctx=asked.ctx_size, placement="auto")) as engine:
        print(engine.placed_because or "there is no GPU to place models on")


def speed(engine: Engine, settings: Settings, seed: int) -> float:
    """The tokens a second of one answer."""
    session = engine.session(settings=settings, seed=seed)
    for _ in session.generate(_PROMPT):
        pass
    return session.stats.tokens_per_second or 0.0


if __name__ == "__main__":
    main()
