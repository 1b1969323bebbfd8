"""One open collection of the Edge engine: what is written to it and asked of it, in the words of the port.

Every call of the engine holds the interpreter's lock from start to end, so long work is cut into small calls.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Filter,
    IntegerIndexParams,
    Memory,
    PayloadSchemaType,
    QueryBatchRequest,
    QueryRequest,
    Record,
    ScrollRequest,
    SparseVector,
    UpdateOperation,
)
from qdrant_edge import Point as EnginePoint

from common.adapters.edge.folders import damaged
from common.adapters.edge.requests import among, dense_query, is_value, lexical_query, lookup_filter
from common.domain.errors import Unavailable
from common.domain.index import Found, Lookup, Point
from common.domain.index_rules import (
    LABELS,
    LEXICAL,
    PLACE_FIELDS,
    Place,
    Scored,
    found,
    labels_of,
    ordered_lists,
    place_of,
    without_labels,
)

_WRITE: Final = 64
_PAGE: Final = 1000
_INDEXED: Final[Mapping[str, PayloadSchemaType | IntegerIndexParams]] = {
    "object": PayloadSchemaType.Keyword,
    "document_id": PayloadSchemaType.Keyword,
    "category": PayloadSchemaType.Keyword,
    # Never asked for ranges: without them 14,000 passages are written a fifth faster.
    LABELS: IntegerIndexParams(lookup=True, range=False),
    "terms": IntegerIndexParams(lookup=True, range=False),
}


class Shard:
    """An open shard. It is as thread-safe as the engine; once closed, every call raises Unavailable."""

    def __init__(self, engine: EdgeShard, dimension: int, remembered: int) -> None:
        self.dimension = dimension
        self._engine = engine
        self._places: dict[str, Place] = {}
        self._names: dict[int, str] = {}
        self._remembered = remembered
        self._unflushed = True

    def upsert(self, points: Sequence[Point]) -> None:
        for start in range(0, len(points), _WRITE):
            batch = points[start : start + _WRITE]
            self._update(UpdateOperation.upsert_points([_engine_point(point) for point in batch]))
            self._remember({point.id: place_of(point.payload) for point in batch})

    def delete(self, condition: Filter) -> None:
        self._update(UpdateOperation.delete_points_by_filter(condition))

    def lookup(self, lookup: Lookup) -> Found:
        condition = lookup_filter(lookup)
        dense = None if lookup.dense is None else dense_query(lookup.dense, lookup.limit, condition)
        lexical = lexical_query(lookup, lookup.limit, condition) if lookup.lexical else None
        lists = ordered_lists(*self._ask(dense, lexical))
        without = lists.without_dense, lists.without_lexical
        more_dense = dense_query(lookup.dense or (), len(without[0]), among(without[0])) if without[0] else None
        more_lexical = lexical_query(lookup, len(without[1]), among(without[1])) if without[1] else None
        more = self._ask(more_dense, more_lexical)
        places = self._places_of([point for point, _ in (*(lists.dense or ()), *(lists.lexical or ()))])
        return found(lists, more[0] or (), more[1] or (), places.get, lookup.limit)

    def frequencies(self, terms: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        # The engine's estimates are exact here: the number of points is kept, and so is each value's in the index.
        with _translated():
            count = self._engine.count
            return count(CountRequest(exact=False)), {
                term: count(CountRequest(exact=False, filter=Filter(must=[is_value("terms", term)]))) for term in terms
            }

    def payloads(self, ids: Sequence[str], fields: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """The payloads of those points that exist, whole or only some fields of them."""
        with _translated():
            records = self._engine.retrieve(list(ids), list(fields) or True, False)  # noqa: FBT003
        return {str(record.id): without_labels(record.payload) for record in records}

    def points(self, ids: Sequence[str]) -> list[Point]:
        """Those points that exist, in the order of `ids`."""
        with _translated():
            records = self._engine.retrieve(list(ids), True, True)  # noqa: FBT003
        by_id = {str(record.id): record for record in records}
        return [_point(by_id[point]) for point in ids if point in by_id]

    def scroll(self, condition: Filter | None, fields: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
        """Ids and payloads (whole or only some fields) of all points that match, in no order that means anything."""
        offset = None
        while True:
            request = ScrollRequest(
                offset=offset, limit=_PAGE, filter=condition, with_payload=list(fields) or True, with_vector=False
            )
            with _translated():
                records, offset = self._engine.scroll(request)
            yield from ((str(record.id), without_labels(record.payload)) for record in records)
            if offset is None:
                return

    def optimise(self) -> None:
        self._unflushed = True
        with _translated():
            self._engine.optimize()

    def flush(self) -> None:
        """Write out what changed since the last time; a flush of what did not change waits for the disk as long."""
        if not self._unflushed:
            return
        self._unflushed = False
        try:
            with _translated():
                self._engine.flush()
        except BaseException:
            self._unflushed = True
            raise

    def close(self) -> None:
        with _translated():
            self._engine.close()

    def _update(self, operation: UpdateOperation) -> None:
        try:
            with _translated():
                self._engine.update(operation)
        finally:
            # Behind the update: a flush that began before it may not have seen it.
            self._unflushed = True

    def _ask(self, *queries: QueryRequest | None) -> list[list[Scored] | None]:
        """The answers of those queries that there are, in one batch."""
        asked = [query for query in queries if query is not None]
        with _translated():
            answers = iter(self._engine.query_batch(QueryBatchRequest(asked)) if asked else ())
        name = self._name
        return [None if query is None else [(name(hit.id), hit.score) for hit in next(answers)] for query in queries]

    def _name(self, point: int | UUID | str) -> str:
        """The id as text, remembered: writing out 160 of them costs a tenth of a look-up."""
        if not isinstance(point, UUID):
            return str(point)
        known = self._names.get(point.int)
        if known is None:
            if len(self._names) >= self._remembered:
                self._names = {}
            known = self._names[point.int] = str(point)
        return known

    def _places_of(self, ids: Collection[str]) -> Mapping[str, Place]:
        """Remembered, because reading four fields of a hundred payloads takes longer than the look-up itself."""
        known = self._places
        places = {point: known[point] for point in ids if point in known}
        unknown = [point for point in ids if point not in places]
        if unknown:
            read = {point: place_of(fields) for point, fields in self.payloads(unknown, PLACE_FIELDS).items()}
            self._remember(read)
            places |= read
        return places

    def _remember(self, places: Mapping[str, Place]) -> None:
        if len(self._places) + len(places) > self._remembered:
            self._places = {}
        self._places |= places


def create_shard(folder: Path, dimension: int) -> None:
    """Make an empty shard that `open_shard` can open, all of it on disk."""
    with _translated():
        engine = EdgeShard.create(str(folder), _config(dimension))
        for path, schema in _INDEXED.items():
            engine.update(UpdateOperation.create_field_index(path, schema))
        engine.flush()
        engine.close()


def open_shard(folder: Path, dimension: int, remembered: int) -> Shard:
    """Raises DataFolderError when the folder is damaged or open elsewhere."""
    # The engine would open a shard without these as an empty one.
    for part in ("edge_config.json", "wal", "segments/*"):
        if not any(folder.glob(part)):
            raise damaged(folder, f"{part} is missing")
    try:
        engine = EdgeShard.load(str(folder), _config(dimension))
    except Exception as error:
        raise damaged(folder, str(error)) from error
    return Shard(engine, dimension, remembered)


def _config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        # Cold: a small collection's vectors stand in a file of 32 MB, which the engine would otherwise read as a whole.
        vectors=EdgeVectorParams(dimension, Distance.Cosine, memory=Memory.Cold) if dimension else None,
        sparse_vectors={LEXICAL: EdgeSparseVectorParams()},
        # Calls exclude each other anyway; handing them to a pool of threads made counts four times slower.
        max_search_threads=1,
    )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine has no exceptions of its own; it raises Exception itself, and subclasses for wrong arguments.
        if type(error) is not Exception:
            raise
        raise Unavailable(f"the index engine failed: {error}") from error


def _engine_point(point: Point) -> EnginePoint:
    vectors: dict[str, Any] = {} if point.vector is None else {"": list(point.vector)}
    if point.lexical:
        vectors[LEXICAL] = SparseVector(list(point.lexical), list(point.lexical.values()))
    return EnginePoint(point.id, vectors, {**point.payload, LABELS: labels_of(point.payload)})


def _point(record: Record) -> Point:
    vectors: Any = record.vector or {}
    if isinstance(vectors, list):
        vectors = {"": vectors}
    dense, lexical = vectors.get(""), vectors.get(LEXICAL)
    return Point(
        id=str(record.id),
        vector=None if dense is None else tuple(dense),
        lexical={} if lexical is None else dict(zip(lexical.indices, lexical.values, strict=True)),
        payload=without_labels(record.payload),
    )
