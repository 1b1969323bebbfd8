"""What each tool takes, as models: they check a call's arguments and describe them to a model."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common.domain.search import MAX_QUERY
from functions.query.bodies import refused

MOST_HITS: Final = 20
MOST_ROWS: Final = 200
MOST_NAMED: Final = 30
"""More bases than this are not named in the tools' schemas; `list` tells them."""


class Arguments(BaseModel):
    """Arguments of a tool; one that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


A = TypeVar("A", bound=Arguments)
_Base = Annotated[
    str | None,
    Field(description="The knowledge base, by its id in `list`. Left out: all that you may read."),
]
_Source = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1200,
        description="The document: its source or id, or a citation from `search`, such as docs/gateway.md:10-24.",
    ),
]


class SearchArguments(Arguments):
    """What `search` takes."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUERY,
            description="The question as a person would ask it, or its key words; names and codes exactly as written.",
        ),
    ]
    base: _Base = None
    top_k: Annotated[int, Field(ge=1, le=MOST_HITS, description="How many passages at most.")] = 5
    source_prefix: Annotated[
        str | None, Field(min_length=1, description="Only documents whose source begins so, such as docs/api/.")
    ] = None


class GetArguments(Arguments):
    """What `get` takes."""

    source: _Source
    base: _Base = None
    offset: Annotated[
        int,
        Field(ge=0, description="Where the page begins: `next_offset` of the page before. Left out: the start."),
    ] = 0


class TocArguments(Arguments):
    """What `toc` takes."""

    base: _Base = None
    prefix: Annotated[str, Field(description="Only documents whose source begins so, such as docs/.")] = ""
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="How many documents at most.")] = 100
    cursor: Annotated[str | None, Field(description="The `next_cursor` of the part before.")] = None


class ListArguments(Arguments):
    """`list` takes nothing."""


class LinksArguments(Arguments):
    """What `links` takes."""

    source: _Source
    base: _Base = None


def checked(model: type[A], given: Mapping[str, Any]) -> A:
    """The arguments of a call. Raises Refused 400 naming the first at fault."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise refused(error) from error


def schema_of(model: type[Arguments], bases: Sequence[str]) -> dict[str, Any]:
    """The arguments' JSON Schema without what says nothing to a model; `base` is one of the few there are."""
    whole = model.model_json_schema()
    properties = {name: _plain(field) for name, field in whole.get("properties", {}).items()}
    if "base" in properties and 0 < len(bases) <= MOST_NAMED:
        properties["base"]["enum"] = list(bases)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": whole["required"]} if "required" in whole else schema


def _plain(field: Mapping[str, Any]) -> dict[str, Any]:
    """An optional argument is left out rather than null."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind.get("type") != "null"]
    kept = {name: value for name, value in field.items() if name not in {"title", "anyOf"} and value is not None}
    return {**(kinds[0] if kinds else {}), **kept}
