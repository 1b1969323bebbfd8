"""The state machine of the integration tests, over many more schedules. When it fails, hypothesis prints the shortest
steps that do; put them into `tests/integration/test_ingest_flow.py` as a test of their own.
"""

import os
import tempfile

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.test_state_machine import FolderAndIndex
from tests.soak.places import place

SCHEDULES = int(os.environ.get("KB_SOAK_SCHEDULES", "2000"))


def test_every_schedule_ends_with_the_index_equal_to_the_folder(monkeypatch):
    usual = FolderAndIndex.TestCase.settings
    with place() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        run_state_machine_as_test(FolderAndIndex, settings=settings(usual, max_examples=SCHEDULES))
