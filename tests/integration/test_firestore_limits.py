"""What Firestore bounds (case FIR-01): the size of a document, the writes of a commit, the writes per second of one
document. And what an ingest costs in writes.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from common.adapters.firestore.calls import COMMIT_BYTES, WRITES
from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.firestore.layout import PLAIN_CHARACTERS
from common.adapters.frozen_clock import FrozenClock
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.memory_index import MemoryIndex
from common.adapters.memory_objects import MemoryObjectStore
from common.adapters.plain_parser import PlainParser
from common.domain import fencing
from common.domain.errors import DocumentError
from common.domain.fencing import Result
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.records import Gate
from common.domain.space import Chunking, LexicalSpace
from common.stages.ingest import IngestPorts, ingest
from common.stages.quota import Quota
from common.stages.spaces import Spaces
from tests.contract.emulators import firestore_client, new_project, tap
from tests.contract.records import document, publish
from tests.integration.one_machine import content

MEBIBYTE = 2**20
ERRORS = tuple(f"linha {n}: ".ljust(300, "ã") for n in range(12_000))
LONG = ObjectRef("acme", "p/" * 509 + "x.md")


@dataclass
class Meter:
    """What was asked of Firestore: calls by name, and of each commit the writes by the document's path."""

    calls: Counter = field(default_factory=Counter)
    commits: list = field(default_factory=list)

    def __call__(self, name, request):
        self.calls[name] += 1
        if name == "commit":
            self.commits.append(list(request["writes"]))

    def reset(self):
        self.calls.clear()
        self.commits.clear()

    @property
    def writes(self):
        return [write for commit in self.commits for write in commit]

    def collections(self):
        return Counter((write.update.name or write.delete).split("/")[-2] for write in self.writes)


@pytest.fixture
def meter():
    return Meter()


@pytest.fixture
def catalog(meter):
    with firestore_client(new_project()) as client:
        tap(client, meter)
        yield FirestoreCatalog(client)


@pytest.fixture
def ports(catalog):
    clock, index, embedder = FrozenClock(1_790_000_000.0), MemoryIndex(), HashingEmbedder()
    store = MemoryObjectStore(lambda change: None, clock)
    spaces = Spaces(
        catalog=catalog,
        index=index,
        clock=clock,
        template="{base}_kb",
        configured=lambda: embedder,
        chunking=lambda e: Chunking(1, 0, 0, e.window),
        lexical=LexicalSpace(1, "stem"),
        find=lambda space: embedder,
        gate=lambda space: Gate(0.0, 1.0, 1.0),
    )
    quota = Quota(catalog, 100 * MEBIBYTE, 5000)
    announced = []
    return IngestPorts(
        store, catalog, index, spaces, PlainParser(), clock, quota, announced.append, 3, 100 * MEBIBYTE, 480.0
    )


def test_the_record_of_the_largest_job_stays_under_one_mebibyte(catalog, meter):
    change = ObjectChange("finalize", LONG, 7)
    result = Result(
        "failed", "CORRUPT", "não abriu", passages=30_000, new_passages=30_000, documents=1, warnings=ERRORS
    )
    catalog.transact(LONG, change.job_id, lambda held: fencing.begin(held, change, "t", 1.0, 3))
    catalog.transact(LONG, change.job_id, lambda held: fencing.publish(held, "t", (), result, 2.0))
    job = catalog.job("acme", change.job_id)
    assert (job.passages, len(job.warnings), job.warnings[-1]) == (30_000, 51, "and 11950 more warnings")
    assert max(type(write).pb(write).ByteSize() for write in meter.writes) < 64 * 1024


def fields_of(meter):
    return [value for write in meter.writes for value in write.update.fields.values()]


def test_a_document_with_ten_thousand_headings_and_links_comes_back_whole(catalog, meter):
    rich = document(
        "big.md",
        1,
        headings=tuple(f"Capítulo {n}: das disposições gerais e transitórias" for n in range(10_000)),
        links=tuple((f"capitulo/{n}.md", f"ver o capítulo {n}", n, "markdown") for n in range(10_000)),
        passages=30_000,
    )
    publish(catalog, "big.md", 1, rich)
    assert list(catalog.documents("acme")) == [rich]
    assert list(catalog.documents_named("acme", "big")) == [rich]
    assert max(type(write).pb(write).ByteSize() for write in meter.writes) < MEBIBYTE
    assert any(value.bytes_value for value in fields_of(meter))


def test_a_record_beyond_what_a_document_holds_is_a_permanent_error_in_words(catalog, meter):
    noise = {"noise": "".join(chr(0x4E00 + n * n * 7919 % 20_000) for n in range(PLAIN_CHARACTERS * 10))}
    with pytest.raises(DocumentError, match=r"What is known of big\.md .* one document may have 1000000") as caught:
        catalog.put_documents(ObjectRef("acme", "big.md"), 1, [document("big.md", 1, metadata=noise)])
    assert caught.value.code == "TOO_LARGE"
    assert meter.commits == []


def test_five_thousand_documents_are_stored_listed_and_dropped_in_bounded_calls(catalog, meter):
    sources = [f"pasta {n % 7}/{n:05}.md" for n in range(5000)]
    publish(catalog, "o.jsonl", 1, *(document("o.jsonl", 1, source) for source in sources))
    assert max(len(commit) for commit in meter.commits) <= WRITES
    assert meter.collections() == {"kb_documents": 5000, "kb_objects": 1}

    meter.reset()
    assert [each.source for each in catalog.documents("acme")] == sorted(sources)
    assert meter.calls == {"run_query": 11, "batch_get_documents": 1}

    meter.reset()
    assert len(catalog.documents("acme", prefix="pasta 3/", after=("pasta 3/02", ""), limit=50)) == 50
    assert meter.calls == {"run_query": 1, "batch_get_documents": 1}

    meter.reset()
    catalog.drop_documents(ObjectRef("acme", "o.jsonl"), 2)
    assert (len(meter.writes), max(len(commit) for commit in meter.commits)) == (5000, WRITES)


def test_commits_are_bounded_by_bytes_too(catalog, meter):
    heavy = [document("o", 1, f"{n}", title="a" * 60_000) for n in range(200)]
    publish(catalog, "o", 1, *heavy)
    sizes = [sum(type(write).pb(write).ByteSize() for write in commit) for commit in meter.commits]
    assert max(sizes) <= COMMIT_BYTES
    assert len(sizes) == 5


def test_an_ingest_costs_five_writes_and_six_with_its_announcement(ports, meter):
    warm_up(ports)
    ref = ObjectRef("acme", "a.md")
    change = ObjectChange("finalize", ref, ports.store.write(ref, b"# Um\n\numa passagem").generation)
    meter.reset()
    assert ingest(change, ports) == "started"
    assert meter.collections() == {"kb_objects": 3, "kb_documents": 1, "kb_epochs": 1}
    assert len(meter.commits) == 4

    again = ObjectChange("finalize", ref, ports.store.write(ref, b"# Dois\n\noutra passagem").generation)
    meter.reset()
    ports.catalog.transact(ref, again.job_id, lambda held: fencing.enqueue(held, again, 1.0))
    assert ingest(again, ports) == "started"
    # The epoch moves twice: when the new version answers, and when the old one's passages no longer count.
    assert meter.collections() == {"kb_objects": 4, "kb_epochs": 2, "kb_jobs": 1, "kb_documents": 2}

    meter.reset()
    assert ingest(again, ports) == "already_done"
    assert meter.writes == []


def test_progress_is_written_once_a_second_however_fast_the_batches_are(ports, meter):
    warm_up(ports)
    ref = ObjectRef("acme", "long.md")
    batches = 60
    change = ObjectChange("finalize", ref, ports.store.write(ref, content("x", 1, 32 * batches)).generation)
    since = ports.clock.now()
    stepping = replace(ports, step=lambda name: ports.clock.advance(0.02 if name == "upsert" else 0.0))
    meter.reset()
    assert ingest(change, stepping) == "started"
    seconds = ports.clock.now() - since
    assert seconds == pytest.approx(batches * 0.02, rel=0.1)
    assert 1 <= meter.collections()["kb_objects"] - 3 <= seconds + 1
    assert ports.catalog.job("acme", change.job_id).passages == 32 * batches


def warm_up(ports):
    """The first object of a base creates its collection."""
    ref = ObjectRef("acme", "first.md")
    ingest(ObjectChange("finalize", ref, ports.store.write(ref, b"primeiro").generation), ports)
