"""Whose a collection is, by its name alone."""

import re
from collections.abc import Callable
from typing import Final

from common.domain.objects import is_base_id
from common.domain.space import FINGERPRINT_DIGITS

_KEPT: Final = "__before"
_OURS: Final = re.compile(rf"__(?:[0-9a-f]{{{FINGERPRINT_DIGITS}}}|before)\Z")
_NOBODY: Final = "\0"


def is_ours(alias: str, collection: str) -> bool:
    """Whether it is a collection that we made for the base of that alias."""
    return re.fullmatch(rf"{re.escape(alias)}__[0-9a-f]{{{FINGERPRINT_DIGITS}}}", collection) is not None


def kept_name(alias: str) -> str:
    """What the copy of a foreign collection is called that stood under the alias's name."""
    return f"{alias}{_KEPT}"


def base_of(alias_of: Callable[[str], str], name: str) -> str | None:
    """The base whose alias has this name; None for one that no base's can have, or that a collection of ours has."""
    before, _, after = alias_of(_NOBODY).partition(_NOBODY)
    base = name.removeprefix(before).removesuffix(after)
    return base if alias_of(base) == name and is_base_id(base) and not _OURS.search(name) else None
