"""Halves of surrogate pairs, which JSON lets through and UTF-8 does not."""

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text with each half of a surrogate pair as U+FFFD; as long as it was."""
    return _SURROGATE.sub("\ufffd", text)
