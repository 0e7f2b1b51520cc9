"""Evaluates the pair on held-out prompts: right answers of the target, acceptance of the draft."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from builtin_pair import copying, facts, other, python_library, stories, structured
from builtin_pair.model_card import Acceptance, Results, Share, write_model_card
from builtin_pair.stages import DRAFT, FINISHED_TARGET, TARGET, Run, trained
from specchat_engine import Engine, Settings, TurnStats

_DRAFTED = 4
_LIMIT = 320


def answer(engine: Engine, prompt: str, temperature: float, seed: int) -> tuple[str, TurnStats]:
    """One answer with the draft model drafting alone at k = 4, and its statistics."""
    sampling = replace(engine.recommended, temperature=temperature)
    settings = Settings(k=_DRAFTED, drafter="model", sampling=sampling, max_tokens=_LIMIT)
    session = engine.session(settings=settings, seed=seed)
    for _ in session.generate(prompt):
        pass
    return session.text, session.stats


def measure_acceptance(engine: Engine, kind: str, prompts: Sequence[str], temperature: float, seed: int) -> Acceptance:
    """Answers each prompt and counts the outcomes of the drafted tokens."""
    stats = [answer(engine, prompt, temperature, seed + number)[1] for number, prompt in enumerate(prompts)]
    return Acceptance(
        kind,
        temperature,
        accepted=sum(turn.num_accepted_tokens for turn in stats),
        rejected=sum(turn.num_rejected_tokens for turn in stats),
        emitted=sum(turn.num_tokens for turn in stats),
        passes=sum(turn.num_rounds for turn in stats),
    )


_FACT_PHRASINGS = Path(__file__).parent / "data" / "held_out" / "facts.toml"
_CODE_PROMPTS = 150
_ACCEPTANCE_PROMPTS = 40
_TEMPERATURES = (0.0, 0.8)


@dataclass(frozen=True, slots=True)
class Exercise:
    """A held-out prompt and the check of its answer."""

    measure: str
    prompt: str
    right: Callable[[str], bool]


def evaluate(run: Run) -> None:
    """Measures the exported pair; writes `answers.jsonl`, `results.json` and `MODEL_CARD.md` into the work folder."""
    exercises = held_out_exercises(run.seed)
    with Engine.load(run.target_file, run.draft_file) as engine:
        answers = answer_all(engine, [exercise.prompt for exercise in exercises], run.seed)
        results = Results(count_right(exercises, answers), acceptance_of_kinds(run, engine, exercises))
    with (run.work / "answers.jsonl").open("w", encoding="utf-8") as file:
        for exercise, answer in zip(exercises, answers, strict=True):
            line = {
                "measure": exercise.measure,
                "right": exercise.right(answer),
                "prompt": exercise.prompt,
                "answer": answer,
            }
            file.write(json.dumps(line) + "\n")
    (run.work / "results.json").write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    write_model_card(
        run.work / "MODEL_CARD.md", results, trained(run, FINISHED_TARGET, TARGET), trained(run, "draft", DRAFT)
    )


def held_out_exercises(seed: int) -> list[Exercise]:
    """All held-out prompts of all measures, except questions that occur in the corpus in the same words."""
    random = Random(f"evaluation {seed}")
    by_id = {fact.id: fact for fact in facts.load_facts()}
    asked = {_bare(question) for fact in by_id.values() for question in facts.plain_questions(fact)}
    exercises: list[Exercise] = []
    for entry in tomllib.loads(_FACT_PHRASINGS.read_text(encoding="utf-8"))["question"]:
        if _bare(entry["text"]) in asked:
            continue
        fact = by_id[entry["fact"]]
        exercises.append(Exercise("facts", entry["text"], fact.held_by))
        exercises.append(Exercise("facts not refused", entry["text"], _not_refused))
    exercises.extend(
        Exercise("python", code.prompt, _code_judge(code)) for code in python_library.held_out(random, _CODE_PROMPTS)
    )
    for name, found in (("copy", copying.held_out(random)), ("structured", structured.held_out(random))):
        exercises.extend(Exercise(name, one.prompt, _exact_judge(one.expected)) for one in found)
    exercises.extend(Exercise("refusals", one.question, other.is_refusal) for one in other.held_out(random))
    return exercises


def answer_all(engine: Engine, prompts: Sequence[str], seed: int) -> list[str]:
    """The answers at temperature 0. A prompt that occurs twice is answered once."""
    answered = {prompt: answer(engine, prompt, 0.0, seed)[0] for prompt in dict.fromkeys(prompts)}
    return [answered[prompt] for prompt in prompts]


def count_right(exercises: Sequence[Exercise], answers: Sequence[str]) -> tuple[Share, ...]:
    """The share of right answers for each measure, in order."""
    shares = []
    for measure in dict.fromkeys(exercise.measure for exercise in exercises):
        judged = [
            exercise.right(answer)
            for exercise, answer in zip(exercises, answers, strict=True)
            if exercise.measure == measure
        ]
        shares.append(Share(measure, sum(judged), len(judged)))
    return tuple(shares)


def acceptance_of_kinds(run: Run, engine: Engine, exercises: Sequence[Exercise]) -> tuple[Acceptance, ...]:
    """The draft's acceptance for each kind of prompt at each temperature."""
    random = Random(f"acceptance {run.seed}")
    prompts = {
        kind: [exercise.prompt for exercise in exercises if exercise.measure == kind]
        for kind in ("copy", "facts", "python", "structured", "refusals")
    }
    prompts["stories"] = [one.prompt for one in stories.held_out(random)]
    return tuple(
        measure_acceptance(
            engine, kind, random.sample(some, min(_ACCEPTANCE_PROMPTS, len(some))), temperature, run.seed
        )
        for kind, some in prompts.items()
        for temperature in _TEMPERATURES
    )


def _bare(question: str) -> str:
    """A question without case and punctuation, for comparison."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", question.lower()).split())


def _not_refused(answer: str) -> bool:
    return not other.is_refusal(answer)


def _exact_judge(expected: str) -> Callable[[str], bool]:
    return lambda answer: answer.strip() == expected.strip()


def _code_judge(code: python_library.CodePrompt) -> Callable[[str], bool]:
    return lambda answer: all(asdict(code.check(answer)).values())
