"""A query process of its own: the query function's stages and caches over a catalog that it opens itself, an index that
answers over the line and, where there is one, a Redis server. It stands before every call to any of them until it is
told to go on, so that whoever holds the line decides what happens in between.
"""

import multiprocessing
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.layered_cache import LayeredCache
from common.adapters.process_cache import ProcessCache
from common.adapters.redis_cache import RedisCache, connect
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import Database
from common.adapters.system_clock import SystemClock
from common.asking import asking
from common.domain.answer_json import ANSWERS, QUESTION_VECTORS
from common.domain.errors import Unavailable
from common.domain.fusion import Mode
from common.loading import Models
from common.ports import AnswerCache, Catalog, VectorIndex
from common.settings import read_settings
from common.stages.answers import Answers
from common.stages.patience import Patience
from common.stages.vectors import QuestionVectors
from tests.contract.emulators import firestore_client
from tests.integration.cloud_machine import SETTINGS
from tests.integration.one_machine import BASE, whole

TTL = 600.0
LIMIT = 2**24
PATIENT = 30.0
"""Seconds; a busy machine is no fault of what is tested."""
HELD_SECONDS = 60
"""How long a question may be made to wait; none is given up by itself."""
CATALOG_CALLS = frozenset({"epoch", "base", "collection", "live", "documents"})
CACHE_CALLS = frozenset({"get", "put"})


@dataclass(frozen=True)
class Place:
    """What query processes share: the catalog (a file, or an emulator's project) and part of a Redis server, if any."""

    catalog: Path | str
    emulator: str = ""
    redis: str = ""
    prefix: str = ""


@dataclass(frozen=True)
class Found:
    """A process's answer about one document: what it found, whether from a cache, and its words if it had none."""

    state: tuple[int, int] | None
    cache: str = "miss"
    refused: str = ""


class QueryProcess:
    """The process as whoever holds its line sees it: it answers one question at a time, boundary by boundary."""

    def __init__(self) -> None:
        processes = multiprocessing.get_context("spawn")
        self._line, theirs = processes.Pipe()
        self._process = processes.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._index: VectorIndex | None = None
        self._standing: tuple[str, Any] | None = None
        self.found: Found | None = None

    @property
    def at(self) -> str:
        """The call that it stands before; nothing while it has no question."""
        return self._standing[0] if self._standing else ""

    def open(self, place: Place, index: VectorIndex) -> None:
        """Begin anew, with empty caches."""
        self._index, self._standing, self.found = index, None, None
        self._line.send(("open", place))
        assert self._heard() == ("opened", None)

    def ask(self, name: str, mode: Mode) -> None:
        """Put a question to it, which it begins."""
        assert self._standing is None
        self.found = None
        self._line.send(("ask", (name, mode)))
        self._hear()

    def step(self) -> bool:
        """Let it make the call that it stands before, and run to the next one; False when it has answered."""
        assert self._standing is not None
        name, call = self._standing
        if call is not None:
            args, more = call
            self._line.send(_whole(getattr(self._index, name)(*args, **more)))
        else:
            self._line.send(None)
        self._hear()
        return self._standing is not None

    def answer(self) -> Found:
        """Let it go on to its answer."""
        while self._standing is not None:
            self.step()
        assert self.found is not None
        return self.found

    def close(self) -> None:
        self._line.close()
        self._process.join(PATIENT)
        self._process.kill()

    def _hear(self) -> None:
        kind, value = self._heard()
        self._standing = value if kind == "stands" else None
        self.found = value if kind == "answered" else None

    def _heard(self) -> tuple[str, Any]:
        assert self._line.poll(PATIENT), "the query process hangs"
        kind, value = self._line.recv()
        assert kind != "failed", value
        return kind, value


class Standing:
    """A port of which the calls in `names` are boundaries. `remote` ones are made by whoever holds the line."""

    def __init__(self, line: Connection, port: Any = None, names: frozenset[str] = frozenset()) -> None:
        self._line, self._port, self._names = line, port, names

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name) if self._port is not None else None
        if method is not None and name not in self._names:
            return method

        def call(*args: Any, **more: Any) -> Any:
            self._line.send(("stands", (name, None if method else ([*map(_whole, args)], more))))
            answered = self._line.recv()
            return method(*args, **more) if method else answered

        return call


def _whole(value: Any) -> Any:
    """A value that can go over a line."""
    return list(value) if isinstance(value, Iterator) else value


@dataclass
class Noting:
    """Answers that remember which cache the last one came from."""

    answers: Answers
    cache: str = "miss"

    def answer(self, base: str, search: Any) -> Any:
        answer = self.answers.answer(base, search)
        self.cache = answer.cache
        return answer


def serve(line: Connection) -> None:
    """Do what comes over the line until it closes."""
    stack = ExitStack()
    answers: Answers | None = None
    try:
        while True:
            try:
                kind, value = line.recv()
            except EOFError:
                break
            if kind == "open":
                stack.close()
                answers = stack.enter_context(_opened(value, line))
                line.send(("opened", None))
            else:
                assert answers is not None
                line.send(("answered", _found(answers, *value)))
    except BaseException:  # noqa: BLE001 - the process ends here, and whoever holds the line has to know why
        line.send(("failed", traceback.format_exc()))
    stack.close()


def _found(answers: Answers, name: str, mode: Mode) -> Found:
    noting = Noting(answers)
    try:
        return Found(whole(noting, name, BASE, mode), noting.cache)  # type: ignore[arg-type]
    except Unavailable as unavailable:
        return Found(None, refused=str(unavailable))


class Begun(Future[Any]):
    """Work that is done when its result is asked for."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.work = work


class InTurn(Patience):
    """What is done beside work is done before it: the line takes one call at a time, always in the same order."""

    def begin(self, work: Callable[[], Any]) -> Future[Any]:
        return Begun(work)

    def result(
        self, begun: Future[Any], seconds: float | None = None, meanwhile: Callable[[], object] | None = None
    ) -> Any:
        assert isinstance(begun, Begun)
        if meanwhile is not None:
            meanwhile()
        return super().result(super().begin(begun.work), seconds)


@contextmanager
def _opened(place: Place, line: Connection) -> Iterator[Answers]:
    clock = SystemClock()
    near = Standing(line, ProcessCache(clock, TTL, LIMIT), CACHE_CALLS)
    with ExitStack() as stack:
        found, vectors = stack.enter_context(_caches(place, near, line))
        catalog = Standing(line, stack.enter_context(_catalog(place)), CATALOG_CALLS)
        settings = read_settings(SETTINGS | {"KB_DEADLINE_SECONDS": str(HELD_SECONDS)})
        models = Models(settings.models, "", HashingEmbedder(8))
        side = asking(settings, clock, catalog, Standing(line), models, lambda: None)  # type: ignore[arg-type]
        held = QuestionVectors(vectors, side.spaces, InTurn("the embedding model", HELD_SECONDS))
        yield replace(side.answers, cache=found, searcher=replace(side.answers.searcher, vectors=held))


@contextmanager
def _caches(place: Place, near: Any, line: Connection) -> Iterator[tuple[AnswerCache, AnswerCache]]:
    """The caches of answers and of question vectors."""
    if not place.redis:
        yield near, near
        return
    clock, faults = SystemClock(), list[str]()
    redis = RedisCache(connect(place.redis, PATIENT), place.prefix, TTL, faults.append)
    far: Any = Standing(line, redis, CACHE_CALLS)
    yield LayeredCache(near, far, ANSWERS, clock, TTL), LayeredCache(near, far, QUESTION_VECTORS, clock, TTL)
    redis.close()
    assert faults == []


@contextmanager
def _catalog(place: Place) -> Iterator[Catalog]:
    if isinstance(place.catalog, Path):
        database = Database(place.catalog, must_exist=True)
        yield SqliteCatalog(database)
        database.close()
    else:
        with firestore_client(place.catalog, address=place.emulator) as client:
            yield FirestoreCatalog(client)
