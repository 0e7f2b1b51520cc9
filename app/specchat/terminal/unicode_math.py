"""Formulas in LaTeX as one or more lines of Unicode: `\\frac{\\alpha^2}{2}` becomes `α²/2`.

pylatexenc parses them and knows the symbols. A formula with something that has no good form stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

LONGEST = 2_000
"""Longer formulas, in characters, stay as they are written."""
_DEEPEST = 40
"""So do those with more braces inside each other."""

_PLAIN = "0123456789+-=()aehijklmnoprstuvxβγρφχ"
_SUB = str.maketrans(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
_PLAIN_UP = "0123456789+-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ"
_SUPER = str.maketrans(_PLAIN_UP, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ")
_RAISED = {"′": "′", "″": "″", "∘": "°", "°": "°"}

_SPACES = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "quad": "  ", "qquad": "    ", "\n": " "}
_KINDS_OF_FRACTION = re.compile(r"\\[dtc]frac(?![a-zA-Z])")
_AS_WRITTEN = (
    *("text", "textrm", "textbf", "textit", "mathrm", "mathbf", "mathit", "mathsf", "mathtt", "operatorname", "boxed"),
    *("boldsymbol", "bm", "left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits"),
    *("nolimits", "textstyle", "mbox"),
)
"""What they hold is shown, and nothing of themselves."""
_FENCES = ("left", "right")
_FUNCTIONS = ("arg", "argmax", "argmin", "det", "gcd", "deg", "dim", "ker", "Pr", "limsup", "liminf")
_MORE = {
    "|": "‖", "ne": "≠", "gets": "←", "iff": "⇔", "implies": "⇒", "land": "∧", "lor": "∨", "prime": "′", "colon": ":",
    "ast": "*", "bmod": " mod ", "mod": " mod ",
}  # fmt: skip
_LEAST = {"frac": 2, "sqrt": 1}
"""How many arguments these need. In `\\sqrt\\frac12`, which TeX rejects too, `\\frac` has none."""
_MATRICES = {"matrix": "  ", "pmatrix": "()", "bmatrix": "[]", "vmatrix": "||", "Bmatrix": "{}", "smallmatrix": "  "}
_ROWS = ("aligned", "align", "align*", "gathered", "gather", "gather*", "split", "equation", "equation*", "cases")
_CELL = "\0"
"""Between two cells of a row."""
_SIMPLE = re.compile(r"[^\W_]+[′″]*|[√∛]?[^\W_]+|[^\W_]*[⁰¹²³⁴-ₜ]+|\([^()]*\)")


class _Unknown(Exception):
    """A formula has something that has no form in Unicode."""


@lru_cache(maxsize=512)
def unicode_math(formula: str) -> str | None:
    """The formula in Unicode, in several lines if it has several; None if it is to be shown as it is written."""
    if len(formula) > LONGEST or _depth(formula) > _DEEPEST:
        return None
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    try:
        written = _KINDS_OF_FRACTION.sub(r"\\frac", formula.strip())
        nodes, _, _ = LatexWalker(written, tolerant_parsing=False).get_latex_nodes()
        lines = _rendered(nodes).split("\n")
    except (LatexWalkerError, _Unknown, RecursionError):
        return None
    except (AttributeError, LookupError, TypeError):  # pylatexenc's own, of a command that lacks its arguments
        return None
    rows = [" ".join(line.replace(_CELL, "").split()) for line in lines]
    return "\n".join(line for line in rows if line) or None


def _depth(formula: str) -> int:
    deepest = depth = 0
    for sign in formula:
        depth += (sign == "{") - (sign == "}")
        deepest = max(deepest, depth)
    return deepest


def _rendered(nodes: Sequence[Any]) -> str:
    """The nodes one after the other, with what follows `^` and `_` raised or lowered."""
    atoms = _atoms(nodes)
    written: list[str] = []
    for atom in atoms:
        if atom not in ("^", "_"):
            written.append(atom)
            continue
        script = next((other for other in atoms if other.strip()), None)
        if script is None:
            raise _Unknown(atom)
        written.append(_script(atom, script))
    return "".join(written)


def _atoms(nodes: Sequence[Any]) -> Iterator[str]:
    """Each sign by itself, and each group and command as a whole."""
    fenced = divided = False
    for node in nodes:
        if node is None:
            continue
        if divided and not getattr(node, "chars", "a").startswith(tuple(" )]}^_,.;:")):
            yield " "
        if node.__class__.__name__ == "LatexCharsNode":
            text = node.chars[1:] if fenced and node.chars.startswith(".") else node.chars
            yield from ("′" if sign == "'" else sign for sign in text)
        else:
            yield _whole(node)
        name = getattr(node, "macroname", None)
        fenced, divided = name in _FENCES, name == "frac"


def _whole(node: Any) -> str:
    match node.__class__.__name__:
        case "LatexGroupNode":
            inner = _rendered(node.nodelist)
            return inner if node.delimiters[0] == "{" else node.delimiters[0] + inner + node.delimiters[1]
        case "LatexMacroNode":
            return _command(node)
        case "LatexEnvironmentNode":
            return _environment(node)
        case "LatexSpecialsNode":
            return {"~": " ", "&": _CELL}.get(node.specials_chars, str(node.specials_chars))
        case "LatexCommentNode":
            return "%" + str(node.comment)
    raise _Unknown(node)


def _command(node: Any) -> str:
    name, after = str(node.macroname), str(node.macro_post_space)
    given = [each for each in (node.nodeargd.argnlist if node.nodeargd else None) or () if each is not None]
    if name in _LEAST and len(given) < _LEAST[name]:
        raise _Unknown(name)
    if name == "frac":
        above, below = (_rendered([each]) for each in given)
        return f"{_grouped(above)}/{_grouped(below)}"
    if name == "sqrt":
        root = _script("^", _rendered([given[0]]).strip("[]")) if len(given) == 2 else ""
        return f"{root}√{_grouped(_rendered([given[-1]]))}"
    if name == "\\":
        return "\n"
    if name in _SPACES:
        return _SPACES[name]
    if name in _AS_WRITTEN:
        return _rendered(given)
    if name in _FUNCTIONS:
        return name + after
    if name in _MORE:
        return _MORE[name] + after
    symbols = _symbols()
    if getattr(symbols.latex_context.get_macro_spec(name), "macroname", "") != name:
        raise _Unknown(name)
    text = str(symbols.macro_node_to_text(node))
    if not text.strip() or "\\" in text or (given and text == _rendered(given)):
        raise _Unknown(name)
    return text if given else text.strip() + after


def _environment(node: Any) -> str:
    name = str(node.environmentname)
    if name not in _MATRICES and name not in _ROWS:
        raise _Unknown(name)
    rows = [[" ".join(cell.split()) for cell in row.split(_CELL)] for row in _rendered(node.nodelist).split("\n")]
    rows = [row for row in rows if any(row)]
    if name in _MATRICES:
        brackets = _MATRICES[name]
        return (brackets[0] + "; ".join("  ".join(row) for row in rows) + brackets[1]).strip()
    return "\n".join((", " if name == "cases" else " ").join(filter(None, row)) for row in rows)


@cache
def _symbols() -> Any:
    """What knows the symbols and accents."""
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)


def _script(sign: str, text: str) -> str:
    """A text raised or lowered, in brackets after the sign if there are no such letters."""
    text = text.strip()
    known, table = (_PLAIN_UP, _SUPER) if sign == "^" else (_PLAIN, _SUB)
    close = "".join(text.split()).replace("−", "-")
    if sign == "^" and close in _RAISED:
        return _RAISED[close]
    if close and all(each in known for each in close):
        return close.translate(table)
    return f"{sign}{text}" if len(text) == 1 else f"{sign}({text})"


def _grouped(text: str) -> str:
    """A text in brackets, unless it is one thing."""
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"
