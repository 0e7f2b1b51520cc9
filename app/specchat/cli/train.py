"""`specchat train`: makes a draft model or a head for a target from texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from specchat.cli.messages import one_line_from_native_code, say
from specchat.cli.train_check import Result, check, check_seconds
from specchat.cli.train_progress import ProgressLine, alphas, stops
from specchat.errors import ConfigError
from specchat.settings.options import ChatOptions
from specchat_engine.errors import SettingError
from specchat_engine.gguf import read_model
from specchat_engine.threads.processors import read_processors

if TYPE_CHECKING:
    from specchat_engine.training.gguf import Precision
    from specchat_engine.training.pupils import Pupil
    from specchat_engine.training.texts import Text

_NEEDED = ("torch", "gguf", "tokenizers")
KINDS = ("draft", "eagle3", "mtp", "medusa", "mlp", "answers", "online")
_SUFFIXES = {"medusa": ".safetensors", "mlp": ".safetensors", "answers": ".jsonl"}
PRECISIONS: tuple[Precision, ...] = ("F32", "F16", "BF16", "Q8_0")
_SHARES = (0.01, 0.02, 0.05)
_MOST_RANK = 256


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """What to train, on what, and for how long.

    `share` is a draft's size relative to the target. `begin` is what to start from: a draft model, or the folder of an
    earlier training. `rank` is that of adapters for a draft that goes on learning, 0 to train all of its weights, None
    to let its size decide. `checked` has the result verified, measured and remembered.
    """

    kind: str
    data: Sequence[str]
    out: Path
    minutes: float
    share: float
    precision: Precision
    begin: Path | None
    rank: int | None
    checked: bool
    force: bool


def read_precision(text: str) -> Precision:
    """The precision of this name. Raises ConfigError if there is none."""
    precision = next((name for name in PRECISIONS if name == text.upper()), None)
    if precision is None:
        raise ConfigError(f"there is no precision {text!r}: use {', '.join(PRECISIONS)}")
    return precision


def read_rank(text: str) -> int | None:
    """The rank of adapters: 0 for off, None for auto. Raises ConfigError for anything else but a number."""
    if text in ("auto", "off"):
        return None if text == "auto" else 0
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_RANK:
        raise ConfigError(f"there is no rank {text!r}: use 1 to {_MOST_RANK}, auto or off")
    return int(text)


def train(options: ChatOptions, request: TrainingRequest) -> int:
    """Trains for a target, writes the file, and says what came of it.

    Raises ConfigError or SettingError for what cannot be done, EngineError if a model cannot be loaded.
    """
    if request.kind != "answers":
        _check_installed()
    one_line_from_native_code()
    if request.kind == "online":
        from specchat.cli.train_online import learn

        return learn(options, request.minutes, request.data, request.rank)
    _check(request)
    from specchat.cli.train_answers import OWN, answer
    from specchat.cli.train_data import read_data

    if request.kind == "answers":
        texts = None if [*request.data] == [OWN] else read_data(request.data)
        return answer(options, texts, request.out, request.minutes)
    texts = read_data(request.data)
    end = monotonic() + 60 * request.minutes
    minutes = request.minutes - (check_seconds(request.minutes) / 60 if request.checked else 0)
    result = _trained(options.target, replace(request, minutes=minutes), texts)
    use = " ".join(result.flags)
    size = request.out.stat().st_size
    print(f"{request.out}  {size / 1e6:.1f} MB")  # noqa: T201
    if request.checked and (code := check(result, end - monotonic())):
        return code
    say(f"chat with it: specchat {use}; check it: specchat verify {use}; measure it: specchat bench {use}")
    return 0


def _trained(target: Path, request: TrainingRequest, texts: Sequence[Text]) -> Result:
    """Trains, and says how acceptance changed."""
    from specchat_engine.training.documents import documents_of
    from specchat_engine.training.runs import Training

    folder = request.out.with_name(f"{request.out.name}.training")
    folder.mkdir(parents=True, exist_ok=True)
    training = Training(
        _pupil(target, request, folder),
        partial(documents_of, texts),
        folder,
        minutes=request.minutes,
        threads=read_processors().usual,
        begin=request.begin if request.begin and request.begin.is_dir() else None,
    )
    say(
        f"{request.kind} for {target.name}: {training.tokens:,} tokens to learn from, on the {training.device.type} "
        f"with about {training.needs / 1e9:.1f} GB; checkpoints in {folder}"
    )
    line = ProgressLine()
    try:
        with stops(training):
            trained = training.run(request.out, request.out.stem, request.precision, line.hear)
    except (OSError, RuntimeError) as error:  # a full disk, a full GPU
        reason = str(error).splitlines()[0]
        raise ConfigError(f"training stopped: {reason}; the same command goes on from {folder}") from error
    line.clear()
    say(f"held-out acceptance: {alphas(trained.before)} before, {alphas(trained.after)} after")
    if request.kind == "mtp":
        return Result(request.out, "mtp", "mtp")
    return Result(target, str(request.out), request.kind)


def _check_installed() -> None:
    missing = next((name for name in _NEEDED if find_spec(name) is None), None)
    if missing:
        raise ConfigError(f"training needs {missing}, which is not installed: pip install 'specchat[train]'")


def _check(request: TrainingRequest) -> None:
    if request.kind not in KINDS:
        raise ConfigError(f"there is no training for {request.kind!r}: use {', '.join(KINDS)}")
    if not request.data or request.out == Path():
        raise ConfigError(f"training a {request.kind} needs texts and a file to write: give --data and -o")
    wanted = _SUFFIXES.get(request.kind, ".gguf")
    if request.out.suffix != wanted:
        raise ConfigError(f"{request.out} cannot be a file of {request.kind}: give -o a name that ends in {wanted}")
    if request.out.exists() and not request.force and request.kind != "answers":
        raise ConfigError(f"{request.out} exists already: choose another -o, or overwrite it with --force")
    if not request.out.absolute().parent.is_dir():
        raise ConfigError(f"{request.out} cannot be written: there is no folder {request.out.parent}")
    if not 0 < request.minutes < 100_000:
        raise SettingError(f"minutes is {request.minutes:g}: use more than 0")
    begin = request.begin
    if begin and not begin.exists():
        raise ConfigError(f"{begin} does not exist: name a draft model, or the folder NAME.training of a training")
    if begin and begin.is_file() and request.kind != "draft":
        raise ConfigError(f"{begin} is a file, and only a draft can start from one: name the folder NAME.training")
    if request.rank and not (begin and begin.is_file()):
        raise ConfigError(f"--lora {request.rank} needs a draft model to adapt: name its file with --init")


def _pupil(target: Path, request: TrainingRequest, folder: Path) -> Pupil:
    from specchat_engine.training import draft_pupils, pupils

    header = read_model(target)
    match request.kind:
        case "draft" if request.begin and request.begin.is_file():
            return draft_pupils.draft_from(target, request.begin, request.rank)
        case "draft":
            sizes = ", ".join(f"{share:.0%} {share * header.n_params / 1e6:.1f}M" for share in _SHARES)
            say(f"a draft of {request.share:.1%} of the target's size; --share chooses another: {sizes}")
            return draft_pupils.draft_pupil(target, request.share, seed=1)
        case "mtp":
            return pupils.MtpPupil(target, folder, seed=1)
        case "medusa":
            return pupils.medusa_pupil(target)
        case "mlp":
            return pupils.speculator_pupil(target, inner=header.width // 2, seed=1)
        case _:
            return pupils.EaglePupil(target, feed_forward=header.width, seed=1)
