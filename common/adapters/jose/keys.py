"""Where verification keys come from: an issuer's published set (JWKS), remembered for a while, or one shared secret."""

import json
import logging
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Final

import jwt
from jwt.algorithms import HMACAlgorithm

from common.adapters.jose.fetch import check_address, read_document
from common.adapters.jose.tokens import Key
from common.domain.errors import Misconfigured, Unavailable
from common.ports import Clock

TTL_SECONDS: Final = 300.0
COOLDOWN_SECONDS: Final = 10.0
"""Between two readings caused by an unknown key, and after a failed one while older keys serve."""
RETRY_SECONDS: Final = 2.0
"""After a failed reading while there are no keys at all."""
_MIN_RSA_BITS: Final = 2048
_MIN_SECRET_BYTES: Final = 32
_log = logging.getLogger("fichario.identity")


@dataclass(frozen=True, slots=True)
class _KeySet:
    keys: tuple[jwt.PyJWK, ...]
    read_at: float

    def pick(self, algorithm: str, kid: str | None) -> jwt.PyJWK | None:
        """A token without `kid` is only sure to mean a key when there is one of its algorithm alone."""
        fitting = [key for key in self.keys if key.algorithm_name == algorithm and kid in (None, key.key_id)]
        return fitting[0] if len(fitting) == 1 or (fitting and kid is not None) else None


class RemoteKeys:
    """KeySource of an issuer's JWKS. Safe between threads: however many ask, one reading is under way at a time.

    Keys are read again when older than TTL_SECONDS, and once for a name they lack. While the issuer does not answer,
    those read before go on serving.
    """

    def __init__(
        self, url: str, clock: Clock, *, algorithms: tuple[str, ...] = ("RS256", "ES256"), patience: float = 5.0
    ) -> None:
        """`patience` is how many seconds a caller waits at most. Raises Misconfigured for an unsafe address."""
        self.algorithms = algorithms
        self._url = check_address(url)
        self._clock = clock
        self._patience = patience
        self._lock = Lock()
        self._held: _KeySet | None = None
        self._reading: Future[_KeySet] | None = None
        self._began = 0.0
        self._searched = float("-inf")
        self._failed = float("-inf")

    def find(self, algorithm: str, kid: str | None) -> Key | None:
        """The published key of that algorithm and name, None when there is none. Raises Unavailable."""
        held, just_read = self._current()
        found = held.pick(algorithm, kid)
        if found is None and kid is not None and not just_read:
            found = self._reread(held).pick(algorithm, kid)
        return found

    def _current(self) -> tuple[_KeySet, bool]:
        now = self._clock.now()
        with self._lock:
            held = self._held
            if held is not None and 0 <= now - held.read_at < TTL_SECONDS:
                return held, False
            pause = RETRY_SECONDS if held is None else COOLDOWN_SECONDS
            reading = None if self._reading is None and _within(now, self._failed, pause) else self._join(now)
        try:
            return self._wait(reading), True
        except Unavailable:
            if held is None:
                raise
            return held, False

    def _reread(self, held: _KeySet) -> _KeySet:
        """The keys after one more reading; junk names cannot cause more than one per COOLDOWN_SECONDS."""
        now = self._clock.now()
        with self._lock:
            if self._reading is None and _within(now, self._failed, COOLDOWN_SECONDS):
                reading = None
            elif self._reading is None and _within(now, self._searched, COOLDOWN_SECONDS):
                return self._held or held
            else:
                self._searched = now
                reading = self._join(now)
        return self._wait(reading)

    def _join(self, now: float) -> Future[_KeySet]:
        """The reading under way, or a new one. The caller holds the lock."""
        if self._reading is None:
            self._reading, self._began = Future(), now
            Thread(target=self._read, args=(self._reading,), name="issuer-keys", daemon=True).start()
        return self._reading

    def _wait(self, reading: Future[_KeySet] | None) -> _KeySet:
        overdue = self._clock.now() - self._began >= self._patience
        if reading is None or (overdue and not reading.done()):
            raise Unavailable("The token issuer's keys cannot be read: it did not answer just now.")
        try:
            return reading.result(self._patience)
        except TimeoutError:
            raise Unavailable(f"The token issuer's keys cannot be read: no answer in {self._patience:g} s.") from None

    def _read(self, reading: Future[_KeySet]) -> None:
        try:
            held = _KeySet(_usable(read_document(self._url, self._patience), self.algorithms), self._clock.now())
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            _log.warning("the issuer's keys could not be read", extra={"error": str(error)})
            with self._lock:
                self._reading, self._failed = None, self._clock.now()
            reading.set_exception(error)
            return
        with self._lock:
            self._reading, self._held, self._failed = None, held, float("-inf")
        reading.set_result(held)


class SecretKey:
    """KeySource of one secret that issuer and verifier share."""

    algorithms: tuple[str, ...] = ("HS256",)

    def __init__(self, secret: str) -> None:
        """Raises Misconfigured for a public key in the secret's place, which everybody could sign with."""
        raw = secret.encode("utf-8", "surrogateescape")
        try:
            HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(raw)
        except jwt.InvalidKeyError:
            raise Misconfigured("KB_JWT_SECRET is a secret text, not a key, certificate or JWK.") from None
        if len(raw) < _MIN_SECRET_BYTES:
            _log.warning("KB_JWT_SECRET is shorter than the 32 bytes that RFC 7518 asks for")
        # HMAC itself fills a key with zeros up to its block (RFC 2104), so the signature is the same; the library warns
        # with every request otherwise.
        self._key = raw.ljust(_MIN_SECRET_BYTES, b"\0")

    def find(self, algorithm: str, kid: str | None) -> Key | None:  # noqa: ARG002 - there is one key
        return self._key if algorithm in self.algorithms else None


def _within(now: float, moment: float, seconds: float) -> bool:
    """A clock that went back does not lengthen the pause."""
    return 0 <= now - moment < seconds


def _usable(body: bytes, algorithms: tuple[str, ...]) -> tuple[jwt.PyJWK, ...]:
    """The keys of a JWKS (RFC 7517) that verify signatures of these algorithms. Raises Unavailable when it is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unavailable("The token issuer's keys cannot be read: the answer is not JSON.") from error
    published = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(published, list):
        raise Unavailable("The token issuer's keys cannot be read: the answer is no JWK set.")
    keys = tuple(key for data in published if (key := _key(data)) is not None and key.algorithm_name in algorithms)
    if not keys:
        _log.warning("the issuer publishes no usable key", extra={"count": len(published)})
    return keys


def _key(data: Any) -> jwt.PyJWK | None:  # noqa: ANN401 - parsed JSON
    """A public signature key, its algorithm given by its type; None for every other one, private ones included."""
    if not isinstance(data, dict) or data.get("use", "sig") != "sig" or "d" in data:
        return None
    operations = data.get("key_ops", ["verify"])
    algorithm = "RS256" if data.get("kty") == "RSA" else "ES256"
    if data.get("alg", algorithm) != algorithm or not isinstance(operations, list) or "verify" not in operations:
        return None
    if algorithm == "ES256" and (data.get("kty"), data.get("crv")) != ("EC", "P-256"):
        return None
    try:
        key = jwt.PyJWK(data, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return None if algorithm == "RS256" and key.key.key_size < _MIN_RSA_BITS else key
