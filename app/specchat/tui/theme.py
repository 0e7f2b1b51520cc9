"""Two themes, dark and light, in a blue and an orange that every kind of colour blindness tells apart.

What a style sheet needs of the outcomes comes from the palette as theme variables: `$outcome-accepted` is a colour,
`$outcome-accepted-style` the attributes. Textual's own themes get them too.
"""

from __future__ import annotations

from textual.theme import Theme

from specchat.terminal.palette import BLUE, LOOKS, ON_LIGHT, ORANGE

DARK_NAME = "specchat-dark"
LIGHT_NAME = "specchat-light"

_DARK_FOREGROUND = "#d7dae0"
_LIGHT_FOREGROUND = "#1f2328"


def outcome_variables(*, dark: bool) -> dict[str, str]:
    """The theme variables of every outcome and kind of token, and `$quiet` for what stands back."""
    variables = {"quiet": "#8b93a0" if dark else "#5d646e"}
    for outcome, look in LOOKS.items():
        colour = look.colour or (_DARK_FOREGROUND if dark else _LIGHT_FOREGROUND)
        if look.colour is None and "bold" in look.attributes:
            colour = "#ffffff" if dark else "#000000"
        variables[f"outcome-{outcome.value}"] = colour if dark else ON_LIGHT.get(colour, colour)
        variables[f"outcome-{outcome.value}-style"] = " ".join(look.attributes) or "none"
    return variables


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
