"""What an answer is held to: the grammar of the settings, or that of calls, from where it has to hold."""

from __future__ import annotations

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.grammar import after_reasoning, calls_start, tool_grammar
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.prompt.encoding import Tokenizer, shown_tokens
from specchat_engine.prompt.messages import Prompt
from specchat_engine.settings import AUTO, Settings


def held_to(
    prompt: Prompt,
    settings: Settings,
    answer_format: AnswerFormat,
    vocabulary: Tokenizer,
    *,
    opened: bool,
    switched: bool,
) -> HeldGrammar:
    """What an answer to this prompt is held to.

    The grammar of the settings begins after the reasoning if the model is asked to think, and its template is
    `switched`: it has a switch for that. The grammar of calls begins where a call does, unless one has to be made.
    `opened` says that the prompt has opened the reasoning.
    """
    own = text = settings.sampling.grammar
    shown, start = shown_tokens(prompt.shown, vocabulary), None
    if prompt.must_call:
        text = tool_grammar(answer_format, prompt.tools, thinking=opened, parallel=prompt.parallel_calls)
    elif prompt.tools and not text:
        start = calls_start(answer_format, thinking=opened)
        text = tool_grammar(answer_format, prompt.tools) if start else ""
    elif text and settings.thinking not in (AUTO, "off") and switched:
        text = after_reasoning(text, answer_format, opened=opened)
    if text != own:
        shown |= shown_tokens(answer_format.reasoning_marks, vocabulary)
    return HeldGrammar(text, start, shown)
