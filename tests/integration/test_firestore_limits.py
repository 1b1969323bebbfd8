"""What Firestore bounds (case FIR-01): the size of a document, the writes of a commit. What an ingest costs in writes
is in test_firestore_writes.py.
"""

from random import Random

import pytest

from common.adapters.firestore.calls import COMMIT_BYTES, WRITES
from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.firestore.layout import PLAIN_CHARACTERS
from common.adapters.firestore.questions import SET_DOCUMENTS
from common.domain import fencing
from common.domain.errors import DocumentError
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.outcomes import Result
from common.domain.questions import LIMITS, asked_question, set_question
from tests.contract.emulators import Meter, firestore_client, new_project, tap
from tests.contract.records import document, publish, publish_with

MEBIBYTE = 2**20
ERRORS = tuple(f"linha {n}: ".ljust(300, "ã") for n in range(12_000))
LONG = ObjectRef("acme", "p/" * 509 + "x.md")


@pytest.fixture
def meter():
    return Meter()


@pytest.fixture
def catalog(meter):
    with firestore_client(new_project()) as client:
        tap(client, meter)
        yield FirestoreCatalog(client)


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
    assert len(meter.writes) == len({write.update.name for write in meter.writes}) == 5001

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


def test_files_of_one_document_are_listed_without_asking_what_answers(catalog, meter):
    for number in range(3):
        publish_with(catalog, f"{number}.md", 1, document(f"{number}.md", 1))
    meter.reset()
    assert len(catalog.documents("acme")) == 3
    assert len(catalog.documents_named("acme", "1.md")) == 1
    assert meter.calls == {"run_query": 2}


def test_a_batch_of_real_questions_is_one_write_and_a_whole_set_at_most_sixteen(catalog, meter):
    asked = [asked_question(f"question {number}?", number, answered=True, words=True) for number in range(40)]
    for _ in range(2):
        catalog.add_questions("acme", asked)
    first, second = meter.writes
    assert first.update.name == second.update.name, "each batch leaves a document"
    meter.reset()
    catalog.replace_questions("acme", [set_question(f"{number}", "a.md", 1.0) for number in range(20)])
    assert (meter.collections(), len(meter.commits)) == ({"kb_questions": 1}, 1)
    meter.reset()
    catalog.replace_questions("acme", [set_question(f"{number}", "a.md", 2.0) for number in range(LIMITS["set"])])
    assert (meter.collections(), len(meter.commits)) == ({"kb_questions": SET_DOCUMENTS}, 1)


def test_questions_that_no_document_holds_lose_the_oldest(catalog, meter):
    letters = Random(7)  # noqa: S311 - not for cryptography
    texts = ["".join(chr(letters.randrange(0x10000, 0x110000)) for _ in range(1000)) for _ in range(LIMITS["asked"])]
    asked = [asked_question(text, number, answered=True, words=True) for number, text in enumerate(texts)]
    catalog.add_questions("acme", asked)
    found = catalog.questions("acme")
    assert LIMITS["asked"] > len(found) > LIMITS["asked"] / 4
    assert found == asked[: -len(found) - 1 : -1]
    assert max(type(write).pb(write).ByteSize() for write in meter.writes) < MEBIBYTE
