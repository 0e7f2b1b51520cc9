"""The themes of the app, what their colours mean, and the theme and the keys that the user configured.

Style sheets use theme variables: `$outcome-accepted` is a colour, `$outcome-accepted-style` its attributes. Blue and
orange can be told apart with every kind of colour blindness.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from textual.app import App
from textual.binding import Keymap
from textual.content import Content
from textual.dom import DOMNode
from textual.theme import BUILTIN_THEMES, Theme

from specchat.errors import ConfigError
from specchat.terminal.palette import BLUE, GREY, LOOKS, ON_LIGHT, ORANGE, SIXTEEN
from specchat.terminal.pieces import Ink, Piece
from specchat.tui.keymap import known_bindings, read_keymap
from specchat_engine.decoding.rounds import Outcome, TokenKind

DARK_NAME = "specchat-dark"
LIGHT_NAME = "specchat-light"

_DARK_FOREGROUND = "#d7dae0"
_LIGHT_FOREGROUND = "#1f2328"


def outcome_variables(*, dark: bool, sixteen: bool = False) -> dict[str, str]:
    """The theme variables of every outcome and kind of token, and `$quiet` for what matters less.

    For terminals of `sixteen` colours each is one of these, and nothing is dim, since mixing gives another colour.
    """
    if sixteen:
        return _of_sixteen(dark=dark)
    variables = {"quiet": "#8b93a0" if dark else "#5d646e"}
    for outcome, look in LOOKS.items():
        colour = look.colour or (_DARK_FOREGROUND if dark else _LIGHT_FOREGROUND)
        if look.colour is None and "bold" in look.attributes:
            colour = "#ffffff" if dark else "#000000"
        variables[f"outcome-{outcome.value}"] = colour if dark else ON_LIGHT.get(colour, colour)
        variables[f"outcome-{outcome.value}-style"] = " ".join(look.attributes) or "none"
    return variables


def _of_sixteen(*, dark: bool) -> dict[str, str]:
    colours, foreground = SIXTEEN[dark], "#ffffff" if dark else "#000000"
    variables = {"quiet": colours[GREY]}
    for outcome, look in LOOKS.items():
        variables[f"outcome-{outcome.value}"] = colours[look.colour] if look.colour else foreground
        attributes = [attribute for attribute in look.attributes if attribute != "dim"]
        variables[f"outcome-{outcome.value}-style"] = " ".join(attributes) or "none"
    return variables


def in_sixteen_colours(theme: Theme) -> Theme:
    """The theme for a terminal of sixteen colours: each role has one of these."""
    colours, dark = SIXTEEN[theme.dark], theme.dark
    foreground, background = ("#ffffff", "#000000") if dark else ("#000000", "#ffffff")
    blue, red, grey = colours[BLUE], colours[ORANGE], colours[GREY]
    texts = {f"text-{name}": blue for name in ("primary", "secondary", "success")}
    texts |= {f"text-{name}": red for name in ("accent", "warning", "error")}
    texts |= {"text": foreground, "text-muted": grey, "text-disabled": grey}
    own = {"footer-key-foreground": blue, "footer-description-foreground": foreground, "border": grey}
    return replace(
        theme,
        primary=blue,
        secondary=blue,
        accent=red,
        warning=red,
        error=red,
        success=blue,
        foreground=foreground,
        background=background,
        surface=background,
        panel=background,
        variables=outcome_variables(dark=dark, sixteen=True) | own | texts,
    )


DARK = Theme(
    name=DARK_NAME,
    dark=True,
    primary=BLUE,
    secondary="#7fb3e6",
    accent=ORANGE,
    warning=ORANGE,
    error="#f0705a",
    success=BLUE,
    foreground=_DARK_FOREGROUND,
    background="#14171c",
    surface="#1a1e24",
    panel="#20252d",
    variables=outcome_variables(dark=True) | {"footer-key-foreground": BLUE, "border": "#343b46"},
)

LIGHT = Theme(
    name=LIGHT_NAME,
    dark=False,
    primary=ON_LIGHT[BLUE],
    secondary="#3a7fc4",
    accent=ON_LIGHT[ORANGE],
    warning=ON_LIGHT[ORANGE],
    error="#b3261e",
    success=ON_LIGHT[BLUE],
    foreground=_LIGHT_FOREGROUND,
    background="#fbfbfa",
    surface="#f2f3f4",
    panel="#e9ebee",
    variables=outcome_variables(dark=False) | {"footer-key-foreground": ON_LIGHT[BLUE], "border": "#c9ced6"},
)


@dataclass(frozen=True, slots=True)
class Appearance:
    """A theme, the keys that the user changed, if the configuration names the theme, if vi's keys are on,
    and if formulas are shown in Unicode.
    """

    theme: str = DARK_NAME
    keymap: Keymap = field(default_factory=dict)
    configured: bool = False
    vi_keys: bool = False
    math: bool = True


def read_appearance(
    theme: str | None,
    keys: Mapping[str, str],
    *,
    configured: str | None = None,
    chosen: str | None = None,
    light: bool = False,
) -> Appearance:
    """The theme is what is asked for now, else configured, else chosen in the app before, else fits the background.

    Raises ConfigError, in one line, for an unknown theme or key. A theme that was chosen before may be gone.
    """
    names = (DARK_NAME, LIGHT_NAME, *BUILTIN_THEMES)
    wanted = theme or configured
    if wanted is not None and wanted not in names:
        close = difflib.get_close_matches(wanted, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"use {', '.join(names)}"
        raise ConfigError(f"theme is {wanted!r}: {hint}")
    usual = LIGHT_NAME if light else DARK_NAME
    return Appearance(
        wanted or (chosen if chosen in names else usual),
        read_keymap(keys, all_bindings()) if keys else {},
        configured=configured is not None,
    )


def all_bindings() -> dict[str, str]:
    """The keys of every binding of the app that has an id. Imports every screen, which takes a moment."""
    return known_bindings(*dict.fromkeys(_holders()))


def _holders() -> Iterator[type]:
    """The app, and all screens and widgets of this package."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        for value in vars(importlib.import_module(module.name)).values():
            ours = isinstance(value, type) and value.__module__.startswith(package)
            if ours and issubclass(value, (App, DOMNode)):
                yield value


_MEANINGS = {
    Ink.ACCEPTED: "a correct guess of the draft: nearly free",
    Ink.REJECTED: "a guess that the target rejected",
    Ink.DISCARDED: "after a rejected one, never compared (⋯)",
    Ink.CORRECTION: "the target's own, in place of a rejected one",
    Ink.BONUS: "the target's own, after a correct draft",
    Ink.PLAIN: "the target's own, where nothing was drafted",
}


def legend_rows() -> list[Content]:
    """One row for each ink: its glyph in the ribbon, its name in its look, its meaning."""
    looks = {key.value: look for key, look in LOOKS.items()}
    return [
        Content.assemble(
            (looks[ink.value].glyph, f"$outcome-{ink.value}"),
            "  ",
            _name_in_its_look(ink, looks[ink.value].attributes),
            " " * (12 - len(ink.value)),
            (meaning, "$quiet"),
        )
        for ink, meaning in _MEANINGS.items()
    ]


def legend_pieces() -> list[Piece]:
    """The same rows as pieces of text."""
    looks = {key.value: look for key, look in LOOKS.items()}
    return [
        piece
        for ink, meaning in _MEANINGS.items()
        for piece in (
            Piece(f"\n{looks[ink.value].glyph}  ", f"$outcome-{ink.value}"),
            Piece(ink.value, ink),
            Piece(" " * (12 - len(ink.value)) + meaning, "$quiet"),
        )
    ]


def legend_line(*, short: bool = False) -> Content:
    """The glyphs of the ribbon in one row. If it has to be short, the target's own tokens share a name."""
    own = (TokenKind.CORRECTION, TokenKind.BONUS, TokenKind.PLAIN)
    parts = [
        Content.assemble(
            (LOOKS[key].glyph, f"$outcome-{key.value}"), ("" if short and key in own else key.value, "$quiet")
        )
        for key in (*Outcome, *own)
    ]
    if not short:
        return Content("  ").join(parts)
    drafted = len(Outcome)
    return Content(" ").join([*parts[:drafted], Content.assemble(*parts[drafted:], ("target's", "$quiet"))])


def _name_in_its_look(ink: Ink, attributes: tuple[str, ...]) -> Content:
    return Content.styled(ink.value, " ".join((*attributes, f"$outcome-{ink.value}")))
