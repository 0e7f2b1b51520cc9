"""The stages of the recipe. Each continues from what it finds in the work folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

from builtin_pair.chats import CHAT_TEMPLATE, SPECIALS, VOCABULARY_SIZE, Kind
from builtin_pair.curriculum import CopyCurriculum
from builtin_pair.distillation import TeachingStore, distillation_objective, next_token_objective
from builtin_pair.drills import SKILLS, SkillLesson
from builtin_pair.gguf_file import Description, Sampling, write_gguf
from builtin_pair.lessons import (
    SETTLING_SHARES,
    Chats,
    ChoiceLesson,
    LongTexts,
    MatchingLesson,
    TaughtSource,
    taught_step,
)
from builtin_pair.mixture import GROUPS, Mixture, texts
from builtin_pair.quoting import QuotingLesson
from builtin_pair.thinking import ThinkingLesson
from builtin_pair.tokenizer import BytePairTokenizer, awkward_texts
from builtin_pair.tokenizer_check import first_difference
from specchat_engine.training.gguf import Precision
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.optimizer import Schedule
from specchat_engine.training.trainer import (
    BatchSource,
    Budget,
    Objective,
    Trainer,
    TrainingPlan,
    best_device,
)

TARGET = ModelConfig(VOCABULARY_SIZE, width=512, layers=6, heads=8, kv_heads=2, feed_forward=1280)
FINISHED_TARGET = "target-quoted"
"""The stage whose target is published."""

DRAFT = ModelConfig(VOCABULARY_SIZE, width=256, layers=2, heads=4, kv_heads=2, feed_forward=320)

_TOKENIZER_TEXTS: Mapping[Kind, int] = {
    "copy": 2500,
    "facts": 2500,
    "python": 2500,
    "structured": 1500,
    "story": 1000,
    "other": 800,
}
_CHECKED_TEXTS = 10_000
_SKILL_TOKENS, _CHOICE_TOKENS = 4_000_000, 3_000_000
_MATCHING_TOKENS, _LENGTHENING_TOKENS, _SETTLING_TOKENS = 2_000_000, 6_000_000, 2_000_000
_QUOTING_TOKENS = 1_500_000
_THINKING_TOKENS, _THINKING_DRAFT_TOKENS = 8_000_000, 12_000_000
_COPY_TOKENS, _TARGET_TOKENS, _DRAFT_COPY_TOKENS, _DRAFT_TOKENS = 2_500_000, 16_000_000, 3_500_000, 6_000_000
_TAUGHT_STEPS, _TAUGHT_TOKENS = 110, 8192
_MATCHING_STEP_TOKENS, _COPY_STEP_TOKENS, _TARGET_STEP_TOKENS, _BATCH_TOKENS = 2048, 4096, 4096, 3072
_THINKING_STEP_TOKENS = 8192
_RATES = (0.02, 0.003)
_TARGET_RATES = {
    "target-skills": (0.01, 0.002),
    "target-choosing": (0.006, 0.0012),
    "target": (0.006, 0.0012),
    "target-matching": (0.006, 0.001),
    "target-lengthening": (0.004, 0.0006),
    "target-settling": (0.0015, 0.0003),
    "target-quoting": (0.003, 0.0006),
    "target-thinking": (0.006, 0.0012),
    "draft-thinking": (0.006, 0.0012),
}
"""Rates of Muon and of AdamW. A step has few tokens, so the target settles only at rates below those of its lesson."""

_DECAYS = {"target-matching": 0.6}
"""The fraction of its budget after which a stage slows down, if not the default."""

_LAST_SHARE, _QUOTING_SHARE = 0.9, 0.6
"""The weights of the settled target and of the one that learned to quote in their averages with what was before."""

_TARGET_SEED, _DRAFT_SEED = 1, 2


@dataclass(frozen=True, slots=True)
class Run:
    """The work folder and the deadlines of the models, in seconds since the epoch, whatever their token count."""

    work: Path
    seed: int
    target_deadline: float | None
    draft_deadline: float | None
    precision: Precision

    @property
    def tokenizer_file(self) -> Path:
        """The trained tokenizer."""
        return self.work / "tokenizer.json"

    @property
    def target_file(self) -> Path:
        """The finished target."""
        return self.work / "specchat-guide-18m.gguf"

    @property
    def draft_file(self) -> Path:
        """The finished draft."""
        return self.work / "specchat-draft-2m.gguf"

    @property
    def thinking_files(self) -> tuple[Path, Path]:
        """The target and the draft that learned to think; they are not published."""
        return self.work / "specchat-thinker-18m.gguf", self.work / "specchat-thinker-draft-2m.gguf"

    def tokenizer(self) -> BytePairTokenizer:
        """The tokenizer made by the first stage."""
        return BytePairTokenizer.load(self.tokenizer_file)

    def mixture(self, tokens: int) -> Mixture:
        """The mix of chats, with `tokens` per step."""
        return Mixture(self.tokenizer(), self.seed, tokens, _BATCH_TOKENS)


def train_tokenizer(run: Run) -> None:
    """Trains the tokenizer and compares it with llama.cpp's.

    Raises:
        ValueError: llama.cpp splits a text differently.
    """
    if run.tokenizer_file.exists():
        return
    tokenizer = BytePairTokenizer.train(texts(run.seed, _TOKENIZER_TEXTS), VOCABULARY_SIZE, SPECIALS)
    probe = run.work / "tokenizer-probe.gguf"
    smallest = ModelConfig(VOCABULARY_SIZE, width=32, layers=1, heads=1, kv_heads=1, feed_forward=32)
    write_gguf(probe, TorchLlama(smallest), tokenizer, describe("probe", "Only a vocabulary."), "F32")
    different = first_difference(probe, tokenizer, awkward_texts(Random(run.seed), _CHECKED_TEXTS))
    probe.unlink()
    if different is not None:
        raise ValueError(f"llama.cpp cuts {different!r} into other tokens: the pre-tokenizer has changed")
    tokenizer.save(run.tokenizer_file)


def train_target_copying(run: Run) -> None:
    """The target's first lesson: copying random strings."""
    source = CopyCurriculum(run.seed, _COPY_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "target-copying", TARGET, None, source, _COPY_TOKENS)


def train_target_skills(run: Run) -> None:
    """The target's second lesson: editing, looking up and quoting, on random tokens."""
    source = SkillLesson(run.tokenizer(), run.seed, _COPY_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "target-skills", TARGET, "target-copying", source, _SKILL_TOKENS)


def train_target_choosing(run: Run) -> None:
    """The target's third lesson: distinguishing its facts."""
    source = ChoiceLesson(run.tokenizer(), run.seed, _TARGET_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "target-choosing", TARGET, "target-skills", source, _CHOICE_TOKENS)


def train_target(run: Run) -> None:
    """Trains the target on the mix of chats, which get longer as the budget is spent."""
    source = run.mixture(_TARGET_STEP_TOKENS)
    _train(run, "target", TARGET, "target-choosing", source, _TARGET_TOKENS, _part(run.target_deadline, 0.6))


def train_target_matching(run: Run) -> None:
    """The target's lesson in distinguishing similar places, beside the mix."""
    source = MatchingLesson(run.tokenizer(), run.seed, _MATCHING_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "target-matching", TARGET, "target", source, _MATCHING_TOKENS, _part(run.target_deadline, 0.3))


def train_target_lengthening(run: Run) -> None:
    """The target's last lesson: repeating and editing longer texts, beside the mix."""
    source = LongTexts(run.tokenizer(), run.seed, _TARGET_STEP_TOKENS, _BATCH_TOKENS)
    latest = _part(run.target_deadline, 0.6)
    _train(run, "target-lengthening", TARGET, "target-matching", source, _LENGTHENING_TOKENS, latest)


def average_target(run: Run) -> None:
    """Averages the target before and after its last two lessons, which keeps nearly all of both."""
    _average(run, "target", "target-lengthening", "target-averaged", 0.8)


def settle_target(run: Run) -> None:
    """Trains the averaged target at low rates, mostly on the mix."""
    source = LongTexts(run.tokenizer(), run.seed + 1, _TARGET_STEP_TOKENS, _BATCH_TOKENS, SETTLING_SHARES)
    _train(run, "target-settling", TARGET, "target-averaged", source, _SETTLING_TOKENS, run.target_deadline)


def finish_target(run: Run) -> None:
    """Averages the settled target once more with the target before its last two lessons."""
    _average(run, "target", "target-settling", "target-finished", _LAST_SHARE)


def train_target_quoting(run: Run) -> None:
    """The target's last lesson: quoting the passage that the app's help has found, beside the mix."""
    source = QuotingLesson(run.tokenizer(), run.seed, _TARGET_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "target-quoting", TARGET, "target-finished", source, _QUOTING_TOKENS, run.target_deadline)


def average_quoting_target(run: Run) -> None:
    """Averages the target before and after the lesson in quoting."""
    _average(run, "target-finished", "target-quoting", FINISHED_TARGET, _QUOTING_SHARE)


def teach_draft(run: Run) -> None:
    """Stores the target's distributions over steps of a mix that it was not trained on."""
    mixture = Mixture(run.tokenizer(), run.seed + 1, _TAUGHT_TOKENS, _BATCH_TOKENS)
    _teach(run, FINISHED_TARGET, mixture, "teaching")


def train_draft_copying(run: Run) -> None:
    """The draft's first lesson: copying random strings."""
    source = CopyCurriculum(run.seed + 2, _COPY_STEP_TOKENS, _BATCH_TOKENS)
    _train(run, "draft-copying", DRAFT, None, source, _DRAFT_COPY_TOKENS, _part(run.draft_deadline, 0.2))


def train_draft(run: Run) -> None:
    """Trains the draft on the target's distributions."""
    mixture = Mixture(run.tokenizer(), run.seed + 3, _TAUGHT_TOKENS, _BATCH_TOKENS)
    source = TaughtSource(TeachingStore(run.work / "teaching"), mixture, run.seed)
    begun_as, deadline = "draft-copying", run.draft_deadline
    _train(run, "draft", DRAFT, begun_as, source, _DRAFT_TOKENS, deadline, objective=distillation_objective)


def train_thinking_target(run: Run) -> None:
    """A lesson in thinking first, for a target of its own. It begins with the published one."""
    source = ThinkingLesson(run.tokenizer(), run.seed, _THINKING_STEP_TOKENS, _BATCH_TOKENS)
    begun_as = FINISHED_TARGET if (run.work / f"{FINISHED_TARGET}.done").exists() else "target-finished"
    _train(run, "target-thinking", TARGET, begun_as, source, _THINKING_TOKENS, run.target_deadline)


def teach_thinking_draft(run: Run) -> None:
    """Stores the thinking target's distributions over chats that it was not trained on."""
    lesson = ThinkingLesson(run.tokenizer(), run.seed + 1, _TAUGHT_TOKENS, _BATCH_TOKENS)
    _teach(run, "target-thinking", lesson, "teaching-thinking")


def train_thinking_draft(run: Run) -> None:
    """Trains the published draft on the thinking target's distributions."""
    lesson = ThinkingLesson(run.tokenizer(), run.seed + 3, _TAUGHT_TOKENS, _BATCH_TOKENS)
    source = TaughtSource(TeachingStore(run.work / "teaching-thinking"), lesson, run.seed)
    tokens, deadline = _THINKING_DRAFT_TOKENS, run.draft_deadline
    _train(run, "draft-thinking", DRAFT, "draft", source, tokens, deadline, objective=distillation_objective)


def describe(name: str, text: str, chat_template: str = CHAT_TEMPLATE) -> Description:
    """The metadata of the recipe's files."""
    return Description(
        name=name,
        text=text,
        author="The specchat developers",
        license="apache-2.0",
        chat_template=chat_template,
        end_token=SPECIALS[2],
        padding_token=SPECIALS[0],
        sampling=Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05),
    )


def trained(run: Run, name: str, config: ModelConfig) -> TorchLlama:
    """The model of a stage as it was last saved, finished or not.

    Raises:
        FileNotFoundError: the stage has not saved anything yet.
    """
    model = TorchLlama(config).to(best_device())
    model.load_state_dict(torch.load(run.work / f"{name}.pt", map_location=best_device(), weights_only=True)["model"])
    model.requires_grad_(False)
    return model.eval()


def _part(deadline: float | None, share: float) -> float | None:
    """The deadline of a stage that may use this share of the remaining time, since other stages follow."""
    return None if deadline is None else time.time() + share * (deadline - time.time())


def _teach(run: Run, name: str, chats: Chats, folder: str) -> None:
    target = trained(run, name, TARGET)
    store = TeachingStore(run.work / folder)
    latest = _part(run.draft_deadline, 0.45)
    while len(store) < _TAUGHT_STEPS and (latest is None or time.time() < latest):
        store.append(taught_step(target, chats, len(store), _BATCH_TOKENS))


def _average(run: Run, before: str, after: str, into: str, share: float) -> None:
    """Mixes the weights of two stages; `share` is that of the later one.

    Source: Wortsman et al., "Robust fine-tuning of zero-shot models", arXiv 2109.01903.
    """
    done = run.work / f"{into}.done"
    if done.exists():
        return
    first, last = (trained(run, name, TARGET).state_dict() for name in (before, after))
    torch.save({"model": {name: torch.lerp(first[name], last[name], share) for name in first}}, run.work / f"{into}.pt")
    done.touch()


def _train(
    run: Run,
    name: str,
    config: ModelConfig,
    begun_as: str | None,
    source: BatchSource,
    tokens: int,
    deadline: float | None = None,
    objective: Objective = next_token_objective,
) -> None:
    done = run.work / f"{name}.done"
    if done.exists():
        return
    seed = _TARGET_SEED if config == TARGET else _DRAFT_SEED
    model = TorchLlama(config, seed).to(best_device())
    if begun_as is not None:
        model.load_state_dict(trained(run, begun_as, config).state_dict())
    lesson = isinstance(source, CopyCurriculum | SkillLesson)
    muon_rate, adam_rate = _TARGET_RATES.get(name, _RATES)
    plan = TrainingPlan(
        name=name,
        folder=run.work,
        budget=Budget(tokens, deadline),
        schedule=Schedule(warm_up_steps=30, decay_from=0.95 if lesson else _DECAYS.get(name, 0.35)),
        muon_rate=muon_rate,
        adam_rate=adam_rate,
        groups=SKILLS if name == "target-skills" else GROUPS,
    )
    Trainer(model, source, objective, plan).run()
    done.touch()
