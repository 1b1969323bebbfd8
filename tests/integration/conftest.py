"""A machine of its own for every test that asks for one."""

import pytest

from tests.integration.one_machine import OneMachine


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path)
    yield opened
    opened.runtime.close()
