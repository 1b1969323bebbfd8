"""Which signed tokens are believed. Keys and algorithms are the configuration's choice, never the token's."""

import re
from collections.abc import Collection
from math import isfinite
from typing import Any, Final, Protocol

import jwt

from common.domain.errors import Refused
from common.identity import Headers

LEEWAY_SECONDS: Final = 5.0
_MAX_CHARACTERS: Final = 16 * 1024
_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")

Key = jwt.PyJWK | bytes


class KeySource(Protocol):
    """Verification keys of one issuer, for the algorithms it was configured with."""

    @property
    def algorithms(self) -> tuple[str, ...]: ...

    def find(self, algorithm: str, kid: str | None) -> Key | None:
        """The issuer's key of that algorithm and name, None when it has none. Raises Unavailable."""


def bearer_token(headers: Headers) -> str:
    """The token of `Authorization: Bearer`, the only place it is looked for. Raises Refused 401."""
    scheme, _, token = (headers.get("Authorization") or "").strip().partition(" ")
    if not token:
        raise unauthenticated("Send a token as `Authorization: Bearer <token>`.")
    if scheme.lower() != "bearer":
        raise unauthenticated("Only the Bearer scheme is understood.")
    return token.strip()


def verified_claims(
    token: str,
    keys: KeySource,
    now: float,
    *,
    algorithms: Collection[str],
    audience: str = "",
    issuers: Collection[str] = (),
) -> dict[str, Any]:
    """The claims of a token that `keys` verify at `now` (seconds since the epoch).

    An empty `audience` or `issuers` is not asked for. Raises Refused 401, and Unavailable when the keys cannot be had.
    """
    header = _header(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise unauthenticated(f"The token must be signed with {' or '.join(algorithms)}.")
    key = keys.find(algorithm, header.get("kid"))
    if key is None:
        raise unauthenticated("The token is signed with a key that its issuer does not publish.")
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=audience or None,
            issuer=tuple(issuers) or None,
            # Times are compared with the Clock below; `sub` and `jti` decide nothing here.
            options={
                "verify_aud": bool(audience),
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_sub": False,
                "verify_jti": False,
            },
        )
    except jwt.PyJWTError as error:
        # The library's own words may quote the token.
        raise unauthenticated(_reason(error)) from None
    _check_times(claims, now)
    return claims


def unauthenticated(detail: str) -> Refused:
    return Refused(401, "UNAUTHENTICATED", detail)


def _header(token: str) -> dict[str, Any]:
    if len(token) > _MAX_CHARACTERS or not _COMPACT.fullmatch(token):
        raise unauthenticated("The token is no signed JWT.")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise unauthenticated("The token is no signed JWT.") from None
    if "crit" in header or "b64" in header:
        raise unauthenticated("The token asks for extensions that are not understood.")
    return header


def _reason(error: jwt.PyJWTError) -> str:
    if isinstance(error, jwt.InvalidSignatureError):
        return "The token's signature is wrong."
    if isinstance(error, jwt.InvalidAudienceError):
        return "The token is meant for another audience."
    if isinstance(error, jwt.InvalidIssuerError):
        return "The token comes from another issuer."
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"The token lacks the claim {error.claim}."
    return "The token cannot be verified."


def _check_times(claims: dict[str, Any], now: float) -> None:
    if "exp" not in claims:
        raise unauthenticated("The token lacks the claim exp.")
    if _instant(claims, "exp") <= now - LEEWAY_SECONDS:
        raise unauthenticated("The token has expired.")
    if "nbf" in claims and _instant(claims, "nbf") > now + LEEWAY_SECONDS:
        raise unauthenticated("The token is not valid yet.")


def _instant(claims: dict[str, Any], name: str) -> float:
    value = claims[name]
    # Python's JSON reads NaN and Infinity: an end that never comes.
    if isinstance(value, bool) or not isinstance(value, int | float) or (type(value) is float and not isfinite(value)):
        raise unauthenticated(f"The token's {name} is no instant.")
    return value
