"""Measures what top-k on the device would save: llama.cpp hands out the best entries of each row, not whole rows.

Prints, for passes over several tokens, the milliseconds of the pass and those of drawing a token from each row on the
host: from whole rows, and from the `--top` best entries that a sampler of llama.cpp's backend found. Then it draws
`--answers` answers both ways, at temperature 0 and 0.8, and counts those that differ.
`PYTHONPATH=tests python -m benchmarks.device_samplers [-m TARGET]`
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import LoadOptions, SamplingParams
from specchat_engine.llama.batch import Batch, PassPart
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import context_params, new_context
from specchat_engine.memory.attention import Attention
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.threads.processors import read_processors

WIDTHS = (1, 5, 9, 17)
_SPARE = 8
"""Entries beyond top-k, so that equal logits at its end are all there."""

Entries = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Token ids [n], ascending, and their logits."""


class Rows:
    """One text in a context, whole rows of which are read or, with `top`, the best entries of each."""

    def __init__(self, model: LlamaModel, threads: int, top: int = 0) -> None:
        options = LoadOptions(n_ctx=1024)
        attention = Attention.of(options, model.header, options.n_ctx, on_cpu=model.on_cpu, exact=False)
        params = context_params(options, attention, n_ctx=options.n_ctx, max_rows=max(WIDTHS), threads=threads)
        params.n_outputs_max_per_seq = max(WIDTHS)
        self.context = new_context(model, params, "no context")
        self._batch = Batch(api.llama_n_batch(self.context))
        self._size, self._top, self.length = model.vocabulary.size, top, 0
        if top:
            chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
            api.llama_sampler_chain_add(chain, api.llama_sampler_init_top_k(top))
            assert api.llama_set_sampler(self.context, 0, chain), "llama.cpp samples nothing on this device"

    def read(self, tokens: Sequence[int], rows: int) -> tuple[list[Entries], float]:
        """Reads tokens; the entries of the last rows, ids ascending, and the milliseconds of the pass."""
        self._batch.fill([PassPart.chain(tokens, self.length, rows)])
        begin = perf_counter_ns()
        assert api.llama_decode(self.context, self._batch.struct) == 0
        api.llama_synchronize(self.context)
        took = (perf_counter_ns() - begin) / 1e6
        self.length += len(tokens)
        return [self._entries(index) for index in range(len(tokens) - rows, len(tokens))], took

    def cut(self, length: int) -> None:
        """Forgets all but the first tokens."""
        api.llama_memory_seq_rm(api.llama_get_memory(self.context), 0, length, -1)
        self.length = length

    def close(self) -> None:
        """Frees the memory."""
        self._batch.free()
        api.llama_free(self.context)

    def _entries(self, index: int) -> Entries:
        if not self._top:
            return np.arange(self._size), np.ctypeslib.as_array(
                api.llama_get_logits_ith(self.context, index), (self._size,)
            )
        count = api.llama_get_sampled_logits_count_ith(self.context, index)
        logits = np.ctypeslib.as_array(api.llama_get_sampled_logits_ith(self.context, index), (count,))
        ids = np.ctypeslib.as_array(api.llama_get_sampled_candidates_ith(self.context, index), (count,))
        order = ids.argsort()
        return ids[order].astype(np.int64), logits[order]


def drawn(sampler: Sampler, entries: Entries, position: int) -> int:
    """The token that is drawn if a row has these entries alone."""
    ids, logits = entries
    found = sampler.candidates(logits, ())
    return sampler.draw(Candidates(ids[found.ids], found.log_p), position)


def timed(rows: Rows, sampler: Sampler, width: int, repeats: int) -> tuple[float, float]:
    """The milliseconds of a pass over this many tokens, and of drawing a token from each of its rows; medians."""
    start, passes, draws = rows.length, list[float](), list[float]()
    for _ in range(repeats):
        found, took = rows.read([*range(width)], width)
        begin = perf_counter_ns()
        for position, entries in enumerate(found):
            drawn(sampler, entries, position)
        draws.append((perf_counter_ns() - begin) / 1e6)
        passes.append(took)
        rows.cut(start)
    return median(passes), median(draws)


def answer(rows: Rows, prompt: Sequence[int], sampler: Sampler, length: int) -> list[int]:
    """The first tokens of an answer."""
    rows.cut(0)
    tokens = [*prompt]
    (entries,), _ = rows.read(tokens, 1)
    for position in range(length):
        tokens.append(drawn(sampler, entries, position))
        (entries,), _ = rows.read(tokens[-1:], 1)
    return tokens[len(prompt) :]


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("-t", "--threads", type=int, default=read_processors().usual)
    parser.add_argument("--top", type=int, default=40, help="top-k")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("-n", "--max-tokens", type=int, default=16)
    asked = parser.parse_args()
    sampling = SamplingParams(temperature=0.8, top_k=asked.top)
    model = LlamaModel(asked.model)
    whole, best = Rows(model, asked.threads), Rows(model, asked.threads, asked.top + _SPARE)
    asked_texts = [text for texts in benchmark_prompts().values() for text in texts]
    prompts = [model.vocabulary.tokenize(text, special=True) for text in asked_texts]
    for name, rows in (("whole rows", whole), (f"the best {asked.top + _SPARE}", best)):
        rows.read(prompts[0], 1)
        for width in WIDTHS:
            passes, draws = timed(rows, Sampler(sampling, 1), width, asked.repeats)
            print(f"{name:12} {width:3} tokens {passes:8.3f} ms a pass {draws:7.3f} ms of draws", flush=True)
    for temperature in (0.0, 0.8):
        equal = 0
        for number in range(asked.answers):
            sampler, prompt = (
                Sampler(replace(sampling, temperature=temperature), number),
                prompts[number % len(prompts)],
            )
            texts = [answer(rows, prompt, sampler, asked.max_tokens) for rows in (whole, best)]
            equal += texts[0] == texts[1]
        print(f"temperature {temperature}: {equal} of {asked.answers} answers are equal", flush=True)
    whole.close()
    best.close()
    model.close()


if __name__ == "__main__":
    main()
