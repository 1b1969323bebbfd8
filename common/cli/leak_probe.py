"""The tenant-leak probe: plants a canary in each of two bases reserved for it, asks every route as the other identity
and as nobody, and reports whatever tells of a canary or is not refused (RULES 23).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, Literal, Protocol

from common.cli.leak_routes import (
    INTRUDER,
    JSON,
    PUBLIC,
    WAYS,
    Canary,
    Request,
    Route,
    as_route,
    bent,
    new_canary,
    requests,
)
from common.domain.codes import TERMINAL
from common.domain.errors import Misconfigured, Unavailable

RESERVED: Final = ("leak-probe-a", "leak-probe-b")
"""Never a customer's: whatever they hold is deleted."""
POLLS: Final = 300
_AGAIN: Final = frozenset({429, 503})
_TRIES: Final = 5
_REFUSED: Final = frozenset({401, 403})
_MANAGE: Final = "manage"
_QUERY: Final = "query"


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is everything that arrived, headers too; `body` its JSON object, empty where it is none."""

    status: int
    text: str
    body: Mapping[str, Any] = field(default_factory=dict)


class Transport(Protocol):
    """Sends one request under an identity's token, or under none, and follows no redirect."""

    def send(self, request: Request, token: str | None) -> Answer: ...


Kind = Literal["leak", "not refused", "route not covered", "blind", "changed", "left behind"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one route; `why` names a mark's kind of place, never a token."""

    kind: Kind
    route: str
    why: str


@dataclass(slots=True)
class Report:
    """What the probe did and found; it is silent when nothing was found."""

    routes: int = 0
    requests: int = 0
    findings: list[Finding] = field(default_factory=list)

    def body(self) -> dict[str, Any]:
        """As --json prints it."""
        return {"routes": self.routes, "requests": self.requests, "findings": [asdict(f) for f in self.findings]}


@dataclass(frozen=True, slots=True)
class Party:
    """One of the two identities with the base that is its own."""

    token: str
    canary: Canary


def probe(
    routes: Mapping[str, Iterable[tuple[str, str]]],
    transport: Transport,
    tokens: tuple[str, str],
    wait: Callable[[], None],
) -> Report:
    """Ask all `routes` (method and rule, by function), which are the routers' own and what each deployment publishes.

    Each token is one identity with admin on its own reserved base and nothing on the other. Raises Misconfigured when
    a canary cannot be planted, Unavailable when it is not indexed in time.
    """
    asking = _Probe(transport, wait, Report())
    known = asking.covered({name: asking.all_routes(name, rules) for name, rules in routes.items()})
    try:
        first, second = (asking.plant(base, token) for base, token in zip(RESERVED, tokens, strict=True))
        for function, route in known:
            asking.ask(function, route, first, second)
            asking.ask(function, route, second, first)
        asking.check_unchanged(first)
        asking.check_unchanged(second)
    finally:
        for base, token in zip(RESERVED, tokens, strict=True):
            asking.clean_up(base, token)
    return asking.report


class _Probe:
    """One run against one deployment."""

    def __init__(self, transport: Transport, wait: Callable[[], None], report: Report) -> None:
        self._transport = transport
        self._wait = wait
        self.report = report

    def all_routes(self, function: str, rules: Iterable[tuple[str, str]]) -> set[Route]:
        """The router's rules, what every function has, and what this deployment publishes of itself."""
        published = self._send(Request(function, "GET", "/openapi.json"), None).body.get("paths")
        more = [
            as_route(method, path)
            for path, methods in (published.items() if isinstance(published, dict) else ())
            for method in (methods if isinstance(methods, dict) else ())
            if method in {"get", "put", "post", "delete", "patch"}
        ]
        return {as_route(method, rule) for method, rule in rules} | set(more) | set(PUBLIC)

    def covered(self, routes: Mapping[str, set[Route]]) -> list[tuple[str, Route]]:
        """The routes that the probe knows how to ask; each other one is a finding."""
        found = [(function, route) for function in sorted(routes) for route in sorted(routes[function])]
        self.report.routes = len(found)
        for _, route in found:
            if route not in WAYS:
                self._find("route not covered", route, "the probe does not know how to ask it")
        return [(function, route) for function, route in found if route in WAYS]

    def plant(self, base: str, token: str) -> Party:
        """Upload a canary as the base's owner, and wait until its owner is answered with it."""
        canary = new_canary(base)
        headers = (("X-Source", canary.source), ("Content-Type", "text/markdown"))
        path = f"/v1/bases/{base}/documents"
        stored = self._send(Request(_MANAGE, "POST", path, canary.text.encode(), headers), token)
        if stored.status != HTTPStatus.ACCEPTED:
            raise Misconfigured(f"The canary of {base} was not taken: {_said(stored)}")
        canary = replace(canary, document_id=stored.body["document_id"], job_id=stored.body["job_id"])
        self._until_indexed(canary, token)
        passages = self._passages(canary, token)
        if not passages:
            raise Misconfigured(
                f"The owner of {base} is not answered with its own canary; the probe would see nothing."
            )
        return Party(token, replace(canary, passages=passages))

    def ask(self, function: str, route: Route, owner: Party, other: Party) -> None:
        """One route for the owner's canary: as its owner, as the other identity there and at home, as nobody."""
        way, canary = WAYS[route], owner.canary
        if way.owner:
            for request in requests(function, route, canary.base, canary, guess=False):
                self._check_sight(route, request, owner, shows=way.shows)
        foreign = list(requests(function, route, canary.base, canary, guess=True))
        foreign += [other_spelling for plain in foreign for other_spelling in bent(plain, canary.base)]
        for request in foreign:
            self._check(route, request, other.token, canary, refused=way.refused)
            self._check(route, request, None, canary, refused=not way.public)
        if way.own:
            for request in requests(function, route, other.canary.base, canary, guess=True):
                self._check(route, request, other.token, canary, refused=False)

    def check_unchanged(self, owner: Party) -> None:
        """What others asked for must not have moved anything."""
        route = ("GET", f"/v1/bases/{owner.canary.base}/documents")
        if self._passages(owner.canary, owner.token) != owner.canary.passages:
            self._find("changed", route, "the canary is no longer answered to its owner")
        listed = self._send(Request(_MANAGE, *route), owner.token)
        if INTRUDER in {row["source"] for row in listed.body.get("documents", ())}:
            self._find("changed", route, "a document of another identity stands in the base")

    def clean_up(self, base: str, token: str) -> None:
        """Empty the reserved base."""
        done = self._send(Request(_MANAGE, "DELETE", f"/v1/bases/{base}"), token)
        if done.status not in {HTTPStatus.OK, HTTPStatus.ACCEPTED, HTTPStatus.NOT_FOUND}:
            self._find("left behind", ("DELETE", f"/v1/bases/{base}"), f"it could not be emptied: {_said(done)}")

    def _check_sight(self, route: Route, request: Request, owner: Party, *, shows: bool) -> None:
        """A request that its owner is not answered would find nothing for others either, and prove nothing."""
        answer = self._send(request, owner.token)
        if answer.status >= HTTPStatus.BAD_REQUEST or (shows and not _marks(answer, request, owner.canary)):
            self._find("blind", route, f"its owner is not answered: {answer.status}")

    def _check(self, route: Route, request: Request, token: str | None, canary: Canary, *, refused: bool) -> None:
        answer = self._send(request, token)
        who = "nobody" if token is None else "another identity"
        told = _marks(answer, request, canary)
        if told:
            self._find("leak", route, f"{request.path} told {who} {len(told)} marks of {canary.base}")
        if refused and answer.status not in _REFUSED:
            self._find("not refused", route, f"{request.path} answered {who} {answer.status} instead of 401 or 403")

    def _until_indexed(self, canary: Canary, token: str) -> None:
        request = Request(_MANAGE, "GET", f"/v1/bases/{canary.base}/jobs/{canary.job_id}")
        for _ in range(POLLS):
            answer = self._send(request, token)
            state = answer.body.get("state")
            if state == "indexed":
                return
            if state in TERMINAL or answer.status >= HTTPStatus.BAD_REQUEST:
                raise Misconfigured(f"The canary of {canary.base} was not indexed: {state or _said(answer)}")
            self._wait()
        raise Unavailable(f"The canary of {canary.base} is still not indexed.")

    def _passages(self, canary: Canary, token: str) -> tuple[str, ...]:
        """The ids of the passages that hold the canary's secret, as its owner is answered."""
        question = json.dumps({"query": canary.hook, "threshold": None, "top_k": 50}).encode()
        path = f"/v1/bases/{canary.base}/search"
        answer = self._send(Request(_QUERY, "POST", path, question, tuple(JSON.items())), token)
        found: Sequence[Mapping[str, Any]] = answer.body.get("passages", ())
        return tuple(passage["id"] for passage in found if canary.secret in passage["text"])

    def _send(self, request: Request, token: str | None) -> Answer:
        """One answer; what is busy for the moment is asked again."""
        self.report.requests += 1
        for _ in range(_TRIES):
            answer = self._transport.send(request, token)
            if answer.status not in _AGAIN:
                break
            self._wait()
        return answer

    def _find(self, kind: Kind, route: Route, why: str) -> None:
        finding = Finding(kind, " ".join(route), why)
        if finding not in self.report.findings:
            self.report.findings.append(finding)


def _marks(answer: Answer, request: Request, canary: Canary) -> list[str]:
    """The canary's marks in an answer that the asker did not say itself."""
    return [mark for mark in canary.marks if mark in answer.text and mark not in request.said]


def _said(answer: Answer) -> str:
    return f"{answer.status} {str(answer.body.get('detail', ''))[:200]}".strip()


def lines(report: Report) -> Iterator[str]:
    """The report for people."""
    for finding in report.findings:
        yield f"{finding.kind}: {finding.route}: {finding.why}"
    state = "silent" if not report.findings else f"{len(report.findings)} findings"
    yield f"{report.routes} routes, {report.requests} requests: {state}."
