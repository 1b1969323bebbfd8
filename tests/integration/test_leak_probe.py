"""The leak probe is silent over the real functions, and finds every kind of leak that is built into them on purpose."""

import json
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client
from werkzeug.wrappers import Request as HttpRequest

from common.boundary import Route, Router, answer
from common.cli import leak_routes
from common.cli.leak_probe import RESERVED, probe
from common.cli.main import build
from common.cli.probe import as_answer, command
from common.domain.errors import Misconfigured, Refused
from common.identity import Identity
from functions.local.app import application, dispatch
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router
from tests.integration.one_machine import OneMachine

TOKENS = ("a", "b")
BASES = dict(zip(TOKENS, RESERVED, strict=True))


def by_header(headers):
    """Whoever the token names, with admin on the one base that is theirs."""
    name = (headers.get("Authorization") or "").removeprefix("Bearer ")
    if name not in BASES:
        raise Refused(401, "NO_IDENTITY", "Say who you are.")
    return Identity(frozenset({BASES[name]}), {"*": "admin"})


class InProcess:
    """The functions without a port; `routers` may be bent, as a fault would bend them."""

    def __init__(self, machine, authenticate=by_header, bend=lambda routes: routes, more=()):
        runtime = replace(machine.runtime, authenticate=authenticate)
        self.machine = machine
        sound = {"query": query_router(runtime), "manage": manage_router(runtime)}
        self.routers = {
            name: Router([*bend(list(each._routes.values())), *(more if name == "query" else ())], authenticate, dict)
            for name, each in sound.items()
        }
        self.client = Client(self.serve)

    def serve(self, environ, start_response):
        response = dispatch(tuple(self.routers.values()), HttpRequest(environ))
        return response(environ, start_response)

    def send(self, request, token):
        headers = dict(request.headers) | ({"Authorization": f"Bearer {token}"} if token else {})
        got = self.client.open(request.path, method=request.method, data=request.data, headers=headers)
        return as_answer(got.status_code, str(got.headers), got.get_data())

    def routes(self):
        return {name: [(r.method, r.rule) for r in each._routes.values()] for name, each in self.routers.items()}

    def run(self):
        return probe(self.routes(), self, TOKENS, self.machine.settle)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("leaks"))
    yield opened
    opened.runtime.close()


def kinds(report):
    return {(finding.kind, finding.route) for finding in report.findings}


def test_the_functions_leak_nothing_and_the_probe_leaves_nothing(machine):
    functions = InProcess(machine)
    report = functions.run()
    assert report.findings == []
    assert report.routes == sum(len(rules) for rules in functions.routes().values()) + 2 * len(leak_routes.PUBLIC)
    machine.settle()
    for base in RESERVED:
        assert machine.runtime.catalog.totals(base).documents == 0
        assert list(machine.runtime.store.list(base)) == []


def test_the_mounted_application_leaks_nothing(machine):
    functions = InProcess(machine)
    functions.client = Client(application(replace(machine.runtime, authenticate=by_header)))
    assert functions.run().findings == []


def test_a_route_that_the_probe_does_not_know_fails_it(machine):
    unknown = Route("GET", "/v1/bases/<base>/everything", lambda _: answer({}), "read")
    assert kinds(InProcess(machine, more=[unknown]).run()) == {("route not covered", "GET /v1/bases/{base}/everything")}


def test_a_route_that_only_the_deployment_knows_fails_it(machine):
    paths = {"/v1/bases/{base}/everything": {"get": {}, "parameters": []}}
    published = Route("GET", "/openapi.json", lambda _: answer({"paths": paths}), None)
    functions = InProcess(
        machine, authenticate=lambda h: by_header(h) if h.get("Authorization") else NOBODY, more=[published]
    )
    assert ("route not covered", "GET /v1/bases/{base}/everything") in kinds(functions.run())


NOBODY = Identity(frozenset(), {})


def unguarded(rule):
    """One route that forgot to ask whether the caller may read the base."""
    return lambda routes: [replace(r, scope=None) if (r.method, r.rule) == rule else r for r in routes]


def test_every_route_without_its_guard_is_found(machine):
    guarded = {rule for rules in InProcess(machine).routes().values() for rule in rules if "<base>" in rule[1]}
    missed = set()
    for rule in guarded:
        if ("not refused", " ".join(leak_routes.as_route(*rule))) not in kinds(
            InProcess(machine, bend=unguarded(rule)).run()
        ):
            missed.add(rule)
        machine.settle()
    assert len(guarded) >= 8
    assert missed == set()


def swapped(rule, endpoint):
    return lambda routes: [replace(r, endpoint=endpoint) if r.rule == rule and r.method == "GET" else r for r in routes]


def test_a_listing_over_every_base_is_found(machine):
    listing = machine.runtime.listing

    def everything(_call):
        return answer({"bases": [listing.base(record.base) for record in machine.runtime.catalog.bases()]})

    assert kinds(InProcess(machine, bend=swapped("/v1/bases", everything)).run()) == {("leak", "GET /v1/bases")}


def test_a_lookup_by_id_alone_is_found_at_the_askers_own_base(machine):
    catalog, listing = machine.runtime.catalog, machine.runtime.listing

    def anywhere(call):
        for base in RESERVED:
            if catalog.job(base, call.path["job_id"]):
                return answer(listing.job(base, call.path["job_id"]))
        raise Refused(404, "NO_JOB", "There is no such job.")

    bend = swapped("/v1/bases/<base>/jobs/<job_id>", anywhere)
    assert kinds(InProcess(machine, bend=bend).run()) == {("leak", "GET /v1/bases/{base}/jobs/{job_id}")}


def test_a_refusal_that_tells_is_found(machine):
    functions = InProcess(machine)
    send = functions.send

    def telling(request, token):
        found = send(request, token)
        names = [known.ref.name for known in machine.runtime.catalog.objects(RESERVED[0]) if known.state == "indexed"]
        return replace(found, text=f"{found.text} {names}") if found.status == 403 else found

    functions.send = telling
    assert {kind for kind, _ in kinds(functions.run())} == {"leak"}


def test_another_spelling_of_a_base_is_no_door(machine):
    functions = InProcess(machine, bend=unguarded(("GET", "/v1/bases/<base>/documents")))
    send = functions.send

    def guarded_by_spelling(request, token):
        foreign = any(f"/{base}" in request.path for name, base in BASES.items() if name != token)
        return as_answer(403, "", b"{}") if foreign else send(request, token)

    functions.send = guarded_by_spelling
    assert ("leak", "GET /v1/bases/{base}/documents") in kinds(functions.run())


def test_a_deployment_that_asks_nobody_who_they_are_is_found(machine):
    found = kinds(InProcess(machine, authenticate=lambda _: Identity(None, {"*": "admin"})).run())
    assert ("not refused", "GET /v1/bases") in found
    assert ("leak", "GET /v1/bases/{base}/documents") in found


def test_what_an_intruder_leaves_is_found(machine):
    bend = unguarded(("POST", "/v1/bases/<base>/documents"))
    assert ("changed", f"GET /v1/bases/{RESERVED[0]}/documents") in kinds(InProcess(machine, bend=bend).run())
    machine.settle()


def test_a_probe_that_its_owner_is_not_answered_is_blind(machine):
    def broken(_call):
        raise Refused(400, "BAD_REQUEST", "Not like this.")

    found = kinds(InProcess(machine, bend=swapped("/v1/bases/<base>/jobs", broken)).run())
    assert found == {("blind", "GET /v1/bases/{base}/jobs")}


def test_two_tokens_of_one_identity_are_no_probe(machine):
    functions = InProcess(machine)
    with pytest.raises(Misconfigured, match=RESERVED[1]):
        probe(functions.routes(), functions, ("a", "a"), machine.settle)


def invoke(routes, *arguments):
    def connect(_settings, _notice):
        raise AssertionError("the probe needs no machine of its own")

    group = build(connect, [command(lambda: routes)])
    tokens = {"KB_PROBE_TOKEN_A": "a", "KB_PROBE_TOKEN_B": "b"}
    return CliRunner().invoke(group, ["probe-leaks", *arguments, "--json"], env=tokens)


@pytest.fixture
def deployed(machine):
    """The functions behind a port; who asks for a job is answered once everything is settled."""
    functions = InProcess(machine)

    def serve(environ, start_response):
        if "/jobs/" in environ["PATH_INFO"]:
            machine.settle()
        return functions.serve(environ, start_response)

    class Quiet(WSGIRequestHandler):
        def log(self, *_):
            """Say nothing."""

    server = make_server("127.0.0.1", 0, serve, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield functions, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_command_over_a_port_is_silent_or_fails(deployed):
    functions, address = deployed
    done = invoke(functions.routes(), "--address", address)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["findings"] == []
    more = {**functions.routes(), "query": [*functions.routes()["query"], ("GET", "/v1/everything")]}
    done = invoke(more, "--address", address, "--manage-address", address)
    assert done.exit_code == 1
    assert [found["kind"] for found in json.loads(done.stdout)["findings"]] == ["route not covered"]


@pytest.mark.parametrize("address", ["http://app.test", "app.test", "ftp://app.test", "https://", "https://x:port"])
def test_a_token_goes_over_https_only(address):
    assert invoke({}, "--address", address).exit_code == 2


def test_the_command_needs_both_tokens():
    group = build(lambda *_: None, [command(dict)])
    assert CliRunner().invoke(group, ["probe-leaks", "--address", "https://app.test"]).exit_code == 2
