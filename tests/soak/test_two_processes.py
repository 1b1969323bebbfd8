"""The two query processes of the integration tests over many more interleavings. When it fails, hypothesis prints the
shortest steps that do; put them into `tests/integration/test_two_processes.py` as a test of their own.
"""

import os

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.test_two_processes import FirestoreProcesses, TwoProcesses, TwoProcessesWithRedis

INTERLEAVINGS = int(os.environ.get("KB_SOAK_INTERLEAVINGS", "1000"))
FIRESTORE_INTERLEAVINGS = int(os.environ.get("KB_SOAK_FIRESTORE_INTERLEAVINGS", "50"))


@pytest.mark.parametrize(
    ("machine", "count"),
    [
        (TwoProcesses, INTERLEAVINGS),
        (TwoProcessesWithRedis, INTERLEAVINGS),
        (FirestoreProcesses, FIRESTORE_INTERLEAVINGS),
    ],
)
def test_no_process_returns_the_old_answer_once_a_job_is_done(machine, count):
    run_state_machine_as_test(machine, settings=settings(machine.TestCase.settings, max_examples=count))
