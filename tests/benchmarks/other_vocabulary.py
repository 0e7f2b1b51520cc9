"""Trains a draft model with its own vocabulary for the built-in target, and measures it.

It starts as the built-in draft with a new tokenizer: each entry is embedded as the mean of the old entries of its text.
Some minutes of training on the recipe's chats follow. These take turns: plain decoding, the built-in draft, this draft
through text, and this draft with sampled instead of likeliest tokens.

`PYTHONPATH=tests:assets/recipe python -m benchmarks.other_vocabulary --help`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
from numpy.typing import NDArray

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, Settings
from specchat_engine.drafters import TranslatedDrafter
from specchat_engine.sampling.sampler import Sampler

_RECIPE = Path(__file__).parents[2] / "assets" / "recipe"
_SHARES = {"facts": 0.45, "python": 0.15, "copy": 0.15, "structured": 0.1, "story": 0.1, "other": 0.05}
_ENTRIES = 2048
_STEP_TOKENS = 3072
_RATE = 0.002
_TEMPERATURES = (0.0, 0.8)


def make(folder: Path, minutes: float) -> Path:
    """Trains for at most this many minutes of CPU time, and writes the draft."""
    sys.path.insert(0, str(_RECIPE))
    import torch

    from builtin_pair.mixture import SOURCES, texts, to_document
    from builtin_pair.stages import describe
    from builtin_pair.template import SPECIALS
    from specchat_engine.llama.model import LlamaModel as LoadedModel
    from specchat_engine.training.bpe import BytePairTokenizer
    from specchat_engine.training.gguf import read_gguf, write_gguf
    from specchat_engine.training.model import LlamaModel, ModelConfig
    from specchat_engine.training.packing import batches_by_length
    from specchat_engine.training.trainer import next_token_objective

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = BytePairTokenizer.train(texts(7, dict.fromkeys(_SHARES, 600)), _ENTRIES, SPECIALS)
    tokenizer.save(folder / "tokenizer.json")
    old = read_gguf(builtin_pair()[1])
    loaded = LoadedModel(builtin_pair()[1])
    config = old.config
    model = LlamaModel(
        ModelConfig(
            _ENTRIES,
            width=config.width,
            layers=config.layers,
            heads=config.heads,
            kv_heads=config.kv_heads,
            feed_forward=config.feed_forward,
            context=config.context,
            rope_base=config.rope_base,
            norm_eps=config.norm_eps,
        )
    )
    state = old.state_dict()
    rows = []
    for token, text in enumerate(tokenizer.tokens):
        words = text if text in SPECIALS else tokenizer.decode([token])
        ids = [] if "\ufffd" in words else loaded.vocabulary.tokenize(words, special=True)
        if not ids:
            ids = [next(i for i in range(loaded.vocabulary.size) if loaded.vocabulary.text(i) == text[:1])]
        rows.append(state["embedding.weight"][ids].mean(0))
    state["embedding.weight"] = torch.stack(rows)
    model.load_state_dict(state)
    loaded.close()
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, betas=(0.9, 0.98), weight_decay=0.01)
    begin, step, spent = time.process_time(), 0, 0.0
    while spent < 1:
        random = Random(f"other vocabulary {step}")
        streams = {kind: SOURCES[kind](Random(f"{step} {kind}")) for kind in _SHARES}
        documents, size = [], 0
        while size < _STEP_TOKENS:
            document = to_document(next(streams[random.choices([*_SHARES], [*_SHARES.values()])[0]]), tokenizer)
            if len(document.ids) <= 512:
                documents.append(document)
                size += len(document.ids)
        batches = batches_by_length(documents, (128, 256, 512), _STEP_TOKENS)
        learned = sum(len(batch.wanted) for batch in batches)
        total = 0.0
        for batch in batches:
            scores = next_token_objective(model, batch)
            torch.autograd.backward(scores.loss / learned)
            total += scores.loss.item()
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1.0, (step + 1) / 10, 2 * (1 - spent))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        spent = (time.process_time() - begin) / (60 * minutes)
        print(f"step {step}, {100 * spent:.1f} %, loss {total / learned:.3f}", file=sys.stderr, flush=True)
    path = folder / "other-draft.gguf"
    write_gguf(path, model.eval(), tokenizer, describe("other-draft", "A draft with a vocabulary of its own."), "F16")
    return path


class DrawnDrafter(TranslatedDrafter):
    """Samples each token with independent noise instead of taking the likeliest, for comparison."""

    _drawn = 0

    def _best(self, row: NDArray[np.float32], owed: bytes) -> int | None:
        if owed:
            return super()._best(row, owed)
        self._drawn += 1
        return self.sampler.draw(self.sampler.candidates(row, ()), self._drawn)


def measure(draft: Path, target: Path, prompts: Sequence[str], k: int, max_tokens: int) -> None:
    """Prints one Markdown table: α, τ, and tokens per second relative to plain decoding, medians over the prompts."""
    own = builtin_pair()[1]
    print("| temperature | drafts | α | τ | plain × |\n| --- | --- | --- | --- | --- |")
    with Engine.load(target, own) as same, Engine.load(target, draft) as other:
        print(f"<!-- {other.translated_because} -->")
        for temperature in _TEMPERATURES:
            sampling = replace(same.recommended, temperature=temperature)
            speeds: dict[str, list[float]] = {}
            counts: dict[str, list[int]] = {}
            for prompt in prompts:
                for arm in ("plain", "same vocabulary", "through text", "through text, drawn"):
                    engine = other if arm.startswith("through") else same
                    settings = Settings(
                        k=0 if arm == "plain" else k, drafter="model", sampling=sampling, max_tokens=max_tokens
                    )
                    session = engine.session(settings=settings, seed=1)
                    if arm.endswith("drawn"):
                        drafter = DrawnDrafter(session.pair.draft, session.pair.translation)
                        drafter.sampler = Sampler(sampling, 99)
                        session._planner.drafters["model"] = drafter
                    for _ in session.generate(prompt):
                        pass
                    stats = session.stats
                    told = (stats.num_accepted_tokens, stats.num_rejected_tokens, stats.num_tokens, stats.num_rounds)
                    counts[arm] = [sum(pair) for pair in zip(counts.get(arm, [0] * 4), told, strict=True)]
                    speeds.setdefault(arm, []).append(stats.tokens_per_second or 0.0)
            for arm, (accepted, rejected, tokens, rounds) in counts.items():
                ratio = median(one / plain for one, plain in zip(speeds[arm], speeds["plain"], strict=True))
                alpha = f"{accepted / (accepted + rejected):.3f}" if accepted else ""
                print(f"| {temperature:g} | {arm} | {alpha} | {tokens / rounds:.2f} | {ratio:.2f} |", flush=True)


def main() -> None:
    """Trains the draft if it is missing, and measure it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder", type=Path, required=True, help="folder of the draft, which is trained if it is missing"
    )
    parser.add_argument("--minutes", type=float, default=15, help="CPU minutes for training, at most")
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--prompts", type=int, help="of each kind")
    parser.add_argument("--max-tokens", type=int, default=80)
    options = parser.parse_args()
    draft = options.folder / "other-draft.gguf"
    if not draft.exists():
        make(options.folder, options.minutes)
    prompts = [prompt for some in benchmark_prompts().values() for prompt in some[: options.prompts]]
    measure(draft, options.model, prompts, options.k, options.max_tokens)


if __name__ == "__main__":
    main()
