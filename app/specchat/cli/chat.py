"""`specchat chat`: the terminal app, or its plain mode. Errors in the configuration are reported before it opens."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from specchat.cli.messages import no_native_debugger, say
from specchat.engine_process.local_client import LocalClient
from specchat.errors import WRONG_USAGE
from specchat.models.chosen_pair import chat_options, is_first_run
from specchat.models.preferences import remember_pair
from specchat.settings.chosen_theme import chosen_theme
from specchat.settings.options import ChatOptions
from specchat.settings.paths import sessions_db, worker_log
from specchat.settings.schema import Config
from specchat.terminal.background import ask_background, background_from_environment

if TYPE_CHECKING:
    from specchat.cli.remote import RemoteChat
    from specchat.tui.appearance import Appearance


def open_chat(
    config: Config, resume: str | None, *, plain: bool, theme: str | None = None, remote: RemoteChat | None = None
) -> int:
    """Opens the chat and returns the exit code at its end.

    `resume` names a stored session, or "last". `theme` applies to this run only. Without a `remote` server the models
    are on this machine.
    """
    options = remote.options if remote else chat_options(config)
    if not plain and os.environ.get("TERM") == "dumb" and sys.stdin.isatty():
        say("this terminal cannot draw (TERM is dumb): the chat runs line by line, as with --plain")
        plain = True
    first_run = remote is None and resume is None and is_first_run(config)
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("the chat needs a terminal: use `specchat run PROMPT` in scripts and pipes, or give --plain")
        return WRONG_USAGE
    session = None if resume is None else _session(resume)
    if config.model and config.draft and remote is None:
        remember_pair(config.model, config.draft)
    if plain:
        from specchat.plain.chat import chat_plainly

        no_native_debugger()
        return chat_plainly(options, session, remote.client if remote else None)
    client = remote.client if remote else _begun(options)
    with Looks(config, theme) as looks:
        from specchat.tui.app import SpecchatApp
    app = SpecchatApp(options, client, looks.appearance(), session, first_run=first_run, background=looks.background)
    app.run()
    for name, percent in app.unfinished:
        say(f"{percent:.0f} % of {name} are here and kept: F8 in the chat goes on")
    return app.return_code or 0


def _begun(options: ChatOptions) -> LocalClient:
    """The engine's process, which loads the models while the app is imported."""
    client = LocalClient(worker_log())
    client.begin_load(options.target, options.draft, options.load)
    return client


def _session(name: str) -> int:
    from specchat.chat.archive import session_to_resume

    return session_to_resume(name, sessions_db())


class Looks:
    """How the app is to look: as asked, as configured, as chosen before, or to suit the terminal's background.

    It asks the terminal for its background when it is entered and reads the answer when it is left. Import the app in
    between: the answer may take a while over a slow connection.
    """

    def __init__(self, config: Config, theme: str | None = None) -> None:
        """`theme` is for this run only."""
        self._config = config
        self._theme = theme
        self._chosen = chosen_theme()
        self.background = background_from_environment()

    def __enter__(self) -> Self:
        known = self._theme or self._config.theme or self._chosen
        self._question = None if known else ask_background()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._question is not None:
            self.background = self._question.answer()

    def appearance(self) -> Appearance:
        """The theme and the keys. Raises ConfigError for an unknown one."""
        from specchat.tui.appearance import read_appearance

        read = read_appearance(
            self._theme,
            self._config.keys,
            configured=self._config.theme,
            chosen=self._chosen,
            light=self.background.light,
        )
        return replace(read, vi_keys=self._config.vi_keys, math=self._config.math)
