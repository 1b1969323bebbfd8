"""The long runs are collected only where this folder is named: `pytest tests/soak`, as `make soak` does."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(collection_path, config):
    named = (
        (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        for argument in config.invocation_params.args
    )
    return None if any(path.is_relative_to(HERE) for path in named) else True
