"""A Qdrant server's REST surface, as far as the adapter uses it, in front of qdrant-client's local engine, or of the
real one: requests and answers go through the client's own encoding, statuses and limits are those of a server, and no
socket is opened.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.http.models import CreateCollection, PointsList

from tests.contract.qdrant_engine import EngineCollections

MAX_BODY = 32 * 1024 * 1024
MAX_PAGE = 1000


@dataclass
class RestQdrant:
    """`bodies` keeps the size of each body by path; `fail` may answer a request in the server's place."""

    max_body: int = MAX_BODY
    fail: Callable[[httpx.Request], httpx.Response | None] = lambda request: None
    engine: QdrantClient | EngineCollections = field(default_factory=lambda: QdrantClient(":memory:"))
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    indexed: dict[str, set[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self) -> QdrantClient:
        transport = httpx.MockTransport(self.answer)
        return QdrantClient(url="http://qdrant.test", check_compatibility=False, transport=transport)

    def answer(self, request: httpx.Request) -> httpx.Response:
        with self.lock:
            self.requests.append((request.method, request.url.path, len(request.content)))
            failure = self.fail(request)
            if failure is not None:
                return failure
            if len(request.content) > self.max_body:
                return _status(400, f"Payload reached size limit of {self.max_body} bytes")
            for method, pattern, handle in ROUTES:
                match = re.fullmatch(pattern, request.url.path)
                if match and method == request.method:
                    return self._answer(handle, request.content, *match.groups())
            return _status(404, "no such route")

    def _answer(self, handle, body: bytes, *names: str) -> httpx.Response:
        try:
            result = handle(self, body, *names)
        except ValueError as error:
            code = 404 if "not found" in str(error) else 409 if "already exists" in str(error) else 400
            return _status(code, str(error))
        return httpx.Response(200, json={"result": _plain(result), "status": "ok", "time": 0.0})

    def create(self, body: bytes, name: str):
        asked = CreateCollection.model_validate_json(body)
        made = self.engine.create_collection(
            name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors
        )
        self.indexed[name] = set()
        return made

    def index(self, body: bytes, name: str):
        asked = json.loads(body)
        self.indexed[name].add(asked["field_name"])
        if isinstance(self.engine, EngineCollections):
            self.engine.create_payload_index(name, asked["field_name"], asked["field_schema"])
        return {"operation_id": 0, "status": "completed"}

    def alias(self, body: bytes):
        return self.engine.update_collection_aliases(models.ChangeAliasesOperation.model_validate_json(body).actions)

    def upsert(self, body: bytes, name: str):
        return self.engine.upsert(name, PointsList.model_validate_json(body).points)

    def delete(self, body: bytes, name: str):
        return self.engine.delete(name, models.FilterSelector.model_validate_json(body))

    def query(self, body: bytes, name: str):
        return self.engine.query_batch_points(name, models.QueryRequestBatch.model_validate_json(body).searches)

    def query_one(self, body: bytes, name: str):
        return self.engine.query_batch_points(name, [models.QueryRequest.model_validate_json(body)])[0]

    def scroll(self, body: bytes, name: str):
        asked = models.ScrollRequest.model_validate_json(body)
        records, offset = self.engine.scroll(
            name,
            asked.filter,
            asked.limit,
            offset=asked.offset,
            with_payload=asked.with_payload,
            with_vectors=asked.with_vector or False,
        )
        return {"points": [_plain(record) for record in records], "next_page_offset": offset}

    def retrieve(self, body: bytes, name: str):
        asked = models.PointRequest.model_validate_json(body)
        return self.engine.retrieve(name, asked.ids, asked.with_payload, asked.with_vector)

    def count(self, body: bytes, name: str):
        return self.engine.count(name, models.CountRequest.model_validate_json(body).filter)


def _status(code: int, error: str) -> httpx.Response:
    return httpx.Response(code, json={"status": {"error": error}, "time": 0.0})


def _plain(result):
    if isinstance(result, list):
        return [_plain(item) for item in result]
    return json.loads(result.model_dump_json()) if hasattr(result, "model_dump_json") else result


_NAME = "/collections/([^/]+)"
ROUTES = (
    ("GET", "/collections", lambda server, body: server.engine.get_collections()),
    ("GET", "/aliases", lambda server, body: server.engine.get_aliases()),
    ("POST", "/collections/aliases", RestQdrant.alias),
    ("PUT", _NAME, RestQdrant.create),
    ("GET", _NAME, lambda server, body, name: server.engine.get_collection(name)),
    ("DELETE", _NAME, lambda server, body, name: server.engine.delete_collection(name)),
    ("PUT", f"{_NAME}/index", RestQdrant.index),
    ("PUT", f"{_NAME}/points", RestQdrant.upsert),
    ("POST", f"{_NAME}/points", RestQdrant.retrieve),
    ("POST", f"{_NAME}/points/delete", RestQdrant.delete),
    ("POST", f"{_NAME}/points/query", RestQdrant.query_one),
    ("POST", f"{_NAME}/points/query/batch", RestQdrant.query),
    ("POST", f"{_NAME}/points/scroll", RestQdrant.scroll),
    ("POST", f"{_NAME}/points/count", RestQdrant.count),
)
