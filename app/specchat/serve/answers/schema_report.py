"""How a finished answer follows its schemas, where a grammar could not express them whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.deltas import AnswerSoFar
from specchat_engine.errors import SettingError
from specchat_engine.grammar.answer_check import flaw
from specchat_engine.grammar.schema import WHOLE, lenient
from specchat_engine.prompt.messages import function_of


def schema_report(request: Generate, answer: AnswerSoFar) -> dict[str, Any]:
    """The keywords that were left out, whether the answer is valid by the whole schemas, and where it is not.

    Empty if nothing was left out.
    """
    ignored: list[str] = []
    errors: list[str] = []
    for before, schema, places, text in (*_of_format(request, answer), *_of_calls(request, answer)):
        ignored += [before + place for place in places]
        errors += [before + error for error in (flaw(schema, text),) if error]
    if not ignored:
        return {}
    return {"ignored": ignored, "valid": not errors} | ({"error": errors[0]} if errors else {})


_Checked = tuple[str, Any, tuple[str, ...], str]
"""What comes before a place, a schema, the places that were left out, and the JSON to be checked."""


def _of_format(request: Generate, answer: AnswerSoFar) -> Iterator[_Checked]:
    grammar = request.settings.sampling.grammar
    if grammar[:1] == "{" and not answer.calls and (whole := json.loads(grammar).get(WHOLE)) is not None:
        yield "", whole, lenient(whole)[1], answer.content.strip()


def _of_calls(request: Generate, answer: AnswerSoFar) -> Iterator[_Checked]:
    functions = {function["name"]: function for function in map(function_of, request.tools.functions)}
    for call in answer.calls:
        schema = functions.get(call.name, {}).get("parameters")
        try:
            ignored = lenient(schema)[1] if isinstance(schema, dict) else ()
        except SettingError:
            ignored = ("#",)
        if ignored:
            yield f"{call.name}: ", schema, ignored, call.arguments
