"""Many who ask a base and one who changes it, all the time, while it moves: what they meet that must not be.

Every answer is held against what was there from before it was asked until it was given: which collections answered,
which versions of its documents there were, and what the model of its collection gave for question and passage.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Self

from common.domain.fusion import Mode
from common.domain.search import Answer, Search
from common.ports import Embedder
from common.runtime import Runtime
from common.stages.answers import Answers
from tests.integration.ledger import Ledger
from tests.integration.one_machine import BASE
from tests.integration.prose import Mark, marks_of, prose, sentences, whole_of

QUESTIONS = 40
CLOSE = 1e-3
"""How far a dense score may be from the product of the vectors that the model gave."""
DEADLINE = 600.0
FEWEST = 10
"""Documents that there are always."""


@dataclass
class Remembering:
    """A model that remembers what it gave for each question and each marked passage."""

    inner: Embedder
    questions: dict[str, Sequence[float]] = field(default_factory=dict)
    passages: dict[Mark, Sequence[float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_query(self, text: str) -> list[float]:
        vector = self.inner.embed_query(text)
        self.questions[text] = vector
        return vector

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = self.inner.embed_passages(texts)
        for text, vector in zip(texts, vectors, strict=True):
            if marks := marks_of(text):
                self.passages[marks[0]] = vector
        return vectors

    def cosine(self, question: str, passage: Mark) -> float:
        return sum(a * b for a, b in zip(self.questions[question], self.passages[passage], strict=True))


@dataclass
class Turn:
    """One switch: what answered before did so until `ended` at the latest, `after` from `began` on."""

    after: str
    began: float
    ended: float = float("inf")


@dataclass(frozen=True)
class Pace:
    """How many ask, and how many seconds each of them and the one who writes lets pass between two times."""

    clients: int
    asking: float = 0.05
    writing: float = 0.1


@dataclass
class Crowd:
    """Starts and stops with `with`. `faults` are sentences by kind; `answered` counts answers by collection."""

    runtime: Runtime
    answers: Answers
    models: Mapping[str, Remembering]
    ledger: Ledger
    pace: Pace
    turns: list[Turn] = field(default_factory=list)
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    answered: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    first: str = ""

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        chance = Random(5)  # noqa: S311 - the same each time
        self.questions = [sentence[:80] for sentence in chance.sample(sentences(), QUESTIONS)]
        self._of_collection: dict[str, Remembering] = {}

    def __enter__(self) -> Self:
        self.first = self.runtime.catalog.base(BASE).live or ""
        work = [(self._ask_on, number) for number in range(self.pace.clients)] + [(self._write_on, 99)]
        self._threads = [threading.Thread(target=each, args=(seed,), daemon=True) for each, seed in work]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(DEADLINE)
            if thread.is_alive():
                self._fault("hangs", thread.name)

    def switched(self, after: str, command: Callable[[], object]) -> None:
        """Give the command that lets `after` answer."""
        turn = Turn(after, time.monotonic())
        self.turns.append(turn)
        command()
        turn.ended = time.monotonic()

    def wait_for(self, answers: int, changes: int) -> None:
        """Until that many more answers were given and changes made."""
        asked, changed = self.answered.total() + answers, self.changes.total() + changes
        until = time.monotonic() + DEADLINE
        while self.answered.total() < asked or self.changes.total() < changed:
            assert time.monotonic() < until, f"{self.answered}, {self.changes}"
            self._stopping.wait(0.05)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nobody writes, and what was written is swept behind."""
        with self._writing:
            until = time.monotonic() + DEADLINE
            while not all(job.finished for job in self.runtime.catalog.jobs(BASE)):
                assert time.monotonic() < until, "jobs that never end"
                self._stopping.wait(0.05)
            yield

    def _fault(self, kind: str, said: str) -> None:
        with self._lock:
            self.faults[kind].append(said)

    def _ask_on(self, seed: int) -> None:
        chance = Random(seed)  # noqa: S311 - the same each time
        while not self._stopping.wait(chance.uniform(0, 2 * self.pace.asking)):
            if chance.random() < 0.5:
                name = chance.choice(self.ledger.names())
                self._ask(Search(f"doc{name}", top_k=50, mode="lexical", threshold=None), name)
            else:
                mode: Mode = chance.choice(["hybrid", "hybrid", "dense"])
                self._ask(Search(chance.choice(self.questions), top_k=5, mode=mode, threshold=None), "")

    def _ask(self, search: Search, name: str) -> None:
        settled, began = self.ledger.settled(), time.monotonic()
        try:
            found = self.answers.answer(BASE, search)
        except Exception as error:  # noqa: BLE001 - whatever it is, a question failed
            self._fault("failed", f"{search.query}: {error!r}")
            return
        ended = time.monotonic()
        if found.degraded:
            self._fault("degraded", f"{search.query}: {found.warnings}")
            return
        self._side(found, began, ended)
        self._versions(found, name, settled)
        if search.mode != "lexical":
            self._space(found, search.query)
        with self._lock:
            self.answered[found.collection] += 1

    def _side(self, found: Answer, began: float, ended: float) -> None:
        """Only what answered at some moment between question and answer may have given it."""
        turns = list(self.turns)
        since = [(self.first, 0.0), *((turn.after, turn.began) for turn in turns)]
        until = [*(turn.ended for turn in turns), float("inf")]
        spans = zip(since, until, strict=True)
        allowed = {name for (name, start), end in spans if start <= ended and began <= end}
        if found.collection not in allowed:
            self._fault("wrong side", f"{found.collection} where {allowed} answer")

    def _versions(self, found: Answer, name: str, settled: Mapping[str, int]) -> None:
        for passage in found.passages:
            marks = marks_of(passage.text)
            if not all(version in self.ledger.since(each, settled) for each, version, *_ in marks):
                self._fault("lost or resurrected", f"{marks} are shown")
        if not name:
            return
        try:
            version = whole_of(name, found.passages)
        except AssertionError as half:
            self._fault("half", str(half))
            return
        if version not in (possible := self.ledger.since(name, settled)):
            self._fault("lost or resurrected", f"{name}: version {version}, possible {possible}")

    def _space(self, found: Answer, question: str) -> None:
        """The dense scores are those of the model that filled the collection, on both sides of the product."""
        model = self._of_collection.get(found.collection)
        if model is None:
            stored = self.runtime.catalog.collection(BASE, found.collection)
            if stored is None or stored.space.fingerprint != found.fingerprint:
                self._fault("foreign", f"{found.collection} is not {found.fingerprint}")
                return
            model = self._of_collection[found.collection] = self.models[stored.space.embedding.model]
        for passage in found.passages:
            marks = marks_of(passage.text)
            if passage.dense_score is None or not marks:
                continue
            expected = model.cosine(question, marks[0])
            if abs(expected - passage.dense_score) > CLOSE:
                self._fault("foreign", f"{marks[0]}: {passage.dense_score} where the model gives {expected}")
            with self._lock:
                self.compared += 1

    def _write_on(self, seed: int) -> None:
        chance = Random(seed)  # noqa: S311 - the same each time
        while not self._stopping.wait(self.pace.writing):
            kind = chance.choice(["upload", "overwrite", "delete" if len(self.ledger.final()) > FEWEST else "upload"])
            name = f"n{self.changes['upload']:03}" if kind == "upload" else chance.choice(sorted(self.ledger.final()))
            with self._writing:
                try:
                    self.change(name, 0 if kind == "delete" else chance.randint(1, 6))
                except Exception as error:  # noqa: BLE001 - whatever it is, a change failed
                    self._fault("not written", f"{kind} {name}: {error!r}")
                self.changes[kind] += 1

    def change(self, name: str, parts: int) -> None:
        """Write a new version of that many passages, or remove it with none, and wait until that is done."""
        version = self.ledger.version(name) + 1
        self.ledger.begin(name, version if parts else None)
        if parts:
            job = self.runtime.manage.upload(BASE, f"{name}.md", prose(name, version, parts), "text/markdown")
        else:
            job = self.runtime.manage.delete(BASE, f"{name}.md")
        wait_for_job(self.runtime, job["job_id"])
        self.ledger.settle(name)


def wait_for_job(runtime: Runtime, job_id: str) -> None:
    """Until the job is over. Raises AssertionError when it failed or never ends."""
    never, until = threading.Event(), time.monotonic() + DEADLINE
    while True:
        job = runtime.catalog.job(BASE, job_id)
        if job is not None and job.terminal:
            assert job.state in {"indexed", "deleted"}, f"{job.state}: {job.reason}"
            return
        assert time.monotonic() < until, f"{job} never ends"
        never.wait(0.02)


def fill(runtime: Runtime, ledger: Ledger, passages: int, seed: int = 1) -> None:
    """Documents of 1 to 8 passages, that many passages in all."""
    chance = Random(seed)  # noqa: S311 - the same each time
    jobs = []
    while passages:
        parts = min(passages, chance.randint(1, 8))
        passages -= parts
        name = f"d{len(jobs):04}"
        ledger.begin(name, 1)
        jobs.append(runtime.manage.upload(BASE, f"{name}.md", prose(name, 1, parts), "text/markdown")["job_id"])
    for job in jobs:
        wait_for_job(runtime, job)
    for name in ledger.names():
        ledger.settle(name)
