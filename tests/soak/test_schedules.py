"""The state machine of the integration tests, over many more schedules. When it fails, hypothesis prints the shortest
steps that do; put them into `tests/integration/test_ingest_flow.py` as a test of their own.
"""

import os

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.test_state_machine import FolderAndIndex

SCHEDULES = int(os.environ.get("KB_SOAK_SCHEDULES", "2000"))


def test_every_schedule_ends_with_the_index_equal_to_the_folder():
    usual = FolderAndIndex.TestCase.settings
    run_state_machine_as_test(FolderAndIndex, settings=settings(usual, max_examples=SCHEDULES))
