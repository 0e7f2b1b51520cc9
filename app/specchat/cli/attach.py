"""`specchat chat --attach`: watch the answers of a running `specchat serve`, in the terminal app or line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from specchat.cli.chat import Looks
from specchat.cli.messages import say
from specchat.errors import INTERRUPTED, WRONG_USAGE, ConfigError
from specchat.settings.config import read_config
from specchat.settings.schema import BY_KEY
from specchat.terminal.process import give_way


def attach(
    url: str,
    key: str | None,
    flags: Mapping[str, object],
    others: Mapping[str, object],
    *,
    plain: bool,
    theme: str | None,
) -> int:
    """Watches the server at this URL until the user leaves, and returns the exit code.

    `others` are further flags with their values, None if they were not given. Raises ConfigError for a flag that means
    nothing to a watcher and for an unusable URL or key, and RemoteError if the server cannot be watched.
    """
    from specchat.remote.address import read_address

    given = [*(BY_KEY[name].flag for name in flags), *(flag for flag, value in others.items() if value is not None)]
    if given:
        raise ConfigError(f"--attach only shows what others ask a server, so {given[0]} has no effect: omit one")
    address = read_address(url, key=key or "", flag="--attach")
    if not plain and os.environ.get("TERM") == "dumb" and sys.stdin.isatty():
        say("this terminal cannot draw (TERM is dumb): answers are printed, as with --plain")
        plain = True
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("watching needs a terminal: give --plain in scripts and pipes")
        return WRONG_USAGE
    config = read_config({})

    from specchat.watching.client import WatchClient

    client = WatchClient(address)
    try:
        server = client.connect()
        if plain:
            from specchat.plain.watch import watch_plainly

            return watch_plainly(client)
        with Looks(config, theme) as looks:
            from specchat.tui.watch_app import WatchApp
        give_way()
        app = WatchApp(client, server, looks.appearance(), looks.background)
        app.run()
        return app.return_code or 0
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        client.close()
