"""`fichario reconcile` for one base and for all of them, over the real routes and over answers that stop half way."""

import json
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from common.cli.api import Reply
from common.cli.main import build
from common.domain.objects import ObjectRef
from functions.local.machine import InProcess
from tests.integration.one_machine import BASE, content
from tests.integration.test_ingest_flow import put


def invoked(api, *arguments):
    @contextmanager
    def connect(_settings, _notice):
        yield api

    return CliRunner().invoke(build(connect), ["reconcile", *arguments])


def command(api, *arguments):
    """Exit code and output, read where it is JSON."""
    done = invoked(api, *arguments, "--json")
    return done.exit_code, json.loads(done.stdout) if done.stdout.startswith("{") else done.output


class Settling(InProcess):
    """The machine's own functions; who asks for a job is answered once everything is settled."""

    def __init__(self, machine):
        super().__init__(machine.runtime)
        self.machine = machine

    def call(self, method, path, **more):
        if "/jobs" in path:
            self.machine.settle()
        return super().call(method, path, **more)


@pytest.fixture
def drifted(machine):
    """Two bases that lost an event each, and one that lost none."""
    put(machine, "um", content("um", 1, 2))
    for base in ("globex", "initech"):
        machine.runtime.store.write(ObjectRef(base, "um.md"), content("um", 1, 1))
    machine.settle()
    for base in (BASE, "globex"):
        machine.runtime.store.write(ObjectRef(base, "dois.md"), content("dois", 1, 1))
        machine.runtime.queue.acknowledge(machine.runtime.queue.take("kb-events", 3600))
    return machine


def test_every_base_is_compared_and_mended(drifted):
    api = Settling(drifted)
    code, found = command(api)
    assert (code, found["missing"], found["errors"], found["left"]) == (0, 2, [], [])
    assert {row["base"]: row["missing"] for row in found["bases"]} == {BASE: 1, "globex": 1, "initech": 0}
    assert command(api, "--repair")[1]["missing"] == 2
    assert command(api)[1]["missing"] == 0
    assert {job.state for base in (BASE, "globex") for job in drifted.runtime.catalog.jobs(base)} == {"indexed"}


def test_one_base_alone_is_compared_with_its_details(drifted):
    code, found = command(Settling(drifted), "--base", "globex", "--repair")
    assert (code, found["missing"], found["details"][0]["object"]) == (0, 1, "dois.md")
    assert command(Settling(drifted))[1]["missing"] == 1
    code, said = command(Settling(drifted), "--base", "nobody")
    assert (code, "There is no base nobody" in said) == (1, True)


class Canned:
    """Answers of `POST /v1/reconcile` in turn, the last one again and again."""

    def __init__(self, *bodies):
        self.bodies, self.asked = list(bodies), []

    def call(self, method, path, *, body=None, **more):
        self.asked.append((method, path, body))
        assert len(self.asked) < 20, "it never ends"
        return Reply(200, self.bodies.pop(0) if len(self.bodies) > 1 else self.bodies[0])


def answered(*bases, errors=(), left=(), missing=1):
    return {
        "missing": missing * len(bases),
        "foreign": 3,
        "bases": [{"base": base, "missing": missing, "writeback_error": None} for base in bases],
        "errors": [{"base": base, "code": "UNAVAILABLE", "detail": "out of reach"} for base in errors],
        "left": list(left),
    }


def test_what_one_answer_left_is_asked_for_until_every_base_was_told():
    """The answers behind the first begin anew with bases that were told already: they count once."""
    api = Canned(
        answered("a", "b", left=["c", "d", "e"]),
        {**answered("c", "d", errors=["e", "b"], left=["b"]), "bases": answered("c", "d", "a", missing=5)["bases"]},
        answered("a", "b", missing=9),
    )
    code, found = command(api, "--yes")
    assert code == 1
    assert [row["base"] for row in found["bases"]] == ["a", "b", "c", "d"]
    assert (found["missing"], found["foreign"], found["left"]) == (12, 3, [])
    assert [row["base"] for row in found["errors"]] == ["e"]
    assert api.asked == [("POST", "/v1/reconcile", {"repair": False, "yes": True})] * 2


def test_answers_that_get_no_further_end_the_command():
    api = Canned(answered("a", left=["b"]))
    code, found = command(api)
    assert (code, found["left"], len(api.asked)) == (1, ["b"], 2)


def test_a_cloud_without_a_base_is_told_in_words():
    done = invoked(Canned(answered()))
    assert (done.exit_code, done.stdout) == (0, "No base to compare.\n")
    done = invoked(Canned(answered("a", errors=["b"])))
    assert (done.exit_code, done.stdout) == (1, "base  missing\na     1\nb: not compared: out of reach\n")
