"""The migration that a base could begin: where it goes from, where to, and what it will take. Begins nothing."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from common.domain.errors import ModelMissing, Refused
from common.domain.records import BaseRecord
from common.domain.reindex import Reindex
from common.domain.space import alias_name, collection_name
from common.ports import Catalog, Clock, VectorIndex
from common.stages.adopting import Adopting, unknown_space
from common.stages.planning import Planning
from common.stages.spaces import Spaces

_ID_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Proposing:
    """Proposes to move a base that is ours, or to adopt one that is not."""

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    clock: Clock
    planning: Planning
    adopting: Adopting

    def propose(self, base: str, model: str | None = None, *, auto_switch: bool = False) -> Reindex:
        """The migration to that model, or to the configured one, with its plan.

        Raises Refused 404 NO_BASE, 409: REINDEX_RUNNING with its `id`, NO_MODEL, SAME_SPACE, REINDEX_STATE.
        """
        record = self.catalog.base(base)
        live = record.live if record else None
        foreign = self.index.foreign.of(base) if live is None else None
        if live is None and foreign is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        if record is not None:
            check_not_running(record)
        try:
            space, embedder = self.spaces.wanted(model)
        except ModelMissing as missing:
            raise Refused(409, "NO_MODEL", str(missing), "model") from missing
        green = collection_name(alias_name(self.spaces.template, base), space.fingerprint)
        now, key = self.clock.now(), uuid.uuid4().hex[:_ID_DIGITS]
        fresh: dict[str, Any] = {"id": key, "auto_switch": auto_switch, "started_at": now, "updated_at": now}
        if foreign is not None:
            plan = self.adopting.plan(base, foreign, space, embedder)
            before = unknown_space(foreign)
            return Reindex(blue=foreign.name, green=green, before=before, after=space, plan=plan, adopted=True, **fresh)
        if record is None or live is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        if record.reindex is not None and record.reindex.by_words:
            return _adopted_again(record.reindex, green, fresh)
        if green == live:
            detail = f"Base {base} is in this vector space already ({space.fingerprint}): a migration changes nothing."
            raise Refused(409, "SAME_SPACE", detail)
        before = self.spaces.stored(base, live).space.embedding
        plan = self.planning.plan(record, space, embedder)
        return Reindex(blue=live, green=green, before=before, after=space, plan=plan, **fresh)


def check_not_running(record: BaseRecord) -> None:
    """Raises Refused 409 REINDEX_RUNNING while two collections of the base are in use."""
    reindex = record.reindex
    if reindex is not None and reindex.open:
        what = "waits for `retire` or `rollback`" if reindex.state == "live" else f"is {reindex.state}"
        detail = f"A migration of base {record.base} {what}."
        raise Refused(409, "REINDEX_RUNNING", detail, id=reindex.id, state=reindex.state)


def _adopted_again(reindex: Reindex, green: str, fresh: Mapping[str, Any]) -> Reindex:
    """An adoption that failed or was rolled back, begun anew with what is in green."""
    if green != reindex.green:
        detail = "The base was adopted into another vector space: `cancel` lets it go, then start with this model."
        raise Refused(409, "REINDEX_STATE", detail, state=reindex.state)
    return replace(reindex, state="planned", reason="", rounds=0, report={}, **fresh)
