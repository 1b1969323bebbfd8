"""One machine under a frozen clock: a real folder, SQLite and Qdrant Edge, the hashing embedder, and readers who look
at every step boundary. Shared by the state machine, the crash points and the soak.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common.adapters.frozen_clock import FrozenClock
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.plain_parser import PlainParser
from common.bootstrap import local_runtime
from common.domain.errors import Refused
from common.domain.fusion import Mode
from common.domain.search import Search
from common.ports import Catalog, Delivery, Parser, VectorIndex
from common.runtime import LocalRuntime
from common.settings import read_settings
from common.stages.answers import Answers
from functions.local.workers import deliver

BASE = "acme"
_MARK = re.compile(r"doc(\w+) version(\d+) part(\d+)of(\d+)")


class Killed(BaseException):
    """The process died here."""


def content(name: str, version: int, parts: int) -> bytes:
    """A document of that many passages, each naming its document, its version and its place in the whole."""
    return "\n\n".join(
        f"doc{name} version{version} part{i}of{parts} fala do lugar numero {i} da casa grande e de outras coisas "
        f"que enchem um paragrafo inteiro para que ele fique sozinho como passagem unica {i * 37 + version} "
        "e mais algumas palavras comuns que nada dizem de novo mas ocupam o seu lugar no texto corrido desta parte "
        "da historia, que continua por mais uma linha ate chegar ao tamanho de um paragrafo de verdade, com virgulas "
        "e pontos como os outros paragrafos que uma pessoa escreveria num documento comum do seu trabalho diario."
        for i in range(parts)
    ).encode()


def whole(answers: Answers, name: str, base: str = BASE, mode: Mode = "lexical") -> tuple[int, int] | None:
    """The version and number of passages a reader finds of one document; fails when they are not one whole."""
    question = Search(f"doc{name}", top_k=50, mode=mode, threshold=None)
    try:
        found = answers.answer(base, question)
    except Refused as refused:
        assert refused.code == "NO_BASE"
        return None
    marks = [m for p in found.passages for m in [_MARK.search(p.text)] if m and m[1] == name]
    if not marks:
        return None
    versions = {int(m[2]) for m in marks}
    parts = sorted(int(m[3]) for m in marks)
    assert len(versions) == 1, f"{name}: two versions at once: {versions}"
    assert parts == list(range(int(marks[0][4]))), f"{name}: parts {parts} of {marks[0][4]}"
    return versions.pop(), len(parts)


def marked(data: bytes) -> tuple[int, int] | None:
    """The version and number of passages that a reader has to find of a stored file, None for one without text."""
    mark = _MARK.search(data.decode(errors="replace"))
    return (int(mark[2]), int(mark[4])) if mark else None


def check_settled(catalog: Catalog, index: VectorIndex, expected: dict[str, tuple[int, int]], base: str = BASE) -> None:
    """Catalog and index hold exactly what is expected of each object, and nobody works on anything."""
    listed: Counter[str] = Counter()
    for document in catalog.documents(base):
        listed[document.object] += document.passages
    assert listed == {f"{name}.md": parts for name, (_, parts) in expected.items()}
    assert all(job.terminal for job in catalog.jobs(base))
    assert all(o.lease is None for o in catalog.objects(base))
    record = catalog.base(base)
    if record is None or record.live is None:
        assert not expected
        return
    points = index.generations(base, record.live)
    live = {(o.ref.name, o.live): o.passages for o in catalog.objects(base) if o.passages}
    assert dict(points) == live


@dataclass
class OneMachine:
    """A machine that can be killed at any step, and whose answers are looked at whenever a step is passed."""

    folder: Path
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(1_000_000.0))
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    names: set[str] = field(default_factory=set)
    kill_after: int | None = None
    steps: list[str] = field(default_factory=list)
    on_step: Callable[[str], None] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    parser: Parser = field(default_factory=PlainParser)
    runtime: LocalRuntime = field(init=False)

    def __post_init__(self) -> None:
        self.runtime = self.open()

    def open(self) -> LocalRuntime:
        settings = read_settings({"KB_DATA_DIR": str(self.folder / "data"), "KB_CACHE_TTL": "0", **self.settings})
        return local_runtime(settings, embedder=self.embedder, parser=self.parser, clock=self.clock, step=self.step)

    def step(self, name: str) -> None:
        """Called by ingest at each boundary: look as a reader would, then die if it is time."""
        self.steps.append(name)
        if self.on_step is not None:
            self.on_step(name)
        self.look()
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                self.kill_after = None
                raise Killed

    def restart(self) -> None:
        """What a new process finds after the old one was killed: nothing of it but its files."""
        self.runtime.close()
        self.runtime = self.open()

    @property
    def files(self) -> Path:
        return self.runtime.settings.bucket / BASE

    def seen(self, name: str) -> tuple[int, int] | None:
        """The version and number of passages a reader finds of one document; fails when they are not one whole."""
        return whole(self.runtime.answers, name)

    def look(self) -> None:
        """One reader asks for every document there ever was."""
        for name in self.names:
            self.seen(name)

    def deliver(self, delivery: Delivery) -> bool:
        """Hand one message to ingest; a kill leaves it with its dead worker."""
        try:
            return deliver(self.runtime, delivery)
        except Killed:
            self.restart()
            return False

    def settle(self) -> None:
        """Let everything happen that is still to happen."""
        self.runtime.scan.scan(allow_mass_removal=True)
        for _ in range(1000):
            taken = [self.runtime.queue.take(topic, 3600) for topic in self.topics]
            if any(taken):
                for delivery in filter(None, taken):
                    self.deliver(delivery)
                continue
            waiting = [self.runtime.queue.next_due(topic) for topic in self.topics]
            due = min((each for each in waiting if each is not None), default=None)
            if due is None:
                return
            self.clock.advance(max(0.0, due - self.clock.now()) + 0.001)
        raise AssertionError("the queue never drains")

    @property
    def topics(self) -> tuple[str, str]:
        settings = self.runtime.settings
        return settings.kb_topic_events, settings.kb_topic_reindex

    def check(self, expected: dict[str, tuple[int, int]]) -> None:
        """The index equals the folder: nothing lost, doubled, stale, half or left behind."""
        assert {name: self.seen(name) for name in self.names} == {n: expected.get(n) for n in self.names}
        check_settled(self.runtime.catalog, self.runtime.index, expected)
