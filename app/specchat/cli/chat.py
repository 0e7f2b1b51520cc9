"""`specchat chat`: the terminal app, or its plain mode; what can be wrong with the configuration is said before."""

from __future__ import annotations

import sys

from specchat.cli.reporting import WRONG_USAGE, no_native_debugger, say
from specchat.config import Config
from specchat.first_run import is_first_run
from specchat.models.library import remember_pair
from specchat.pair import chat_options
from specchat.paths import sessions_db
from specchat.resuming import session_to_resume


def open_chat(config: Config, resume: str | None, *, plain: bool) -> int:
    """Opens the chat, with a stored session where one is asked for, and returns the exit code when it is over."""
    options = chat_options(config)
    first_run = resume is None and is_first_run(config)
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("the chat needs a terminal: use `specchat run PROMPT` in scripts and pipes, or give --plain")
        return WRONG_USAGE
    session = None if resume is None else session_to_resume(resume, sessions_db())
    if config.model and config.draft:
        remember_pair(config.model, config.draft)
    if plain:
        from specchat.plain.chat import chat_plainly

        no_native_debugger()
        return chat_plainly(options, session)
    from specchat.tui.app import run_chat
    from specchat.tui.appearance import read_appearance

    run_chat(options, read_appearance(config.theme, config.keys), session, first_run=first_run)
    return 0
