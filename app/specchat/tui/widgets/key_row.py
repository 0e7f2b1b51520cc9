"""The last row: the keys that work now, the most useful ones first, as many as fit. F1 lists all."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget

_FUNCTION_KEY = re.compile(r"f\d+")


class OfferedKey(NamedTuple):
    """A key and what it does. It is dim unless it is `enabled`."""

    key: str
    shown: str
    description: str
    enabled: bool = True

    @property
    def width(self) -> int:
        """In cells."""
        return cell_len(f"{self.shown} {self.description}")


def fitting(keys: list[OfferedKey], width: int) -> list[OfferedKey]:
    """The first keys that fit in full, with a blank between them."""
    fit: list[OfferedKey] = []
    for key in keys:
        width -= key.width + bool(fit)
        if width < 0:
            break
        fit.append(key)
    return fit


class KeyRow(Widget, can_focus=False):
    """Shows the bindings of the screen and of the focused widget, in their order. A click presses the key.

    Unlike Textual's footer it never shows a part of a key, and it is one widget, because keys change often.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = "KeyRow { dock: bottom; width: 1fr; height: 1; background: $background; }"

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[OfferedKey] = []

    def on_mount(self) -> None:
        """Follows the bindings of the screen, and the windows over it, under which no key works."""
        self.screen.bindings_updated_signal.subscribe(self, self._offer)
        self.app.screen_change_signal.subscribe(self, lambda _: self.refresh())

    def on_unmount(self) -> None:
        """Follows them no more."""
        self.screen.bindings_updated_signal.unsubscribe(self)
        self.app.screen_change_signal.unsubscribe(self)

    def render(self) -> Content:
        """`F1 Help F2 Knobs`; nothing under a window."""
        if self.app.screen is not self.screen:
            return Content("")
        parts: list[str | tuple[str, str]] = []
        for key in fitting(self._keys, self.size.width):
            dim = "" if key.enabled else "dim "
            parts += [" "] if parts else []
            parts += [
                (key.shown, f"{dim}bold $footer-key-foreground"),
                (f" {key.description}", f"{dim}$footer-description-foreground"),
            ]
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Presses the key under the pointer."""
        column = event.x
        for key in fitting(self._keys, self.size.width):
            if 0 <= column < key.width:
                self.app.simulate_key(key.key)
                event.stop()
                return
            column -= key.width + 1

    def _offer(self, screen: Screen[object]) -> None:
        """Takes the bindings that work now, one key for each action."""
        # A terminal without focus takes the focus from the widget; its keys work again when the user is back.
        if not screen.app.app_focus or screen is not self.screen:
            return
        offered: dict[str, OfferedKey] = {}
        for _, binding, enabled, _ in screen.active_bindings.values():
            if binding.show and binding.action not in offered:
                shown = self.app.get_key_display(binding)
                shown = shown.upper() if _FUNCTION_KEY.fullmatch(shown) else shown
                offered[binding.action] = OfferedKey(binding.key, shown, binding.description, enabled)
        keys = list(offered.values())
        if keys != self._keys:
            self._keys = keys
            self.refresh()
