"""`specchat serve`: other programs use the engine over HTTP."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from logging.handlers import RotatingFileHandler
from pathlib import Path

from specchat.cli.messages import say
from specchat.errors import INTERRUPTED, ConfigError
from specchat.models.chosen_pair import chat_options
from specchat.settings.paths import log_folder
from specchat.settings.schema import Config
from specchat.settings.server import Serving

NEEDED = ("pydantic", "starlette", "uvicorn", "sse_starlette", "prometheus_client")
"""The packages of the extra `specchat[serve]`."""

_LOG_BYTES = 1_000_000
"""A log of this size begins anew; the one before is kept."""


def serve(config: Config, *, no_auth: bool, log_prompts: bool) -> int:
    """Serves until it is interrupted or ended, and returns the exit code.

    Raises ConfigError if a package is missing, the address cannot be had, or other machines could come in without a
    key, and LoadFailed.
    """
    missing = next((name for name in NEEDED if find_spec(name) is None), None)
    if missing:
        raise ConfigError(f"the server needs {missing}, which is not installed: pip install 'specchat[serve]'")
    from specchat.serve.access import check_reach, read_keys
    from specchat.serve.listener import listen
    from specchat.serve.server import prompt_log, run

    serving = Serving(**config.of(Serving))
    keys = read_keys(serving)
    check_reach(serving, keys, no_auth=no_auth)
    options = chat_options(config)
    log = prompt_log(sys.stdout) if log_prompts else None
    with listen(serving.host, serving.port) as listening, _logging_to(log_folder() / "server.log"):
        say(f"loading {options.target.name}")
        try:
            return asyncio.run(run(options, serving, keys, listening, say, log))
        except KeyboardInterrupt:
            return INTERRUPTED


@contextmanager
def _logging_to(file: Path) -> Iterator[None]:
    """Sends what goes wrong in the server itself to a file, and no traceback to the terminal."""
    handler: logging.Handler = logging.NullHandler()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
