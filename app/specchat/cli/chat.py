"""`specchat chat`: the terminal app, or its plain mode; what can be wrong with the configuration is said before."""

from __future__ import annotations

import os
import sys

from specchat.cli.looks import Looks
from specchat.cli.reporting import no_native_debugger, say
from specchat.errors import WRONG_USAGE
from specchat.models.chosen_pair import chat_options, is_first_run
from specchat.models.preferences import remember_pair
from specchat.settings.paths import sessions_db, worker_log
from specchat.settings.schema import Config
from specchat.worker.client import WorkerClient


def open_chat(config: Config, resume: str | None, *, plain: bool, theme: str | None = None) -> int:
    """Opens the chat, with a stored session where one is asked for, and returns the exit code when it is over.

    `theme` is for this time only.
    """
    options = chat_options(config)
    if not plain and os.environ.get("TERM") == "dumb" and sys.stdin.isatty():
        say("this terminal cannot draw (TERM is dumb): line by line, as with --plain")
        plain = True
    first_run = resume is None and is_first_run(config)
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("the chat needs a terminal: use `specchat run PROMPT` in scripts and pipes, or give --plain")
        return WRONG_USAGE
    session = None if resume is None else _session(resume)
    if config.model and config.draft:
        remember_pair(config.model, config.draft)
    if plain:
        from specchat.plain.chat import chat_plainly

        no_native_debugger()
        return chat_plainly(options, session)
    client = WorkerClient(worker_log())
    client.begin_load(options.target, options.draft, options.options)
    with Looks(config, theme) as looks:
        from specchat.tui.app import run_chat
    run_chat(options, client, looks.appearance(), session, first_run=first_run, background=looks.background)
    return 0


def _session(asked: str) -> int:
    from specchat.chat.resuming import session_to_resume

    return session_to_resume(asked, sessions_db())
