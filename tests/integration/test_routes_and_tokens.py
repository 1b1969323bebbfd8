"""Every route of every function against every token that must not open it: 401 or 403, and nothing has changed (RULES
20, 21). The keys come from a real server; a route that is added is asked as well.
"""

import json
from dataclasses import replace

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.adapters.frozen_clock import FrozenClock
from common.adapters.jose.keys import RemoteKeys
from common.adapters.jwt_identity import JwtIdentity
from functions.local.app import dispatch
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router
from tests.contract.issuer import by_hand, jwk, pem, published, rsa_key, sign
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content

NOW = 1_800_000_000
KEY, STRANGER = rsa_key(), rsa_key()
AUDIENCE, ISSUER = "fichario", "https://login.agency.example"
CLAIMS = {"base": BASE, "scope": "admin", "exp": NOW + 600, "aud": AUDIENCE, "iss": ISSUER}
SECRET = pem(KEY)
TOKENS = {
    "no token": None,
    "not a token": "admin",
    "expired": sign({**CLAIMS, "exp": NOW - 600}, KEY, "rsa"),
    "wrong audience": sign({**CLAIMS, "aud": "another"}, KEY, "rsa"),
    "alg=none": by_hand({"alg": "none", "typ": "JWT"}, CLAIMS),
    "HS256 by the public key": by_hand({"alg": "HS256", "typ": "JWT", "kid": "rsa"}, CLAIMS, SECRET),
    "another signer": sign(CLAIMS, STRANGER, "rsa"),
    "empty base": sign({**CLAIMS, "base": ""}, KEY, "rsa"),
    "no base": sign({name: value for name, value in CLAIMS.items() if name != "base"}, KEY, "rsa"),
}
OTHER = sign({**CLAIMS, "base": "globex"}, KEY, "rsa")
OWNER = sign(CLAIMS, KEY, "rsa")
SCOPES = {name: sign({**CLAIMS, "scope": name}, KEY, "rsa") for name in ("read", "write")}
BODY = json.dumps(
    {"query": "docum", "repair": True, "yes": True, "source": "um.md", "content_type": "text/markdown", "size": 9}
).encode()
BODIES = (
    (BODY, {"Content-Type": "application/json"}),
    (b"an intruder's text", {"Content-Type": "text/markdown", "X-Source": "um.md"}),
)


@pytest.fixture(scope="module")
def machine():
    made = CloudMachine(clock=FrozenClock(NOW))
    made.put("um", content("um", 1, 2))
    made.drain()
    with published(jwk(KEY, "rsa")) as issuer:
        who = JwtIdentity(RemoteKeys(issuer.url, made.clock), made.clock, audience=AUDIENCE, issuer=ISSUER)
        made.runtime = replace(made.runtime, authenticate=who)
        yield made


@pytest.fixture(scope="module")
def routers(machine):
    return query_router(machine.runtime), manage_router(machine.runtime)


def asked(machine, routers):
    """Every route as method, path with what exists in it, and the scope it needs."""
    job = next(iter(machine.catalog.jobs(BASE))).job_id
    found = []
    for router in routers:
        assert set(router.routes) == {(route.method, route.rule) for route in router._routes.values()}
        for route in router._routes.values():
            path = route.rule
            for name, value in (("base", BASE), ("job_id", job), ("source:source", "um.md"), ("reindex_id", "last")):
                path = path.replace(f"<{name}>", value)
            assert "<" not in path, f"say what stands in {route.rule}"
            found.append((route.method, path, route.scope))
    assert len(found) >= 11
    return found


def state(machine):
    """All that a request could have changed."""
    catalog = machine.catalog
    jobs, objects = list(catalog.jobs(BASE)), list(catalog.objects(BASE))
    stored = [
        (stat, machine.store.read(stat.ref, stat.generation, 0))
        for base in machine.store.bases()
        for stat in machine.store.list(base)
    ]
    record = catalog.base(BASE)
    points = machine.index.generations(BASE, record.live)
    kept = machine.runtime.keeping.questions(BASE)
    return catalog.epoch(BASE), list(catalog.bases()), jobs, objects, stored, points, list(machine.mail), kept


def send(routers, method, path, token, data=None, headers=None):
    sent = {**(headers or {}), **({"Authorization": f"Bearer {token}"} if token is not None else {})}
    environ = EnvironBuilder(path, method=method, data=data, headers=sent).get_environ()
    return dispatch(routers, Request(environ))


def refused(machine, routers, method, path, token):
    """The statuses of the request with each body, having seen that nothing changed."""
    before = state(machine)
    answers = [send(routers, method, path, token, *body) for body in BODIES]
    assert state(machine) == before, f"{method} {path} changed something"
    assert all(b"um.md" not in answer.get_data() and b"docum" not in answer.get_data() for answer in answers)
    return {answer.status_code for answer in answers}


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_that_is_not_believed_opens_no_route(machine, routers, kind):
    expected = {403} if kind in {"empty base", "no base"} else {401}
    for method, path, _ in asked(machine, routers):
        assert refused(machine, routers, method, path, TOKENS[kind]) == expected, (method, path)


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize(
    "path",
    ["/v1/nowhere", "/v1", "/v1/bases/", f"/v1/bases/{BASE}/none", "/mcp", "/v2/bases", "/", "/v1/bases//search"],
)
def test_unknown_paths_and_methods_tell_a_stranger_nothing(machine, routers, kind, path):
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert refused(machine, routers, method, path, TOKENS[kind]) <= {401, 403}, method


def test_another_bases_admin_is_refused_on_every_route_of_this_one(machine, routers):
    for method, path, scope in asked(machine, routers):
        if scope is not None:
            assert refused(machine, routers, method, path, OTHER) == {403}, (method, path)
    assert send(routers, "GET", "/v1/bases", OTHER).json == {"bases": []}
    before = state(machine)
    everywhere = send(routers, "POST", "/v1/reconcile", OTHER, b'{"repair": true, "yes": true}', BODIES[0][1]).json
    assert (everywhere["bases"], everywhere["errors"], everywhere["left"]) == ([], [], [])
    assert state(machine) == before


@pytest.mark.parametrize(("held", "lacks"), [("read", {"write", "admin"}), ("write", {"admin"})])
def test_a_scope_opens_no_route_that_asks_for_more(machine, routers, held, lacks):
    wanting = [(method, path) for method, path, scope in asked(machine, routers) if scope in lacks]
    assert len(wanting) >= len(lacks)
    for method, path in [*wanting, ("POST", "/v1/reconcile")]:
        assert refused(machine, routers, method, path, SCOPES[held]) == {403}, (method, path)


SCOPE_OF = {
    ("POST", "/v1/bases/<base>/documents"): "write",
    ("POST", "/v1/bases/<base>/uploads"): "write",
    ("DELETE", "/v1/bases/<base>/documents/<source:source>"): "write",
    ("DELETE", "/v1/bases/<base>"): "admin",
    ("POST", "/v1/bases/<base>/reconcile"): "admin",
    ("POST", "/v1/bases/<base>/calibrate"): "admin",
    ("POST", "/v1/bases/<base>/reindex"): "admin",
    ("GET", "/v1/bases/<base>/reindex"): "admin",
    ("GET", "/v1/bases/<base>/reindex/plan"): "admin",
    ("GET", "/v1/bases/<base>/reindex/<reindex_id>"): "admin",
    ("POST", "/v1/bases/<base>/reindex/<reindex_id>/switch"): "admin",
    ("POST", "/v1/bases/<base>/reindex/<reindex_id>/rollback"): "admin",
    ("POST", "/v1/bases/<base>/reindex/<reindex_id>/cancel"): "admin",
    ("POST", "/v1/bases/<base>/reindex/<reindex_id>/retire"): "admin",
    ("GET", "/v1/bases/<base>/gaps"): "admin",
    ("GET", "/v1/bases/<base>/questions"): "admin",
    ("PUT", "/v1/bases/<base>/questions"): "admin",
    ("POST", "/v1/reconcile"): None,
    ("GET", "/v1/bases"): None,
    ("POST", "/v1/search"): None,
    ("POST", "/mcp"): None,
    ("POST", "/v1/context"): None,
}


def test_every_route_asks_for_the_scope_that_it_has_to(routers):
    """RULES 20: the tests above believe the routes; a route that only reads stands in no list."""
    for route in (route for router in routers for route in router._routes.values()):
        assert route.scope == SCOPE_OF.get((route.method, route.rule), "read"), route.rule
        if (route.method, route.rule) not in SCOPE_OF:
            assert route.method == "GET" or route.rule.endswith(("/search", "/context", "/prompt"))


def test_the_owner_is_answered_on_every_route(machine, routers):
    """That the same requests pass with the right token, so that the refusals above are not for another reason."""
    reading = [(method, path) for method, path, scope in asked(machine, routers) if scope == "read" and method == "GET"]
    assert reading
    for method, path in reading:
        assert send(routers, method, path, OWNER).status_code == 200, path
    question = json.dumps({"query": "docum"}).encode(), BODIES[0][1]
    assert send(routers, "POST", f"/v1/bases/{BASE}/search", SCOPES["read"], *question).status_code == 200
    bounded = json.dumps({"query": "docum", "max_tokens": 500}).encode(), BODIES[0][1]
    for what in ("context", "prompt"):
        assert send(routers, "POST", f"/v1/bases/{BASE}/{what}", SCOPES["read"], *bounded).status_code == 200
    stored = b'[{"question": "docum?", "source": "um.md"}]', BODIES[0][1]
    assert send(routers, "PUT", f"/v1/bases/{BASE}/questions", OWNER, *stored).json["set"]["questions"] == 1
    assert send(routers, "GET", f"/v1/bases/{BASE}/gaps", OWNER).status_code == 200
    assert send(routers, "GET", "/v1/nowhere", OWNER).status_code == 404
