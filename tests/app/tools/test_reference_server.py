"""A real server from PyPI, started by its command as a user would declare it."""

import os
import sys

from specchat.tools.declared import ToolServer
from specchat.tools.toolbox import Toolbox
from specchat_engine.prompt.messages import ToolCall


def test_the_reference_server_for_the_time_tells_it() -> None:
    command = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Rome")
    # A server gets no PYTHONPATH by itself; the tests may need it to find the package.
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    toolbox = Toolbox([ToolServer("time", command, environment=environment)])
    try:
        assert toolbox.turn_on("time") == ()
        assert "time_get_current_time" in [tool.called for tool in toolbox.tools]
        result = toolbox.call(ToolCall("time_get_current_time", '{"timezone": "Asia/Tokyo"}'))
        assert not result.failed
        assert "+09:00" in result.text
        assert toolbox.call(ToolCall("time_get_current_time", '{"timezone": "Nowhere"}')).failed
    finally:
        toolbox.close()
