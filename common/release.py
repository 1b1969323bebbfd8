"""Which release this is: the one place that says so, also where only the sources are there, as in an image."""

from typing import Final

RELEASE: Final = "0.1.0"
