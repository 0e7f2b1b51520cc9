"""All commands, each declared once, in the order in which they are offered; and which of them a text is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from specchat.chat.commands import changing, reading, saved, tagging
from specchat.chat.commands import invocations as asked
from specchat.chat.commands.figures import figure_names, read_explain
from specchat.chat.commands.reading import Reader, Sources, nearest
from specchat.chat.knobs import LOAD_KNOBS, live_knobs
from specchat.settings.presets import is_built_in
from specchat.settings.schema import BY_KEY
from specchat.terminal.filter import clean_line
from specchat_engine.allowed import AUTO


class Files:
    """Stands for the names of files among what a word can be."""


Choices = Callable[[Sources, str], Iterable[tuple[str, str]] | Files]
"""What a word can be, each with a few words about it, or files; the text is the word before.

If one ends in a blank, more has to be typed after it.
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its arguments as the help shows them, one sentence about it, and how it is read.

    `words` completes the arguments, the last of them up to the end of the line. `open_ended` is True if the argument
    may be something that no list has: Enter then sends what is typed instead of what is offered. `plain` is True if
    the line-by-line chat has the command, or the sentence about what it does there.
    """

    name: str
    arguments: str
    help: str
    read: Reader
    words: tuple[Choices | Files, ...] = ()
    open_ended: bool = False
    plain: bool | str = False

    @property
    def heading(self) -> str:
        """The name and the arguments, as the help shows them."""
        return f"/{self.name} {self.arguments}".strip()

    def sentence(self, *, plain: bool = False) -> str:
        """The sentence about the command; with `plain` about what it does in the line-by-line chat."""
        return self.plain if plain and isinstance(self.plain, str) else self.help


def _fixed(*names: str) -> Choices:
    return lambda _sources, _before: ((name, "") for name in names)


def _commands(_sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return ((command.name, command.help) for command in COMMANDS)


def _settings(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    live = live_knobs(sources.drafters, sources.k_max)
    yield from ((name, knob.setting.help) for name, knob in live.items())
    yield "seed", BY_KEY["seed"].help
    yield from ((name, setting.help) for name, setting in changing.SWITCHES.items())
    for name, knob in LOAD_KNOBS.items():
        yield name, knob.setting.help if knob.setting.is_threads else f"{knob.setting.help} (loads the models again)"


def _values(sources: Sources, before: str) -> Iterable[tuple[str, str]]:
    name = changing.setting_named(before)
    if name in changing.SWITCHES:
        return ((value, "") for value in reading.SWITCH)
    knob = LOAD_KNOBS.get(name) or live_knobs(sources.drafters, sources.k_max).get(name)
    return ((value, "") for value in knob.names) if knob is not None else ()


def _drafts(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return ((reading.NONE, "no draft model"), *sources.models())


def _presets(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.presets())
    own = [name for name, _ in known if not is_built_in(name)]
    return (
        *known,
        (f"{changing.SAVE} ", "NAME: saves the sampling as it is now"),
        *((f"{changing.FORGET} {name}", "removes it") for name in own),
    )


def _prompts(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.prompts())
    return (*known, (f"{saved.SAVE} ", "NAME: stores your last message"), *_forgotten(known))


def _roles(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.roles())
    return (
        *known,
        (reading.NONE, "no system message"),
        (f"{saved.SAVE} ", "NAME: stores the system message as it is now"),
        *_forgotten(known),
    )


def _tags(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    own = dict(sources.own_tags())
    others = ((name, words) for name, words in sources.tags() if name not in own)
    return (*others, *_forgotten(own.items()))


def _tool_words(_sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return (
        ("on", "NAME: offers the tools of a server, or the built-in ones"),
        ("off", "NAME: offers them no longer"),
        (reading.TOOL_FILE, "PATH: lets the model read a file"),
    )


def _tool_names(sources: Sources, before: str) -> Iterable[tuple[str, str]] | Files:
    if before == reading.TOOL_FILE:
        return Files()
    return sources.tools() if before in reading.SWITCH else ()


def _forgotten(known: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return ((f"{saved.FORGET} {name}", "removes it") for name, _ in known)


COMMANDS: tuple[Command, ...] = (
    Command(
        "help",
        "[COMMAND|WORDS]",
        "Keys, colours, figures, commands; with words, a search.",
        reading.read_help,
        (_commands,),
        open_ended=True,
        plain="The commands, or what one of them does; with words, a search of the docs. A listed number reads that.",
    ),
    Command("new", "[TITLE]", "A new conversation with the same models.", reading.read_new, plain=True),
    Command(
        "sessions",
        "[WORDS]",
        "Stored conversations: browse, search words or #tags, continue one.",
        reading.read_sessions,
        (lambda sources, _: sources.sessions(),),
        open_ended=True,
        plain="The latest sessions, or those with these words; a listed number continues that one.",
    ),
    Command(
        "tag",
        "[forget] [NAME…]",
        "Tags of this conversation: show, add or remove them; /sessions #NAME lists the conversations with it.",
        tagging.read_tag,
        (_tags,),
        open_ended=True,
        plain=True,
    ),
    Command(
        "model",
        "[NAME|FILE]",
        "Another target; the conversation stays.",
        reading.read_model,
        (lambda sources, _: sources.models(),),
        open_ended=True,
    ),
    Command(
        "draft", "[NAME|FILE|none]", "Another draft model, or none.", reading.read_draft, (_drafts,), open_ended=True
    ),
    Command("models", "", "The models on this machine, and where to get others.", reading.alone(asked.ShowModels())),
    Command(
        "k",
        "auto|0|1|2|…",
        "The most tokens drafted in a round; 0 is plain.",
        changing.setter("k"),
        (_fixed("auto"),),
        plain=True,
    ),
    Command(
        "spec",
        "on|off|auto",
        "Speculation on, off, or with k chosen automatically.",
        changing.read_mode,
        (_fixed(*changing.MODES),),
        plain=True,
    ),
    Command(
        "think",
        "on|off|low|medium|high|auto",
        "How much a reasoning model thinks before it answers.",
        changing.setter("thinking"),
        (_fixed("on", "off", "low", "medium", "high", AUTO),),
        plain=True,
    ),
    Command("temp", "NUMBER", "The temperature; 0 is greedy.", changing.setter("temperature"), plain=True),
    Command(
        "set",
        "KEY VALUE",
        "Any setting; some load the models again.",
        changing.read_set,
        (_settings, _values),
        plain=True,
    ),
    Command(
        "preset",
        "[save|forget] [NAME]",
        "Presets of sampling parameters: list, apply, save or remove them.",
        changing.read_preset,
        (_presets,),
        plain=True,
    ),
    Command(
        "system",
        "[TEXT|none]",
        "The system message that the model reads first.",
        reading.read_system,
        (_fixed(reading.NONE),),
        open_ended=True,
        plain=True,
    ),
    Command(
        "role",
        "[save|forget] [NAME|none]",
        "Stored system messages: list, use, save or remove them.",
        saved.read_role,
        (_roles,),
        plain=True,
    ),
    Command(
        "prompt",
        "[save|forget] [NAME [WORDS]]",
        "Stored prompts: list, write one with its variables filled, save the last message, remove one.",
        saved.read_prompt,
        (_prompts,),
        open_ended=True,
        plain="Stored prompts: list, send one with its variables filled, save the last message, remove one.",
    ),
    Command(
        "stats",
        "[turn|session|pair]",
        "Figures and charts.",
        reading.read_statistics,
        (_fixed(*reading.SCOPES),),
        plain="A sentence for each figure of the last answer.",
    ),
    Command(
        "explain",
        "[FIGURE]",
        "What a figure means, with the last answer's numbers.",
        read_explain,
        (figure_names,),
        plain=True,
    ),
    Command("why", "", "Why the last answer was as fast as it was.", reading.alone(asked.Explain())),
    Command("verify", "", "Compare the last answer with plain decoding.", reading.alone(asked.Verify())),
    Command(
        "replay",
        "[FILE]",
        "Play a trace, or the last answer, at any speed.",
        reading.read_replay,
        (Files(),),
        plain="What the target rejected of the last answer's drafts, or of a trace's, round by round.",
    ),
    Command("race", "", "Answer the last prompt plain and speculatively, side by side.", reading.alone(asked.Race())),
    Command(
        "step", "[on|off]", "Advance one round with each key press.", reading.read_step, (_fixed(*reading.SWITCH),)
    ),
    Command(
        "export",
        "KIND [FILE]",
        "Save the conversation as a file.",
        reading.read_export,
        (_fixed(*reading.EXPORT_KINDS), Files()),
        open_ended=True,
        plain=True,
    ),
    Command(
        "import",
        "FILE|FOLDER",
        "Add the conversations of an export of ChatGPT, Open WebUI, LM Studio or oterm.",
        reading.read_import,
        (Files(),),
        open_ended=True,
        plain=True,
    ),
    Command("attach", "FILE", "Add a file to the next message; so does @FILE.", reading.read_attach, (Files(),)),
    Command(
        "paste",
        "",
        "Add the image in the clipboard to the message.",
        reading.alone(asked.PasteImage()),
        plain="The image in the clipboard goes with the next message.",
    ),
    Command(
        "store",
        "[on|off NAME]",
        "The texts on disk that drafts may come from.",
        reading.read_store,
        (_fixed("on ", "off "),),
        open_ended=True,
        plain=True,
    ),
    Command(
        "tools",
        "[on|off NAME|file PATH]",
        "Functions that the model may call: the built-in ones, servers of config.toml, a file to read.",
        reading.read_tools,
        (_tool_words, _tool_names),
        open_ended=True,
        plain=True,
    ),
    Command(
        "learn",
        "[on|off|back|forget]",
        "What the draft model has learned; let it learn from your chats, or undo the last adoption.",
        reading.read_learn,
        (_fixed(*reading.LEARN_ACTIONS),),
        open_ended=True,
        plain=True,
    ),
    Command(
        "predict",
        "FILE",
        "A text that the next answer will mostly repeat: lookup drafts it.",
        reading.read_predict,
        (Files(),),
        plain=True,
    ),
    Command(
        "copy",
        "[answer|code|chat|NUMBER]",
        "Copy to the clipboard; a number is that of a code block in the last answer.",
        reading.read_copy,
        (_fixed(*reading.PARTS),),
        open_ended=True,
    ),
    Command("regen", "", "Another answer to the last message.", reading.alone(asked.Regenerate()), plain=True),
    Command(
        "edit",
        "[answer [TEXT]]",
        "Change the last message and send it again, or the last answer, from whose end the model goes on.",
        reading.read_edit,
        (_fixed("answer"),),
        open_ended=True,
        plain="With `answer`: change the last answer in your editor, or to TEXT; the model goes on from there.",
    ),
    Command(
        "beside",
        "[WORDS|new|off]",
        "A second conversation beside this one, from 120 columns on; F10 goes to the other.",
        reading.read_beside,
        (_fixed(*reading.BESIDE),),
        open_ended=True,
    ),
    Command("branch", "", "Continue in a copy of the conversation.", reading.alone(asked.Branch())),
    Command("clear", "", "Remove the messages and keep the session.", reading.alone(asked.Clear())),
    Command("theme", "[NAME]", "Other colours.", reading.read_theme, (lambda sources, _: sources.themes(),)),
    Command(
        "math", "[on|off]", "Formulas in answers shown in Unicode.", changing.switch("math"), (_fixed(*reading.SWITCH),)
    ),
    Command("vi", "[on|off]", "vi's keys in the prompt.", changing.switch("vi_keys"), (_fixed(*reading.SWITCH),)),
    Command("tour", "", "A tour of two minutes.", reading.alone(asked.Tour())),
    Command("quit", "", "Leave; the conversation is saved.", reading.alone(asked.Quit()), plain=True),
)
BY_NAME = {command.name: command for command in COMMANDS}

_TYPED = re.compile(r"/([^\s/]*)(?:\s+(.*))?", re.DOTALL)


def parse(text: str, sources: Sources) -> asked.Invocation | asked.Refusal | None:
    """What the command asks for, or why it cannot be done; None for an ordinary message.

    A message that is to begin with a slash or an exclamation mark begins with two of them. A first word with another
    slash in it is a path, and so the beginning of a message.
    """
    text = text.strip()
    if text.startswith("!") and not text.startswith("!!"):
        return asked.RunCommand(text[1:].strip())
    match = _TYPED.fullmatch(text)
    if match is None:
        return None
    found = _read(match[1].lower(), (match[2] or "").strip(), sources)
    return asked.Refusal(clean_line(found.reason)) if isinstance(found, asked.Refusal) else found


def message_text(text: str) -> str:
    """The message without the sign that distinguished it from a command."""
    return text[1:] if text.startswith(("//", "!!")) else text


def _read(name: str, argument: str, sources: Sources) -> asked.Invocation | asked.Refusal:
    command = BY_NAME.get(name)
    if command is not None:
        return command.read(argument, sources)
    if not name:
        return asked.Refusal("a command has a name, such as /help; // begins a message with a slash")
    if (setting := changing.setting_named(name)) in dict(_settings(sources, "")):
        return asked.Refusal(f"/{name} is a setting: /set {setting} {argument or 'VALUE'}")
    near = nearest(name, BY_NAME)
    hint = f"did you mean /{near}?" if near else "/help lists them;"
    return asked.Refusal(f"there is no command /{name}: {hint} // begins a message with a slash")
