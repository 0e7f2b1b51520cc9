"""All commands, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from specchat.chat.commands import invocations as asked
from specchat.chat.commands import readers, turning
from specchat.chat.commands.readers import Reader
from specchat.chat.commands.settable import ALIASES, settables, values
from specchat.chat.commands.sources import Sources
from specchat.chat.load_dials import LOADABLE, LoadDial, LoadName, ThreadsDial
from specchat.settings.presets import is_built_in
from specchat_engine.settings import AUTO

Choices = Callable[[Sources, str], Iterable[tuple[str, str]]]
"""What a word can be, each with a few words about it; the text is the word before.

Where one ends in a blank, more has to be typed behind it.
"""


class Files:
    """Stands for the names of files among what a word can be."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, the arguments as the help shows them, one sentence, and how it is read.

    `words` completes the words behind the name, the last of them up to the line's end. `open_ended` is whether the
    argument may be something that no list has: Enter then sends what is typed instead of what is offered.
    """

    name: str
    arguments: str
    help: str
    read: Reader
    words: tuple[Choices | Files, ...] = ()
    open_ended: bool = False


def _fixed(*names: str) -> Choices:
    return lambda _sources, _before: ((name, "") for name in names)


def _commands(_sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return ((command.name, command.help) for command in COMMANDS)


def _keys(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = settables(sources.drafters, sources.k_max)
    live = ((key, ", ".join(values(setting))) for key, setting in known.items())
    return (*live, ("seed", "a number, or -1"), *((key, _when(dial)) for key, dial in LOADABLE.items()))


def _when(dial: LoadDial) -> str:
    return f"{AUTO}, or a number" if isinstance(dial, ThreadsDial) else "loads the models again"


def _values(sources: Sources, before: str) -> Iterable[tuple[str, str]]:
    name = ALIASES.get(before, before)
    loadable = LOADABLE.get(name)
    if isinstance(loadable, LoadName):
        return ((choice, "") for choice in loadable.choices)
    if isinstance(loadable, ThreadsDial):
        return ((AUTO, "measured while nothing is asked"), (loadable.zero, ""))
    setting = settables(sources.drafters, sources.k_max).get(name)
    return ((value, "") for value in values(setting)) if setting is not None else ()


def _drafts(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return ((readers.NONE, "no draft model"), *sources.models())


def _presets(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.presets())
    own = [name for name, _ in known if not is_built_in(name)]
    return (
        *known,
        (f"{turning.SAVE} ", "NAME: keeps the sampling as it is now"),
        *((f"{turning.FORGET} {name}", "takes it off the list") for name in own),
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        "help", "[COMMAND]", "The keys, the colours, the figures and the commands.", readers.read_help, (_commands,)
    ),
    Command("new", "[TITLE]", "An empty conversation with the same models.", readers.read_new),
    Command(
        "sessions",
        "[WORDS]",
        "Stored conversations: look, search, go on with one.",
        readers.read_sessions,
        (lambda sources, _: sources.sessions(),),
        open_ended=True,
    ),
    Command(
        "model",
        "[NAME|FILE]",
        "Another target, the conversation stays.",
        readers.read_model,
        (lambda sources, _: sources.models(),),
        open_ended=True,
    ),
    Command(
        "draft", "[NAME|FILE|none]", "Another draft model, or none.", readers.read_draft, (_drafts,), open_ended=True
    ),
    Command("models", "", "The models of this machine, and where to get others.", readers.alone(asked.ShowModels())),
    Command(
        "k", "auto|0|1|2|…", "The most tokens drafted in a round; 0 is plain.", turning.setter("k"), (_fixed("auto"),)
    ),
    Command(
        "spec",
        "on|off|auto",
        "Speculation on, off, or with k chosen by itself.",
        turning.read_mode,
        (_fixed(*turning.MODES),),
    ),
    Command("temp", "NUMBER", "The temperature; 0 is greedy.", turning.setter("temperature")),
    Command("set", "KEY VALUE", "Any setting; some load the models again.", turning.read_set, (_keys, _values)),
    Command(
        "preset",
        "[save|forget] [NAME]",
        "Templates of sampling parameters: all, one in force, the present one kept.",
        turning.read_preset,
        (_presets,),
    ),
    Command(
        "system",
        "[TEXT|none]",
        "What the model is told before the conversation.",
        readers.read_system,
        (_fixed(readers.NONE),),
        open_ended=True,
    ),
    Command("stats", "[turn|session|pair]", "Figures and charts.", readers.read_statistics, (_fixed(*readers.SCOPES),)),
    Command("why", "", "What made the last answer as fast as it was.", readers.alone(asked.Explain())),
    Command("verify", "", "Is the last answer's text that of plain decoding?", readers.alone(asked.Verify())),
    Command("replay", "[FILE]", "Play a trace, or the last answer, at any speed.", readers.read_replay, (Files(),)),
    Command("race", "", "The last prompt plain and speculative, side by side.", readers.alone(asked.Race())),
    Command("step", "[on|off]", "Advance one round a key.", readers.read_step, (_fixed(*readers.SWITCH),)),
    Command(
        "export",
        "KIND [FILE]",
        "The conversation as a file.",
        readers.read_export,
        (_fixed(*readers.EXPORT_KINDS), Files()),
        open_ended=True,
    ),
    Command("attach", "FILE", "A text file with the next message; @FILE does it too.", readers.read_attach, (Files(),)),
    Command("copy", "[answer|code|chat]", "To the clipboard.", readers.read_copy, (_fixed(*readers.PARTS),)),
    Command("regen", "", "Another answer to the last message.", readers.alone(asked.Regenerate())),
    Command("edit", "", "Change the last message and send it again.", readers.alone(asked.EditLast())),
    Command("branch", "", "A copy of the conversation, to go on in another way.", readers.alone(asked.Branch())),
    Command("clear", "", "Take the messages away, keep the session.", readers.alone(asked.Clear())),
    Command("theme", "[NAME]", "Other colours.", readers.read_theme, (lambda sources, _: sources.themes(),)),
    Command("tour", "", "Two minutes of what there is to see.", readers.alone(asked.Tour())),
    Command("quit", "", "Leave; the conversation is kept.", readers.alone(asked.Quit())),
)
BY_NAME = {command.name: command for command in COMMANDS}
