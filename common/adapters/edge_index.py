"""The vector index on one machine: Qdrant's engine in this process, one folder per collection.

One process at a time may use a folder; holding its lock is the caller's part.
"""

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from qdrant_edge import FieldCondition, Filter, MatchAny

from common.adapters.edge import folders
from common.adapters.edge.foreign import NoForeign
from common.adapters.edge.requests import is_value, older_filter, version_filter
from common.adapters.edge.shard import Shard, create_shard, open_shard
from common.domain.errors import Misconfigured, Unavailable
from common.domain.index import Found, Lookup, Point
from common.domain.index_rules import (
    LABELS,
    WITH_WORDS,
    WORDS,
    asks_for_nothing,
    check_collection,
    check_lookup,
    check_points,
)
from common.ports import CollectionShape, ForeignCollections

_READ = 64


class EdgeIndex:
    """VectorIndex (see the port) over `folder`; opens shards when first used and keeps them open.

    `remembered` bounds, per collection, how many points' places are held in memory (about 300 bytes each).
    Raises DataFolderError for a damaged folder.
    """

    outside = False

    def __init__(self, folder: Path, *, remembered: int = 50_000) -> None:
        self._folder = folder
        self._remembered = remembered
        self._lock = threading.Lock()
        self._metas = folders.open_root(folder)
        self._shards: dict[str, Shard] = {}
        self.foreign: ForeignCollections = NoForeign()
        self._closed = False

    def create(self, base: str, collection: str, shape: CollectionShape) -> None:
        check_collection(collection)
        with self._lock:
            meta = folders.Meta(base, shape.dimension)
            if self._owned(base, collection) is None:
                folders.make(self._folder, collection, meta, partial(create_shard, dimension=shape.dimension))
                self._metas[collection] = meta
            if self._metas[collection] != meta:
                stored = self._metas[collection].dimension
                raise Misconfigured(
                    f"collection {collection} exists with dimension {stored}, asked for with {shape.dimension}"
                )

    def drop(self, base: str, collection: str) -> None:
        with self._lock:
            if self._owned(base, collection) is not None:
                shard = self._shards.pop(collection, None)
                if shard is not None:
                    shard.close()
                del self._metas[collection]
                folders.remove(self._folder, collection)

    def collections(self, base: str) -> Sequence[str]:
        with self._lock:
            return sorted(name for name, meta in self._metas.items() if meta.base == base)

    def set_alias(self, base: str, collection: str) -> None:
        """Nobody else reads this folder."""

    def alias(self, base: str) -> str | None:  # noqa: ARG002 - the port's
        return None

    def upsert(self, base: str, collection: str, points: Sequence[Point]) -> None:
        shard = self._shard(base, collection)
        check_points(points, base, shard.dimension)
        shard.upsert(points)

    def sweep(self, base: str, collection: str, name: str, below: int) -> None:
        if self._owned(base, collection) is not None:
            self._shard(base, collection).delete(older_filter(name, below))

    def discard(self, base: str, collection: str, name: str, generation: int) -> None:
        if self._owned(base, collection) is not None:
            self._shard(base, collection).delete(version_filter(name, generation))

    def stored(self, base: str, collection: str, name: str, generation: int) -> Iterator[Point]:
        shard = self._shard(base, collection)
        places = shard.scroll(version_filter(name, generation), ("source", "ordinal"))
        ids = [point for point, _ in sorted(places, key=lambda pair: (pair[1].get("source", ""), pair[1]["ordinal"]))]
        slices = (ids[start : start + _READ] for start in range(0, len(ids), _READ))
        return chain.from_iterable(map(shard.points, slices))

    def lookup(self, base: str, collection: str, lookup: Lookup) -> Found:
        shard = self._shard(base, collection)
        check_lookup(lookup, shard.dimension)
        return Found((), full=False) if asks_for_nothing(lookup) else shard.lookup(lookup)

    def frequencies(self, base: str, collection: str, terms: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        return self._shard(base, collection).frequencies(terms)

    def payloads(self, base: str, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        return self._shard(base, collection).payloads(ids)

    def passages(
        self, base: str, collection: str, document_id: str, generation: int, ordinals: Collection[int] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        must = [is_value("document_id", document_id), is_value("generation", generation)]
        if ordinals is not None:
            must.append(FieldCondition("ordinal", match=MatchAny(list(ordinals))))
        payloads = [payload for _, payload in self._shard(base, collection).scroll(Filter(must=[*must]))]
        return sorted(payloads, key=lambda payload: payload["ordinal"])

    def vocabulary(self, base: str, collection: str) -> Iterator[str]:
        labelled = Filter(must=[is_value(LABELS, WITH_WORDS)])
        return (payload[WORDS] for _, payload in self._shard(base, collection).scroll(labelled, (WORDS,)))

    def generations(self, base: str, collection: str) -> Mapping[tuple[str, int], int]:
        payloads = self._shard(base, collection).scroll(None, ("object", "generation"))
        return Counter((payload["object"], payload["generation"]) for _, payload in payloads)

    def optimise(self, base: str, collection: str) -> None:
        """Merge and index what was written (seconds above some ten thousand passages).

        Nothing else runs in the process meanwhile, because the engine holds the interpreter's lock.
        """
        self._shard(base, collection).optimise()

    def flush(self) -> None:
        with self._lock:
            for shard in self._shards.values():
                shard.flush()

    def close(self) -> None:
        """Flush and release everything; every later call raises Unavailable. Repeatable."""
        with self._lock:
            self._closed = True
            while self._shards:
                _, shard = self._shards.popitem()
                shard.flush()
                shard.close()

    def _owned(self, base: str, collection: str) -> folders.Meta | None:
        """What the collection was made for, None when there is none. Raises ValueError for another base's."""
        if self._closed:
            raise Unavailable("the index is closed")
        meta = self._metas.get(collection)
        if meta is not None and meta.base != base:
            raise ValueError(f"collection {collection} belongs to another base than {base}")
        return meta

    def _shard(self, base: str, collection: str) -> Shard:
        shard = self._shards.get(collection)
        if shard is not None and self._owned(base, collection) is not None:
            return shard
        with self._lock:
            meta = self._owned(base, collection)
            if meta is None:
                raise Unavailable(f"collection {collection} does not exist")
            if collection not in self._shards:
                folder = folders.shard_folder(self._folder, collection)
                self._shards[collection] = open_shard(folder, meta.dimension, self._remembered)
            return self._shards[collection]
