"""OpenAPI 3.1 made of a function's own routes and what is written about each. Imported only when somebody asks for it:
it generates the schemas of every body from its model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from common.release import RELEASE

Route = tuple[str, str]
"""Method and rule, as a router has them."""
Schema = Mapping[str, Any]
PROBLEM: Final = "application/problem+json"
JSON: Final = "application/json"
TEXT: Final = "text/plain"
_REF: Final = "#/components/schemas/{model}"
_NAME: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")
_WORD: Final = re.compile(r"[a-z0-9]+")
_ALWAYS: Final = (401, 403, 500, 503)
_OF_JSON: Final = (400, 413, 415)
PATH_NAMES: Final[Mapping[str, Schema]] = {
    "base": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,62}$"},
    "source": {"type": "string", "minLength": 1, "maxLength": 1200, "description": "With `/` as `%2F` or as it is."},
    "job_id": {"type": "string", "minLength": 1},
    "reindex_id": {"type": "string", "minLength": 1, "description": "`last` is the last one of the base."},
    "token": {"type": "string", "minLength": 1},
}
"""What may stand in a path, by its name there."""


class Problem(BaseModel):
    """RFC 9457. `field` names what is to blame; some problems say more, such as `candidates`."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent or answered: its model or its schema, and its media type."""

    of: type[BaseModel] | Schema
    media: str = JSON


@dataclass(frozen=True, slots=True)
class Operation:
    """What is written about one route. `query` names parameters of its query string and `headers` those of the request,
    `problems` are statuses beyond those that follow from its kind, and `public` asks for no identity.
    """

    summary: str
    answers: Mapping[int, Body | None]
    body: Sequence[Body] = ()
    body_required: bool = True
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    problems: Sequence[int] = ()
    public: bool = False


def json_of(model: type[BaseModel], status: int = 200) -> Mapping[int, Body | None]:
    """The answers of an operation that has one."""
    return {status: Body(model)}


_ANSWERED: Final[Schema] = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
EVERYWHERE: Final[Mapping[Route, Operation]] = {
    ("GET", "/healthz"): Operation("Whether the function is alive", {200: Body(_ANSWERED)}, public=True),
    ("GET", "/readyz"): Operation(
        "Whether its model is loaded and its index reachable", {200: Body(_ANSWERED)}, problems=(500, 503), public=True
    ),
    ("GET", "/openapi.json"): Operation("This description", {200: Body({"type": "object"})}, public=True),
}
"""What every function has beside its routes."""


def describe(title: str, routes: Iterable[Route], operations: Mapping[Route, Operation]) -> dict[str, Any]:
    """The document of one function. Raises KeyError for a route that nothing is written about."""
    known = {route: operations[route] for route in routes} | dict(EVERYWHERE)
    names, definitions = _schemas(known.values())
    paths: dict[str, dict[str, Any]] = {}
    for (method, rule), operation in sorted(known.items(), key=lambda each: (each[0][1], each[0][0])):
        path = _NAME.sub(r"{\1}", rule)
        paths.setdefault(path, {})[method.lower()] = _operation(method, rule, operation, names)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": RELEASE, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


_DESCRIPTION: Final = (
    "Errors are problems (RFC 9457) with `code`, `detail` and the `field` to blame. More fields may follow in any "
    "answer. With ENABLE_KNOWLEDGE_BASE=false every route of the query function answers as a search without a match."
)


def merged(title: str, documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several functions behind one address as one document."""
    whole: dict[str, Any] = {}
    for document in documents:
        whole = whole or {**document, "info": {**document["info"], "title": title}}
        parts = whole["components"]
        schemas = {**parts["schemas"], **document["components"]["schemas"]}
        paths = {path: {**whole["paths"].get(path, {}), **methods} for path, methods in document["paths"].items()}
        whole = {**whole, "paths": {**whole["paths"], **paths}, "components": {**parts, "schemas": schemas}}
    return whole


def problems_of(rule: str, operation: Operation) -> list[int]:
    """Every status of a problem that a route of this rule may answer."""
    found = set(operation.problems)
    if not operation.public:
        found |= set(_ALWAYS)
    if any(body.media == JSON for body in operation.body):
        found |= set(_OF_JSON)
    if operation.query or operation.headers:
        found.add(400)
    if "<" in rule:
        found |= {400, 404}
    return sorted(found)


_Mode = Literal["validation", "serialization"]
_Names = Mapping[tuple[type[BaseModel], _Mode], Schema]


def _schemas(operations: Iterable[Operation]) -> tuple[_Names, dict[str, Any]]:
    """A reference for each model in each direction, and what they refer to."""
    used: dict[tuple[type[BaseModel], _Mode], None] = {(Problem, "serialization"): None}
    for operation in operations:
        used |= {(body.of, "validation"): None for body in operation.body if isinstance(body.of, type)}
        told = [body.of for body in operation.answers.values() if body]
        used |= {(model, "serialization"): None for model in told if isinstance(model, type)}
    names, top = models_json_schema([*used], ref_template=_REF)
    return {(model, mode): names[model, mode] for model, mode in used}, dict(top.get("$defs", {}))


def _operation(method: str, rule: str, operation: Operation, names: _Names) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": PATH_NAMES[name]} for name in _NAME.findall(rule)
    ]
    for place, given in (("query", operation.query), ("header", operation.headers)):
        parameters += [{"name": name, "in": place, "schema": schema} for name, schema in given.items()]
    answers: dict[str, dict[str, Any]] = {
        str(status): {
            "description": HTTPStatus(status).phrase,
            **({"content": _content([body], names, "serialization")} if body else {}),
        }
        for status, body in operation.answers.items()
    }
    told = _content([Body(Problem, PROBLEM)], names, "serialization")
    for status in problems_of(rule, operation):
        own = answers.setdefault(str(status), {"description": HTTPStatus(status).phrase})
        own["content"] = {**own.get("content", {}), **told}
    found: dict[str, Any] = {
        "operationId": "_".join(_WORD.findall(f"{method} {rule}".lower())),
        "summary": operation.summary,
        "parameters": parameters,
        "responses": dict(sorted(answers.items())),
        # Without KB_AUTH a server on this machine asks for no token.
        "security": [] if operation.public else [{"token": []}, {}],
    }
    if operation.body:
        content = _content(operation.body, names, "validation")
        found["requestBody"] = {"required": operation.body_required, "content": content}
    return found


def _content(bodies: Iterable[Body], names: _Names, mode: _Mode) -> dict[str, Any]:
    return {
        body.media: {"schema": names[body.of, mode] if isinstance(body.of, type) else dict(body.of)} for body in bodies
    }
