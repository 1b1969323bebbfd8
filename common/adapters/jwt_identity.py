"""`KB_AUTH=jwt`: who asks by a token that the configured issuer signed, and by its claims alone (RULES 20)."""

import re
from collections.abc import Mapping
from typing import Any, Final, get_args

from common.adapters.jose.tokens import KeySource, bearer_token, verified_claims
from common.domain.errors import Refused
from common.domain.objects import is_base_id
from common.identity import Headers, Identity, Scope
from common.ports import Clock

_SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""From the least to the most."""
_BASE_CLAIMS: Final = ("bases", "base", "affiliate_id")
_AFFILIATE: Final = re.compile(r"[1-9][0-9]{0,18}")


class JwtIdentity:
    """Authenticates by bearer tokens. `audience` and `issuer` are asked for unless empty."""

    def __init__(self, keys: KeySource, clock: Clock, *, audience: str = "", issuer: str = "") -> None:
        self._keys = keys
        self._clock = clock
        self._audience = audience
        self._issuers = (issuer,) if issuer else ()

    def __call__(self, headers: Headers) -> Identity:
        """Raises Refused 401 for a token that is not believed, 403 for one that grants nothing, Unavailable."""
        claims = verified_claims(
            bearer_token(headers),
            self._keys,
            self._clock.now(),
            algorithms=self._keys.algorithms,
            audience=self._audience,
            issuers=self._issuers,
        )
        return claimed_identity(claims)


def claimed_identity(claims: Mapping[str, Any]) -> Identity:
    """What verified claims grant. Raises Refused 403 when that is nothing, or when they contradict each other."""
    claimed = [_bases(name, claims[name]) for name in _BASE_CLAIMS if name in claims]
    if not claimed:
        raise _nothing("The token names no base: it needs one of the claims bases, base and affiliate_id.")
    if any(bases != claimed[0] for bases in claimed):
        raise _nothing("The token's claims bases, base and affiliate_id name different bases.")
    return Identity(claimed[0], {"*": _scope(claims)})


def _bases(name: str, value: object) -> frozenset[str]:
    written: list[object] = [_affiliate(value)] if name == "affiliate_id" else [value]
    if name == "bases":
        written = value if isinstance(value, list) else []
    named = [base for base in written if isinstance(base, str) and is_base_id(base)]
    if not named or len(named) != len(written):
        raise _nothing(f"The token's claim {name} names no base, or something that is none.")
    return frozenset(named)


def _affiliate(value: object) -> str | None:
    """One spelling for each affiliate: no sign, no leading zero."""
    text = str(value) if isinstance(value, int | str) else ""
    return f"affiliate_{text}" if _AFFILIATE.fullmatch(text) else None


def _scope(claims: Mapping[str, Any]) -> Scope:
    if "scope" not in claims:
        return "read"
    words = claims["scope"].split(" ") if isinstance(claims["scope"], str) else []
    held = [scope for scope in _SCOPES if scope in words]
    if not held:
        raise _nothing("The token's scope has none of read, write and admin.")
    return held[-1]


def _nothing(detail: str) -> Refused:
    return Refused(403, "NO_GRANT", detail)
