"""Every setting of the application, declared once.

Flags, config.toml, `SPECCHAT_*` variables, knobs, `/set` with its completion, `--help` and docs/settings.md all derive
from the fields of `Config`. If the engine has the setting too, its values and its default are the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from specchat.settings.constraints import GRAMMAR_KEYS, grammar_text
from specchat.settings.server import Serving
from specchat.settings.setting import ApiNames, Setting, SettingGroup, Steps, setting
from specchat.settings.values import (
    Choice,
    File,
    KeyTable,
    ListOf,
    Number,
    OnOff,
    Text,
    api_key,
    bias,
    device_name,
    host_name,
    origin,
    share,
)
from specchat_engine.allowed import OneOf, Range
from specchat_engine.load_options import LoadOptions, check_override
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import (
    DRAFTERS,
    LOSSY_VERIFIERS,
    USUAL_K,
    DraftLength,
    Settings,
    Sharpness,
    TreeSize,
    installed_drafters,
)

LONGEST_ANSWER = 4096
"""Tokens of the longest answer in a chat unless the user chose another limit. Some small models never end, and the
context is far away: tens of thousands of tokens, or an hour on a CPU. llama.cpp, LM Studio and vLLM have no limit but
the context; nor has `serve`, whose clients expect that of OpenAI's API."""

_MODEL = File("FILE|NAME", is_model=True)
_DEVICES = ListOf("NAME,…", "use names with commas between them, such as CUDA0,CUDA1", device_name)
_LAYERS: Mapping[float, str] = {-1: "all", 0: "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings with their values. `read_config` makes one from the sources and explains what is wrong with them.

    A sampling value that nobody set is None: the model's own recommendation applies, then llama.cpp's default.
    """

    model: Path | None = setting(
        SettingGroup.MODELS,
        "Target: a GGUF file or a name that `models ls` shows",
        "-m",
        "--model",
        kind=_MODEL,
        usual="built-in pair",
    )
    draft: Path | None = setting(
        SettingGroup.MODELS,
        "Draft model or head of the target; again for more of them",
        "-d",
        "--draft",
        kind=_MODEL,
        more="drafts",
    )
    drafts: tuple[str, ...] = setting(
        SettingGroup.MODELS,
        "Draft models beside the first",
        of=(LoadOptions, "drafts"),
        kind=ListOf("FILE|NAME", "use the names or files of draft models", str),
    )
    head: str = setting(
        SettingGroup.MODELS,
        "Head beside a draft model: a file, mtp or none",
        "--head",
        of=(LoadOptions, "head"),
        kind=Text("FILE|NAME"),
        usual="auto: the target's own, if it has one",
    )

    mmproj: str = setting(
        SettingGroup.MODELS,
        "Projector with which the target sees images: a file or none",
        "--mmproj",
        of=(LoadOptions, "mmproj"),
        kind=Text("FILE"),
        usual="auto: an mmproj file beside the model",
    )
    hierarchy: str = setting(
        SettingGroup.MODELS,
        "Whether lookup drafts for the draft model too, an experiment",
        "--hierarchy",
        of=(LoadOptions, "hierarchy"),
    )

    k: DraftLength = setting(
        SettingGroup.DRAFTING,
        "Most tokens drafted in a round; 0 is plain decoding",
        "-k",
        of=(Settings, "k"),
        api=ApiNames("k"),
        high=LoadOptions().k_max,
        steps=Steps(label="k", from_auto=USUAL_K, shown={0: "0 plain"}),
    )
    drafter: str | None = setting(
        SettingGroup.DRAFTING,
        "What drafts",
        "--drafter",
        of=(Settings, "drafter"),
        api=ApiNames("drafter"),
        kind=Choice(OneOf(DRAFTERS), others=installed_drafters),
        usual="hybrid with a draft model or a head, else lookup",
        is_open=True,
        steps=Steps(label="drafter"),
    )
    verifier: str = setting(
        SettingGroup.DRAFTING,
        "Rule that accepts drafted tokens (typical is lossy)",
        "--verifier",
        of=(Settings, "verifier"),
        api=ApiNames("verifier"),
        steps=Steps(label="verifier", lossy=LOSSY_VERIFIERS),
    )
    thought_verifier: str = setting(
        SettingGroup.DRAFTING,
        "Rule for the tokens of thoughts alone; the answer has its own (typical is lossy)",
        "--thought-verifier",
        of=(Settings, "thought_verifier"),
        api=ApiNames("thought_verifier"),
    )
    sharpness: Sharpness = setting(
        SettingGroup.DRAFTING,
        "Power of q that the draft model draws with; 1 is q itself",
        "--sharpness",
        of=(Settings, "sharpness"),
    )
    tree: TreeSize = setting(
        SettingGroup.DRAFTING,
        "Drafted tokens beside the chain; 0 is a chain alone",
        "--tree",
        of=(Settings, "tree"),
    )

    temperature: float | None = setting(
        SettingGroup.SAMPLING,
        "Temperature; 0 is greedy",
        "--temp",
        of=(SamplingParams, "temperature"),
        api=ApiNames("temperature", "temperature", "temperature", "temperature"),
        steps=Steps(label="temperature", size=0.1, decimals=2, end=5, shown={0: "0.00 greedy"}),
    )
    top_k: int | None = setting(
        SettingGroup.SAMPLING,
        "Keep the k best tokens; 0 keeps all",
        "--top-k",
        of=(SamplingParams, "top_k"),
        api=ApiNames("top_k", "top_k", "top_k"),
        steps=Steps(label="top-k", size=5, shown={0: "0 all"}),
    )
    top_p: float | None = setting(
        SettingGroup.SAMPLING,
        "Keep the best tokens up to this probability in total; 1 keeps all",
        "--top-p",
        of=(SamplingParams, "top_p"),
        api=ApiNames("top_p", "top_p", "top_p", "top_p"),
        steps=Steps(label="top-p", size=0.05, decimals=2),
    )
    min_p: float | None = setting(
        SettingGroup.SAMPLING,
        "Drop tokens below this share of the best one's probability; 0 keeps all",
        "--min-p",
        of=(SamplingParams, "min_p"),
        api=ApiNames("min_p", "min_p", "min_p"),
        steps=Steps(label="min-p", size=0.01, decimals=2, shown={0: "0.00 all"}),
    )
    typical_p: float | None = setting(
        SettingGroup.SAMPLING,
        "Keep locally typical tokens up to this probability in total; 1 keeps all",
        "--typical",
        of=(SamplingParams, "typical_p"),
        api=ApiNames("typical_p", "typical_p"),
    )
    repeat_penalty: float | None = setting(
        SettingGroup.SAMPLING,
        "Penalty for tokens that occurred before; 1 is off",
        "--repeat-penalty",
        of=(SamplingParams, "repeat_penalty"),
        api=ApiNames("repeat_penalty", "repeat_penalty", "repetition_penalty"),
    )
    frequency_penalty: float | None = setting(
        SettingGroup.SAMPLING,
        "Penalty that grows with each occurrence; 0 is off",
        "--frequency-penalty",
        of=(SamplingParams, "frequency_penalty"),
        api=ApiNames("frequency_penalty", "frequency_penalty", "frequency_penalty", "frequency_penalty"),
    )
    presence_penalty: float | None = setting(
        SettingGroup.SAMPLING,
        "Penalty for any occurrence; 0 is off",
        "--presence-penalty",
        of=(SamplingParams, "presence_penalty"),
        api=ApiNames("presence_penalty", "presence_penalty", "presence_penalty", "presence_penalty"),
    )
    penalty_last_n: int | None = setting(
        SettingGroup.SAMPLING,
        "Tokens that penalties look back at; -1 is the whole context",
        "--repeat-last-n",
        of=(SamplingParams, "penalty_last_n"),
        api=ApiNames("repeat_last_n", "repeat_last_n"),
    )

    logit_bias: tuple[tuple[int, float], ...] | None = setting(
        SettingGroup.CONSTRAINTS,
        "Add to a token's logit, -inf to ban it; repeatable",
        "--logit-bias",
        of=(SamplingParams, "logit_bias"),
        kind=ListOf(
            "TOKEN=BIAS", "use TOKEN=BIAS, such as 15043=-1.5, or 15043=-inf to ban the token", bias, repeated=True
        ),
    )
    grammar: str | None = setting(
        SettingGroup.CONSTRAINTS,
        "Grammar that answers follow: GBNF, Lark, /regular expression/",
        "--grammar",
        kind=Text("GRAMMAR"),
    )
    grammar_file: Path | None = setting(
        SettingGroup.CONSTRAINTS, "File with such a grammar", "--grammar-file", kind=File()
    )
    json_schema: str | None = setting(
        SettingGroup.CONSTRAINTS, "JSON schema that answers follow", "-j", "--json-schema", kind=Text("SCHEMA")
    )
    json_schema_file: Path | None = setting(
        SettingGroup.CONSTRAINTS, "File with such a schema", "-jf", "--json-schema-file", kind=File()
    )

    seed: int | None = setting(
        SettingGroup.ANSWERS,
        "Session seed; -1 is a new one for each session",
        "-s",
        "--seed",
        kind=Number(Range(-1, 2**64 - 1, "-1 is a new one", whole=True)),
        usual="-1",
    )
    max_tokens: int | None = setting(
        SettingGroup.ANSWERS,
        "Longest answer in tokens; 0 is no limit",
        "-n",
        "--max-tokens",
        of=(Settings, "max_tokens"),
        by_answer=True,
        usual=f"{LONGEST_ANSWER} in chat and run, 0 for serve",
        is_open=True,
        steps=Steps(label="max tokens", size=64, shown={0: "0 no limit"}),
    )
    thinking: str = setting(
        SettingGroup.ANSWERS,
        "How much a reasoning model thinks before it answers",
        "--think",
        of=(Settings, "thinking"),
        by_answer=True,
        steps=Steps(label="thinking"),
    )
    think_tokens: int = setting(
        SettingGroup.ANSWERS,
        "Longest thought in tokens, after which it is closed; 0 is no limit",
        "--think-tokens",
        of=(Settings, "think_tokens"),
        by_answer=True,
        api=ApiNames("think_tokens"),
        steps=Steps(label="think tokens", size=64, shown={0: "0 no limit"}),
    )
    context_full: str = setting(
        SettingGroup.ANSWERS,
        "When the context is full: drop the oldest turns, let the model summarise them, or stop",
        "--context-full",
        of=(Settings, "context_full"),
        by_answer=True,
        steps=Steps(label="context full"),
    )
    lookup: str = setting(
        SettingGroup.DRAFTING,
        "Text that prompt lookup searches",
        "--lookup",
        of=(Settings, "lookup"),
        by_answer=True,
        steps=Steps(label="lookup"),
    )
    system: str | None = setting(SettingGroup.ANSWERS, "System prompt", "--system", kind=Text())

    ctx_size: int = setting(
        SettingGroup.LOADING,
        "Context in tokens; 0 is the model's own",
        "-c",
        "--ctx-size",
        of=(LoadOptions, "n_ctx"),
        steps=Steps(label="context", doubles=True, end=2**20, shown={0: "model's"}),
    )
    gpu_layers: int = setting(
        SettingGroup.LOADING,
        "Layers of the target on the GPU; -1 is all",
        "-ngl",
        "--gpu-layers",
        of=(LoadOptions, "gpu_layers"),
        steps=Steps(label="GPU layers", shown=_LAYERS),
    )
    gpu_layers_draft: int = setting(
        SettingGroup.LOADING,
        "Layers of the draft model on the GPU; -1 is all",
        "-ngld",
        "--gpu-layers-draft",
        of=(LoadOptions, "gpu_layers_draft"),
        steps=Steps(label="  of the draft", shown=_LAYERS),
    )
    placement: str = setting(
        SettingGroup.LOADING,
        "Layers by -ngl and -ngld; auto: by the time of each model on the GPU and on the CPU",
        "--placement",
        of=(LoadOptions, "placement"),
        steps=Steps(label="placement"),
    )
    device: tuple[str, ...] = setting(
        SettingGroup.LOADING,
        "Devices for the target, with commas; `doctor` lists them",
        "--device",
        of=(LoadOptions, "devices"),
        kind=_DEVICES,
        usual="all",
    )
    device_draft: tuple[str, ...] = setting(
        SettingGroup.LOADING,
        "Devices for the draft model",
        "--device-draft",
        of=(LoadOptions, "devices_draft"),
        kind=_DEVICES,
        usual="all",
    )
    tensor_split: tuple[float, ...] = setting(
        SettingGroup.LOADING,
        "Share of the target for each device, such as 3,1",
        "--tensor-split",
        of=(LoadOptions, "tensor_split"),
        kind=ListOf("X,…", "use shares of 0 or more, such as 3,1", share),
    )
    main_gpu: int = setting(
        SettingGroup.LOADING, "GPU for what is not split", "--main-gpu", of=(LoadOptions, "main_gpu")
    )
    n_cpu_moe: int = setting(
        SettingGroup.LOADING,
        "Layers of the target whose experts stay in main memory; -1, or --cpu-moe, is all",
        "-ncmoe",
        "--n-cpu-moe",
        "--cpu-moe",
        of=(LoadOptions, "n_cpu_moe"),
        steps=Steps(label="experts, CPU", shown=_LAYERS),
    )
    tensor_overrides: tuple[str, ...] = setting(
        SettingGroup.LOADING,
        "Device for the target's tensors whose names match, such as ffn_.*_exps=CPU; repeatable",
        "-ot",
        "--override-tensor",
        of=(LoadOptions, "tensor_overrides"),
        kind=ListOf("PATTERN=DEVICE", "use PATTERN=DEVICE, such as ffn_.*_exps=CPU", check_override, repeated=True),
    )
    threads: int = setting(
        SettingGroup.LOADING,
        "Threads; 0 is one for each core",
        "-t",
        "--threads",
        of=(LoadOptions, "threads"),
        steps=Steps(label="threads", shown={0: "cores"}),
    )
    threads_draft: int = setting(
        SettingGroup.LOADING,
        "Threads of the draft model; 0 is as many as the target's",
        "-td",
        "--threads-draft",
        of=(LoadOptions, "threads_draft"),
        steps=Steps(label="  of the draft", shown={0: "the same"}),
    )
    batch_size: int = setting(
        SettingGroup.LOADING, "Tokens of a prompt read at a time", "-b", "--batch-size", of=(LoadOptions, "batch_size")
    )
    ubatch_size: int = setting(
        SettingGroup.LOADING,
        "Tokens computed at a time",
        "-ub",
        "--ubatch-size",
        of=(LoadOptions, "ubatch_size"),
        usual="512, on x86 CPUs 64 to 128",
    )
    cache_type_k: str = setting(
        SettingGroup.LOADING,
        "Type of the cache's keys",
        "-ctk",
        "--cache-type-k",
        of=(LoadOptions, "cache_type_k"),
        steps=Steps(label="cache, keys"),
    )
    cache_type_v: str = setting(
        SettingGroup.LOADING,
        "Type of the cache's values",
        "-ctv",
        "--cache-type-v",
        of=(LoadOptions, "cache_type_v"),
        steps=Steps(label="cache, values"),
    )
    flash_attention: str = setting(
        SettingGroup.LOADING,
        "Flash attention",
        "-fa",
        "--flash-attn",
        of=(LoadOptions, "flash_attention"),
        steps=Steps(label="flash attn"),
    )

    exact: str = setting(
        SettingGroup.LOADING,
        "Whether the same seed gives the same text with every draft, to the bit; slower",
        "--exact",
        of=(LoadOptions, "exact"),
        steps=Steps(label="exact"),
    )

    host: str = setting(
        SettingGroup.SERVING, "Address that the server listens on", "--host", of=(Serving, "host"), kind=Text("ADDRESS")
    )
    port: int = setting(SettingGroup.SERVING, "Port; 0 is any free one", "--port", of=(Serving, "port"))
    parallel: int = setting(
        SettingGroup.SERVING,
        "Requests answered at a time, each with a context of its own",
        "-np",
        "--parallel",
        of=(Serving, "parallel"),
    )
    queue: int = setting(SettingGroup.SERVING, "Further requests that may wait", "--queue", of=(Serving, "queue"))
    timeout: float = setting(
        SettingGroup.SERVING,
        "Seconds that an answer may take once its prompt is read; 0 is no limit",
        "--timeout",
        of=(Serving, "timeout"),
    )
    max_body: float = setting(
        SettingGroup.SERVING,
        "Largest request in MiB",
        "--max-body",
        of=(Serving, "max_body"),
        usual="8, or 32 if the model sees images",
    )
    api_key: tuple[str, ...] = setting(
        SettingGroup.SERVING,
        "Key that clients have to give; repeatable",
        "--api-key",
        of=(Serving, "api_key"),
        kind=ListOf("KEY", "use a text without spaces", api_key, repeated=True),
    )
    api_key_file: Path | None = setting(
        SettingGroup.SERVING,
        "File with one such key a line",
        "--api-key-file",
        of=(Serving, "api_key_file"),
        kind=File(),
        usual="",
    )
    allow_host: tuple[str, ...] = setting(
        SettingGroup.SERVING,
        "Name by which a proxy calls the server, such as chat.example.org; repeatable",
        "--allow-host",
        of=(Serving, "allow_host"),
        kind=ListOf("NAME", "use a name without a port, such as chat.example.org", host_name, repeated=True),
    )
    cors: tuple[str, ...] = setting(
        SettingGroup.SERVING,
        "Web page that may use the server, such as https://example.org; repeatable",
        "--cors",
        of=(Serving, "cors"),
        kind=ListOf("ORIGIN", "use an origin such as https://example.org, or *", origin, repeated=True),
    )
    alias: str = setting(
        SettingGroup.SERVING,
        "Name of the model in the API",
        "-a",
        "--alias",
        of=(Serving, "alias"),
        kind=Text("NAME"),
        usual="the file's name",
    )
    watch: str = setting(
        SettingGroup.SERVING,
        "Whether clients may watch what all others ask and get",
        "--watch",
        of=(Serving, "watch"),
    )

    theme: str | None = setting(SettingGroup.APPEARANCE, "Colours of the app; /theme lists them", kind=Text("NAME"))
    vi_keys: bool = setting(
        SettingGroup.APPEARANCE,
        "vi's keys in the prompt; `--vi` turns them on",
        kind=OnOff(),
        usual="off",
        factory=bool,
    )
    math: bool = setting(
        SettingGroup.APPEARANCE, "Formulas in answers shown in Unicode", kind=OnOff(), usual="on", factory=lambda: True
    )
    keys: dict[str, str] = setting(SettingGroup.APPEARANCE, "Other keys for the app", kind=KeyTable(), factory=dict)

    def of(self, home: type) -> dict[str, Any]:
        """The settings that one of the engine's dataclasses holds and that are not None, by its own names."""
        values = {each.name: getattr(self, each.key) for each in SETTINGS if each.home is home}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling parameters that were set.

        Raises ConfigError for a grammar's file that cannot be read, SettingError for a schema that cannot be used.
        """
        grammar = grammar_text(**{key: getattr(self, key) for key in GRAMMAR_KEYS})
        return self.of(SamplingParams) | ({} if grammar is None else {"grammar": grammar})


SETTINGS: tuple[Setting, ...] = tuple(replace(each.metadata["setting"], key=each.name) for each in fields(Config))
"""All settings, in the order in which help and documentation show them."""

BY_KEY = {each.key: each for each in SETTINGS}

API_SETTINGS = tuple((each, each.api) for each in SETTINGS if each.api)
"""The settings that requests over HTTP can choose, with their names there."""
