"""An answer that is nothing but calls as JSON in a block of code, as small models write them.

    ```json
    {"name": "weather", "arguments": {"city": "Rome"}}
    ```

Only the end of the answer shows whether it is that, so nothing is returned before.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.parts import AnswerPart, CallState

FENCE: Final = "```"
_HEAD: Final = re.compile(r"```[\w-]{0,20}\s*(?=[{\[])")
_BEGUN: Final = re.compile(r"```[\w-]{0,20}\s*")


class FencedCalls:
    """Follows such a block from its fence to the end of the answer."""

    def __init__(self, names: Collection[str]) -> None:
        """`names` are those of the known functions: other objects are not calls."""
        self.text = ""
        self.state: CallState = "open"
        self._names = names
        self._parts: list[AnswerPart] = []
        self._calls: JsonCalls | None = None
        self._made = self._closed = False

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        self.text += text
        while self.state == "open" and self._step():
            pass
        return []

    def finish(self) -> list[AnswerPart]:
        """The calls, if the block was closed."""
        self.state = "complete" if self._closed else "failed"
        return self._parts if self._closed else []

    def _step(self) -> bool:
        """Follows the next piece; False if more text is needed."""
        if self._calls:
            return self._follow(self._calls)
        text = self.text.lstrip()
        if self._closed:
            self.state = "failed" if text else "open"
            return False
        if not self._made:
            return self._begin()
        if text.startswith("{"):
            self._calls, self.text = JsonCalls(self._names), text
        elif text.startswith(FENCE):
            self._closed, self.text = True, text.removeprefix(FENCE)
        else:
            self.state = "open" if FENCE.startswith(text) else "failed"
            return False
        return True

    def _begin(self) -> bool:
        head = _HEAD.match(self.text)
        if head:
            self._calls, self.text, self._made = JsonCalls(self._names), self.text[head.end() :], True
        elif not _BEGUN.fullmatch(self.text) and not FENCE.startswith(self.text):
            self.state = "failed"
        return head is not None

    def _follow(self, calls: JsonCalls) -> bool:
        text, self.text = self.text, ""
        self._parts += calls.take(text)
        if calls.state == "open":
            return False
        self._calls, self.text = None, calls.text
        self.state = "failed" if calls.state == "failed" else "open"
        return True
