"""The migration of a base from one collection (blue) to another (green): its states and what leads from one to the
next. Pure; what each state asks to be done is stages/reindex.py.

    planned -> building -> verifying -> ready -> live -> retired
    planned, building, verifying, ready -> cancelled        building, verifying -> failed        live -> rolled_back

One that adopts a collection (`adopted`) has no blue that we could ask: green answers from `building` on, by words until
it is `live`; failed or rolled back it may be started again, or cancelled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from common.domain.documents import JsonValue
from common.domain.errors import Refused
from common.domain.space import EmbeddingSpace, VectorSpace, space_from_json

State = Literal["planned", "building", "verifying", "ready", "live", "retired", "cancelled", "failed", "rolled_back"]
Command = Literal["build", "complete", "reopen", "pass", "switch", "rollback", "cancel", "retire", "fail"]
OrderKind = Literal["build", "rebuild", "verify", "recount", "retire"]

UNDER_WAY: Final[frozenset[State]] = frozenset({"planned", "building", "verifying"})
"""Somebody works on it, or a message to do so is on its way."""
OPEN: Final[frozenset[State]] = UNDER_WAY | {"ready", "live"}
"""Another migration of the base cannot start: two collections are in use."""
_MOVES: Final[Mapping[Command, Mapping[State, State]]] = {
    "build": {"planned": "building"},
    "complete": {"building": "verifying"},
    "reopen": {"verifying": "building", "ready": "building"},
    "pass": {"verifying": "ready"},
    "switch": {"ready": "live"},
    "rollback": {"live": "rolled_back"},
    "cancel": dict.fromkeys(("planned", "building", "verifying", "ready"), "cancelled"),
    "retire": {"live": "retired"},
    "fail": dict.fromkeys(("planned", "building", "verifying"), "failed"),
}
_ADOPTED: Final[Mapping[tuple[Command, State], State]] = {
    ("cancel", "failed"): "cancelled",
    ("cancel", "rolled_back"): "cancelled",
}
"""Also where an adopted collection stands under its name again, so that the base can be let go."""
_DONE: Final[Mapping[Command, frozenset[State]]] = {
    "build": frozenset({"building", "verifying", "ready", "live", "retired"}),
    "complete": frozenset({"verifying", "ready", "live", "retired"}),
    "pass": frozenset({"ready", "live", "retired"}),
    "switch": frozenset({"live", "retired"}),
    "rollback": frozenset({"rolled_back"}),
    "cancel": frozenset({"cancelled"}),
    "retire": frozenset({"retired", "cancelled", "failed", "rolled_back"}),
    "fail": frozenset({"failed"}),
    "reopen": frozenset({"building"}),
}
"""Where a command has had its effect already, so that saying it again changes nothing."""


@dataclass(frozen=True, slots=True)
class Reindex:
    """One migration. `blue` answered when it was planned, `green` is being made in the space `after`; `before` is the
    model of blue. `plan` is what it was expected to take, `report` what the comparison of both found, `rounds` how
    often something was found missing in green.
    """

    id: str
    blue: str
    green: str
    before: EmbeddingSpace
    after: VectorSpace
    state: State = "planned"
    auto_switch: bool = False
    plan: Mapping[str, JsonValue] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    rounds: int = 0
    started_at: float = 0.0
    updated_at: float = 0.0
    adopted: bool = False
    """`blue` is a foreign collection, which nobody asks: green answers by words until the switch."""
    texts_in: bool = False
    """All texts of an adopted collection are in green."""

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def open(self) -> bool:
        return self.state in OPEN

    @property
    def by_words(self) -> str:
        """Why the base is answered by words alone, empty where it is not: vectors of an adopted collection's texts are
        asked for only once all are there.
        """
        if not self.adopted or self.state in {"live", "retired", "cancelled"}:
            return ""
        if self.state in {"failed", "rolled_back"}:
            return "its adoption failed" if self.state == "failed" else "its adoption was rolled back"
        return "its vectors are being made" if self.texts_in else "its documents are still being brought in"


def moved(reindex: Reindex, command: Command, now: float, **changes: Any) -> Reindex | None:  # noqa: ANN401
    """The migration behind that command, None where it has had its effect already.

    Raises Refused 409 REINDEX_STATE for a command that its state does not allow.
    """
    following = _MOVES[command].get(reindex.state) or (
        _ADOPTED.get((command, reindex.state)) if reindex.adopted else None
    )
    if following is not None:
        return replace(reindex, state=following, updated_at=now, **changes)
    if reindex.state in _DONE[command]:
        return None
    allowed = sorted(state for state in _MOVES[command])
    raise Refused(
        409,
        "REINDEX_STATE",
        f"The migration is {reindex.state}; {command} is for one that is {' or '.join(allowed)}.",
        state=reindex.state,
    )


def worse_by(report: Mapping[str, Any], tolerance: float) -> dict[str, float]:
    """What green does worse than blue by more than the tolerance, and by how much; empty when it may go live."""
    found = {}
    for measure in ("recall_at_5", "mrr_at_10"):
        values = report.get(measure)
        # Rounded, for .93 - .90 is more than .03 to a machine.
        if values and (by := round(values["blue"] - values["green"], 4)) > tolerance:
            found[measure] = by
    lost = report.get("no_match", {}).get("newly_refused_share", 0.0)
    if lost > tolerance:
        found["newly_refused_share"] = round(lost, 4)
    return found


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done for a migration, as it travels: `build` it, `rebuild` those objects, `verify` green, `recount`
    behind a switch; or `retire` all whose grace is over (no base).
    """

    command: OrderKind
    base: str = ""
    id: str = ""
    objects: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JsonValue]:
        return {"command": self.command, "base": self.base, "id": self.id, "objects": list(self.objects)}


def reindex_from_json(data: Mapping[str, Any]) -> Reindex:
    before, after = EmbeddingSpace(**data["before"]), space_from_json(data["after"])
    return Reindex(**{**data, "before": before, "after": after})
