"""What a draft model has learned: recorded turns, the drafts that were adopted, and which of them is in use.

Nothing is recorded until the user turns learning on, everything stays on this machine, and `forget` deletes it. Each
pair has a folder: `turns/` is the ring buffer, `draft-N.gguf` are the adopted drafts, `learned.json` is their history.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.files import load_json, replace_text
from specchat.learning.alpha_history import AlphaEntry, extended
from specchat.settings.paths import data_folder
from specchat_engine.codec import to_json
from specchat_engine.decoding.stats import AcceptanceCounts
from specchat_engine.stores import TurnBuffer

NEW_TOKENS = 4000
"""A training begins after this many new tokens."""

_KEPT_DRAFTS, _FEWEST_KEPT = 5, 2
_KEPT_BYTES = 2 * 10**9
"""The latest adopted drafts of a pair are kept: five, but of large ones only as many as fit, and at least two."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """A draft that was adopted after `tokens` recorded tokens: α on the latest turns before and after its training."""

    file: str
    tokens: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class LearningHistory:
    """What a draft has learned up to a moment.

    `used` adoptions are in force, and the last of them is the draft in use. `seen` tokens were recorded in all, also
    those that the ring buffer no longer has, `trained` of them when the last training began. `alphas` says what was
    accepted of the drafts in recorded answers, by kind of text, over recorded tokens.
    """

    adoptions: tuple[Adoption, ...] = ()
    used: int = 0
    seen: int = 0
    trained: int = 0
    alphas: tuple[AlphaEntry, ...] = ()

    @property
    def in_force(self) -> tuple[Adoption, ...]:
        """The adoptions that are in force, the oldest first."""
        return self.adoptions[: self.used]

    @property
    def undone(self) -> tuple[Adoption, ...]:
        """The adoptions that were undone, until another one takes their place."""
        return self.adoptions[self.used :]

    def summary(self) -> str:
        """What was learned so far, in one line."""
        adopted = self.in_force
        if not adopted:
            return f"{self.seen:,} tokens recorded, {NEW_TOKENS:,} are needed for a training; nothing adopted yet"
        steps = " → ".join(f"{alpha:.2f}" for alpha in (adopted[0].before, *(adoption.after for adoption in adopted)))
        return f"{self.seen:,} tokens recorded; adopted {len(adopted)} ×, α on later turns {steps}"


class Learned:
    """What one draft model has learned from one target."""

    def __init__(self, folder: Path, draft: Path) -> None:
        self.folder = folder
        self.base = draft
        self.recorded = TurnBuffer(folder / "turns")

    @property
    def history(self) -> LearningHistory:
        """What was learned so far, read from the file; an empty one if there is none or it cannot be read."""
        return load_json(self.folder / "learned.json", LearningHistory) or LearningHistory()

    @property
    def adoptions(self) -> tuple[Adoption, ...]:
        """The adoptions that are in force, the oldest first."""
        return self.history.in_force

    @property
    def current(self) -> Path:
        """The draft in use: the last one that was adopted, or the one that it began with."""
        return self.in_use(self.history)

    def in_use(self, history: LearningHistory) -> Path:
        """The draft that was in use at that moment, as far as its file is still there."""
        files = [self.folder / adoption.file for adoption in reversed(history.in_force)]
        return next((file for file in files if file.is_file()), self.base)

    @property
    def is_due(self) -> bool:
        """Whether enough was recorded since the last training."""
        history = self.history
        return history.seen - history.trained >= NEW_TOKENS

    def saw(self, tokens: int, kind: str = "", tested: Iterable[tuple[Path, AcceptanceCounts]] = ()) -> None:
        """Counts the recorded tokens of an answer, and what it accepted of drafts of these files."""
        original = learned = AcceptanceCounts()
        for file, counts in tested:
            if file.resolve() == self.base:
                original += counts
            elif file.resolve().parent == self.folder.resolve():
                learned += counts

        def counted(history: LearningHistory) -> LearningHistory:
            seen = history.seen + tokens
            return replace(history, seen=seen, alphas=extended(history.alphas, seen, kind, original, learned))

        self._change(counted)

    def training_begins(self) -> None:
        """Notes that what was recorded so far is being learned."""
        self._change(lambda history: replace(history, trained=history.seen))

    def adopt(self, file: Path, before: float, after: float) -> Adoption:
        """Takes over a trained draft, whose file it moves. Raises LibraryError if that fails."""
        try:
            with self._locked():
                history = self.history
                number = 1 + max((_number(earlier.file) for earlier in history.adoptions), default=0)
                adoption = Adoption(f"draft-{number}.gguf", history.seen, before, after)
                file.replace(self.folder / adoption.file)
                adoptions = (*history.in_force, adoption)
                self._write(replace(history, adoptions=adoptions, used=len(adoptions)))
                self._delete_all_but([each.file for each in adoptions])
        except OSError as error:
            raise LibraryError(f"{file} cannot be adopted: {error.strerror or error}") from None
        return adoption

    def _delete_all_but(self, adopted: Sequence[str]) -> None:
        """Deletes the adopted drafts except the latest of these."""
        files = [file for name in adopted[-_KEPT_DRAFTS:] if (file := self.folder / name).is_file()]
        while len(files) > _FEWEST_KEPT and sum(file.stat().st_size for file in files) > _KEPT_BYTES:
            del files[0]
        for old in self.folder.glob("draft-*.gguf"):
            if old not in files:
                old.unlink(missing_ok=True)

    def back(self) -> Path:
        """Goes back to the draft before the last adoption. Raises LibraryError if there is none."""
        if not self.history.used:
            raise LibraryError(f"{self.base.name} is as it was: nothing was adopted")
        self._change(lambda history: replace(history, used=max(0, history.used - 1)))
        return self.current

    def summary(self) -> str:
        """What was learned so far, in one line."""
        return self.history.summary()

    def claim(self) -> None:
        """Notes whose folder it is, so that `Learning` finds it."""
        if not (self.folder / "base").exists():
            with suppress(OSError):
                replace_text(self.folder / "base", str(self.base))

    @contextmanager
    def training(self) -> Iterator[bool]:
        """Whether no other process trains this draft; none begins meanwhile."""
        self.claim()
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".training").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True

    def _change(self, change: Callable[[LearningHistory], LearningHistory]) -> None:
        with suppress(OSError), self._locked():  # what cannot be noted is learned again
            self._write(change(self.history))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else changes the history meanwhile: the chat counts tokens while the training adopts drafts."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".history").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, history: LearningHistory) -> None:
        replace_text(self.folder / "learned.json", json.dumps(to_json(history), indent=1))


class Learning:
    """Whether drafts learn at all, and what each pair has learned."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or data_folder() / "learning"

    @property
    def is_on(self) -> bool:
        """Whether turns are recorded and drafts are trained; off until the user says otherwise."""
        return (self.folder / "on").exists()

    def turn(self, *, on: bool) -> None:
        """Switches learning. Raises LibraryError if that cannot be kept."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if on:
                (self.folder / "on").touch()
            else:
                (self.folder / "on").unlink(missing_ok=True)
        except OSError as error:
            raise LibraryError(f"learning cannot be switched: {error.strerror or error}") from None

    def of(self, target: Path, draft: Path) -> Learned:
        """What a draft has learned from a target. An adopted draft stands for the one that it was made from."""
        draft = draft.resolve()
        if draft.parent.parent == self.folder.resolve():
            with suppress(OSError):
                draft = Path((draft.parent / "base").read_text("utf-8"))
        key = hashlib.blake2b(f"{target.resolve()}\n{draft}".encode(), digest_size=12).hexdigest()
        learned = Learned(self.folder / key, draft)
        if self.is_on:
            learned.claim()
        return learned

    def all(self) -> Sequence[Learned]:
        """What every pair has learned."""
        learned = []
        for base in sorted(self.folder.glob("*/base")):
            with suppress(OSError):
                learned.append(Learned(base.parent, Path(base.read_text("utf-8"))))
        return learned

    def forget(self) -> None:
        """Deletes all turns and all adopted drafts. Raises LibraryError if that fails."""
        try:
            for learned in self.all():
                shutil.rmtree(learned.folder)
        except OSError as error:
            raise LibraryError(f"what was learned cannot be deleted: {error.strerror or error}") from None


def _number(file: str) -> int:
    return int(file.removeprefix("draft-").removesuffix(".gguf"))
