"""Waits between deliveries: they never shrink, never pass the cap, and start fast."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.backoff import BUSY, FAILURES, MAX_ATTEMPTS, Backoff
from common.domain.limits import too_large


@given(st.integers(1, 10_000), st.floats(0.0, 0.999))
def test_a_wait_grows_to_its_cap_and_jitter_only_lengthens_it(retry, jitter):
    for backoff in (FAILURES, BUSY, Backoff(1.0, 3.0, 9.0, spread=0.0)):
        wait = backoff.delay(retry, 0.0)
        assert 0.0 < wait <= backoff.delay(retry + 1, 0.0) <= backoff.cap
        assert wait <= backoff.delay(retry, jitter) <= wait * (1 + backoff.spread)


def test_the_first_retries_come_fast():
    assert [FAILURES.delay(retry, 0.0) for retry in (1, 2, 3)] == pytest.approx([0.2, 0.8, 3.2])
    assert [BUSY.delay(retry, 0.0) for retry in (1, 2, 6, 600)] == pytest.approx([0.1, 0.2, 2.0, 2.0])
    assert BUSY.delay(1, 0.5) == pytest.approx(0.1 * 1.125)


def test_all_attempts_together_outlast_an_outage_of_minutes():
    assert sum(FAILURES.delay(retry, 0.0) for retry in range(1, MAX_ATTEMPTS)) > 300


def test_a_refusal_names_both_sizes_and_the_setting():
    error = too_large(1500 << 20, 100 << 20)
    assert (error.code, error.file_fault) == ("TOO_LARGE", True)
    assert "1,500.0 MB" in error.reason
    assert "100.0 MB" in error.reason
    assert "KB_MAX_FILE_MB" in error.next_step
