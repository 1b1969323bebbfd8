"""Who asks: the bases and the scope of a verified identity. Authentication comes before routing (RULES 20)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

from common.domain.errors import Refused

Scope = Literal["read", "write", "admin"]
_RANK: Final[Mapping[str, int]] = {"read": 0, "write": 1, "admin": 2}
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Headers(Protocol):
    """What an authenticator may look at."""

    def get(self, key: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Identity:
    """`bases` None means every base: what the operator has who owns the files of one machine, or whom the configuration
    grants it by name; no token can claim it. `scopes` is by base, `*` standing for those it does not name.
    """

    bases: frozenset[str] | None
    scopes: Mapping[str, Scope]

    def allows(self, base: str, scope: Scope) -> bool:
        if not base:
            return False
        if self.bases is not None and base not in self.bases:
            return False
        held = self.scopes.get(base, self.scopes.get("*", "read"))
        return _RANK[held] >= _RANK[scope]

    def holds(self, scope: Scope) -> bool:
        """Whether it has this scope on any base there may be."""
        if self.bases is not None:
            return any(self.allows(base, scope) for base in self.bases)
        held = {*self.scopes.values(), self.scopes.get("*", "read")}
        return any(_RANK[each] >= _RANK[scope] for each in held)


Authenticate = Callable[[Headers], Identity]
_OPERATOR: Final = Identity(None, {"*": "admin"})


def loopback_only(headers: Headers) -> Identity:
    """`KB_AUTH=none`: everything, but only for requests that a program on this machine sends (RULES 21)."""
    host = headers.get("Host") or ""
    if _hostname(f"//{host}") not in LOOPBACK:
        raise Refused(
            403, "FOREIGN_HOST", "Without authentication only loopback names are answered, such as localhost."
        )
    origin = headers.get("Origin")
    if origin and (_hostname(origin) not in LOOPBACK or urlsplit(origin).netloc != host):
        raise Refused(403, "FOREIGN_ORIGIN", "Without authentication pages of other sites are refused.")
    return _OPERATOR


@lru_cache(maxsize=256)
def _hostname(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""
