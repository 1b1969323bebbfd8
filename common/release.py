"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """Its version; 0 where only the sources are there, as in an image."""
    try:
        return version("fichario")
    except PackageNotFoundError:
        return "0"
