"""`specchat models pair TARGET --bench`: which draft of this machine gains most, measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from specchat.bench.drafts import TimedDraft, time_draft
from specchat.bench.plan import DRAFTED
from specchat.cli.models_tables import print_json, print_rows
from specchat.cli.reporting import one_line_from_native_code, say
from specchat.errors import FAILED, INTERRUPTED, LibraryError
from specchat.models.at_hand import models_at_hand
from specchat.models.candidates import Candidate, judge_drafts, ranked, worth_timing
from specchat.models.chosen_pair import load_options
from specchat.models.finding import find_path
from specchat.models.shelf import remember_pair
from specchat.models.timings import Timing, keep_timings
from specchat.settings.schema import Config
from specchat_engine import Engine
from specchat_engine.errors import EngineError
from specchat_engine.llama.machine import this_machine


@dataclass(frozen=True, slots=True)
class _Result:
    candidate: Candidate
    timed: TimedDraft | None
    trouble: str = ""


def bench_pairs(target: str, draft: str, config: Config, seconds: float, *, as_json: bool) -> int:
    """Times the drafts, prints them best first, and remembers the best where it gains; returns the exit code.

    Raises LibraryError or ModelFileError where the target or the draft cannot be had.
    """
    one_line_from_native_code()
    big = find_path(target).absolute()
    chosen = _chosen(big, draft, config)
    say(f"{len(chosen)} draft{'' if len(chosen) == 1 else 's'} to be timed, about {seconds:.0f} s each")
    results: list[_Result] = []
    stopped = False
    try:
        for result in _timed(big, chosen, config, seconds):
            results.append(result)
            _tell(result)
            _keep(big, results)
    except KeyboardInterrupt:
        stopped = True
    order = sorted(results, key=lambda one: -(one.timed.speedup.value if one.timed else 0.0))
    if as_json:
        print_json(*(_as_json(one) for one in order))
    else:
        print_rows(("draft", "speed-up", "tokens/s", "plain", "α"), (_row(one) for one in order if one.timed))
    best = next((one for one in order if one.timed and one.timed.speedup.value > 1), None)
    if best is None:
        say("no draft gains anything here: use lookup, which needs none, or decode plainly with -k 0")
    else:
        remember_pair(big, best.candidate.entry.path)
        name = best.candidate.entry.name
        sure = best.timed is not None and best.timed.gain.is_sure
        chance = "" if sure else " (that may be chance: measure longer with --seconds)"
        say(f"{name} is remembered{chance}: `specchat chat -m {target} -d {name}`")
    if stopped:
        say(f"stopped after {len(results)} of {len(chosen)} drafts")
        return INTERRUPTED
    return 0 if any(one.timed for one in results) else FAILED


def _chosen(target: Path, draft: str, config: Config) -> list[Candidate]:
    """The drafts to be timed, best first by what their headers say."""
    also = (target, find_path(draft).absolute()) if draft else (target,)
    judged = ranked(judge_drafts(target, models_at_hand(also), load_options(config), this_machine()))
    if draft:
        judged = [one for one in judged if one.entry.path.absolute() == also[-1]]
    fitting = [one for one in judged if one.fits] if draft else worth_timing(judged)
    if not fitting:
        why = f": {judged[0].reason}" if draft and judged else "; `specchat models search` finds others"
        raise LibraryError(f"no model of this machine can draft for {target.stem}{why}")
    return fitting


def _timed(target: Path, chosen: list[Candidate], config: Config, seconds: float) -> Iterator[_Result]:
    for candidate in chosen:
        try:
            with Engine.load(target, candidate.entry.path, load_options(config)) as engine:
                if DRAFTED.drafter not in engine.drafters:
                    yield _Result(candidate, None, engine.plain_because or "it was refused")
                    continue
                yield _Result(candidate, time_draft(engine, seconds), "no answer had a token")
        except EngineError as error:
            yield _Result(candidate, None, str(error))


def _keep(target: Path, results: list[_Result]) -> None:
    """After each draft: whatever ends the program, what was measured is known."""
    drafter, k = DRAFTED.drafter, str(DRAFTED.k)
    keep_timings(
        target,
        [
            Timing(str(one.candidate.entry.path.absolute()), one.timed.speedup.value, drafter, k)
            for one in results
            if one.timed
        ],
    )


def _tell(result: _Result) -> None:
    name = result.candidate.entry.name
    say(f"{name}: {result.timed.gain.words}" if result.timed else f"{name} was not timed: {result.trouble}")


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


def _as_json(result: _Result) -> dict[str, object]:
    timed = result.timed
    return {
        "type": "timed",
        "draft": result.candidate.entry.name,
        "path": str(result.candidate.entry.path),
        "speedup": timed.speedup.to_json() if timed else None,
        "tokens_per_second": timed.tokens_per_second if timed else None,
        "plain_tokens_per_second": timed.plain_tokens_per_second if timed else None,
        "alpha": timed.alpha if timed else None,
        "trouble": "" if timed else result.trouble,
    }
