"""What holds for all tests: how they are named, and that whatever the product switches off is off for them too."""

import common  # noqa: F401 - before any library that a test may import first


def pytest_make_parametrize_id(config, val, argname):
    """Bytes name no test: an archive holds the time at which it was made, which is not the same in each process that
    collects the tests.
    """
    return argname if isinstance(val, bytes) else None
