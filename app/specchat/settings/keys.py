"""Keys as the user gives them: an id of what a key does, and the key or keys that should do it."""

from __future__ import annotations


def parse_keys(value: object) -> object:
    """The `[keys]` of the configuration; a text, as a variable holds it, is `ID=KEY` words: `chat.knobs=f4,ctrl+k`.

    Raises ValueError for a text that cannot be read; what is no text is left to whoever checks it next.
    """
    if not isinstance(value, str):
        return value
    pairs = [word.partition("=") for word in value.split()]
    for word, sign, key in pairs:
        if not (word and sign and key):
            raise ValueError(f"keys has {word + sign + key!r}: use ID=KEY, such as chat.knobs=f4")
    return {word: key for word, _, key in pairs}
