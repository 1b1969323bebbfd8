"""Names of entries in a cache that instances, releases and deployments share (RULES 22): equal for equal keys in every
process, different for all others, and without the words of a question.
"""

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from common.domain.objects import digest

_READABLE: Final = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_HASHED: Final = "-"


def shared_prefix(settings: Mapping[str, str], release: str) -> str:
    """What all names of one deployment begin with: entries of other settings or another release are never met."""
    told = json.dumps([dict(settings), release], sort_keys=True)
    return f"fichario:{digest('deployment', told)[:16]}:"


def shared_name(key: Hashable) -> str:
    """The name of a key, a text or a tuple of texts, numbers, None, tuples and dataclasses of those. Its last part is
    what was asked and enters the hash alone; the parts before it, such as base and epoch, stay readable.

    Raises TypeError for a key with any other part.
    """
    parts = key if isinstance(key, tuple) else (key,)
    shown = [_shown(part) for part in parts[:-1]]
    return ":".join([*shown, digest("key", json.dumps(_plain(parts), sort_keys=True))])


def _shown(part: object) -> str:
    text = str(part) if isinstance(part, str | int) else _HASHED
    return text if _READABLE.fullmatch(text) else _HASHED


def _plain(part: Any) -> Any:  # noqa: ANN401 - any part of a key
    """JSON-ready data that differs wherever two parts differ in value or in kind."""
    if part is None or isinstance(part, str | int | float):
        return part
    if isinstance(part, tuple):
        return [_plain(item) for item in part]
    if is_dataclass(part) and not isinstance(part, type):
        return {type(part).__name__: [_plain(getattr(part, field.name)) for field in fields(part) if field.compare]}
    raise TypeError(f"{type(part).__name__} cannot be a part of a shared key")
