"""What Firestore's Catalog does beyond the contract: races between processes, the indexes it needs, Google's errors."""

import itertools
import socket
import time
from dataclasses import replace

import pytest
from google.api_core import exceptions
from google.auth.exceptions import RefreshError, TransportError
from google.cloud.firestore_v1.types import StructuredQuery
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.firestore.calls import Contended
from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.firestore.generations import FirestoreGenerations
from common.adapters.firestore.layout import BASES, EPOCHS, INDEXES, OBJECTS, UNINDEXED
from common.adapters.memory_catalog import MemoryCatalog
from common.domain.errors import Misconfigured, Unavailable
from common.domain.objects import ObjectRef
from common.domain.records import BaseRecord, Decision, JobRecord, ObjectRecord
from tests.contract.emulators import firestore_client, new_project, tap
from tests.contract.records import (
    REF,
    document,
    full_job,
    full_object,
    publish,
    publish_with,
    store,
    store_job,
)

OTHER = ObjectRef("acme", "other.md")


@pytest.fixture
def client():
    with firestore_client(new_project()) as made:
        yield made


@pytest.fixture
def catalog(client):
    return FirestoreCatalog(client)


def noted(decisions, catalog, meanwhile):
    """A decision that notes what it was given, and lets something else happen before its first answer is stored."""

    def decide(held):
        decisions.append(held)
        if len(decisions) == 1:
            meanwhile()
        return Decision(len(decisions), replace(held, object=replace(held.object or ObjectRecord(REF), newest=99)))

    return decide


def test_a_decision_is_made_anew_when_the_base_it_only_read_was_changed_or_made(catalog):
    for number, base in enumerate((BaseRecord("acme", "one"), BaseRecord("acme", "two"))):
        decisions = []
        decide = noted(
            decisions, catalog, lambda base=base: catalog.update_base("acme", lambda _: (base, None), raise_epoch=False)
        )
        store(catalog, ObjectRecord(REF, newest=number))
        assert catalog.transact(REF, "j", decide) == 2
        assert decisions[1].base == base


@pytest.mark.parametrize("before", [None, ObjectRecord(REF, newest=1)])
def test_a_decision_is_made_anew_when_its_object_was_changed_or_made(catalog, before):
    if before is not None:
        store(catalog, before)
    decisions = []
    assert catalog.transact(REF, "j", noted(decisions, catalog, lambda: store(catalog, full_object()))) == 2
    assert [held.object for held in decisions] == [before, full_object()]


def test_a_decision_is_made_anew_when_its_job_was_changed_where_it_moved_to(catalog):
    store_job(catalog, full_job())
    store_job(catalog, JobRecord("newer", REF, 8))
    changed = replace(full_job(), attempts=3)
    decisions = []
    assert catalog.transact(REF, "j7", noted(decisions, catalog, lambda: store_job(catalog, changed))) == 2
    assert [held.job for held in decisions] == [full_job(), changed]


def test_a_decision_without_writes_takes_one_call_and_no_lock(client, catalog):
    calls = []
    tap(client, lambda name, request: calls.append(name))
    assert catalog.transact(REF, "j", lambda held: Decision("nothing", held)) == "nothing"
    assert calls == ["batch_get_documents"]


@pytest.mark.parametrize(
    "error",
    [
        exceptions.Aborted("x"),
        exceptions.FailedPrecondition("x"),
        exceptions.AlreadyExists("x"),
        exceptions.NotFound("x"),
    ],
)
def test_a_commit_that_lost_a_race_is_tried_again(client, catalog, error):
    commits = []

    def lose(name, request):
        if name == "commit":
            commits.append(name)
            if len(commits) == 1:
                raise error

    tap(client, lose)
    store(catalog, full_object(), raise_epoch=True)
    assert (len(commits), catalog.object(REF), catalog.epoch("acme")) == (2, full_object(), 1)


def test_what_others_win_for_all_of_its_patience_is_contended(client, catalog):
    hasty = FirestoreCatalog(client, patience=0.3)
    numbers = itertools.count()

    def decide(held):
        store(catalog, ObjectRecord(REF, newest=next(numbers)))
        return Decision(None, replace(held, object=full_object()))

    with pytest.raises(Contended):
        hasty.transact(REF, "j", decide)
    assert catalog.object(REF).newest == next(numbers) - 1


@pytest.mark.parametrize("name", ["", "a"])
def test_no_listing_loses_a_document_whose_object_is_overwritten_meanwhile(client, catalog, name):
    """Between the page and the question which generations answer, a newer one is published and the page's is gone."""
    publish(catalog, "a.md", 1)
    overwritten = []

    def overwrite(call, request):
        if call == "batch_get_documents" and not overwritten:
            overwritten.append(call)
            publish(catalog, "a.md", 2)
            catalog.drop_documents(ObjectRef("acme", "a.md"), 2)

    tap(client, overwrite)
    listed = catalog.documents_named("acme", name) if name else catalog.documents("acme")
    assert (overwritten, list(listed)) == (["batch_get_documents"], [document("a.md", 1)])
    assert list(catalog.documents("acme")) == [document("a.md", 2)]


def test_no_listing_of_jobs_loses_one_that_moves_meanwhile(client, catalog):
    old, new = JobRecord("old", REF, 1, created_at=1.0), JobRecord("new", REF, 2, created_at=2.0)
    store_job(catalog, old)
    queries = []

    def move(call, request):
        queries.append(call)
        if queries.count("run_query") == 2 and call == "run_query":
            store_job(catalog, new)

    tap(client, move)
    assert list(catalog.jobs("acme")) == [old]
    assert list(catalog.jobs("acme")) == [new, old]


@pytest.mark.parametrize("call", [1, 2])
def test_no_look_for_a_job_misses_it_while_it_moves(client, catalog, call):
    store_job(catalog, full_job())
    calls = []

    def move(name, request):
        calls.append(name)
        if len(calls) == call:
            store_job(catalog, JobRecord("newer", REF, 8))

    tap(client, move)
    assert catalog.job("acme", "j7") == full_job()


def test_a_job_that_ended_and_is_opened_anew_while_it_ends_is_not_lost(catalog):
    """Its end goes to a document of its own, its opening to the object's: each is decided on with the other in view."""
    ended = replace(full_job(), state="indexed", swept=False)
    store_job(catalog, ended)
    fresh = JobRecord("j7", REF, 7, created_at=ended.created_at)
    decisions = []

    def reopen(held):
        decisions.append(held.job)
        if len(decisions) == 1:
            store_job(catalog, replace(ended, swept=True, notified=True))
        return Decision(None, replace(held, job=fresh))

    catalog.transact(REF, "j7", reopen)
    assert [job.finished for job in decisions] == [False, True]
    assert catalog.job("acme", "j7") == fresh
    assert list(catalog.jobs("acme", state="indexed")) == []
    assert list(catalog.jobs("acme", state="queued")) == [fresh]


def test_nothing_of_a_removed_document_is_left(client, catalog):
    publish_with(catalog, "a.md", 1, document("a.md", 1, title="secret"))
    publish_with(catalog, "a.md", None)
    (left,) = [row.to_dict() for row in client.collection(BASES, "acme", OBJECTS).stream()]
    assert "secret" not in str(left)
    assert not left.keys() & {"source", "object", "generation", "names", "document"}


def test_the_epoch_is_shared_by_counters_that_objects_choose(client):
    catalog = FirestoreCatalog(client, shards=3)
    for number in range(12):
        store(catalog, ObjectRecord(ObjectRef("acme", f"{number}.md")), raise_epoch=True)
        store(catalog, ObjectRecord(ObjectRef("acme", f"{number}.md")), raise_epoch=True)
    counters = [row.to_dict()["raised"] for row in client.collection(BASES, "acme", EPOCHS).stream()]
    assert (len(counters), sum(counters), catalog.epoch("acme")) == (3, 24, 24)
    assert all(count % 2 == 0 for count in counters)


@pytest.mark.parametrize("job_id", ["", ".", "..", "__x__", "a/b", "é", "\ud800", "x" * 3000, "~"])
def test_no_id_of_a_job_leads_astray(catalog, job_id):
    assert catalog.job("acme", job_id) is None
    job = JobRecord(job_id, REF, 1)
    if job_id.isprintable():
        store_job(catalog, job)
        store_job(catalog, JobRecord("next", REF, 2))
        assert catalog.job("acme", job_id) == job
        assert list(catalog.jobs("acme")) == sorted([job, JobRecord("next", REF, 2)], key=lambda j: j.job_id)[::-1]


written = st.tuples(
    st.sampled_from([REF, OTHER]),
    st.sampled_from(["a", "b", "c", "d"]),
    st.sampled_from(["queued", "indexed"]),
    st.sampled_from([1.0, 2.0, 1_790_000_000.000_001]),
    st.booleans(),
    st.booleans(),
)


def test_jobs_are_found_and_listed_wherever_they_stand(client):
    projects = itertools.count()

    @settings(max_examples=50, deadline=None)
    @given(st.lists(written, max_size=12))
    def holds(steps):
        base = f"base{next(projects)}"
        catalog, reference = FirestoreCatalog(client), MemoryCatalog()
        for number, (name, job_id, state, created_at, finished, with_object) in enumerate(steps):
            ref = ObjectRef(base, name.name)
            ends = {"swept": finished, "notified": finished}
            job = JobRecord(f"{job_id}{ref.name[0]}", ref, 1, state=state, created_at=created_at, **ends)
            changed = {"object": ObjectRecord(ref, newest=number)} if with_object else {}

            def decide(held, job=job, changed=changed):
                return Decision(held.job, replace(held, job=job, **changed))

            assert catalog.transact(ref, job.job_id, decide) == reference.transact(ref, job.job_id, decide)
        for state in (None, "queued", "indexed"):
            everything = reference.jobs(base, state=state)
            assert list(catalog.jobs(base, state=state)) == everything
            for job in everything:
                after = (job.created_at, job.job_id)
                found = catalog.jobs(base, state=state, after=after, limit=2)
                assert list(found) == reference.jobs(base, state=state, after=after, limit=2)
        assert [catalog.job(base, job.job_id) for job in reference.jobs(base)] == reference.jobs(base)

    holds()


EQUAL = {StructuredQuery.FieldFilter.Operator.EQUAL, StructuredQuery.FieldFilter.Operator.ARRAY_CONTAINS}


def used(query):
    """The fields of one query as an index needs them: those of equality, then those of order and range."""
    filters = [query.where] if "where" in query else []
    equal, ranged = set(), []
    while filters:
        one = filters.pop()
        if "composite_filter" in one:
            filters += one.composite_filter.filters
        elif one.field_filter.op in EQUAL:
            equal.add(one.field_filter.field.field_path)
        else:
            ranged.append(one.field_filter.field.field_path)
    ordered = [order.field.field_path for order in query.order_by]
    return sorted(equal), [path for path in dict.fromkeys((*ordered, *ranged)) if path != "__name__"]


def test_every_query_is_served_by_an_index_that_the_deployment_makes_and_none_is_made_in_vain(client, catalog):
    queries = []

    def note(name, request):
        if name == "run_query":
            queries.append(request["structured_query"])
        if name == "run_aggregation_query":
            asked = request["structured_aggregation_query"]
            sums = [each.sum.field.field_path for each in asked.aggregations if "sum" in each]
            found.add((asked.structured_query.from_[0].collection_id, tuple(sums)))

    found = set()
    publish(catalog, "a.md", 1)
    tap(client, note)
    generations = FirestoreGenerations(client)
    generations.known(), generations.known("acme")
    catalog.bases(), catalog.totals("acme"), catalog.void_leases(), list(catalog.objects("acme"))
    catalog.documents("acme"), catalog.documents("acme", prefix="a", after=("a", "b"), limit=1)
    catalog.documents_named("acme", "a.md"), catalog.drop_documents(REF, 3)
    catalog.job("acme", "j"), catalog.jobs("acme"), catalog.jobs("acme", state="failed", after=(1.0, "j"), limit=3)
    plain = set()
    for query in queries:
        (equal, behind), collection_id = used(query), query.from_[0].collection_id
        # Filters of equality alone are served by merging single-field indexes.
        if behind and len(equal) + len(behind) > 1:
            found.add((collection_id, (*equal, *behind)))
        else:
            plain |= {(collection_id, path) for path in (*equal, *behind)}
    assert found == set(INDEXES)
    assert len(plain) == 11
    assert not plain & set(UNINDEXED)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.ServiceUnavailable("x"), Unavailable),
        (exceptions.DeadlineExceeded("x"), Unavailable),
        (exceptions.ResourceExhausted("x"), Unavailable),
        (exceptions.InternalServerError("x"), Unavailable),
        (exceptions.Unknown("x"), Unavailable),
        (exceptions.Cancelled("x"), Unavailable),
        (exceptions.Aborted("x"), Unavailable),
        (exceptions.RetryError("x", exceptions.ServiceUnavailable("x")), Unavailable),
        (TransportError("x", retryable=True), Unavailable),
        (RefreshError("x"), Misconfigured),
        (exceptions.PermissionDenied("x"), Misconfigured),
        (exceptions.Unauthenticated("x"), Misconfigured),
        (exceptions.InvalidArgument("x"), ValueError),
    ],
)
@pytest.mark.parametrize("where", ["batch_get_documents", "begin_transaction", "commit", "run_query"])
def test_errors_are_translated_wherever_they_arise(client, where, error, expected):
    catalog = FirestoreCatalog(client, patience=0.05)

    def refuse(name, request):
        if name == where:
            raise error

    tap(client, refuse)
    call = catalog.bases if where == "run_query" else lambda: store(catalog, full_object(), raise_epoch=True)
    with pytest.raises(expected):
        call()


def test_a_missing_index_or_database_is_said_to_whoever_deploys(client, catalog):
    for error, says in (
        (exceptions.FailedPrecondition("The query requires an index."), "apply the deployment's indexes"),
        (exceptions.NotFound("The database (default) does not exist"), "no such Firestore database"),
    ):

        def refuse(name, request, error=error):
            raise error

        tap(client, refuse)
        with pytest.raises(Misconfigured, match=says):
            catalog.documents("acme")


@pytest.mark.parametrize("listens", [False, True])
def test_where_nothing_answers_a_call_gives_up_within_its_patience(listens):
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        if listens:
            port.listen()
        with firestore_client("nowhere", address=f"127.0.0.1:{port.getsockname()[1]}") as client:
            catalog = FirestoreCatalog(client, patience=1.0)
            for call in (
                lambda: catalog.epoch("acme"),
                lambda: catalog.transact(REF, "j", lambda held: Decision(None, held)),
                lambda: catalog.documents("acme"),
                lambda: catalog.put_documents(REF, 1, [document(REF.name, 1)]),
            ):
                since = time.monotonic()
                with pytest.raises(Unavailable):
                    call()
                assert time.monotonic() - since < 5
