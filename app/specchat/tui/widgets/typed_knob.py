"""What all knobs have in common: keys that turn and move, and a value that is typed until Enter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Blur, Key
from textual.widget import Widget


class TypedKnob(Widget, can_focus=True):
    """A line that ← and → turn, by `action_turn`, and that collects what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "turn(-1)", "Lower", show=False, id="knobs.turn_back"),
        Binding("right,plus", "turn(1)", "Raise", show=False, id="knobs.turn_on"),
        Binding("up", "move(-1)", "Previous", show=False, id="knobs.move_back"),
        Binding("down", "move(1)", "Next", show=False, id="knobs.move_on"),
    ]
    SIGNS: ClassVar[str] = ""
    """What may be typed beside letters and digits."""

    LONGEST: ClassVar[int] = 12
    _typing = ""

    def action_move(self, steps: int) -> None:
        """Goes to the next knob of any kind, or to the one before, round and round."""
        if steps > 0:
            self.screen.focus_next(TypedKnob)
        else:
            self.screen.focus_previous(TypedKnob)

    def on_key(self, event: Key) -> None:
        """Collects what is typed until Enter."""
        if self.takes(event):
            event.stop()
            event.prevent_default()
            self.refresh()

    def on_blur(self, event: Blur) -> None:
        """A value that is left without Enter is not taken."""
        self._typing = ""
        self.refresh()

    def takes(self, event: Key) -> bool:
        """Whether the key belonged to what is being typed."""
        if event.key == "backspace":
            self._typing = self._typing[:-1]
        elif event.key == "escape" and self._typing:
            self._typing = ""
        elif event.character and (event.character.isalnum() or event.character in self.SIGNS):
            self._typing = (self._typing + event.character)[: self.LONGEST]
        else:
            return False
        return True
