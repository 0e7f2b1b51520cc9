"""What each command does: from what was read behind a slash to an action of the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specchat.chat.commands import invocations as asked
from specchat_engine.errors import SettingError
from specchat_engine.settings import USUAL_K

if TYPE_CHECKING:
    from specchat.tui.screens.chat import ChatScreen


async def perform(chat: ChatScreen, invocation: asked.Invocation) -> None:
    """Does what a command asks for. What cannot be done now is said in one line."""
    match invocation:
        case asked.ShowHelp(command):
            chat.action_help(command)
        case asked.NewSession(title):
            await chat.new_conversation(title)
        case asked.ShowSessions(query):
            chat.action_sessions(query)
        case asked.Change() | asked.Speculate():
            turn(chat, invocation)
        case asked.Reload():
            await chat.load_again(invocation.applied)
        case asked.SetSeed(seed):
            chat.set_seed(seed)
        case asked.SetSystem(text):
            chat.set_system(text)
        case asked.ShowSystem():
            await chat.show_system()
        case asked.ApplyPreset() | asked.SavePreset() | asked.ForgetPreset():
            await chat.preset(invocation)
        case asked.SetTheme(name):
            chat.set_theme(name)
        case asked.Regenerate():
            await chat.regenerate()
        case asked.EditLast():
            chat.edit()
        case asked.Branch():
            await chat.fork()
        case asked.Clear():
            await chat.clear_conversation()
        case asked.Copy(part):
            chat.copy(part)
        case asked.Export(kind, path):
            await chat.export(kind, path)
        case asked.StepMode(on):
            await chat.step_mode(on)
        case asked.LoadTarget(model):
            await chat.load_target(model)
        case asked.LoadDraft(model):
            await chat.load_draft(model)
        case asked.Quit():
            await chat.app.action_quit()
        case _:
            await chat.show(invocation)


def turn(chat: ChatScreen, invocation: asked.Change | asked.Speculate) -> None:
    """Other settings from the next round on."""
    settings = chat.settings
    if settings is None:
        chat.note("the model is still loading")
        return
    try:
        if isinstance(invocation, asked.Speculate):
            turned = invocation.applied(settings, USUAL_K)
        else:
            turned = invocation.applied(settings)
    except SettingError as error:
        chat.note(str(error))
        return
    chat.turn_to(turned)
