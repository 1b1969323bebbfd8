"""`KB_AUTH=iam`: who asks by an identity token that Google signed; what they may is the configuration's (RULES 20)."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, get_args

from common.adapters.jose.tokens import KeySource, bearer_token, unauthenticated, verified_claims
from common.domain.errors import Misconfigured, Refused
from common.domain.objects import is_base_id
from common.identity import Headers, Identity, Scope
from common.ports import Clock

GOOGLE_KEYS: Final = "https://www.googleapis.com/oauth2/v3/certs"
GOOGLE_ISSUERS: Final = ("https://accounts.google.com", "accounts.google.com")
ALGORITHMS: Final = ("RS256",)
_REMOVED: Final = ".SIGNATURE_REMOVED_BY_GOOGLE"
_EMAIL: Final = re.compile(r"[^@\s:]+@[^@\s:]+", re.ASCII)
_SCOPES: Final = get_args(Scope)


class IamIdentity:
    """Authenticates by Google's identity tokens. `keys` are Google's (GOOGLE_KEYS), `grants` go by e-mail."""

    def __init__(self, keys: KeySource, clock: Clock, audience: str, grants: Mapping[str, Identity]) -> None:
        """Raises Misconfigured without an audience: tokens for other services would be believed."""
        if not audience:
            raise Misconfigured("KB_AUTH=iam needs KB_IAM_AUDIENCE.")
        self._keys = keys
        self._clock = clock
        self._audience = audience
        self._grants = grants

    def __call__(self, headers: Headers) -> Identity:
        """Raises Refused 401 for a token that is not believed, 403 for an e-mail without grant, Unavailable."""
        token = bearer_token(headers)
        if token.endswith(_REMOVED):
            raise unauthenticated(
                "Cloud Run took the signature off this token while checking it. Send one in X-Serverless-Authorization "
                "for Cloud Run, and another in Authorization for this service."
            )
        claims = verified_claims(
            token,
            self._keys,
            self._clock.now(),
            algorithms=ALGORITHMS,
            audience=self._audience,
            issuers=GOOGLE_ISSUERS,
        )
        email = claims.get("email")
        if not isinstance(email, str) or claims.get("email_verified") is not True:
            raise unauthenticated(
                "The token carries no verified e-mail. Ask for one that does: `format=full` at the metadata server, "
                "`includeEmail` in the IAM API."
            )
        granted = self._grants.get(_folded(email))
        if granted is None:
            raise Refused(403, "NO_GRANT", "KB_IAM_BASES grants this e-mail nothing.")
        return granted


def read_grants(text: str) -> Mapping[str, Identity]:
    """KB_IAM_BASES: `{e-mail: {"bases": [...] or ["*"], "scope": "read"}}`. Raises Misconfigured with every problem."""
    problems: list[str] = []
    try:
        written = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, problems))
    except (ValueError, RecursionError):
        raise Misconfigured("KB_IAM_BASES is JSON: e-mail -> {bases, scope}.") from None
    if not isinstance(written, dict) or not written:
        raise Misconfigured("KB_IAM_BASES names at least one e-mail: {e-mail: {bases, scope}}.")
    grants = {}
    for email, grant in written.items():
        found = _grant_problems(email, grant)
        problems += [f"KB_IAM_BASES, {email!r}: {problem}." for problem in found]
        if _folded(email) in grants:
            problems.append(f"KB_IAM_BASES, {email!r}: the same e-mail is named twice.")
        grants[_folded(email)] = None if found else _identity(grant)
    if problems:
        raise Misconfigured("\n".join(problems))
    return {email: identity for email, identity in grants.items() if identity is not None}


def _object(pairs: list[tuple[str, Any]], problems: list[str]) -> dict[str, Any]:
    """JSON lets a name stand twice and takes the last: a grant that somebody reads would silently not hold."""
    names = [name for name, _ in pairs]
    problems += [f"KB_IAM_BASES: {name!r} stands twice." for name in sorted({n for n in names if names.count(n) > 1})]
    return dict(pairs)


def _grant_problems(email: str, grant: Any) -> list[str]:  # noqa: ANN401 - parsed JSON
    problems = []
    if not email.isascii() or not _EMAIL.fullmatch(email):
        problems.append("this is no e-mail")
    if not isinstance(grant, dict):
        return [*problems, "a grant is {bases, scope}"]
    unknown = sorted(grant.keys() - {"bases", "scope"})
    if unknown:
        problems.append(f"a grant has bases and scope only, not {', '.join(unknown)}")
    if grant.get("scope", "read") not in _SCOPES:
        problems.append(f"scope is one of {', '.join(_SCOPES)}")
    bases = grant.get("bases")
    if not isinstance(bases, list) or not bases:
        problems.append('bases is a list of base ids, or ["*"] for all')
    elif bases != ["*"]:
        problems += [f"{base!r} is no base id" for base in bases if not isinstance(base, str) or not is_base_id(base)]
    return problems


def _identity(grant: Mapping[str, Any]) -> Identity:
    bases = None if grant["bases"] == ["*"] else frozenset(grant["bases"])
    return Identity(bases, {"*": grant.get("scope", "read")})


def _folded(email: str) -> str:
    """Case is folded in ASCII only: no other letter may become one of somebody else's address."""
    return email.lower() if email.isascii() else email
