"""Which bases a call without one means: those that its identity may read, and of a document the one that holds it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from common.asking import Asking
from common.domain.errors import Refused
from common.domain.objects import check_base
from common.domain.search import NO_MATCH
from common.identity import Identity

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_SHOWN: Final = 2000


@dataclass(frozen=True, slots=True)
class Reach:
    """What one identity reaches over one runtime."""

    runtime: Asking
    identity: Identity

    def readable(self) -> Sequence[str]:
        """Every base that may be read, by its id."""
        known = (record.base for record in self.runtime.catalog.bases() if record.live)
        return sorted(base for base in known if self.identity.allows(base, "read"))

    def asked(self, base: str | None) -> Sequence[str]:
        """The base that was named, else all that may be read; at least one. Raises Refused 400, 403, 404."""
        if base is not None:
            if not self.identity.allows(check_base(base), "read"):
                raise Refused(403, "FORBIDDEN", "You may not read this base; `list` tells those you may.", "base")
            return [base]
        found = self.readable()
        if not found:
            raise Refused(_NOT_FOUND, "NO_BASE", "There is no base that you may read.", sentinel=NO_MATCH)
        return found

    def holding(self, base: str | None, find: Callable[[str], str]) -> str:
        """The base that was named, else the only one in which `find` finds a document and answers its source.

        Raises Refused 404, or 409 AMBIGUOUS with `candidates`, each a base and a source.
        """
        bases = self.asked(base)
        if base is not None:
            return base
        candidates: list[dict[str, str]] = []
        ambiguous = False
        for each in bases:
            try:
                candidates.append({"base": each, "source": find(each)})
            except Refused as error:
                if error.status not in {_NOT_FOUND, _CONFLICT}:
                    raise
                named: Any = error.extra.get("candidates", ())
                ambiguous = ambiguous or bool(named)
                candidates += [{"base": each, "source": source} for source in named]
        if not candidates:
            raise Refused(_NOT_FOUND, "NOT_FOUND", "No base holds this document; `toc` tells what there is.", "source")
        if ambiguous or len(candidates) > 1:
            raise _ambiguous(candidates)
        return candidates[0]["base"]


def _ambiguous(candidates: Sequence[Mapping[str, str]]) -> Refused:
    names = "; ".join(f"base {each['base']}, source {each['source']}" for each in candidates)[:_SHOWN]
    return Refused(
        _CONFLICT, "AMBIGUOUS", f"Several documents have this name: {names}.", "source", candidates=candidates
    )
