"""`specchat bench`: plain decoding and each drafter and k in turn, on the user's own pair."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic

from specchat.bench.comparison import compare
from specchat.bench.document import Benchmark, Conditions, read_benchmark
from specchat.bench.exports import EXPORTED, ExportTarget
from specchat.bench.measure import BenchRunner, Setup, peak_memory_bytes
from specchat.bench.plan import (
    NEED_MODELS,
    Arm,
    BenchTurn,
    Prompts,
    check_arms,
    default_arms,
    parse_arms,
    read_prompts,
    turns,
)
from specchat.bench.samples import Sample
from specchat.cli.bench_reports import BenchProgress, print_benchmark, print_comparison
from specchat.cli.messages import one_line_from_native_code, print_json, say
from specchat.errors import FAILED, INTERRUPTED, ConfigError
from specchat.settings.options import ChatOptions
from specchat_engine import Engine, EngineError, SamplingParams, Settings

TEMPERATURES = (0.0, 0.8)
MAX_TOKENS = 128
"""The default length of answers, in tokens."""

SEED = 1
"""The default seed of the first repeat, so that a run can be repeated."""

_NOT_SHARED = ("k", "temperature", "thinking")
"""Parameters in a trace that are not among the sampling parameters that all answers share."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What to measure and how to report it, from the command line; empty values mean the defaults."""

    arms: str
    temperatures: Sequence[float]
    prompts: Path | None
    repeats: int
    svg: Path | None
    export: str
    as_json: bool


def bench(options: ChatOptions, request: BenchRequest) -> int:
    """Measures, prints the result, and returns the exit code. An interrupted run prints what it has by then.

    Raises ConfigError or SettingError for what cannot be measured or written, EngineError if loading or an answer
    fails.
    """
    tool = _tool(request)
    if request.svg and not request.svg.absolute().parent.is_dir():
        raise ConfigError(f"the chart {request.svg} cannot be written: there is no folder {request.svg.parent}")
    temperatures = tuple(dict.fromkeys(request.temperatures)) or TEMPERATURES
    for temperature in temperatures:
        SamplingParams(temperature=temperature)
    prompts = read_prompts(request.prompts)
    requested = parse_arms(request.arms) if request.arms else ()
    if options.draft is None:
        check_arms(requested, [arm.drafter for arm in requested if arm.drafter != "model"])
    one_line_from_native_code()
    needs_models = not requested or any(arm.drafter in NEED_MODELS for arm in requested)
    draft, load = (options.draft, options.load) if needs_models else (None, replace(options.load, head="none"))
    with Engine.load(options.target, draft, load) as engine:
        arms = requested or default_arms(engine.drafters)
        check_arms(arms, engine.drafters)
        if engine.plain_because:
            say(f"there is nothing to compare, speculation is off: {engine.plain_because}")
            return FAILED
        chosen = options.settings(engine.recommended, engine.drafters)
        limit = options.chosen.get("max_tokens") or MAX_TOKENS
        setup = Setup(
            system=options.system,
            base=replace(chosen, max_tokens=limit, lookup=Settings().lookup),
            seed=SEED if options.seed is None else options.seed,
        )
        conditions = _conditions(engine, setup, arms, prompts, temperatures, request.repeats)
        planned = [*turns(arms, prompts, temperatures, request.repeats, setup.seed)]
        benchmark, stopped = _run(engine, setup, conditions, planned)
    if benchmark.rows:
        print_benchmark(benchmark, request.svg, tool, as_json=request.as_json)
    if isinstance(stopped, EngineError):
        raise stopped
    if stopped:
        say(f"stopped after {len(benchmark.samples)} of {len(planned)} answers")
        return INTERRUPTED
    return 0


def compare_files(first: Path, second: Path, *, as_json: bool) -> int:
    """Prints B compared with A; no model is loaded. Raises ConfigError for files that cannot be compared."""
    comparison = compare(read_benchmark(first), read_benchmark(second))
    if as_json:
        print_json(comparison.to_json())
    else:
        print_comparison(comparison, first, second)
    return 0


def _tool(request: BenchRequest) -> ExportTarget | None:
    if not request.export:
        return None
    if request.as_json:
        raise ConfigError("--json and --export both want standard output: choose one")
    if request.export not in EXPORTED:
        raise ConfigError(f"there is no export {request.export!r}: use {' or '.join(EXPORTED)}")
    return ExportTarget(request.export)


def _conditions(
    engine: Engine, setup: Setup, arms: Sequence[Arm], prompts: Prompts, temperatures: Sequence[float], repeats: int
) -> Conditions:
    first = engine.session(setup.system, setup.settings(arms[0], temperatures[0]), setup.seed).start_line()
    return Conditions(
        target=first["target"],
        draft=first["draft"],
        versions=first["versions"],
        machine=first["machine"],
        options=asdict(engine.options),
        sampling={name: value for name, value in first["params"].items() if name not in _NOT_SHARED},
        system=setup.system,
        verifier=setup.base.verifier,
        seed=setup.seed,
        max_tokens=setup.base.max_tokens,
        repeats=repeats,
        temperatures=tuple(temperatures),
        arms=tuple(arms),
        prompts=prompts,
        thought_verifier=setup.base.thought_verifier,
    )


def _run(
    engine: Engine, setup: Setup, conditions: Conditions, planned: Sequence[BenchTurn]
) -> tuple[Benchmark, KeyboardInterrupt | EngineError | None]:
    """What was measured, and what stopped it before the end, if anything did."""
    runner = BenchRunner(engine, setup)
    samples: list[Sample] = []
    stopped: KeyboardInterrupt | EngineError | None = None
    began = monotonic()
    with BenchProgress(len(planned), sys.stderr) as progress:
        try:
            runner.warm_up(planned[: len(conditions.arms)])
            conditions = replace(conditions, machine=engine.machine)
            began = monotonic()
            for sample in runner.measure(planned):
                samples.append(sample)
                progress.advance(sample)
        except (KeyboardInterrupt, EngineError) as error:
            stopped = error
    return Benchmark(conditions, samples, not stopped, monotonic() - began, peak_memory_bytes()), stopped
