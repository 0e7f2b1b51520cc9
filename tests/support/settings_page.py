"""docs/settings.md, made from the schema. `PYTHONPATH=tests python -m support.settings_page` writes it."""

from __future__ import annotations

from pathlib import Path

from specchat.settings.schema import SETTINGS
from specchat.settings.setting import Setting, SettingGroup
from specchat.settings.values import Choice, Number

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """\
# Settings

Every setting can be given in several places. A later place in this list overrides the earlier ones:

1. the default, or for sampling parameters the model's own recommendation (`general.sampling.*` in its file)
2. `config.toml`, in `~/.config/specchat` on Linux and `~/Library/Application Support/specchat` on macOS
3. an environment variable: `SPECCHAT_` and the setting's name in capitals, such as `SPECCHAT_TOP_K`
4. a flag of the command; most are named as in llama.cpp
5. the running chat: the knobs (F2), `/set NAME VALUE`, or a preset (`/preset`)

```toml
# config.toml
model = "models/qwen2.5-0.5b-instruct-q8_0.gguf"  # relative to this file's folder, or a name that `models ls` shows
temperature = 0.7
threads = 4

[keys]
"chat.knobs" = "f4"
```

A place that names a model but no draft model hides the draft model of earlier places. In the same way a grammar, in
any of its four forms, hides all forms in earlier places. Lists are written with commas in flags and variables, and as
TOML lists in the file. A value that cannot be used ends the command with one line that names the place, the value and
what to use instead.

`/set` takes the names below with hyphens, or the names of the flags: `/set top-k 20`, `/set temp 0`, `/set ngl 12`.
The last column shows what can change while the chat runs. A *knob* is in the panel that F2 opens. A *live* change
applies from the next round on. A *reload* loads the models again and keeps the conversation.

Your own presets are in `presets.toml` beside `config.toml`. Each is a table of settings from the section Sampling.
"""

_ELSEWHERE = {
    "model": "`/model`",
    "draft": "`/draft`",
    "seed": "`/set`: next answer",
    "system": "`/system`",
    "theme": "`/theme`",
    "vi_keys": "`/vi`",
    "math": "`/math`",
}


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_table(group) for group in SettingGroup)])


def _table(group: SettingGroup) -> str:
    rows = [_row(setting) for setting in SETTINGS if setting.group is group]
    head = "| setting | flags | values | default | meaning | in the chat |\n| --- | --- | --- | --- | --- | --- |\n"
    return f"## {group}\n\n{head}{''.join(rows)}"


def _row(setting: Setting) -> str:
    flags = ", ".join(f"`{flag}`" for flag in setting.flags)
    cells = (f"`{setting.key}`", flags, _values(setting), setting.usual, setting.help, _in_the_chat(setting))
    return f"| {' | '.join(cell.replace('|', ' or ') for cell in cells)} |\n"


def _values(setting: Setting) -> str:
    kind = setting.kind
    if isinstance(kind, Choice):
        return ", ".join(kind.rule.names)
    if isinstance(kind, Number):
        low, high = (str(end) if kind.rule.whole else f"{end:g}" for end in (kind.rule.low, kind.rule.high))
        return f"{'auto, or ' if kind.rule.auto else ''}{low} to {high}"
    return kind.metavar


def _in_the_chat(setting: Setting) -> str:
    if setting.is_live:
        return "knob, live" if setting.steps else "live"
    if setting.is_loading:
        return "knob, live" if setting.is_threads else "knob, reload"
    return _ELSEWHERE.get(setting.key, "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
