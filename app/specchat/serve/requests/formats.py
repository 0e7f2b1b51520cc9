"""The formats that an answer can be held to: free text, any JSON object, or JSON that a schema describes."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from specchat.serve.api_errors import bad
from specchat.serve.requests.base import Wire
from specchat_engine.errors import SettingError
from specchat_engine.grammar.schema import check_schema, lenient

_ANY_OBJECT: dict[str, Any] = {"type": "object"}


class SchemaFormat(Wire):
    """A schema with its name."""

    name: str | None = None
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Wire):
    """The format of OpenAI's chat API; llama.cpp's servers also take a schema beside `json_object`."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: SchemaFormat | None = None
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")

    def grammar(self, param: str) -> str:
        """The grammar that holds an answer to the format; empty for free text. Raises ApiError for a schema."""
        if self.type == "text":
            return ""
        if self.type == "json_object":
            return grammar_of(_ANY_OBJECT if self.schema_ is None else self.schema_, param)
        if self.json_schema is None or self.json_schema.schema_ is None:
            raise bad(f"{param}.json_schema.schema is missing", f"{param}.json_schema.schema")
        return grammar_of(self.json_schema.schema_, f"{param}.json_schema.schema", strict=bool(self.json_schema.strict))


def grammar_of(schema: dict[str, Any] | bool, param: str, *, strict: bool = False) -> str:
    """The schema as a grammar holds an answer to it: the whole of it if it is `strict`, else what can be expressed.

    Raises ApiError if no grammar can be made of it.
    """
    try:
        if not strict:
            return json.dumps(lenient(schema)[0])
        check_schema(schema)
        return json.dumps(schema)
    except SettingError as error:
        raise bad(str(error), param) from None
    except RecursionError:
        raise bad("the JSON schema is nested too deep", param) from None
