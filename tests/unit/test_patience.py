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


def _hold(seconds):
    """Keeps its thread, and no other, for so long."""
    return threading.Event().wait(seconds)


def test_something_else_is_done_beside_work_that_takes_time():
    patience = Patience("the model", 30)
    begun, done = threading.Event(), threading.Event()

    def work():
        begun.set()
        return done.wait(20)

    def meanwhile():
        assert begun.wait(20)
        assert threading.current_thread() is threading.main_thread()
        done.set()

    assert patience.result(patience.begin(work), meanwhile=meanwhile)
    assert done.is_set()


def test_what_is_done_beside_counts_towards_the_limit_and_raises_as_it_is():
    patience = Patience("the model", 0.2)
    hold = threading.Event()
    began = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer"):
        patience.result(patience.begin(lambda: hold.wait(30)), meanwhile=lambda: _hold(0.3))
    assert time.monotonic() - began < 10
    with pytest.raises(ValueError, match="own"):
        patience.result(patience.begin(lambda: hold.wait(30)), meanwhile=lambda: int("its own"))
    hold.set()


def test_what_was_answered_while_something_else_was_done_is_answered():
    patience = Patience("the model", 0.05)
    begun = patience.begin(lambda: _hold(0.02) or 42)
    assert patience.result(begun, meanwhile=lambda: _hold(0.2)) == 42


def test_who_gives_up_takes_nothing_from_another_who_waits_for_the_same():
    patience = Patience("the model", 30, threads=2)
    hold = threading.Event()
    begun = patience.begin(lambda: hold.wait(30) and 42)
    for _ in range(3):
        with pytest.raises(Unavailable):
            patience.result(begun, 0.01)
    assert patience.overdue == 1
    assert patience.run(lambda: 1) == 1
    hold.set()
    assert patience.result(begun) == 42
    assert patience.overdue == 0


def test_work_that_never_had_a_thread_is_given_up_for_all():
    patience = Patience("the model", 30, threads=1)
    hold, done = threading.Event(), []
    holding = patience.begin(lambda: hold.wait(30))
    queued = patience.begin(lambda: done.append(1))
    for _ in range(2):
        with pytest.raises(Unavailable, match="did not answer"):
            patience.result(queued, 0.01)
    hold.set()
    assert patience.result(holding)
    assert (patience.run(lambda: 2), done, patience.overdue) == (2, [], 0)
