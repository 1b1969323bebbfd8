"""The vector index on a Qdrant server, or on qdrant-client's in-memory stand-in.

Collections of many bases and of others live there side by side: a collection's name says whose it is, and every request
asks for the payload's `base` as well.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final

from qdrant_client import QdrantClient, models

from common.adapters.qdrant.calls import Calls, CollectionExists, NoCollection
from common.adapters.qdrant.foreign import QdrantForeign
from common.adapters.qdrant.names import is_ours
from common.adapters.qdrant.requests import (
    among,
    dense_query,
    dimension_of,
    is_value,
    lexical_query,
    lookup_filter,
    of_base,
    of_document,
    of_version,
    older,
    packed,
    read_point,
    scores,
    source_and_ordinal,
    stored_point,
)
from common.domain.errors import Misconfigured
from common.domain.index import Found, Lookup, Point
from common.domain.index_rules import (
    LABELS,
    LEXICAL,
    WITH_WORDS,
    WORDS,
    asks_for_nothing,
    check_lookup,
    check_points,
    found,
    ordered_lists,
    place_of,
    without_labels,
)
from common.ports import CollectionShape, ForeignCollections

MAX_REQUEST_BYTES: Final = 32 * 1024 * 1024
"""What a Qdrant server accepts in one request unless it is configured otherwise."""
_MAX_POINTS: Final = 256
_PAGE: Final = 1000
_READ: Final = 64
_AT_ONCE: Final = 8
_INDEXED: Final[Mapping[str, models.PayloadFieldSchema]] = {
    "base": models.PayloadSchemaType.KEYWORD,
    "object": models.PayloadSchemaType.KEYWORD,
    "document_id": models.PayloadSchemaType.KEYWORD,
    "category": models.PayloadSchemaType.KEYWORD,
    "generation": models.PayloadSchemaType.INTEGER,
    LABELS: models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=False),
    "terms": models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=False),
}


def connect(url: str, api_key: str | None = None, *, timeout: float = 10.0) -> QdrantClient:
    """A client of the server at `url`; `timeout` in seconds bounds each attempt of a request."""
    return QdrantClient(url=url, api_key=api_key, timeout=int(timeout), check_compatibility=False)


class QdrantIndex:
    """VectorIndex (see the port) over `client`. `alias_of` names a base's alias; its collections are that name, two
    underscores and a fingerprint. Also Misconfigured where the server refuses the key.
    """

    outside = True

    def __init__(
        self,
        client: QdrantClient,
        alias_of: Callable[[str], str],
        *,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._call = Calls(client, sleep=sleep)
        self.foreign: ForeignCollections = QdrantForeign(client, self._call, alias_of)
        self._alias_of = alias_of
        self._max_request_bytes = max_request_bytes
        self._dimensions: dict[str, int] = {}

    def create(self, base: str, collection: str, shape: CollectionShape) -> None:
        self._check_owner(base, collection)
        vectors = models.VectorParams(size=shape.dimension, distance=models.Distance.COSINE)
        # Where somebody else was first, what counts is the shape, which is compared below.
        with suppress(CollectionExists):
            self._call(
                self._client.create_collection,
                collection,
                vectors_config=vectors if shape.dimension else {},
                sparse_vectors_config={LEXICAL: models.SparseVectorParams()},
            )
        self._dimensions.pop(collection, None)
        if self._dimension(collection) != shape.dimension:
            raise Misconfigured(
                f"collection {collection} exists with dimension {self._dimension(collection)}, "
                f"asked for with {shape.dimension}"
            )
        for path, schema in {} if self._call.local else _INDEXED.items():
            self._call(self._client.create_payload_index, collection, path, schema, wait=True)

    def drop(self, base: str, collection: str) -> None:
        self._check_owner(base, collection)
        self._dimensions.pop(collection, None)
        with suppress(NoCollection):
            self._call(self._client.delete_collection, collection)

    def collections(self, base: str) -> Sequence[str]:
        names = (known.name for known in self._call(self._client.get_collections).collections)
        return sorted(name for name in names if self._owns(base, name))

    def set_alias(self, base: str, collection: str) -> None:
        self._check_owner(base, collection)
        alias = self._alias_of(base)
        forget = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        name = models.CreateAlias(collection_name=collection, alias_name=alias)
        try:
            self._call(self._client.update_collection_aliases, [forget, models.CreateAliasOperation(create_alias=name)])
        except CollectionExists as error:
            raise Misconfigured(f"a collection is called {alias}, which is this base's alias") from error

    def alias(self, base: str) -> str | None:
        """The collection that the base's alias names, None when there is no such alias."""
        known = self._call(self._client.get_aliases).aliases
        return {alias.alias_name: alias.collection_name for alias in known}.get(self._alias_of(base))

    def upsert(self, base: str, collection: str, points: Sequence[Point]) -> None:
        self._check_owner(base, collection)
        sizes = check_points(points, base, self._dimension(collection))
        for request in packed(points, sizes, self._max_request_bytes, _MAX_POINTS):
            self._call(self._client.upsert, collection, [stored_point(point) for point in request], wait=True)

    def sweep(self, base: str, collection: str, name: str, below: int) -> None:
        self._delete(base, collection, older(base, name, below))

    def discard(self, base: str, collection: str, name: str, generation: int) -> None:
        self._delete(base, collection, of_version(base, name, generation))

    def stored(self, base: str, collection: str, name: str, generation: int) -> Iterator[Point]:
        self._check_owner(base, collection)
        records = self._scroll(collection, of_version(base, name, generation), ["source", "ordinal"])
        ids = [str(record.id) for record in sorted(records, key=source_and_ordinal)]
        slices = (ids[start : start + _READ] for start in range(0, len(ids), _READ))
        return chain.from_iterable(self._points(collection, part) for part in slices)

    def lookup(self, base: str, collection: str, lookup: Lookup) -> Found:
        self._check_owner(base, collection)
        check_lookup(lookup, self._dimension(collection))
        if asks_for_nothing(lookup):
            return Found((), full=False)
        condition = lookup_filter(base, lookup)
        dense, lexical = self._ask(
            collection,
            None if lookup.dense is None else dense_query(lookup, lookup.limit, condition),
            lexical_query(lookup, lookup.limit, condition) if lookup.lexical else None,
        )
        lists = ordered_lists(scores(dense), scores(lexical))
        no_dense, no_lexical = lists.without_dense, lists.without_lexical
        more_dense, more_lexical = self._ask(
            collection,
            dense_query(lookup, len(no_dense), among(base, no_dense)) if no_dense else None,
            lexical_query(lookup, len(no_lexical), among(base, no_lexical)) if no_lexical else None,
        )
        places = {str(hit.id): place_of(hit.payload or {}) for hit in (*(dense or ()), *(lexical or ()))}
        return found(lists, scores(more_dense) or (), scores(more_lexical) or (), places.get, lookup.limit)

    def frequencies(self, base: str, collection: str, terms: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        # Counted exactly, because an estimate over two conditions need not be exact; each is a request of its own.
        self._check_owner(base, collection)
        conditions = [of_base(base), *(of_base(base, is_value("terms", term)) for term in terms)]
        with ThreadPoolExecutor(1 if self._call.local else _AT_ONCE) as pool:
            total, *held = pool.map(partial(self._count, collection), conditions)
        return total, dict(zip(terms, held, strict=True))

    def payloads(self, base: str, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        self._check_owner(base, collection)
        records = self._scroll(collection, among(base, ids))
        return {str(record.id): without_labels(record.payload) for record in records}

    def passages(
        self, base: str, collection: str, document_id: str, generation: int, ordinals: Collection[int] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        self._check_owner(base, collection)
        records = self._scroll(collection, of_document(base, document_id, generation, ordinals))
        return sorted((without_labels(record.payload) for record in records), key=lambda payload: payload["ordinal"])

    def vocabulary(self, base: str, collection: str) -> Iterator[str]:
        self._check_owner(base, collection)
        condition = models.Filter(must=[is_value("base", base), is_value(LABELS, WITH_WORDS)])
        return (str((record.payload or {})[WORDS]) for record in self._scroll(collection, condition, [WORDS]))

    def generations(self, base: str, collection: str) -> Mapping[tuple[str, int], int]:
        self._check_owner(base, collection)
        payloads = (
            record.payload or {} for record in self._scroll(collection, of_base(base), ["object", "generation"])
        )
        return Counter((payload["object"], payload["generation"]) for payload in payloads)

    def optimise(self, base: str, collection: str) -> None:
        """The server does so by itself. Raises Unavailable when there is no such collection."""
        self._check_owner(base, collection)
        self._dimension(collection)

    def flush(self) -> None:
        """Nothing to do: each write was acknowledged by the server once it was durable there."""

    def close(self) -> None:
        """Close the client; every later call raises Unavailable. Repeatable."""
        self._call.close()

    def _owns(self, base: str, collection: str) -> bool:
        return is_ours(self._alias_of(base), collection)

    def _check_owner(self, base: str, collection: str) -> None:
        if not self._owns(base, collection):
            raise ValueError(f"collection {collection} does not belong to base {base}")

    def _dimension(self, collection: str) -> int:
        """The collection's dimension, asked for once. Raises Misconfigured for a collection that is not as ours are."""
        known = self._dimensions.get(collection)
        if known is None:
            known = dimension_of(self._call(self._client.get_collection, collection).config.params)
            if known is None:
                raise Misconfigured(f"collection {collection} exists with other vectors than this product's")
            self._dimensions[collection] = known
        return known

    def _delete(self, base: str, collection: str, condition: models.Filter) -> None:
        self._check_owner(base, collection)
        with suppress(NoCollection):
            self._call(self._client.delete, collection, models.FilterSelector(filter=condition), wait=True)

    def _ask(
        self, collection: str, *queries: models.QueryRequest | None
    ) -> tuple[Sequence[models.ScoredPoint] | None, ...]:
        """The answers of those queries that there are, in one request."""
        asked = [query for query in queries if query is not None]
        answers = iter(self._call(self._client.query_batch_points, collection, asked) if asked else ())
        return tuple(None if query is None else next(answers).points for query in queries)

    def _scroll(
        self, collection: str, condition: models.Filter, fields: list[str] | None = None
    ) -> Iterator[models.Record]:
        offset = None
        while True:
            records, offset = self._call(
                self._client.scroll, collection, condition, _PAGE, offset=offset, with_payload=fields or True
            )
            yield from records
            if offset is None:
                return

    def _points(self, collection: str, ids: list[str]) -> list[Point]:
        records = self._call(self._client.retrieve, collection, ids, with_payload=True, with_vectors=True)
        by_id = {str(record.id): read_point(record) for record in records}
        return [by_id[point] for point in ids if point in by_id]

    def _count(self, collection: str, condition: models.Filter) -> int:
        return self._call(self._client.count, collection, condition, exact=True).count
