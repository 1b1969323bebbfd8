"""What every Catalog keeps to. A failure here means that the adapter, not the test, differs from the port."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from common.domain.errors import Unavailable
from common.domain.objects import ObjectRef
from common.domain.records import (
    BaseRecord,
    Decision,
    Held,
    JobRecord,
    ObjectRecord,
)
from common.domain.usage import Count
from common.ports import Catalog, Live, Totals
from tests.contract.records import REF, collection, document, full_base, full_job, full_object, store, store_job
from tests.contract.stores import CATALOGS, CatalogCase, memory_catalog

THREADS = 8


@pytest.fixture(params=list(CATALOGS))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogCase]:
    with CATALOGS[request.param](tmp_path) as made:
        yield made


@pytest.fixture
def catalog(case: CatalogCase) -> Catalog:
    return case.catalog


def test_an_unknown_base_has_nothing(catalog):
    assert catalog.base("acme") is None
    assert list(catalog.bases()) == []
    assert catalog.epoch("acme") == 0
    assert catalog.live("acme", ["x"]) == ({}, 0)
    assert catalog.object(REF) is None
    assert catalog.job("acme", "j7") is None
    assert catalog.collection("acme", "acme_kb__0") is None
    assert catalog.totals("acme") == Totals()
    assert catalog.usage("acme") == {}
    assert list(catalog.documents("acme")) == []
    assert list(catalog.jobs("acme")) == []


def test_transact_hands_out_what_it_stored_before_field_for_field(case):
    held = Held(full_base(), full_object(), full_job())
    seen = []
    assert case.catalog.transact(REF, "j7", lambda before: (seen.append(before), Decision("first", held))[1]) == "first"
    case.catalog.transact(REF, "j7", lambda before: (seen.append(before), Decision("second", before))[1])
    assert seen == [Held(None, None, None), held]
    other = case.again()
    assert (other.base("acme"), other.object(REF), other.job("acme", "j7")) == (held.base, held.object, held.job)


def test_transact_never_deletes_a_record(catalog):
    held = Held(full_base(), full_object(), full_job())
    catalog.transact(REF, "j7", lambda _: Decision(None, held))
    catalog.transact(REF, "j7", lambda _: Decision(None, Held(None, None, None)))
    assert (catalog.base("acme"), catalog.object(REF), catalog.job("acme", "j7")) == (held.base, held.object, held.job)


def test_a_decision_that_raises_leaves_everything_as_it_was(catalog):
    store(catalog, full_object(), raise_epoch=True)

    def fail(held: Held) -> Decision[None]:
        raise KeyError(str(held))

    with pytest.raises(KeyError):
        catalog.transact(REF, "j7", fail)
    store(catalog, replace(full_object(), newest=8))
    assert catalog.epoch("acme") == 1
    assert catalog.object(REF) == replace(full_object(), newest=8)


def test_the_epoch_grows_by_one_with_each_raising_decision_and_by_none_otherwise(catalog):
    store(catalog, full_object(), raise_epoch=True)
    store(catalog, full_object(), raise_epoch=True)
    store(catalog, replace(full_object(), newest=9))
    assert catalog.epoch("acme") == 2
    assert catalog.epoch("other") == 0


def test_update_base_sets_leaves_and_raises(catalog):
    assert catalog.update_base("acme", lambda _: (full_base(), 1), raise_epoch=False) == 1
    assert catalog.epoch("acme") == 0
    assert catalog.update_base("acme", lambda before: (None, before), raise_epoch=True) == full_base()
    assert (catalog.base("acme"), catalog.epoch("acme")) == (full_base(), 1)


def test_a_base_that_has_only_an_epoch_is_no_base(catalog):
    assert catalog.update_base("acme", lambda before: (None, before), raise_epoch=True) is None
    assert (catalog.base("acme"), list(catalog.bases()), catalog.epoch("acme")) == (None, [], 1)


def test_bases_are_listed_by_id(catalog):
    for base in ("b", "a-1", "a"):
        catalog.update_base(base, lambda _, base=base: (BaseRecord(base), None), raise_epoch=False)
    assert [record.base for record in catalog.bases()] == ["a", "a-1", "b"]


def test_the_first_collection_of_a_name_stays(catalog):
    assert catalog.put_collection(collection()) == collection()
    assert catalog.put_collection(collection(model="minilm")) == collection()
    assert catalog.collection("acme", "acme_kb__0") == collection()
    assert catalog.collection("other", "acme_kb__0") is None
    catalog.drop_collection("acme", "acme_kb__0")
    catalog.drop_collection("acme", "acme_kb__0")
    assert catalog.put_collection(collection(model="minilm")).space.embedding.model == "minilm"


def test_live_answers_only_the_named_objects_that_are_live_with_the_epoch(catalog):
    names = ["a.md", 'b\'s "c".md', "gone.md", "pasta/é%20 🙂.md"]
    for generation, name in enumerate(names):
        live = None if name == "gone.md" else generation
        store(catalog, ObjectRecord(ObjectRef("acme", name), live=live), raise_epoch=True)
    store(catalog, ObjectRecord(ObjectRef("other", "a.md"), live=77), raise_epoch=True)
    expected = {"a.md": Live(0), 'b\'s "c".md': Live(1), "pasta/é%20 🙂.md": Live(3)}
    assert catalog.live("acme", [*names, "never.md", "a.md"]) == (expected, 4)
    assert catalog.live("acme", []) == ({}, 4)
    assert catalog.live("acme", [f"x{n}" for n in range(2000)]) == ({}, 4)


@pytest.mark.parametrize(
    ("state", "newest", "stale"), [("failed", 3, True), ("failed", 2, False), ("processing", 3, False)]
)
def test_live_says_when_an_older_generation_answers_for_a_failed_one(catalog, state, newest, stale):
    record = ObjectRecord(REF, newest=newest, state=state, live=2)
    store(catalog, record)
    assert catalog.live("acme", [REF.name]) == ({REF.name: Live(2, stale=stale)}, 0)
    assert record.stale == stale


def test_objects_come_by_name_and_of_this_base_alone(catalog):
    for name in ("b", "a/z", "a", "é", "Z"):
        store(catalog, ObjectRecord(ObjectRef("acme", name), tombstone=4))
    store(catalog, ObjectRecord(ObjectRef("acme-2", "c")))
    assert [record.ref.name for record in catalog.objects("acme")] == ["Z", "a", "a/z", "b", "é"]


def test_jobs_come_newest_first_and_page_by_time_and_id(catalog):
    ages = [("j1", 5.0), ("j2", 7.0), ("j3", 5.0), ("j4", 6.5)]
    for job_id, created_at in ages:
        state = "indexed" if job_id == "j3" else "failed"
        store_job(catalog, JobRecord(job_id, REF, 1, state=state, created_at=created_at))
    store_job(catalog, JobRecord("j9", ObjectRef("other", "x"), 1, created_at=6.0))
    assert [job.job_id for job in catalog.jobs("acme")] == ["j2", "j4", "j3", "j1"]
    assert [job.job_id for job in catalog.jobs("acme", limit=2)] == ["j2", "j4"]
    assert [job.job_id for job in catalog.jobs("acme", after=(6.5, "j4"))] == ["j3", "j1"]
    assert [job.job_id for job in catalog.jobs("acme", after=(5.0, "j3"), limit=5)] == ["j1"]
    assert [job.job_id for job in catalog.jobs("acme", state="failed", after=(7.0, "j2"))] == ["j4", "j1"]
    store_job(catalog, JobRecord("j1", REF, 1, state="indexed", created_at=5.0))
    assert [job.job_id for job in catalog.jobs("acme", state="indexed")] == ["j3", "j1"]
    assert list(catalog.jobs("acme", state="queued")) == []


def test_a_job_belongs_to_its_base(catalog):
    store_job(catalog, JobRecord("j", REF, 1))
    store_job(catalog, JobRecord("j", ObjectRef("other", "x"), 2))
    assert [catalog.job(base, "j").generation for base in ("acme", "other")] == [1, 2]


def test_totals_count_live_objects_alone(catalog):
    for name, live in (("a", 1), ("b", None), ("c", 0)):
        record = ObjectRecord(
            ObjectRef("acme", name), newest=1, live=live, documents=1, passages=2, tokens=30, size=2**40
        )
        store(catalog, record)
    assert catalog.totals("acme") == Totals(objects=2, documents=2, passages=4, tokens=60, size=2**41)
    assert catalog.totals("other") == Totals()


def test_voiding_leases_drops_every_one_and_nothing_else(catalog):
    leased = [full_object(), replace(full_object(), ref=ObjectRef("other", "x"))]
    for record in leased:
        store(catalog, record, raise_epoch=True)
    free = ObjectRecord(ObjectRef("acme", "free"))
    store(catalog, free)
    assert catalog.void_leases() == 2
    assert catalog.void_leases() == 0
    assert [catalog.object(record.ref) for record in leased] == [replace(record, lease=None) for record in leased]
    assert catalog.object(free.ref) == free
    assert catalog.epoch("acme") == 1


def in_threads(work: Callable[[int], object], times: int) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(times)))


def test_no_update_and_no_epoch_is_lost_between_threads_and_connections(case):
    catalogs = [case.catalog, case.again()]

    def add(number: int) -> None:
        def decide(held: Held) -> Decision[None]:
            record = held.object or ObjectRecord(REF)
            raised = number % 3 == 0
            return Decision(None, replace(held, object=replace(record, newest=record.newest + 1)), raise_epoch=raised)

        catalogs[number % 2].transact(REF, "j", decide)

    in_threads(add, 240)
    assert case.catalog.object(REF).newest == 240
    assert case.catalog.epoch("acme") == 80


def next_live(held: Held) -> ObjectRecord:
    return ObjectRecord(ObjectRef("acme", "a"), live=1 if held.object is None else held.object.live + 1)


def test_live_and_epoch_are_of_one_moment(case):
    writer, reader = case.again(), case.catalog
    names = ["a", "b"]

    def step(number: int) -> None:
        if number % 2:
            live, epoch = reader.live("acme", names)
            assert [each.generation for each in live.values()] in ([], [epoch])
        else:
            writer.transact(
                ObjectRef("acme", "a"),
                "j",
                lambda held: Decision(None, replace(held, object=next_live(held)), raise_epoch=True),
            )

    in_threads(step, 400)
    assert reader.live("acme", names) == ({"a": Live(200)}, 200)


def test_put_collection_has_one_winner_among_threads(case):
    catalogs = [case.catalog, case.again()]
    answers = []
    in_threads(lambda n: answers.append(catalogs[n % 2].put_collection(collection(model=f"m{n}"))), 32)
    assert len({answer.space.embedding.model for answer in answers}) == 1


def test_usage_adds_up_by_kind_and_base_from_every_process(case):
    other = case.again()
    case.catalog.add_usage("acme", {"ingest": Count(1, 100), "rerank": Count(1, 700, 12)})
    other.add_usage("acme", {"ingest": Count(2, 50), "questions": Count(1, 9)})
    case.catalog.add_usage("globex", {"ingest": Count(7, 7)})
    for catalog in (case.catalog, other):
        expected = {"ingest": Count(3, 150), "questions": Count(1, 9), "rerank": Count(1, 700, 12)}
        assert catalog.usage("acme") == expected
        assert catalog.usage("globex") == {"ingest": Count(7, 7)}
    assert case.catalog.base("acme") is None
    assert list(case.catalog.bases()) == []
    assert case.catalog.epoch("acme") == 0


def test_no_count_of_threads_at_the_same_time_is_lost(case):
    catalogs = [case.catalog, case.again()]

    def add(number):
        catalogs[number % 2].add_usage("acme", {"questions": Count(1, number)})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(add, range(40)))
    assert case.catalog.usage("acme") == {"questions": Count(40, sum(range(40)))}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.transact(REF, "j", lambda held: Decision(None, held)),
        lambda c: c.update_base("acme", lambda before: (before, None), raise_epoch=True),
        lambda c: c.base("acme"),
        lambda c: c.bases(),
        lambda c: c.put_collection(collection()),
        lambda c: c.collection("acme", "x"),
        lambda c: c.drop_collection("acme", "x"),
        lambda c: c.epoch("acme"),
        lambda c: c.live("acme", ["x"]),
        lambda c: c.object(REF),
        lambda c: list(c.objects("acme")),
        lambda c: c.put_documents(REF, 1, [document(REF.name, 1)]),
        lambda c: c.drop_documents(REF, 1),
        lambda c: c.documents("acme"),
        lambda c: c.documents_named("acme", "x"),
        lambda c: c.job("acme", "j"),
        lambda c: c.jobs("acme"),
        lambda c: c.totals("acme"),
        lambda c: c.void_leases(),
        lambda c: c.add_usage("acme", {"rerank": Count(1, 2, 3)}),
        lambda c: c.usage("acme"),
    ],
)
def test_out_of_reach_is_unavailable(case, call):
    case.take_away()
    with pytest.raises(Unavailable):
        call(case.catalog)


def test_what_is_no_json_is_refused_in_memory_too(tmp_path):
    with memory_catalog(tmp_path) as case, pytest.raises(TypeError):
        store_job(case.catalog, JobRecord("j", REF, 1, progress={"when": {1, 2}}))
