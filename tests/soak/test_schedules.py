"""The state machines of the integration tests, over many more schedules. When it fails, hypothesis prints the shortest
steps that do; put them into `tests/integration/test_ingest_flow.py` as a test of their own.
"""

import os
import tempfile

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.test_cloud_schedules import CloudSchedules, FirestoreSchedules
from tests.integration.test_state_machine import FolderAndIndex
from tests.soak.places import place

SCHEDULES = int(os.environ.get("KB_SOAK_SCHEDULES", "2000"))
CLOUD_SCHEDULES = int(os.environ.get("KB_SOAK_CLOUD_SCHEDULES", "1000"))
FIRESTORE_SCHEDULES = int(os.environ.get("KB_SOAK_FIRESTORE_SCHEDULES", "100"))


def test_every_schedule_ends_with_the_index_equal_to_the_folder(monkeypatch):
    usual = FolderAndIndex.TestCase.settings
    with place() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        run_state_machine_as_test(FolderAndIndex, settings=settings(usual, max_examples=SCHEDULES))


@pytest.mark.parametrize(
    ("machine", "count"), [(CloudSchedules, CLOUD_SCHEDULES), (FirestoreSchedules, FIRESTORE_SCHEDULES)]
)
def test_every_schedule_of_a_cloud_ends_with_the_index_equal_to_the_bucket(machine, count):
    run_state_machine_as_test(machine, settings=settings(machine.TestCase.settings, max_examples=count))
