"""The field above a list: letters and the keys of its window act in the order in which they were typed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Input


class SearchField(Input, inherit_bindings=False):
    """A field that hands on all keys that don't edit its text, also Enter.

    A binding with priority would act as its key arrives, while letters before it still wait in the field's queue. Other
    bindings act when their key has bubbled up to the app, after letters that came later. So the field runs them itself.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in Input.BINDINGS if isinstance(binding, Binding) and binding.key != "enter"
    ]

    def __init__(
        self,
        text: str = "",
        *,
        placeholder: str,
        catch_up: Callable[[], Awaitable[None]],
        id: str | None = None,  # noqa: A002
    ) -> None:
        """`catch_up` makes the list show what the text finds; it is awaited before a key of the window acts."""
        super().__init__(text, placeholder=placeholder, id=id)
        self._catch_up = catch_up

    async def on_key(self, event: Key) -> None:
        """Runs the action of a key at once."""
        if event.is_printable and not event.key.startswith("alt+"):
            return
        active = self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self:
            await self._catch_up()
            active = self.screen.active_bindings.get(event.key)
        if active is not None and await self.app.run_action(active.binding.action, active.node):
            event.stop()
            event.prevent_default()
