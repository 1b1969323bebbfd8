"""How the leak probe asks each route of the HTTP contract. A route without a row here fails the probe."""

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, Final
from urllib.parse import quote

Route = tuple[str, str]
"""Method and path, names in braces: `("GET", "/v1/bases/{base}/jobs/{job_id}")`."""
_NAME: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")
_FILLED: Final = re.compile(r"\{([^{}]+)\}")
INTRUDER: Final = "intruder.md"
JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Canary:
    """The document planted in one reserved base: questions ask for `hook`; `secret` is sent only to plant it."""

    base: str
    source: str
    hook: str
    secret: str
    document_id: str = ""
    job_id: str = ""
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"# {self.hook}\n\nA palavra {self.hook} guarda o segredo {self.secret} desta base.\n"

    @property
    def marks(self) -> tuple[str, ...]:
        """What nobody but the base's own readers may be told."""
        ids = (self.document_id, self.job_id, *self.passages)
        return (self.base, self.source, self.hook, self.secret, *filter(None, ids))


def new_canary(base: str) -> Canary:
    """A canary of words that stand nowhere else."""
    hook, secret, name = ("".join(secrets.choice(ascii_lowercase) for _ in range(16)) for _ in range(3))
    return Canary(base, f"{name}.md", hook, secret)


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the function named `function`."""

    function: str
    method: str
    path: str
    data: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def said(self) -> str:
        """All that the asker itself said: being told it back is no leak."""
        return f"{self.path} {self.headers} {(self.data or b'').decode()}"


Body = Callable[[str, Canary], Any]
"""The JSON body of a request to a base that looks for a canary."""


@dataclass(frozen=True, slots=True)
class Way:
    """How one route is asked.

    `owner`: harmless, so its owner asks first and must be answered; `shows`: with a mark of the canary in it; `own`:
    harmless for another identity to ask of its own base; `refused`: another identity is refused (401, 403) wherever it
    names this base; `public`: it asks for no identity; `more`: further bodies to ask it with.
    """

    body: Body | None = None
    more: tuple[Body, ...] = ()
    upload: bool = False
    owner: bool = True
    shows: bool = True
    own: bool = True
    refused: bool = True
    public: bool = False


def _question(_base: str, canary: Canary) -> dict[str, Any]:
    return {"query": canary.hook, "threshold": None, "top_k": 50}


def _over_bases(base: str, canary: Canary) -> dict[str, Any]:
    return {**_question(base, canary), "bases": [{"base": base}]}


def _vector_store(_base: str, canary: Canary) -> dict[str, Any]:
    return {"query": canary.hook, "ranking_options": {"score_threshold": 0}, "max_num_results": 50}


def _material(base: str, canary: Canary) -> dict[str, Any]:
    return {**_question(base, canary), "max_characters": 20_000}


def _material_over_bases(base: str, canary: Canary) -> dict[str, Any]:
    return {**_material(base, canary), "bases": [{"base": base}]}


def _tool(name: str, *, named: bool = True) -> Body:
    """A call of a tool that looks for the canary, in its base or, where that is not `named`, wherever it may look."""

    def body(base: str, canary: Canary) -> dict[str, Any]:
        arguments: dict[str, str] = {"base": base} if named and name != "list" else {}
        if name == "search":
            arguments["query"] = f"A palavra {canary.hook} guarda o segredo desta base."
        elif name in {"get", "links"}:
            arguments["source"] = canary.document_id if named else canary.source
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    return body


def _listed_tools(_base: str, _canary: Canary) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


_MORE_TOOLS: Final = (
    *(_tool(name) for name in ("get", "toc", "links", "list")),
    *(_tool(name, named=False) for name in ("search", "get", "toc", "links")),
    _listed_tools,
)


def _nothing(_base: str, _canary: Canary) -> dict[str, Any]:
    return {}


def _signed(_base: str, canary: Canary) -> dict[str, Any]:
    return {"source": canary.source, "content_type": "text/markdown", "size": 10}


def _set(_base: str, canary: Canary) -> list[dict[str, Any]]:
    return [{"question": canary.hook, "source": canary.source}]


PUBLIC: Final[tuple[Route, ...]] = (("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json"))
"""What every function has beside its routes."""
BASE: Final = "/v1/bases/{base}"
WAYS: Final[Mapping[Route, Way]] = {
    ("POST", f"{BASE}/search"): Way(_question),
    ("POST", "/v1/search"): Way(_over_bases),
    ("POST", "/v1/vector_stores/{base}/search"): Way(_vector_store),
    ("POST", f"{BASE}/context"): Way(_material),
    ("POST", "/v1/context"): Way(_material_over_bases),
    ("POST", f"{BASE}/prompt"): Way(_material),
    ("POST", "/mcp"): Way(_tool("search"), more=_MORE_TOOLS, refused=False),
    ("GET", "/v1/bases"): Way(refused=False),
    ("GET", f"{BASE}/usage"): Way(shows=False),
    ("GET", f"{BASE}/card"): Way(),
    ("GET", f"{BASE}/toc"): Way(),
    ("GET", BASE + "/documents/{source}"): Way(),
    ("POST", f"{BASE}/documents"): Way(upload=True, owner=False, own=False),
    ("GET", f"{BASE}/documents"): Way(),
    ("DELETE", BASE + "/documents/{source}"): Way(owner=False),
    ("GET", BASE + "/documents/{source}/links"): Way(),
    ("GET", f"{BASE}/jobs"): Way(),
    ("GET", BASE + "/jobs/{job_id}"): Way(),
    ("DELETE", BASE): Way(owner=False, own=False),
    ("POST", f"{BASE}/reconcile"): Way(_nothing, shows=False),
    ("POST", "/v1/reconcile"): Way(_nothing, refused=False),
    ("POST", f"{BASE}/calibrate"): Way(_nothing, owner=False, own=False),
    ("GET", f"{BASE}/gaps"): Way(shows=False),
    ("GET", f"{BASE}/questions"): Way(shows=False),
    ("PUT", f"{BASE}/questions"): Way(_set, owner=False, own=False),
    ("POST", f"{BASE}/reindex"): Way(_nothing, owner=False, own=False),
    ("GET", f"{BASE}/reindex"): Way(owner=False),
    ("GET", f"{BASE}/reindex/plan"): Way(owner=False, own=False),
    ("GET", BASE + "/reindex/{reindex_id}"): Way(owner=False),
    **{
        ("POST", BASE + "/reindex/{reindex_id}/" + command): Way(_nothing, owner=False, own=False)
        for command in ("switch", "rollback", "cancel", "retire")
    },
    ("POST", f"{BASE}/uploads"): Way(_signed, owner=False, own=False),
    ("PUT", "/v1/uploads/{token}"): Way(upload=True, owner=False, own=False, refused=False, public=True),
    **dict.fromkeys(PUBLIC, Way(owner=False, own=False, refused=False, public=True)),
}


def as_route(method: str, rule: str) -> Route:
    """A router's own rule (`<source:source>`) as a route."""
    return method.upper(), _NAME.sub(r"{\1}", rule)


def requests(function: str, route: Route, base: str, sought: Canary, *, guess: bool) -> Iterator[Request]:
    """The route asked of `base` for the canary; with `guess` once for every id that its path's names could take."""
    (method, rule), way = route, WAYS[route]
    for path in _paths(rule, base, sought, guess=guess):
        if way.upload:
            headers = (("X-Source", INTRUDER), ("Content-Type", "text/markdown"))
            yield Request(function, method, path, b"intruder", headers)
        elif way.body is not None:
            for body in (way.body, *way.more):
                yield Request(function, method, path, json.dumps(body(base, sought)).encode(), tuple(JSON.items()))
        else:
            yield Request(function, method, path)


def bent(request: Request, base: str) -> Iterator[Request]:
    """The same request in another spelling of its base, which must not be another door."""
    if f"/{base}" in request.path:
        other = request.path.replace(f"/{base}", f"/%{ord(base[0]):02X}{base[1:]}", 1)
        yield Request(request.function, request.method, other, request.data, request.headers)


def _paths(rule: str, base: str, sought: Canary, *, guess: bool) -> list[str]:
    guesses = (sought.document_id, sought.source, sought.job_id) if guess else ()
    values = {
        "base": (base,),
        "source": guesses or (sought.document_id,),
        "job_id": guesses or (sought.job_id,),
        "reindex_id": guesses or ("last",),
        "token": (sought.source,),
    }
    paths = [rule]
    for name in _FILLED.findall(rule):
        paths = [path.replace(f"{{{name}}}", quote(value, safe="")) for path in paths for value in values[name]]
    return paths
