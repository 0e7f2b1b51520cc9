"""`specchat models pair`: whether a draft fits a target and, with --bench, which draft gains most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from specchat.bench.measure import time_draft
from specchat.bench.plan import DRAFTED
from specchat.bench.samples import Gain
from specchat.cli.messages import no_native_debugger, one_line_from_native_code, print_json, print_rows, say
from specchat.engine_process.records import kept_costs
from specchat.errors import FAILED, INTERRUPTED, LibraryError
from specchat.models.candidates import DraftCandidate, judge_drafts, known_pair, ranked, worth_timing
from specchat.models.chosen_pair import load_options
from specchat.models.headers import ModelHeader, model_info
from specchat.models.last_pairs import DraftTiming, write_timings
from specchat.models.library import loadable_models
from specchat.models.names import find_path
from specchat.models.pass_costs import judge_here
from specchat.models.preferences import remember_pair
from specchat.settings.schema import Config
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, ORANGE
from specchat_engine import Engine
from specchat_engine.codec import to_json
from specchat_engine.errors import EngineError
from specchat_engine.llama.machine import this_machine
from specchat_engine.pairing import Grade, PairFinding, PairVerdict, trainable_head

_SIGNS = {Grade.OK: ("✓", BLUE), Grade.WARNING: ("!", ORANGE), Grade.BLOCKER: ("✗", f"bold {ORANGE}")}


@dataclass(frozen=True, slots=True)
class _Result:
    candidate: DraftCandidate
    timed: Gain | None
    trouble: str = ""


def pair(target: str, draft: str, config: Config, *, as_json: bool) -> int:
    """Prints the verdict and returns the exit code, 1 for a blocker.

    Raises LibraryError, HubError or ModelFileError if a header cannot be read.
    """
    no_native_debugger()
    target_info, draft_info = model_info(target), model_info(draft)
    pair = known_pair(target_info.name, draft_info.name)
    options, machine = load_options(config), this_machine()
    verdict = judge_here(target_info.header, draft_info.header, options, machine, kept_costs(machine), pair)
    if as_json:
        print_json(
            {
                "type": "verdict",
                "target": {
                    "name": target_info.name,
                    "place": target_info.place,
                    "size": target_info.size,
                    "is_here": target_info.is_here,
                },
                "draft": {
                    "name": draft_info.name,
                    "place": draft_info.place,
                    "size": draft_info.size,
                    "is_here": draft_info.is_here,
                },
                "fits": verdict.fits,
                "grade": verdict.grade,
                "same_tokens": verdict.same_tokens,
                "cost": verdict.cost,
                "speedup": verdict.speedup,
                "lines": [asdict(line) for line in verdict.lines],
            }
        )
    else:
        console = Console(highlight=False, soft_wrap=True)
        for line in verdict.lines:
            console.print(_line(line))
        say(_conclusion(target_info, draft_info, verdict))
        if verdict.fits and not verdict.pays:
            say(
                "this draft would gain nothing here: without one, `chat` drafts by lookup, and "
                f"`specchat train {trainable_head(target_info.header)} -m {target_info.name}` trains a head"
            )
    return 0 if verdict.fits else FAILED


def _line(line: PairFinding) -> Text:
    sign, style = _SIGNS[line.grade]
    text = Text.assemble((sign, style), f" {clean_line(line.topic):<16} {clean_line(line.finding)}")
    if line.remedy:
        text.append(f"\n  → {clean_line(line.remedy)}", "none" if line.grade is Grade.OK else ORANGE)
    return text


def _conclusion(target: ModelHeader, draft: ModelHeader, verdict: PairVerdict) -> str:
    if not verdict.fits:
        return f"{draft.name} does not fit {target.name}: see ✗"
    away = [model.name for model in (target, draft) if not model.is_here]
    if away:
        return f"they fit: `specchat models pull {' '.join(away)}` downloads what is not here"
    return f"they fit: `specchat chat -m {target.name} -d {draft.name}`"


def bench_pairs(target: str, draft: str, config: Config, seconds: float, *, as_json: bool) -> int:
    """Times the drafts, prints the best first, remembers the best if it gains, and returns the exit code.

    Raises LibraryError or ModelFileError if the target or the draft cannot be read.
    """
    one_line_from_native_code()
    path = find_path(target).absolute()
    chosen = _chosen(path, draft, config)
    say(f"{len(chosen)} draft{'' if len(chosen) == 1 else 's'} to time, about {seconds:.0f} s each")
    results: list[_Result] = []
    stopped = False
    try:
        for result in _timed(path, chosen, config, seconds):
            results.append(result)
            _report(result)
            _keep(path, results)
    except KeyboardInterrupt:
        stopped = True
    order = sorted(results, key=lambda result: -(result.timed.speedup.value if result.timed else 0.0))
    if as_json:
        print_json(*(_result_json(result) for result in order))
    else:
        print_rows(("draft", "speed-up", "tokens/s", "plain", "α"), (_row(result) for result in order if result.timed))
    best = next((result for result in order if result.timed and result.timed.speedup.value > 1), None)
    if best is None:
        head = trainable_head(model_info(target).header)
        say(
            "no draft gains anything here: use prompt lookup, which needs none, or train a head with "
            f"`specchat train {head} -m {target}`"
        )
    else:
        remember_pair(path, best.candidate.entry.path)
        name = best.candidate.entry.name
        sure = best.timed is not None and best.timed.speedup.is_gain
        chance = "" if sure else " (this may be noise: measure longer with --seconds)"
        say(f"{name} is remembered{chance}: `specchat chat -m {target} -d {name}`")
    if stopped:
        say(f"stopped after {len(results)} of {len(chosen)} drafts")
        return INTERRUPTED
    return 0 if any(result.timed for result in results) else FAILED


def _chosen(target: Path, draft: str, config: Config) -> list[DraftCandidate]:
    """The drafts to time, best first by their headers. Raises LibraryError if there are none."""
    also = (target, find_path(draft).absolute()) if draft else (target,)
    options, machine = load_options(config), this_machine()
    judged = ranked(judge_drafts(target, loadable_models(also), options, machine, kept_costs(machine)))
    if draft:
        judged = [candidate for candidate in judged if candidate.entry.path.absolute() == also[-1]]
    fitting = [candidate for candidate in judged if candidate.fits] if draft else worth_timing(judged)
    if not fitting:
        why = f": {judged[0].reason}" if draft and judged else "; `specchat models search` finds some"
        raise LibraryError(f"no model on this machine can draft for {target.stem}{why}")
    return fitting


def _timed(target: Path, chosen: list[DraftCandidate], config: Config, seconds: float) -> Iterator[_Result]:
    for candidate in chosen:
        try:
            with Engine.load(target, candidate.entry.path, load_options(config)) as engine:
                if DRAFTED.drafter not in engine.drafters:
                    yield _Result(candidate, None, engine.plain_because or "it was rejected")
                    continue
                yield _Result(candidate, time_draft(engine, seconds), "no answer had a token")
        except EngineError as error:
            yield _Result(candidate, None, str(error))


def _keep(target: Path, results: list[_Result]) -> None:
    """Writes what was measured so far, after each draft, so that an interruption loses nothing."""
    drafter, k = DRAFTED.drafter, str(DRAFTED.k)
    write_timings(
        target,
        [
            DraftTiming(str(result.candidate.entry.path.absolute()), result.timed.speedup.value, drafter, k)
            for result in results
            if result.timed
        ],
    )


def _report(result: _Result) -> None:
    name = result.candidate.entry.name
    say(f"{name}: {result.timed.words}" if result.timed else f"{name} was not timed: {result.trouble}")


def _row(result: _Result) -> tuple[str, ...]:
    timed = result.timed
    if timed is None:
        return (result.candidate.entry.name,)
    return (
        result.candidate.entry.name,
        f"{timed.speedup.value:.2f}",
        f"{timed.tokens_per_second:.1f}",
        f"{timed.plain_tokens_per_second:.1f}",
        "" if timed.alpha is None else f"{timed.alpha:.2f}",
    )


def _result_json(result: _Result) -> dict[str, object]:
    timed = result.timed
    return {
        "type": "timed",
        "draft": result.candidate.entry.name,
        "path": str(result.candidate.entry.path),
        "speedup": to_json(timed.speedup if timed else None),
        "tokens_per_second": timed.tokens_per_second if timed else None,
        "plain_tokens_per_second": timed.plain_tokens_per_second if timed else None,
        "alpha": timed.alpha if timed else None,
        "trouble": "" if timed else result.trouble,
    }
