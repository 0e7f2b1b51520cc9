"""What a command asks for, read and checked: one frozen class for each thing that the app can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from specchat.chat.knobs import Knob
from specchat.stats.figures.figure import Figure
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import AUTO, DraftLength, Settings

ExportKind = Literal["markdown", "html", "jsonl", "svg"]
Scope = Literal["turn", "session", "pair"]
Role = Literal["target", "draft"]
Part = Literal["answer", "code", "chat"]


@dataclass(frozen=True, slots=True)
class Invocation:
    """The base of everything that a command can ask for."""


@dataclass(frozen=True, slots=True)
class ShowHelp(Invocation):
    """The help, that of one command, or what it has about some words."""

    about: str | None = None


@dataclass(frozen=True, slots=True)
class NewSession(Invocation):
    """An empty conversation, with a title if one was given."""

    title: str | None = None


@dataclass(frozen=True, slots=True)
class ShowSessions(Invocation):
    """The stored sessions that match, all for an empty query."""

    query: str = ""


@dataclass(frozen=True, slots=True)
class ShowBeside(Invocation):
    """A second conversation beside this one: a session with these words, `new`, or `off`; the last one for nothing."""

    what: str = ""


@dataclass(frozen=True, slots=True)
class SetTags(Invocation):
    """Further tags of this session; without any, what it has is shown."""

    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgetTags(Invocation):
    """Tags that this session loses."""

    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowModels(Invocation):
    """The models of this machine; `role` says for what to choose one, None only shows them."""

    role: Role | None = None


@dataclass(frozen=True, slots=True)
class LoadTarget(Invocation):
    """Another target: a file, or a name that the model library knows."""

    model: str


@dataclass(frozen=True, slots=True)
class LoadDraft(Invocation):
    """Another draft model, in the same forms; None for no draft model."""

    model: str | None


@dataclass(frozen=True, slots=True)
class Change(Invocation):
    """One setting changed to a value that was checked, from the next round on."""

    knob: Knob[Settings]
    text: str

    def applied(self, settings: Settings) -> Settings:
        """The settings with this value. Raises SettingError if it contradicts another one of them."""
        return self.knob.typed(settings, self.text)


@dataclass(frozen=True, slots=True)
class Reload(Invocation):
    """The same models, loaded again with one option at a value that was checked."""

    knob: Knob[LoadOptions]
    text: str

    def applied(self, options: LoadOptions) -> LoadOptions:
        """The options with this value. Raises SettingError for one that is not allowed."""
        return self.knob.typed(options, self.text)


@dataclass(frozen=True, slots=True)
class Speculate(Invocation):
    """Speculation on, off, or with k chosen before each round."""

    mode: Literal["on", "off", "auto"]

    def applied(self, settings: Settings, k: DraftLength = AUTO) -> Settings:
        """The settings that this means; `k` is what "on" restores if it is 0 now."""
        if self.mode == "off":
            return replace(settings, k=0)
        drafter = "hybrid" if settings.drafter == "none" else settings.drafter
        if self.mode == "on" and settings.k != 0:
            return replace(settings, drafter=drafter)
        return replace(settings, drafter=drafter, k=AUTO if self.mode == "auto" else k)


@dataclass(frozen=True, slots=True)
class SetSeed(Invocation):
    """The session's seed; None for a new one."""

    seed: int | None


@dataclass(frozen=True, slots=True)
class SetSystem(Invocation):
    """The session's system message; None for none."""

    text: str | None


@dataclass(frozen=True, slots=True)
class ShowSystem(Invocation):
    """Show the system message."""


@dataclass(frozen=True, slots=True)
class RunCommand(Invocation):
    """A shell command, whose output goes with the next message. An empty one confirms the last one."""

    command: str


@dataclass(frozen=True, slots=True)
class UseRole(Invocation):
    """A stored role as the system message; None for a list of all."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class SaveRole(Invocation):
    """Store the present system message as a role of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetRole(Invocation):
    """Remove a stored role."""

    name: str


@dataclass(frozen=True, slots=True)
class UsePrompt(Invocation):
    """A stored prompt with words for its variables; None for a list of all."""

    name: str | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class SavePrompt(Invocation):
    """Store the last message as a prompt of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetPrompt(Invocation):
    """Remove a stored prompt."""

    name: str


@dataclass(frozen=True, slots=True)
class ApplyPreset(Invocation):
    """A preset of sampling parameters; None for a list of all."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class SavePreset(Invocation):
    """Save the present sampling parameters as a preset of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetPreset(Invocation):
    """Remove one of the user's own presets."""

    name: str


@dataclass(frozen=True, slots=True)
class SetTheme(Invocation):
    """A theme; None to choose one."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class UseSwitch(Invocation):
    """A setting of the app that is on or off; None switches it over."""

    key: str
    on: bool | None = None


@dataclass(frozen=True, slots=True)
class ShowStatistics(Invocation):
    """The statistics of the last turn, of the session, or of the pair on this machine."""

    scope: Scope = "session"


@dataclass(frozen=True, slots=True)
class Explain(Invocation):
    """Why the last answer was as fast as it was, and what would help."""


@dataclass(frozen=True, slots=True)
class Verify(Invocation):
    """Compare the last answer with plain decoding."""


@dataclass(frozen=True, slots=True)
class ExplainFigure(Invocation):
    """What a figure means, with the answer's numbers; all figures for None."""

    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class Replay(Invocation):
    """Play a trace; None is that of the last answer."""

    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Race(Invocation):
    """The last prompt plain and speculative, side by side."""


@dataclass(frozen=True, slots=True)
class StepMode(Invocation):
    """One round a key press; None switches."""

    on: bool | None = None


@dataclass(frozen=True, slots=True)
class Export(Invocation):
    """The session as a file; with None the app chooses the name."""

    kind: ExportKind
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Import(Invocation):
    """The conversations in an export of another chat, or in those of a folder."""

    path: Path


@dataclass(frozen=True, slots=True)
class Attach(Invocation):
    """A file for the message that is written next. The prompt handles it itself."""

    path: str


@dataclass(frozen=True, slots=True)
class PasteImage(Invocation):
    """The image in the clipboard, for the message that is being written."""


@dataclass(frozen=True, slots=True)
class Predict(Invocation):
    """A file that the next answer will probably repeat."""

    path: Path


@dataclass(frozen=True, slots=True)
class UseStore(Invocation):
    """Draft from a store, or not; without a name show them all."""

    name: str = ""
    on: bool = True


@dataclass(frozen=True, slots=True)
class UseTools(Invocation):
    """Offer the built-in tools or those of a server, or no longer; without a name show them all."""

    name: str = ""
    on: bool = True


@dataclass(frozen=True, slots=True)
class NameFile(Invocation):
    """Let the model read a file with a tool."""

    path: Path


LearnAction = Literal["show", "on", "off", "back", "forget"]


@dataclass(frozen=True, slots=True)
class Learn(Invocation):
    """Let the draft model learn from turns, or not; go back to an earlier draft; delete what was learned."""

    action: LearnAction = "show"


@dataclass(frozen=True, slots=True)
class Copy(Invocation):
    """To the clipboard: the last answer, its last block of code or that with a number, or the conversation."""

    part: Part | int = "answer"


@dataclass(frozen=True, slots=True)
class Regenerate(Invocation):
    """Another answer to the last message."""


@dataclass(frozen=True, slots=True)
class EditLast(Invocation):
    """Put the last message back into the prompt, to change and send it again."""


@dataclass(frozen=True, slots=True)
class EditAnswer(Invocation):
    """Another text for the last answer, from whose end the model goes on; None lets the user write it."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Branch(Invocation):
    """A copy of the session up to here, to continue in another way."""


@dataclass(frozen=True, slots=True)
class Tour(Invocation):
    """A tour of two minutes."""


@dataclass(frozen=True, slots=True)
class Clear(Invocation):
    """Remove the session's messages and keep the session."""


@dataclass(frozen=True, slots=True)
class Quit(Invocation):
    """The end of the program."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that cannot be done: one line with what is wrong and what to do."""

    reason: str
