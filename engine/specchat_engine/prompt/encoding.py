"""Turns a conversation into the token ids that the model continues, without its oldest turns if it is too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from specchat_engine.errors import ContextOverflowError, SettingError, TemplateError
from specchat_engine.prompt.control_tokens import guarded, unused_sign
from specchat_engine.prompt.images import ImageRun, ReadImage
from specchat_engine.prompt.messages import Asked, Message, Prompt
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.settings import answer_reserve


class Tokenizer(Protocol):
    """What encoding a prompt needs from a vocabulary."""

    @property
    def size(self) -> int:
        """The number of tokens; ids start at 0."""

    @property
    def special_texts(self) -> tuple[str, ...]:
        """Texts that the tokenizer would read as control tokens."""

    @property
    def adds_bos(self) -> bool:
        """Whether a prompt begins with the beginning-of-sequence token."""

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The ids of a prompt, and where images stand in it."""

    tokens: list[int]
    images: tuple[ImageRun, ...] = ()


def encode(request: Asked, template: ChatTemplate, tokenizer: Tokenizer) -> list[int]:
    """The prompt's ids, without images. Control tokens come from the template alone: if a message, a tool or a variable
    spells one out, it stays text. A raw prompt takes no template, and its control tokens are read.

    Raises TemplateError if the template fails or renders nothing, and SettingError for a raw prompt that is empty or
    has ids that the vocabulary does not have.
    """
    return encode_with_images(request, template, tokenizer, None).tokens


def encode_with_images(
    request: Asked, template: ChatTemplate, tokenizer: Tokenizer, read_image: ReadImage | None
) -> Encoded:
    """The same with the images of the messages, which `read_image` gives the tokens of; without it they are left out.

    The template sees a sign in the place of an image. Raises SettingError for an image that cannot be read.
    """
    prompt = Prompt.of(request)
    if prompt.raw is not None:
        return Encoded(_raw(prompt.raw, tokenizer))
    images = [image for message in prompt.messages for image in message.images] if read_image else []
    sign = ""
    try:
        if images:
            sign = unused_sign(template.values(prompt), tokenizer.special_texts)
            prompt = replace(prompt, messages=[_signed(message, sign) for message in prompt.messages])
        values, mark = guarded(template.values(prompt), tokenizer.special_texts)
    except RecursionError:
        raise TemplateError("the messages or tools are nested too deep for a prompt: make them flatter") from None
    rendered = template.rendered(values)
    parts = rendered.split(sign) if sign else [rendered]
    if len(parts) != len(images) + 1:
        raise TemplateError("the model's chat template loses images or repeats them: it cannot be used with images")
    made = Encoded(_tokens(parts[0].split(mark), tokenizer, beginning=True))
    runs: list[ImageRun] = []
    for image, part in zip(images, parts[1:], strict=True):
        assert read_image is not None
        image_tokens = read_image(image)
        runs += [run.moved(len(made.tokens)) for run in image_tokens.runs]
        made.tokens.extend((*image_tokens.tokens, *_tokens(part.split(mark), tokenizer)))
    if not made.tokens:
        raise TemplateError("the model's chat template makes an empty prompt of this conversation; try another file")
    return replace(made, images=tuple(runs))


def _signed(message: Message, sign: str) -> Message:
    """The message with a sign before its text for each image."""
    return replace(message, content=f"{sign * len(message.images)}\n{message.content}") if message.images else message


def _tokens(pieces: Sequence[str], tokenizer: Tokenizer, *, beginning: bool = False) -> list[int]:
    """The ids of pieces of a prompt, which are tokenized one by one."""
    first, *others = pieces
    ids = _beginning(first, tokenizer) if beginning else tokenizer.tokenize(first, special=True)
    for piece in others:
        ids += tokenizer.tokenize(piece, special=True)
    return ids


def _raw(prompt: str | Sequence[int], tokenizer: Tokenizer) -> list[int]:
    ids = _beginning(prompt, tokenizer) if isinstance(prompt, str) else [*prompt]
    if not ids:
        raise SettingError("the prompt is empty: give at least one token")
    if wrong := next((token for token in ids if not 0 <= token < tokenizer.size), None):
        raise SettingError(f"the prompt has token {wrong}: this vocabulary has 0 to {tokenizer.size - 1}")
    return ids


def _beginning(text: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of a prompt's beginning, with one token for the beginning if the model expects it."""
    ids = tokenizer.tokenize(text, special=True, add_bos=tokenizer.adds_bos)
    if len(ids) > 1 and tokenizer.adds_bos and ids[0] == ids[1]:
        del ids[0]
    return ids


def shown_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> dict[int, bytes]:
    """The bytes of the control tokens with these texts, by their ids; the vocabulary need not have all of them."""
    known = {text: tokenizer.tokenize(text, special=True) for text in texts if text in tokenizer.special_texts}
    return {ids[0]: text.encode() for text, ids in known.items() if len(ids) == 1}


def encode_text(
    text: str, tokenizer: Tokenizer, piece: Callable[[int], bytes], shown: Mapping[int, bytes] | None = None
) -> list[int]:
    """The ids whose pieces are exactly this text, for an answer that begins with it. The texts of the `shown` control
    tokens become these tokens, and all others stay text.

    Raises SettingError for a text that the vocabulary cannot write.
    """
    marks = {data.decode(): token for token, data in (shown or {}).items()}
    ids: list[int] = []
    for part in re.split(f"({'|'.join(map(re.escape, marks))})", text) if marks else [text]:
        ids += [marks[part]] if part in marks else _exactly(part, tokenizer, piece)
    return ids


def _exactly(text: str, tokenizer: Tokenizer, piece: Callable[[int], bytes]) -> list[int]:
    """The ids of a plain text. SentencePiece puts a space before every text, so there a line end goes first, whose
    tokens are dropped again."""
    data = text.encode("utf-8", "replace")
    for before in ("", "\n"):
        ids = tokenizer.tokenize(before + text, special=False)
        pieces = [piece(token) for token in ids]
        start, left = len(ids), len(data)
        while start and left > 0:
            start -= 1
            left -= len(pieces[start])
        if b"".join(pieces[start:]) == data and (before or not start):
            return ids[start:]
    raise SettingError("the model's tokens cannot write the text that the answer is to begin with: change it")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The ids of a prompt that fits, what is asked in it, and how many of the oldest turns were dropped.

    `prediction` has the ids of a text that the answer will probably repeat. `images` says where images stand.
    """

    tokens: list[int]
    asked: Asked
    dropped: int
    prediction: Sequence[int] = ()
    images: tuple[ImageRun, ...] = ()

    @property
    def request(self) -> str:
        """The user's last message or the raw text, empty if there is none."""
        prompt = Prompt.of(self.asked)
        if isinstance(prompt.raw, str):
            return prompt.raw
        return next((message.content for message in reversed(prompt.messages) if message.role == "user"), "")

    def notice(self, capacity: int) -> str:
        """The message for the user if turns were dropped."""
        turns = "the oldest turn" if self.dropped == 1 else f"the {self.dropped} oldest turns"
        return f"dropped {turns} to fit the context of {capacity} tokens"


def fit(request: Asked, encoded: Callable[[Sequence[Message]], Encoded], capacity: int) -> Fitted:
    """Drops whole turns from the front until the prompt leaves room for an answer; system messages always stay.

    A turn begins with a message of the user, but never between a call and its result. `encoded` makes the prompt of
    what is kept. A raw prompt and a whole one are never shortened. Raises ContextOverflowError if such a prompt is too
    long, or the last turn alone.
    """
    prompt = Prompt.of(request)
    reserve = answer_reserve(capacity)
    messages = [*prompt.messages]
    dropped = 0
    while True:
        made, starts = encoded(messages), _turns(messages)
        if len(made.tokens) <= capacity - reserve:
            break
        if len(starts) < 2 or prompt.whole:
            if len(made.tokens) < capacity:
                break
            what = "text" if prompt.raw is not None else "message" if len(starts) < 2 else "conversation"
            raise ContextOverflowError(
                f"the {what} makes a prompt of {len(made.tokens)} tokens, the context holds {capacity}: "
                "shorten it or load with a larger -c"
            )
        messages = [message for index, message in enumerate(messages) if message.role == "system" or index >= starts[1]]
        dropped += 1
    return Fitted(made.tokens, replace(prompt, messages=messages), dropped, images=made.images)


def _turns(messages: Sequence[Message]) -> list[int]:
    """The indexes where turns begin. A result belongs to the call with its id, or else to the last calls before it."""
    called: dict[str, int] = {}
    last: int | None = None
    between: set[int] = set()
    for index, message in enumerate(messages):
        if message.tool_calls:
            last = index
            called |= {call.id: index for call in message.tool_calls if call.id}
        elif message.role == "tool" and (call := called.get(message.tool_call_id, last)) is not None:
            between.update(range(call, index))
    return [index for index, message in enumerate(messages) if message.role == "user" and index not in between]


def common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    length = min(len(old), len(new))
    return next((index for index in range(length) if old[index] != new[index]), length)
