"""From an S3 bucket to the index: hints in any order and any number, changes by others and by ourselves, and observers
that number what they meet and tell nobody. When one fails, an object's last version is not what answers.
"""

import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.domain.errors import Refused
from common.domain.objects import ObjectRef
from common.stages.ingest import ingest
from common.stages.touched import changes_of
from tests.contract.object_emulators import opened_s3
from tests.integration.one_machine import BASE, OneMachine, content

SCHEDULES = int(os.environ.get("KB_TEST_S3_SCHEDULES", "4"))
NAMES = ("um", "dois")


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
        self.ports = replace(runtime.ingest, store=self.store, announce=self.told.append)
        self.version = 0
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
        ref = self.hints[index % len(self.hints)]
        if not keep:
            self.hints.remove(ref)
        for change in changes_of(ref, self.store):
            ingest(change, self.ports)

    def deliver_told(self, index):
        ingest(self.told.pop(index % len(self.told)), self.ports)

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
