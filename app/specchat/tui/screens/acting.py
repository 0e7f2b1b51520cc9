"""What is done with a message of the transcript: copied, exported, said in another way, looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specchat.errors import SpecchatError
from specchat.tui.copying import copy
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.transcript.actions import MessageActions
from specchat.tui.transcript.answer import Answer
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.prompt import Prompt
from specchat_engine.decoding.rounds import Round, TokenKind


class ActingScreen(BranchingScreen):
    """Does what the user wants to be done with a message, chosen by keys or by a command."""

    def on_message_actions_copy(self, message: MessageActions.Copy) -> None:
        """Copies a message as it was written."""
        self._copy(message.text, "message")

    def on_message_actions_copy_code(self, message: MessageActions.CopyCode) -> None:
        """Copies a block of code."""
        self._copy(message.text, f"code block {message.number} of {message.count}")

    def on_message_actions_edit(self, message: MessageActions.Edit) -> None:
        """Edits a message of the user."""
        self.edit(key_of(message.entry))

    async def on_message_actions_regenerate(self, message: MessageActions.Regenerate) -> None:
        """Asks for another answer."""
        await self.regenerate(key_of(message.entry))

    async def on_message_actions_branch(self, message: MessageActions.Branch) -> None:
        """Goes on from here in another way."""
        key = key_of(message.entry)
        if key is not None:
            await self.go_on_from(key)

    async def on_message_actions_sibling(self, message: MessageActions.Sibling) -> None:
        """Shows the branch beside this one."""
        key = key_of(message.entry)
        if key is not None:
            await self.switch_branch(key, message.steps)

    async def on_message_actions_export(self, message: MessageActions.Export) -> None:
        """Writes the conversation to a file."""
        await self.export("markdown")

    def on_message_actions_link_clicked(self, message: MessageActions.LinkClicked) -> None:
        """Shows where a link leads; a model's text opens nothing by itself."""
        self._note(message.href)

    def on_message_actions_left(self, message: MessageActions.Left) -> None:
        """Goes back to the prompt."""
        self.query_one(Prompt).focus()

    async def on_message_actions_inspect(self, message: MessageActions.Inspect) -> None:
        """Looks at a token again."""
        key = key_of(message.entry)
        if key is not None:
            await self.inspect(key, message.round_index, message.place or 0)

    async def inspect(self, answer: int, round_index: int | None = None, place: int = 0) -> None:
        """Opens the inspector on an answer, at one of its rounds, else at the last in which a token was refused."""
        from specchat.tui.looking import asked_in, looker
        from specchat.tui.screens.inspector import InspectorScreen

        settings = self._session.settings
        try:
            trace = await self._archive.trace(answer)
        except SpecchatError as error:
            self._note(str(error))
            return
        if trace is None or not trace.rounds or settings is None:
            self._note("how this answer was made was not kept")
            return
        indices = [event.index for event in trace.rounds]
        at = indices.index(round_index) if round_index in indices else telling_round(trace.rounds)
        look = looker(self._client, asked_in(trace), trace, settings)

        async def branch(prefix: tuple[int, ...] | None) -> None:
            if prefix is not None:
                await self.branch_from(answer, prefix)

        self.app.push_screen(InspectorScreen(trace, at, place, look), branch)

    async def action_inspect(self) -> None:
        """Looks at the tokens of the answer in view."""
        found = self.query_one(Transcript).answer_in_view()
        key = key_of(found)
        if found is None or found.live or key is None:
            self._note(
                "an answer that is written can be looked at when it is over" if found else "there is no answer yet"
            )
        else:
            await self.inspect(key)

    async def export(self, kind: str, path: Path | None = None) -> None:
        """Writes what is said to a file."""
        from specchat.chat.exporting import export_conversation

        session = self._session
        try:
            written = await export_conversation(self._archive, session.conversation, session.loaded, kind, path)
        except (SpecchatError, OSError) as error:
            await self._notice(f"nothing was exported: {error}", failure=True)
            return
        await self._notice(f"exported to {written}")

    def copy(self, part: str) -> None:
        """Copies the last answer, its last block of code, or what is said."""
        answers = [entry for entry in self.query_one(Transcript).entries if isinstance(entry, Answer)]
        if part == "chat":
            text = "\n\n".join(f"{said.role}: {said.content}" for said in self._session.conversation.path())
        elif part == "code":
            text = next((entry.codes[-1] for entry in reversed(answers) if entry.codes), "")
        else:
            text = answers[-1].raw if answers else ""
        self._copy(text, part)

    def _copy(self, text: str, what: str) -> None:
        self._note(f"{what} {copy(self.app, text)}" if text else f"there is no {what} to copy yet")


def telling_round(rounds: Sequence[Round]) -> int:
    """The place of the last round in which a drafted token was rejected, else of the last one."""
    rejected = [place for place, event in enumerate(rounds) if event.token.kind is TokenKind.CORRECTION]
    return rejected[-1] if rejected else len(rounds) - 1


def key_of(entry: object) -> int | None:
    """The id of the message that an entry of the transcript shows."""
    key = getattr(entry, "key", None)
    return key if isinstance(key, int) else None
