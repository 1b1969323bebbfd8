"""One system doing the job: cut the files, embed, store on disk, answer. Orders come as JSON on standard input, figures
go as JSON to standard output, so that a peer runs in its own environment with the same embedder on the same files.

What a system takes beyond the embedder's own time is its overhead. The peers cut with LangChain's splitter (Chroma has
none) and rank by vectors alone; they keep no versions, no jobs and no words.
"""

import contextlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.varied import Disturbed

CHUNK = 1000
TOP = 5
BATCH = 256
_BLOCK = 512


class Embedder:
    """The product's embedder with its own time taken apart."""

    def __init__(self, folder: str) -> None:
        from common.adapters.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - of the environment that runs this

        self.inner = OnnxEmbedder(Path(folder))
        self.wall = self.cpu = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return self._timed(lambda: self.inner.embed_passages(texts))

    def embed_query(self, text: str) -> list[float]:
        return self._timed(lambda: self.inner.embed_query(text))

    def _timed(self, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        return result


Search = Callable[[str], object]


def fichario(orders: dict[str, Any], embedder: Embedder, folder: Path) -> tuple[int, Search, Callable[[], None]]:
    from common.bootstrap import local_runtime  # noqa: PLC0415 - no peer has it installed
    from common.domain.search import Search as Question  # noqa: PLC0415
    from tests.bench.setting import BASE, index, put, settings_for  # noqa: PLC0415

    runtime = local_runtime(settings_for(folder), embedder=embedder)
    put(runtime, BASE, {name: text.encode() for name, text in orders["files"].items()})
    index(runtime)
    if orders.get("optimise"):
        runtime.index.optimise(BASE, runtime.catalog.base(BASE).live)
    passages = runtime.catalog.totals(BASE).passages
    return passages, lambda text: runtime.answers.answer(BASE, Question(text, TOP, threshold=None)), runtime.close


def _chunks(orders: dict[str, Any]) -> list[Any]:
    from langchain_core.documents import Document  # noqa: PLC0415 - of the peers' environment
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=orders.get("chunk", CHUNK), chunk_overlap=0, add_start_index=True
    )
    documents = [Document(page_content=text, metadata={"source": name}) for name, text in orders["files"].items()]
    return splitter.split_documents(documents)


def _embeddings(embedder: Embedder) -> Any:
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415

    class Ours(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed_passages(texts)

        def embed_query(self, text: str) -> list[float]:
            return embedder.embed_query(text)

    return Ours()


def langchain_qdrant(orders: dict[str, Any], embedder: Embedder, folder: Path) -> tuple[int, Search, Callable]:
    from langchain_qdrant import QdrantVectorStore  # noqa: PLC0415

    chunks = _chunks(orders)
    store = QdrantVectorStore.from_documents(chunks, _embeddings(embedder), path=str(folder), collection_name="c")
    return len(chunks), lambda text: store.similarity_search_with_score(text, k=TOP), store.client.close


def langchain_chroma(orders: dict[str, Any], embedder: Embedder, folder: Path) -> tuple[int, Search, Callable]:
    from langchain_chroma import Chroma  # noqa: PLC0415

    chunks = _chunks(orders)
    store = Chroma.from_documents(chunks, _embeddings(embedder), persist_directory=str(folder), collection_name="ccc")
    return len(chunks), lambda text: store.similarity_search_with_score(text, k=TOP), lambda: None


def chroma(orders: dict[str, Any], embedder: Embedder, folder: Path) -> tuple[int, Search, Callable[[], None]]:
    import chromadb  # noqa: PLC0415
    from chromadb.config import Settings  # noqa: PLC0415

    chunks = _chunks(orders)
    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    stored = client.create_collection("ccc", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(chunks), BATCH):
        part = chunks[start : start + BATCH]
        texts = [chunk.page_content for chunk in part]
        stored.add(
            ids=[str(start + at) for at in range(len(part))],
            embeddings=embedder.embed_passages(texts),
            documents=texts,
            metadatas=[chunk.metadata for chunk in part],
        )
    return len(chunks), lambda text: stored.query([embedder.embed_query(text)], n_results=TOP), lambda: None


PEERS = {each.__name__: each for each in (fichario, langchain_qdrant, langchain_chroma, chroma)}


def questions(search: Search, asked: Sequence[str], embedder: Embedder) -> dict[str, float]:
    """Milliseconds of each question less the embedder's; where the system says what its embedding and its index took,
    less those; and of the same questions asked again.
    """
    walls, cpus, own, again = [], [], [], []
    for question in asked:
        embedder.wall = embedder.cpu = 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        found = search(question)
        took = time.perf_counter() - wall
        walls.append((took - embedder.wall) * 1000)
        cpus.append((time.process_time() - cpu - embedder.cpu) * 1000)
        spent = getattr(found, "timings_ms", None)
        if spent:
            own.append(took * 1000 - spent["embed"] - spent["index"])
    for question in asked:
        embedder.wall = 0.0
        wall = time.perf_counter()
        search(question)
        again.append((time.perf_counter() - wall - embedder.wall) * 1000)
    figures = {
        "query_overhead_p50_ms": statistics.median(walls),
        "query_overhead_p95_ms": sorted(walls)[int(len(walls) * 0.95)],
        "query_overhead_cpu_p50_ms": statistics.median(cpus),
        "query_again_p50_ms": statistics.median(again),
    }
    return {**figures, "query_own_p50_ms": statistics.median(own)} if own else figures


def work(orders: dict[str, Any]) -> dict[str, Any]:
    embedder = Embedder(orders["model"])
    if "vectors" in orders:
        embedder.inner = Disturbed(embedder.inner, np.load(orders["vectors"]))
    embedder.embed_query("aquece")
    PEERS[orders["peer"]](
        {"files": {"a.md": "# Um\n\nAquece as importações."}}, embedder, Path(orders["folder"], "warm")
    )[2]()
    folder = Path(orders["folder"], "stored")
    embedder.wall = embedder.cpu = 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    passages, search, close = PEERS[orders["peer"]](orders, embedder, folder)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ingest = {
        "passages": passages,
        "passages_per_second": passages / wall,
        "kb_per_second": sum(len(text.encode()) for text in orders["files"].values()) / 1024 / wall,
        "overhead_ms_per_passage": 1000 * (wall - embedder.wall) / passages,
        "overhead_cpu_ms_per_passage": 1000 * (cpu - embedder.cpu) / passages,
    }
    asked = questions(search, orders["questions"], embedder)
    close()
    bucket = sum(len(text.encode()) for text in orders["files"].values()) if orders["peer"] == "fichario" else 0
    blocks = sum(path.lstat().st_blocks for path in folder.rglob("*")) * _BLOCK
    return {
        **ingest,
        **asked,
        "disk_kb_per_passage": (blocks - bucket) / 1024 / passages,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    given = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answered = work(given)
    json.dump(answered, sys.stdout)
