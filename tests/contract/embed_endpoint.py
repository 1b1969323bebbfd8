"""A provider of embeddings on a port of its own: a thread that answers as OpenAI, Voyage, Ollama and Bedrock do, with
the vectors of the hashing embedder at some other length, or with whatever fault a test asks for.
"""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import boto3

from common.adapters.bedrock_embedder import bedrock_embedder
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.openai_embedder import openai_embedder

KEY = "k3y-0f-th3-3mb3dd3r"
DIMENSION = 64
MODELS = {
    "openai": "text-embedding-test",
    "voyage": "voyage-test",
    "ollama": "nomic-embed-text",
    "titan": "amazon.titan-embed-text-test:0",
    "cohere": "cohere.embed-test-v3",
}


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict

    @property
    def texts(self) -> list[str]:
        if "inputText" in self.body:
            return [self.body["inputText"]]
        return self.body.get("input") or self.body["texts"]


@dataclass(frozen=True)
class Fault:
    """What is answered instead of vectors."""

    status: int
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Endpoint:
    """`fault` looks at each request and answers what goes wrong with it, or None; `changed` may bend the vectors."""

    fault: Callable[[Asked], Fault | None] = lambda _: None
    changed: Callable[[list], list] = lambda vectors: vectors
    asked: list[Asked] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0
    dimension: int = DIMENSION

    def __post_init__(self):
        endpoint, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked = Asked(unquote(self.path), dict(self.headers), body)
                with lock:
                    endpoint.asked.append(asked)
                    endpoint.under_way += 1
                    endpoint.most_at_once = max(endpoint.most_at_once, endpoint.under_way)
                try:
                    fault = endpoint.fault(asked)
                    said = fault or Fault(200, endpoint.answer(asked))
                finally:
                    with lock:
                        endpoint.under_way -= 1
                # Whoever asked may have given up.
                with suppress(ConnectionError):
                    self.send_response(said.status)
                    for name, value in said.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(said.body)))
                    self.end_headers()
                    self.wfile.write(said.body)

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def answer(self, asked: Asked) -> bytes:
        role = asked.body.get("input_type", "")
        hashing = HashingEmbedder(self.dimension)
        vectors = self.changed(
            [[3.0 * number for number in hashing._embed(0, f"{role} {text}")] for text in asked.texts]
        )
        if "inputText" in asked.body:
            return json.dumps({"embedding": vectors[0], "inputTextTokenCount": 5}).encode()
        if "texts" in asked.body:
            return json.dumps({"embeddings": vectors, "response_type": "embeddings_floats"}).encode()
        # Out of order, as the index allows.
        data = [{"object": "embedding", "embedding": v, "index": i} for i, v in enumerate(vectors)][::-1]
        return json.dumps({"object": "list", "data": data, "usage": {"total_tokens": 5}}).encode()

    def embedder(self, name: str):
        """The adapter that asks this endpoint."""
        if name in {"titan", "cohere"}:
            session = boto3.Session(aws_access_key_id="id", aws_secret_access_key=KEY, region_name="us-east-1")
            return bedrock_embedder(MODELS[name], self.url, session)
        return openai_embedder(name, self.url if name == "ollama" else f"{self.url}/v1", MODELS[name], KEY)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@contextmanager
def serving():
    """An endpoint for as long as it is needed."""
    endpoint = Endpoint()
    try:
        yield endpoint
    finally:
        endpoint.close()
