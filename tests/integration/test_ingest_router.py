"""Ingest as its broker sees it: what is acknowledged, what comes again, and that one change holds up no other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.adapters.plain_parser import PlainParser
from common.domain.errors import Busy, Unavailable
from common.domain.objects import ObjectRef
from functions.ingest.handle import router
from tests.integration.cloud_machine import BUCKET, CloudMachine
from tests.integration.one_machine import BASE, content

EVENTS = Path(__file__).parents[1] / "events"
NAMES = ("um", "dois", "tres")


class FailingParser:
    """Raises what stands under a file's name, and parses all others."""

    def __init__(self):
        self.failures = {}
        self.parsed = []

    def parse(self, data, name, content_type=""):
        self.parsed.append(name)
        if name in self.failures:
            raise self.failures[name]
        return PlainParser().parse(data, name, content_type)


@pytest.fixture
def machine():
    made = CloudMachine(windows=False)
    made.parser, made.stopping = FailingParser(), []
    ports = replace(made.runtime.ingest, parser=made.parser, stopping=lambda: bool(made.stopping))
    made.runtime = replace(made.runtime, ingest=ports)
    for name in NAMES:
        made.put(name, content(name, 1, 1))
    made.mail.clear()
    return made


def send(machine, body):
    environ = EnvironBuilder("/", method="POST", data=json.dumps(body), content_type="text/plain").get_environ()
    return router(machine.runtime)(Request(environ))


def batch(*names):
    """One delivery of S3 that speaks of all of them."""
    place = {"bucket": {"name": BUCKET}}
    return {
        "Records": [
            {"eventName": "ObjectCreated:Put", "s3": {**place, "object": {"key": f"{BASE}/{name}.md"}}}
            for name in names
        ]
    }


def states(machine):
    return {job.ref.name: job.state for job in machine.catalog.jobs(BASE)}


def test_an_instance_that_is_being_stopped_takes_no_event_and_begins_nothing(machine):
    machine.stopping.append(True)
    refused = send(machine, batch("um"))
    assert (refused.status_code, refused.json["code"], refused.headers["Retry-After"]) == (503, "UNAVAILABLE", "2")
    assert "another one takes the event" in refused.json["detail"]
    assert (states(machine), machine.parser.parsed) == ({}, [])
    health = EnvironBuilder("/healthz").get_environ()
    assert router(machine.runtime)(Request(health)).status_code == 200
    machine.stopping.clear()
    assert send(machine, batch("um")).status_code == 200
    assert states(machine) == {"um.md": "indexed"}


def test_every_change_of_a_batch_is_brought_in(machine):
    assert send(machine, batch(*NAMES)).json == {"status": "taken"}
    machine.check()
    assert set(states(machine).values()) == {"indexed"}


def test_one_change_that_has_to_wait_keeps_no_other_from_its_end(machine):
    machine.parser.failures = {"um.md": Busy("first"), "dois.md": Unavailable("second")}
    refused = send(machine, batch(*NAMES))
    assert (refused.status_code, refused.json["detail"], refused.headers["Retry-After"]) == (503, "first", "2")
    assert states(machine) == {"um.md": "processing", "dois.md": "processing", "tres.md": "indexed"}
    machine.parser.failures.clear()
    assert send(machine, batch(*NAMES)).status_code == 200
    machine.check()
    assert machine.parser.parsed.count("tres.md") == 1


def test_a_fault_of_ours_in_one_change_keeps_no_other_from_its_end(machine, logged):
    """Else a batch whose first change always fails would go to the dead letters with all the others unread."""
    machine.parser.failures = {"um.md": ZeroDivisionError("of ours")}
    assert send(machine, batch(*NAMES)).status_code == 500
    assert states(machine) == {"um.md": "processing", "dois.md": "indexed", "tres.md": "indexed"}
    machine.parser.failures["dois.md"] = Unavailable("out of reach")
    machine.put("dois", content("dois", 2, 1))
    machine.mail.clear()
    assert send(machine, batch("um", "dois")).status_code == 503
    assert [line.error_type for line in logged if line.getMessage() == "a change of a batch failed"] == [
        "ZeroDivisionError"
    ]


def test_a_batch_is_left_where_the_instance_is_told_to_stop(machine):
    """What was begun comes to its end or its checkpoint; the rest is delivered to another instance."""
    parse = machine.parser.parse

    def told_meanwhile(data, name, content_type=""):
        machine.stopping.append(True)
        return parse(data, name, content_type)

    machine.parser.parse = told_meanwhile
    refused = send(machine, batch(*NAMES))
    assert refused.status_code == 503
    assert set(states(machine)) == {"um.md"}
    machine.stopping.clear()
    machine.parser.parse = parse
    assert send(machine, batch(*NAMES)).status_code == 200
    machine.drain()
    machine.check()


def test_an_event_of_an_object_that_is_gone_is_acknowledged(machine, logged):
    machine.store.delete(ObjectRef(BASE, "um.md"), machine.store.stat(ObjectRef(BASE, "um.md")).generation)
    assert send(machine, batch("um")).status_code == 200
    assert states(machine) == {}
    assert [line.reason for line in logged if line.getMessage() == "ignored"] == ["the object is not in the bucket"]


@pytest.mark.parametrize("name", ["s3-sns-confirmation", "s3-test-event", "s3-tagging", "s3-put"])
def test_what_calls_for_no_work_is_acknowledged_and_logged(machine, logged, name):
    assert send(machine, json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))).status_code == 200
    assert states(machine) == {}
    (line,) = [line for line in logged if line.getMessage() == "ignored"]
    assert line.reason
    assert ("https://sns." in line.reason) is (name == "s3-sns-confirmation")


def test_what_nobody_sends_is_refused(machine):
    assert send(machine, {"anything": "else"}).status_code == 400
