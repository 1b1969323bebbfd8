"""The collections of a Qdrant server on the real engine: what `RestQdrant` asks of qdrant-client's local stand-in, done
by Qdrant Edge. The stand-in looks at every point in Python for each condition; this answers as fast as a server does.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http.models import QueryResponse

_KINDS = {"keyword": edge.PayloadSchemaType.Keyword, "integer": edge.PayloadSchemaType.Integer}


class EngineCollections:
    """One shard per collection below `folder`; aliases are its own table."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, edge.EdgeShard] = {}
        self._params: dict[str, models.CollectionParams] = {}
        self._aliases: dict[str, str] = {}
        self._made = 0
        self._lock = threading.RLock()

    def create_collection(self, name: str, vectors_config: Any, sparse_vectors_config: Any) -> bool:
        if name in self._shards or name in self._aliases:
            raise ValueError(f"Collection {name} already exists")
        named = vectors_config if isinstance(vectors_config, dict) else {"": vectors_config}
        dense = {each: _dense(params) for each, params in named.items() if params}
        sparse = {each: edge.EdgeSparseVectorParams() for each in sparse_vectors_config or {}}
        self._made += 1
        config = edge.EdgeConfig(vectors=dense or None, sparse_vectors=sparse, max_search_threads=1)
        place = self._folder / str(self._made)
        place.mkdir(parents=True)
        self._shards[name] = edge.EdgeShard.create(str(place), config)
        self._params[name] = models.CollectionParams(vectors=vectors_config or {}, sparse_vectors=sparse_vectors_config)
        return True

    def create_payload_index(self, name: str, field: str, schema: Any) -> None:
        kind = schema if isinstance(schema, str) else schema["type"]
        # As the product's own shards have them: the values of labels and terms are only ever looked up.
        made = _KINDS[kind] if isinstance(schema, str) else edge.IntegerIndexParams(lookup=True, range=False)
        self._of(name).update(edge.UpdateOperation.create_field_index(field, made))

    def delete_collection(self, name: str) -> bool:
        shard = self._shards.pop(name, None)
        if shard is None:
            return False
        shard.close()
        self._aliases = {alias: owner for alias, owner in self._aliases.items() if owner != name}
        return True

    def get_collection(self, name: str) -> dict[str, Any]:
        self._of(name)
        params = self._params[self._aliases.get(name, name)].model_dump(mode="json", exclude_none=True)
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
        optimizers = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0}
        config = {"params": params, "hnsw_config": hnsw, "optimizer_config": {**optimizers, "flush_interval_sec": 5}}
        told = {"status": "green", "optimizer_status": "ok", "segments_count": 1, "payload_schema": {}}
        return {**told, "points_count": self.count(name, None).count, "config": config}

    def get_collections(self) -> models.CollectionsResponse:
        return models.CollectionsResponse(collections=[models.CollectionDescription(name=n) for n in self._shards])

    def get_aliases(self) -> models.CollectionsAliasesResponse:
        named = [models.AliasDescription(alias_name=a, collection_name=n) for a, n in self._aliases.items()]
        return models.CollectionsAliasesResponse(aliases=named)

    def update_collection_aliases(self, actions: Sequence[Any]) -> bool:
        named = dict(self._aliases)
        for action in actions:
            if isinstance(action, models.DeleteAliasOperation):
                named.pop(action.delete_alias.alias_name, None)
            else:
                made = action.create_alias
                if made.alias_name in self._shards:
                    raise ValueError(f"Collection {made.alias_name} already exists")
                self._of(made.collection_name)
                named[made.alias_name] = made.collection_name
        self._aliases = named
        return True

    def upsert(self, name: str, points: Sequence[models.PointStruct]) -> models.UpdateResult:
        made = [edge.Point(point.id, _vectors(point.vector), point.payload or {}) for point in points]
        self._of(name).update(edge.UpdateOperation.upsert_points(made))
        return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)

    def delete(self, name: str, selector: models.FilterSelector) -> models.UpdateResult:
        self._of(name).update(edge.UpdateOperation.delete_points_by_filter(_filter(selector.filter)))
        return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)

    def query_batch_points(self, name: str, searches: Sequence[models.QueryRequest]) -> list[QueryResponse]:
        answers = self._of(name).query_batch(edge.QueryBatchRequest([_query(each) for each in searches]))
        return [QueryResponse(points=[_scored(hit) for hit in hits]) for hits in answers]

    def scroll(
        self, name: str, condition: Any, limit: int, *, offset: Any, with_payload: Any, with_vectors: Any
    ) -> tuple[list[models.Record], Any]:
        asked = edge.ScrollRequest(
            offset=offset,
            limit=limit,
            filter=_filter(condition),
            with_payload=_payload(with_payload),
            with_vector=with_vectors,
        )
        records, following = self._of(name).scroll(asked)
        return [_record(record) for record in records], None if following is None else _id(following)

    def retrieve(self, name: str, ids: Sequence[Any], with_payload: Any, with_vectors: Any) -> list[models.Record]:
        found = self._of(name).retrieve(list(ids), _payload(with_payload), with_vectors)
        return [_record(record) for record in found]

    def count(self, name: str, condition: Any) -> models.CountResult:
        return models.CountResult(count=self._of(name).count(edge.CountRequest(exact=True, filter=_filter(condition))))

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()

    def _of(self, name: str) -> edge.EdgeShard:
        shard = self._shards.get(self._aliases.get(name, name))
        if shard is None:
            raise ValueError(f"Collection {name} not found")
        return shard


def _dense(params: models.VectorParams) -> edge.EdgeVectorParams:
    return edge.EdgeVectorParams(params.size, getattr(edge.Distance, params.distance.value))


def _filter(asked: models.Filter | None) -> edge.Filter | None:
    if asked is None:
        return None
    parts = {part: [_condition(each) for each in getattr(asked, part) or ()] for part in ("must", "must_not")}
    return edge.Filter(**{part: conditions or None for part, conditions in parts.items()})


def _condition(asked: Any) -> Any:
    """Those that the adapter uses; any other is an error of this file."""
    if isinstance(asked, models.HasIdCondition):
        return edge.HasIdCondition(set(asked.has_id))
    if asked.range is not None:
        return edge.FieldCondition(asked.key, range=edge.RangeFloat(lt=asked.range.lt))
    if isinstance(asked.match, models.MatchAny):
        return edge.FieldCondition(asked.key, match=edge.MatchAny(asked.match.any))
    return edge.FieldCondition(asked.key, match=edge.MatchValue(asked.match.value))


def _query(asked: models.QueryRequest) -> edge.QueryRequest:
    wanted: Any = asked.query
    if isinstance(wanted, models.NearestQuery):
        wanted = wanted.nearest
    if isinstance(wanted, models.SparseVector):
        wanted = edge.SparseVector(wanted.indices, wanted.values)
    nearest = edge.Query.Nearest(wanted, using=asked.using) if asked.using else edge.Query.Nearest(wanted)
    return edge.QueryRequest(
        limit=asked.limit, query=nearest, filter=_filter(asked.filter), with_payload=_payload(asked.with_payload)
    )


def _payload(asked: Any) -> Any:
    return asked if isinstance(asked, bool | list) else bool(asked)


def _vectors(given: Any) -> dict[str, Any]:
    named = given if isinstance(given, dict) else {"": given}
    return {
        name: edge.SparseVector(each.indices, each.values) if isinstance(each, models.SparseVector) else each
        for name, each in named.items()
    }


def _record(record: edge.Record) -> models.Record:
    vectors: Any = record.vector
    if isinstance(vectors, dict):
        vectors = {
            name: models.SparseVector(indices=each.indices, values=each.values) if hasattr(each, "indices") else each
            for name, each in vectors.items()
        }
    return models.Record(id=_id(record.id), payload=record.payload, vector=vectors)


def _scored(hit: edge.ScoredPoint) -> models.ScoredPoint:
    return models.ScoredPoint(id=_id(hit.id), version=0, score=hit.score, payload=hit.payload)


def _id(point: Any) -> int | str:
    return point if isinstance(point, int) else str(point)
