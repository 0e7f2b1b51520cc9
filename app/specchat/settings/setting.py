"""What a setting is: its names, the values it may have, its default, and where it can be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from specchat.settings.values import Choice, Number, ValueKind
from specchat_engine.allowed import Range, default_of, rule_of
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

ENV_PREFIX = "SPECCHAT_"


class SettingGroup(StrEnum):
    """What a setting belongs to; the headings of the table in the documentation."""

    MODELS = "Models"
    DRAFTING = "Drafting"
    SAMPLING = "Sampling"
    CONSTRAINTS = "Constraints"
    ANSWERS = "Answers"
    LOADING = "Loading"
    SERVING = "Serving"
    APPEARANCE = "Appearance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How a knob shows a setting and steps through its values.

    `shown` replaces the number for single values and may be typed, too. Steps end at `end`, else at the end of the
    range; a step away from "auto" leads to `from_auto`. The names in `lossy` say that they are.
    """

    label: str
    size: float = 1
    decimals: int = 0
    end: float | None = None
    doubles: bool = False
    from_auto: int = 0
    shown: Mapping[float, str] = field(default_factory=dict)
    lossy: tuple[str, ...] = ()


class ApiNames(NamedTuple):
    """What requests over HTTP call a setting, by the server that takes it; empty where it is not taken.

    `specchat serve` takes it by its key and by all of these names. SGLang has vLLM's.
    """

    specchat: str
    llama_server: str = ""
    vllm: str = ""
    openai: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting.

    `home` and `name` are the engine's dataclass and field that hold it, if there are such. `usual` says what applies if
    nobody sets it. A setting with `steps` has a knob. If its flag is repeated, the further values are those of the
    setting `more`. An answer keeps a setting that changes `by_answer` to its end. One with `api` can be chosen by
    requests over HTTP.
    """

    key: str = ""
    help: str
    flags: tuple[str, ...]
    group: SettingGroup
    kind: ValueKind
    usual: str
    home: type | None
    name: str
    steps: Steps | None
    more: str = ""
    by_answer: bool = False
    api: ApiNames | None = None

    @property
    def typed(self) -> str:
        """Its name in `/set`."""
        return self.key.replace("_", "-")

    @property
    def flag(self) -> str:
        """Its longest flag, or its key if it has none."""
        return max(self.flags, key=len, default=self.key)

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"{ENV_PREFIX}{self.key.upper()}"

    @property
    def is_live(self) -> bool:
        """True if it can change while an answer streams: `/set` and the knobs apply it from the next round on."""
        return self.home in (Settings, SamplingParams) and isinstance(self.kind, Number | Choice)

    @property
    def is_loading(self) -> bool:
        """True if `/set` and the knobs change how models are loaded."""
        return self.home is LoadOptions and self.steps is not None

    @property
    def is_threads(self) -> bool:
        """True for numbers of threads: they are options of loading, but change at once."""
        return self.home is LoadOptions and self.name.startswith("threads")

    @property
    def help_line(self) -> str:
        """Its help with the names that it can have and what applies if nobody sets it."""
        names = f": {', '.join(self.kind.rule.names)}" if isinstance(self.kind, Choice) else ""
        return f"{self.help}{names}.{f' [{self.usual}]' if self.usual else ''}"


def setting(
    group: SettingGroup,
    help: str,  # noqa: A002
    *flags: str,
    of: tuple[type, str] | None = None,
    kind: ValueKind | None = None,
    high: float | None = None,
    usual: str | None = None,
    steps: Steps | None = None,
    is_open: bool = False,
    more: str = "",
    by_answer: bool = False,
    api: ApiNames | None = None,
    factory: Callable[[], Any] | None = None,
) -> Any:
    """A field of the configuration, with the setting that it is among its metadata.

    `of` names the engine's field, from which kind, default and `usual` come unless they are given; `high` lowers the
    largest value. A setting without
    one is None until somebody sets it, and so is one that `is_open`, and each sampling value: the model may recommend
    one. `factory` makes another default.
    """
    home, name = of or (None, "")
    default = None
    if home is not None:
        default = default_of(home, name)
        rule = rule_of(home, name)
        if high is not None and isinstance(rule, Range):
            rule = replace(rule, high=high)
        kind = kind or (Number(rule) if isinstance(rule, Range) else Choice(rule) if rule else None)
        if usual is None and default != ():
            usual = f"the model's, or {default:g}" if home is SamplingParams else str(default)
    if kind is None:
        raise ValueError(f"a setting has no kind: {help}")
    declared = Setting(
        help=help,
        flags=flags,
        group=group,
        kind=kind,
        usual=usual or "",
        home=home,
        name=name,
        steps=steps,
        more=more,
        by_answer=by_answer,
        api=api,
    )
    if factory is not None:
        return field(default_factory=factory, metadata={"setting": declared})
    open_now = is_open or home is SamplingParams
    return field(default=None if open_now else default, metadata={"setting": declared})
