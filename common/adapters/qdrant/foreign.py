"""Collections on a Qdrant server that are not ours.

A server takes no alias of a collection's name, renames no collection, and brings a snapshot back only into a collection
that nobody reads meanwhile. So what an alias is to replace is copied point by point first, into a collection beside it:
from then on going back is a change of the alias, as atomic as any other.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from qdrant_client import QdrantClient, models

from common.adapters.qdrant.calls import Calls, CollectionExists, NoCollection
from common.adapters.qdrant.names import base_of, is_ours, kept_name
from common.domain.errors import Unavailable
from common.domain.foreign import Foreign, ForeignPoint, PointKey

_PAGE: Final = 256
_COPIED: Final = 64
"""Points per request with all their vectors and payloads: some MB at most."""


class QdrantForeign:
    """ForeignCollections (see the port) over the index's own `call`, so that both share one guard."""

    def __init__(self, client: QdrantClient, call: Calls, alias_of: Callable[[str], str]) -> None:
        self._client = client
        self._call = call
        self._alias_of = alias_of

    def bases(self) -> Sequence[str]:
        names, aliases = self._names(), self._aliases()
        found = {base_of(self._alias_of, name) for name in names}
        found |= {base_of(self._alias_of, alias) for alias in aliases}
        return sorted(base for base in found if base and self._found(base, names, aliases))

    def of(self, base: str) -> Foreign | None:
        name = self._found(base, self._names(), self._aliases())
        if name is None:
            return None
        params = self._call(self._client.get_collection, name).config.params
        vectors: Any = params.vectors or {}
        default = vectors.get("") if isinstance(vectors, dict) else vectors
        return Foreign(name, self._count(name), default.size if default else 0)

    def points(self, base: str) -> Iterator[ForeignPoint]:
        for page in self._pages(self._standing(base), _PAGE, vectors=False):
            yield from (ForeignPoint(_key(record), record.payload or {}) for record in page)

    def read(self, base: str, ids: Sequence[PointKey]) -> Sequence[ForeignPoint]:
        name, found = self._standing(base), {}
        for start in range(0, len(ids), _PAGE):
            wanted = list(ids[start : start + _PAGE])
            for record in self._call(self._client.retrieve, name, wanted, with_payload=True, with_vectors=False):
                found[_key(record)] = record.payload or {}
        return [ForeignPoint(key, found[key]) for key in ids if key in found]

    def keep(self, base: str) -> None:
        alias = self._alias_of(base)
        names, kept = self._names(), kept_name(alias)
        if alias not in names:
            return
        wanted = self._count(alias)
        if kept in names and self._count(kept) == wanted:
            return
        self._call(self._client.delete_collection, kept)
        self._create_like(alias, kept)
        for page in self._pages(alias, _COPIED, vectors=True):
            self._call(self._client.upsert, kept, [_as_it_is(record) for record in page], wait=True)
        if self._count(kept) != self._count(alias):
            raise Unavailable(f"collection {alias} changes faster than it can be kept; stop who writes to it")

    def replace(self, base: str, collection: str) -> None:
        alias = self._alias_of(base)
        self.keep(base)
        if alias in self._names():
            with suppress(NoCollection):
                self._call(self._client.delete_collection, alias)
        if self._aliases().get(alias) != collection:
            self._point(alias, collection)

    def restore(self, base: str, name: str) -> None:
        alias = self._alias_of(base)
        names = self._names()
        wanted = kept_name(alias) if name == alias else name
        if alias not in names and wanted in names and self._aliases().get(alias) != wanted:
            self._point(alias, wanted)

    def release(self, base: str) -> None:
        alias = self._alias_of(base)
        kept = kept_name(alias)
        if kept in self._names() and self._aliases().get(alias) != kept:
            self._call(self._client.delete_collection, kept)

    def _found(self, base: str, names: set[str], aliases: dict[str, str]) -> str | None:
        alias = self._alias_of(base)
        if alias in names:
            return alias
        named = aliases.get(alias)
        return None if named is None or is_ours(alias, named) else named

    def _standing(self, base: str) -> str:
        name = self._found(base, self._names(), self._aliases())
        if name is None:
            raise Unavailable(f"there is no collection to adopt for base {base}")
        return name

    def _names(self) -> set[str]:
        return {known.name for known in self._call(self._client.get_collections).collections}

    def _aliases(self) -> dict[str, str]:
        known = self._call(self._client.get_aliases).aliases
        return {alias.alias_name: alias.collection_name for alias in known}

    def _count(self, name: str) -> int:
        return self._call(self._client.count, name, exact=True).count

    def _point(self, alias: str, collection: str) -> None:
        forget = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        name = models.CreateAlias(collection_name=collection, alias_name=alias)
        self._call(self._client.update_collection_aliases, [forget, models.CreateAliasOperation(create_alias=name)])

    def _create_like(self, name: str, copy: str) -> None:
        known = self._call(self._client.get_collection, name)
        params = known.config.params
        with suppress(CollectionExists):
            self._call(
                self._client.create_collection,
                copy,
                vectors_config=params.vectors or {},
                sparse_vectors_config=params.sparse_vectors,
                on_disk_payload=params.on_disk_payload,
            )
        for path, info in {} if self._call.local else (known.payload_schema or {}).items():
            schema = info.params or info.data_type
            self._call(self._client.create_payload_index, copy, path, schema, wait=True)

    def _pages(self, name: str, size: int, *, vectors: bool) -> Iterator[Sequence[models.Record]]:
        offset = None
        while True:
            records, offset = self._call(
                self._client.scroll, name, None, size, offset=offset, with_payload=True, with_vectors=vectors
            )
            yield records
            if offset is None:
                return


def _key(record: models.Record) -> PointKey:
    return record.id if isinstance(record.id, int) else str(record.id)


def _as_it_is(record: models.Record) -> models.PointStruct:
    vector: Any = record.vector if record.vector is not None else {}
    return models.PointStruct(id=record.id, vector=vector, payload=record.payload)
