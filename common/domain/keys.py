"""A bucket's keys: which objects one can name, and which object a key names (RULES 1)."""

from typing import Final

from common.domain.errors import Refused
from common.domain.objects import ObjectRef, check_base, check_source, is_base_id, source_problem

MAX_KEY_BYTES: Final = 1024
"""Of a key, in UTF-8, at Cloud Storage and S3 alike."""


def can_be_stored(ref: ObjectRef) -> bool:
    """Whether a bucket can hold this object under its key."""
    return is_base_id(ref.base) and source_problem(ref.name) is None and _size(ref) <= MAX_KEY_BYTES


def check_key(ref: ObjectRef) -> str:
    """The object's key; raises Refused (400) for a base or name that cannot be, or a key of too many bytes."""
    check_base(ref.base)
    check_source(ref.name)
    if _size(ref) > MAX_KEY_BYTES:
        raise Refused(
            400, "BAD_SOURCE", f"Base and source together have at most {MAX_KEY_BYTES - 1:,} bytes here.", "source"
        )
    return ref.key


def object_at(key: str) -> ObjectRef | None:
    """The object that a listed key names; None for what lies outside all bases and for folder markers."""
    base, _, name = key.partition("/")
    ref = ObjectRef(base, name)
    return ref if can_be_stored(ref) else None


def _size(ref: ObjectRef) -> int:
    return len(ref.key.encode())
