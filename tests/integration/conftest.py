"""What many flows ask for: a machine of their own, and what was logged."""

import logging

import pytest

from tests.integration.one_machine import OneMachine


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path)
    yield opened
    opened.runtime.close()


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


@pytest.fixture
def logged():
    """The records of our own loggers, from INFO on."""
    logger, lines = logging.getLogger("fichario"), Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel("INFO")
    yield lines.records
    logger.removeHandler(lines)
    logger.setLevel(level)
