"""The Generations port over Firestore: one document per object, whose number never falls, even when it is gone."""

from collections.abc import Mapping, Sequence
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from common.adapters.firestore.calls import PATIENCE, Calls, Change, Row, Step
from common.adapters.firestore.layout import GENERATIONS
from common.domain.objects import ObjectRef, digest


class FirestoreGenerations:
    """Generations in one Firestore database, with `current` for the S3 store."""

    def __init__(self, client: firestore.Client, *, patience: float = PATIENCE) -> None:
        self._calls = Calls(client, patience)
        self._objects = client.collection(GENERATIONS)

    def assign(self, ref: ObjectRef, identity: str) -> int:
        def settled(seen: Sequence[Row]) -> Step[int]:
            (row,) = seen
            known = row.fields
            if known.get("present") and known["identity"] == identity:
                return Step(int(known["generation"]))
            generation = int(known.get("generation", 0)) + 1
            fields: dict[str, Any] = {
                "base": ref.base,
                "name": ref.name,
                "identity": identity,
                "generation": generation,
                "present": True,
            }
            return Step(generation, [Change(row, fields)])

        return self._calls.settle([self._place(ref)], settled)

    def known(self, base: str | None = None) -> Mapping[ObjectRef, tuple[str, int]]:
        query = self._objects.where(filter=FieldFilter("present", "==", True))  # noqa: FBT003
        if base is not None:
            query = query.where(filter=FieldFilter("base", "==", base))
        rows = [row.fields for row in self._calls.rows(query)]
        return {ObjectRef(row["base"], row["name"]): (row["identity"], int(row["generation"])) for row in rows}

    def absent(self, ref: ObjectRef, generation: int) -> bool:
        def settled(seen: Sequence[Row]) -> Step[bool]:
            (row,) = seen
            known = row.fields
            if known.get("generation") != generation:
                return Step(value=False)
            return Step(value=True, changes=[Change(row, {"present": False})] if known["present"] else [])

        return self._calls.settle([self._place(ref)], settled)

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        """Identity and generation of one object believed present, or None."""
        (row,) = self._calls.get([self._place(ref)])
        known = row.fields
        return (known["identity"], int(known["generation"])) if known.get("present") else None

    def _place(self, ref: ObjectRef) -> firestore.DocumentReference:
        return self._objects.document(digest(ref.base, ref.name))
