"""What is offered above the prompt while one types: completions with one of them chosen. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specchat.chat.commands.completing import Completion, complete, is_open_ended
from specchat.chat.commands.sources import Sources


@dataclass(frozen=True, slots=True)
class Menu:
    """Completions of a text at a cursor; `chosen` of them is lit, `moved` where the user went there."""

    text: str
    cursor: int
    items: tuple[Completion, ...]
    chosen: int = 0
    moved: bool = False

    def turned(self, steps: int) -> Menu:
        """The next one so many places on, round and round."""
        return replace(self, chosen=(self.chosen + steps) % len(self.items), moved=True)

    def at(self, place: int) -> Menu:
        """With the item at this place chosen."""
        return replace(self, chosen=place, moved=True)

    @property
    def completion(self) -> Completion:
        """The chosen one."""
        return self.items[self.chosen]

    @property
    def takes_enter(self) -> bool:
        """Whether Enter takes the chosen item: not where what is typed is complete, or may be anything."""
        return self.moved or not (self._is_complete or is_open_ended(self.text))

    @property
    def _is_complete(self) -> bool:
        """Whether what is typed is one of the items already, or an argument that need not be there."""
        typed = self.text[self.completion.start : self.completion.end]
        return not typed or any(item.text.strip() == typed for item in self.items)


def menu_at(text: str, cursor: int, sources: Sources) -> Menu | None:
    """What is offered here, if anything; not what would change nothing."""
    items = tuple(complete(text, cursor, sources))
    if not items or (len(items) == 1 and items[0].applied(text)[0].rstrip() == text.rstrip()):
        return None
    return Menu(text, cursor, items)
