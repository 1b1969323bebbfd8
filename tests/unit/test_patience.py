"""Work that may hang is waited for only so long, and does not pile up."""

import threading
import time

import pytest

from common.domain.errors import Unavailable
from common.stages.patience import Patience


def test_what_ends_in_time_is_answered_or_raised():
    patience = Patience("the model", 30)
    assert patience.run(lambda: 42) == 42
    with pytest.raises(ValueError, match="own"):
        patience.run(lambda: int("its own"))
    with pytest.raises(TimeoutError):
        patience.run(_times_out)


def _times_out():
    raise TimeoutError("of the work itself")


def test_what_hangs_is_given_up_and_more_of_it_refused_until_it_ends():
    patience = Patience("the model", 0.05, threads=1)
    hold, ended = threading.Event(), threading.Event()

    def hang():
        hold.wait(60)
        ended.set()

    with pytest.raises(Unavailable, match=r"the model did not answer within 0\.05 s"):
        patience.run(hang)
    with pytest.raises(Unavailable, match="the model does not answer"):
        patience.run(lambda: 1)
    hold.set()
    assert ended.wait(10)
    until = time.monotonic() + 10
    while patience.overdue and time.monotonic() < until:
        pass
    assert patience.run(lambda: 2, 10) == 2
