"""Uploads that go straight to the bucket, by an address that carries its own permission."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from common.domain.errors import Refused

UPLOAD_SECONDS: Final = 900
ANY_TYPE: Final = "application/octet-stream"
_MEDIA_TYPE: Final = re.compile(r"[!-~]+/[!-~]+( ?; ?[ -~]+)?")


@dataclass(frozen=True, slots=True)
class SignedUpload:
    """A PUT to `url`, good until `expires_at` (seconds since the epoch), that has to carry exactly these headers."""

    url: str
    headers: Mapping[str, str]
    expires_at: float


def check_media_type(content_type: str) -> str:
    """The type itself, ANY_TYPE for none; raises Refused (400) for one that no header can carry."""
    if content_type and not _MEDIA_TYPE.fullmatch(content_type):
        raise Refused(400, "BAD_CONTENT_TYPE", "A content type looks like text/markdown.", "content_type")
    return content_type or ANY_TYPE
