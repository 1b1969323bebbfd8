"""Signed uploads of one machine: an address that stores one file once, for a quarter of an hour, and nothing else."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import threading
from dataclasses import dataclass
from urllib.parse import quote

from common.domain.errors import Refused
from common.domain.objects import ObjectRef
from common.domain.uploads import UPLOAD_SECONDS, SignedUpload, check_media_type
from common.ports import Clock


@dataclass(frozen=True, slots=True)
class Grant:
    """What one address allows: this object, of this type, of at most `size` bytes."""

    ref: ObjectRef
    content_type: str
    size: int


class SignedPuts:
    """Addresses signed with a key of this process: a restart ends them all, and each serves once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._open: dict[str, float] = {}

    def sign(self, ref: ObjectRef, content_type: str, size: int) -> SignedUpload:
        """A path below the server's own address. Raises Refused for a type that cannot be."""
        expires_at = self._clock.now() + UPLOAD_SECONDS
        nonce = secrets.token_urlsafe(16)
        media_type = check_media_type(content_type)
        granted = [ref.base, ref.name, media_type, size, nonce]
        body = base64.urlsafe_b64encode(json.dumps(granted).encode()).decode()
        with self._lock:
            now = self._clock.now()
            self._open = {kept: until for kept, until in self._open.items() if until > now} | {nonce: expires_at}
        token = quote(f"{body}.{self._seal(body)}", safe="")
        return SignedUpload(f"/v1/uploads/{token}", {"Content-Type": media_type}, expires_at)

    def redeem(self, token: str) -> Grant:
        """What the token allows, once. Raises Refused 403 for one that is not ours, was used, or is too old."""
        body, _, seal = token.rpartition(".")
        refused = Refused(403, "BAD_UPLOAD", "This address is no longer valid; ask for a new one.")
        if not hmac.compare_digest(seal.encode(), self._seal(body).encode()):
            raise refused
        try:
            base, name, media_type, size, nonce = json.loads(base64.urlsafe_b64decode(body))
        except (binascii.Error, ValueError) as error:
            raise refused from error
        with self._lock:
            until = self._open.pop(nonce, 0.0)
        if until <= self._clock.now():
            raise refused
        return Grant(ObjectRef(base, name), media_type, size)

    def _seal(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
