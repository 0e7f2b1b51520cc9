"""The pair on prompts that no template of the corpus made: right answers of the target, acceptance of the draft."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from builtin_pair import copying, facts, other, python_library, structured
from builtin_pair.acceptance import measure_acceptance
from builtin_pair.chats import single
from builtin_pair.model_card import write_model_card
from builtin_pair.results import Acceptance, Results, Share
from builtin_pair.stages import DRAFT, TARGET, Run, trained
from builtin_pair.template import END_ID, pieces
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.generate import complete
from specchat_engine.training.model import LlamaModel

_FACT_PHRASINGS = Path(__file__).parent / "data" / "held_out" / "facts.toml"
_LIMIT = 320
_ROWS = 24
_CODE_PROMPTS = 150
_ACCEPTANCE_PROMPTS = 40
_TEMPERATURES = (0.0, 0.8)


@dataclass(frozen=True, slots=True)
class Exercise:
    """A held-out prompt and the judge of its answer."""

    measure: str
    prompt: str
    right: Callable[[str], bool]


def evaluate(run: Run) -> None:
    """Measures the trained pair; writes `answers.jsonl`, `results.json` and `MODEL_CARD.md` into the work folder."""
    tokenizer = run.tokenizer()
    target, draft = trained(run, "target", TARGET), trained(run, "draft", DRAFT)
    exercises = held_out_exercises(run.seed)
    answers = answer_all(target, tokenizer, [exercise.prompt for exercise in exercises])
    with (run.work / "answers.jsonl").open("w", encoding="utf-8") as file:
        for exercise, answer in zip(exercises, answers, strict=True):
            line = {
                "measure": exercise.measure,
                "right": exercise.right(answer),
                "prompt": exercise.prompt,
                "answer": answer,
            }
            file.write(json.dumps(line) + "\n")
    results = Results(count_right(exercises, answers), acceptance_of_kinds(run, target, draft, exercises))
    (run.work / "results.json").write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    write_model_card(run.work / "MODEL_CARD.md", results, target, draft)


def held_out_exercises(seed: int) -> list[Exercise]:
    """All held-out prompts of all measures."""
    random = Random(f"held out {seed}")
    by_id = {fact.id: fact for fact in facts.load_facts()}
    exercises: list[Exercise] = []
    for entry in tomllib.loads(_FACT_PHRASINGS.read_text(encoding="utf-8"))["question"]:
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


def answer_all(model: LlamaModel, tokenizer: BytePairTokenizer, prompts: Sequence[str]) -> list[str]:
    """The model's answers at temperature 0; a prompt that comes twice is answered once."""
    different = sorted(set(prompts), key=len)
    answered: dict[str, str] = {}
    for start in range(0, len(different), _ROWS):
        some = different[start : start + _ROWS]
        ids = [prompt_ids(tokenizer, prompt) for prompt in some]
        for prompt, answer in zip(some, complete(model, ids, END_ID, _LIMIT), strict=True):
            answered[prompt] = tokenizer.decode(answer)
    return [answered[prompt] for prompt in prompts]


def prompt_ids(tokenizer: BytePairTokenizer, prompt: str) -> list[int]:
    """The tokens of a user's first message, up to where the answer begins."""
    return tokenizer.encode(pieces(single("other", prompt, ""))[0][0])


def count_right(exercises: Sequence[Exercise], answers: Sequence[str]) -> tuple[Share, ...]:
    """The share of right answers for each measure, in their order."""
    shares = []
    for measure in dict.fromkeys(exercise.measure for exercise in exercises):
        judged = [
            exercise.right(answer)
            for exercise, answer in zip(exercises, answers, strict=True)
            if exercise.measure == measure
        ]
        shares.append(Share(measure, sum(judged), len(judged)))
    return tuple(shares)


def acceptance_of_kinds(
    run: Run, target: LlamaModel, draft: LlamaModel, exercises: Sequence[Exercise]
) -> tuple[Acceptance, ...]:
    """The draft's acceptance for each kind of prompt at each temperature."""
    tokenizer = run.tokenizer()
    found: list[Acceptance] = []
    for measure in ("copy", "facts", "python", "structured", "refusals"):
        prompts = [exercise.prompt for exercise in exercises if exercise.measure == measure]
        chosen = Random(f"acceptance {run.seed}").sample(prompts, min(_ACCEPTANCE_PROMPTS, len(prompts)))
        ids = sorted((prompt_ids(tokenizer, prompt) for prompt in chosen), key=len)
        found.extend(
            measure_acceptance(target, draft, measure, ids, temperature, run.seed) for temperature in _TEMPERATURES
        )
    return tuple(found)


def _not_refused(answer: str) -> bool:
    return not other.is_refusal(answer)


def _exact_judge(expected: str) -> Callable[[str], bool]:
    return lambda answer: answer.strip() == expected.strip()


def _code_judge(code: python_library.CodePrompt) -> Callable[[str], bool]:
    return lambda answer: all(asdict(code.check(answer)).values())
