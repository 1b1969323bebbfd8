"""From an S3 bucket to the index: events in every shape, in any order and any number, changes by others and by
ourselves, and observers that number what they meet and tell nobody. All of it arrives as HTTP at the ingest function.
When one fails, an object's last version is not what answers.
"""

import base64
import json
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.domain.errors import Refused
from common.domain.notifications import write_notification
from common.domain.objects import ObjectRef
from functions.ingest.handle import router
from tests.contract.object_emulators import opened_s3
from tests.integration.one_machine import BASE, OneMachine, content

SCHEDULES = int(os.environ.get("KB_TEST_S3_SCHEDULES", "4"))
NAMES = ("um", "dois")


def recorded(key, bucket):
    place = {"bucket": {"name": bucket}, "object": {"key": quote_plus(key, safe="/")}}
    return {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": place}]}


def by_sns(key, bucket):
    return {"Type": "Notification", "Message": json.dumps(recorded(key, bucket))}


def by_sqs(key, bucket):
    return {"Records": [{"eventSource": "aws:sqs", "body": json.dumps(by_sns(key, bucket))}]}


def by_eventbridge(key, bucket):
    detail = {"bucket": {"name": bucket}, "object": {"key": key}}
    return {"source": "aws.s3", "detail-type": "Object Created", "detail": detail}


def by_pubsub(key, bucket):
    return pushed({}, by_eventbridge(key, bucket))


def pushed(attributes, data):
    return {"message": {"attributes": attributes, "data": base64.b64encode(json.dumps(data).encode()).decode()}}


SHAPES = (recorded, by_sns, by_sqs, by_eventbridge, by_pubsub)


class Bucket:
    """A bucket with its index, the hints that the bucket owes us, and the changes we have told ourselves."""

    def __init__(self, stack, *, versioned):
        self.hints, self.told = [], []
        self.store, self.client, self.name = stack.enter_context(
            opened_s3(versioned=versioned, notify=self.told.append)
        )
        self.generations = self.store._generations
        self.machine = OneMachine(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.callback(self.machine.runtime.close)
        self.machine.names.update(NAMES)
        runtime = self.machine.runtime
        self.manage = replace(runtime.manage, store=self.store, announce=self.told.append)
        ports = replace(runtime.ingest, store=self.store, announce=self.told.append)
        self.router = router(replace(runtime, ingest=ports, bucket=self.name))
        self.version = 0
        self.sent = 0
        self.expected = {}

    def put(self, name, parts, through_us=False):
        self.version += 1
        data = content(name, self.version, parts)
        ref = ObjectRef(BASE, f"{name}.md")
        if through_us:
            self.manage.upload(BASE, ref.name, data, "")
        else:
            self.client.put_object(Bucket=self.name, Key=ref.key, Body=data)
        self.hints.append(ref)
        self.expected.pop(name, None)
        if parts:
            self.expected[name] = (self.version, parts)

    def remove(self, name, through_us=False):
        ref = ObjectRef(BASE, f"{name}.md")
        if through_us:
            try:
                self.manage.delete(BASE, ref.name)
            except Refused:
                return
        else:
            self.client.delete_object(Bucket=self.name, Key=ref.key)
        self.hints.append(ref)
        if self.store.stat(ref) is None:
            self.expected.pop(name, None)

    def observe_too_late(self, name):
        """Another process looked the object up long ago, and numbers only now what it saw, telling nobody."""
        self.generations.assign(ObjectRef(BASE, f"{name}.md"), "older 7 ")

    def deliver_hint(self, index, keep=False):
        """An event of S3 says that the object was touched; whether it was written or removed plays no part."""
        ref = self.hints[index % len(self.hints)]
        if not keep:
            self.hints.remove(ref)
        self.sent += 1
        self.deliver(SHAPES[self.sent % len(SHAPES)](ref.key, self.name))

    def deliver_told(self, index):
        self.deliver(pushed(*write_notification(self.told.pop(index % len(self.told)), self.name)))

    def deliver(self, body):
        environ = EnvironBuilder("/", method="POST", data=json.dumps(body)).get_environ()
        assert self.router(Request(environ)).status_code == 200

    def settle(self):
        while self.hints or self.told:
            if self.told:
                self.deliver_told(0)
            else:
                self.deliver_hint(0)


@pytest.fixture
def bucket():
    with ExitStack() as stack:
        yield Bucket(stack, versioned=False)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "upload", "remove", "delete", "late", "hint", "again", "told", "hint meets late"]),
        st.sampled_from(NAMES),
        st.integers(0, 7),
    ),
    max_size=14,
)


def take(bucket, step, name, number):
    match step:
        case "put" | "upload":
            bucket.put(name, number % 3, through_us=step == "upload")
        case "remove" | "delete":
            bucket.remove(name, through_us=step == "delete")
        case "late":
            bucket.observe_too_late(name)
        case "told":
            if bucket.told:
                bucket.deliver_told(number)
        case _:
            if bucket.hints:
                at = [number if step == "hint meets late" else -1]

                def meet(_):
                    at[0] -= 1
                    if at[0] == 0:
                        bucket.observe_too_late(name)

                bucket.machine.on_step = meet
                bucket.deliver_hint(number, keep=step == "again")
                bucket.machine.on_step = None


@pytest.mark.parametrize("versioned", [False, True])
def test_whatever_is_heard_in_whatever_order_the_bucket_is_what_answers(versioned):
    @settings(max_examples=SCHEDULES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def holds(steps):
        with ExitStack() as stack:
            bucket = Bucket(stack, versioned=versioned)
            for step in steps:
                take(bucket, *step)
            bucket.settle()
            bucket.machine.check(bucket.expected)

    holds()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("versioned", [False, True])
def test_what_people_do_to_the_bucket_is_what_answers(shape, versioned):
    """Upload, overwrite, delete, duplicate and late, each event on its own."""
    with ExitStack() as stack:
        bucket = Bucket(stack, versioned=versioned)
        jobs = bucket.machine.runtime.catalog.jobs
        event = shape(f"{BASE}/um.md", bucket.name)
        bucket.put("um", 2)
        bucket.deliver(event)
        bucket.machine.check({"um": (1, 2)})
        bucket.put("um", 1)
        for _ in range(2):
            bucket.deliver(event)
            bucket.machine.check({"um": (2, 1)})
        assert [job.state for job in jobs(BASE)] == ["indexed", "indexed"]
        bucket.remove("um")
        for _ in range(2):
            bucket.deliver(event)
        assert len(bucket.told) == 1
        bucket.deliver_told(0)
        bucket.machine.check({})
        bucket.deliver(event)
        assert (bucket.told, len(jobs(BASE))) == ([], 3)
        bucket.put("um", 2)
        bucket.deliver(event)
        bucket.machine.check({"um": (3, 2)})


@pytest.mark.parametrize("step", range(1, 8))
def test_a_version_that_loses_its_number_while_it_is_brought_in_is_brought_in(bucket, step):
    """When it fails: its job ended superseded, by a number that no event speaks of."""
    bucket.put("um", 3)
    take(bucket, "hint meets late", "um", step)
    assert bucket.hints == []
    assert bucket.told == []
    bucket.machine.check({"um": (1, 3)})


def test_a_job_that_a_later_upload_overtook_ends(bucket):
    """When it fails: whoever polls the first upload's job waits for ever."""
    bucket.put("um", 1, through_us=True)
    bucket.put("um", 2, through_us=True)
    bucket.deliver_hint(0)
    bucket.settle()
    bucket.machine.check({"um": (2, 2)})


def test_a_removed_object_that_comes_back_the_same_is_found_again(bucket):
    """When it fails: its number is that of the removed one, and the tombstone stops it."""
    data = content("um", 1, 2)
    ref = ObjectRef(BASE, "um.md")
    for _ in range(2):
        bucket.client.put_object(Bucket=bucket.name, Key=ref.key, Body=data)
        bucket.hints.append(ref)
        bucket.settle()
        bucket.machine.check({"um": (1, 2)})
        bucket.remove("um")
        bucket.settle()
        bucket.machine.check({})
