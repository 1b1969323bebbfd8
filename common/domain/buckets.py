"""Which bucket KB_BUCKET names, and who keeps it. Pure."""

import re
from dataclasses import dataclass
from typing import Final, Literal

_BUCKET_NAMES: Final = {
    "gs": re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"),
    "s3": re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
}


@dataclass(frozen=True, slots=True)
class CloudBucket:
    """A bucket of Cloud Storage (`gs`) or of S3 and what speaks like it (`s3`), by its bare name."""

    provider: Literal["gs", "s3"]
    name: str


def bucket_problems(mode: str, bucket: str) -> list[str]:
    """What is wrong with a bucket for this place to run."""
    if mode == "local" and "://" in bucket:
        return [f"KB_MODE=local watches a folder: KB_BUCKET is its path, not {bucket!r}."]
    if mode == "cloud" and bucket and cloud_bucket(bucket) is None:
        return [no_bucket(bucket)]
    return []


def cloud_bucket(text: str) -> CloudBucket | None:
    """The bucket that KB_BUCKET names, None where it names none."""
    scheme, divider, name = text.rpartition("://")
    provider: Literal["gs", "s3"] = "s3" if scheme == "s3" else "gs"
    known = provider == scheme or not divider
    return CloudBucket(provider, name) if known and _BUCKET_NAMES[provider].fullmatch(name) else None


def no_bucket(text: str) -> str:
    """What to say of a text that names no bucket."""
    return (
        f"KB_BUCKET is gs://name or s3://name (a name alone is Cloud Storage's), with nothing behind it, not {text!r}."
    )
