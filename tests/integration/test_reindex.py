"""A base moved to another vector space on one machine: SQLite, Qdrant Edge, two models whose vectors say nothing to
each other, and a reader who looks at every boundary.
"""

import threading
from dataclasses import replace

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.errors import EmbeddingInvalid, Refused, Unavailable
from common.domain.objects import ObjectRef
from common.domain.records import Decision
from common.domain.reindex import Order
from common.domain.search import Search
from functions.local.workers import Workers
from tests.integration.moving_machine import Moving
from tests.integration.one_machine import BASE, Killed

FILES = {"um": 3, "dois": 2, "tres": 1}
TOLERANT = {"KB_REINDEX_TOLERANCE": "0.6"}
"""Hashes of words know nothing that could be called better or worse."""


@pytest.fixture
def machine(tmp_path):
    opened = Moving(tmp_path, settings=TOLERANT)
    for name, parts in FILES.items():
        opened.put(name, 1, parts)
    opened.settle()
    yield opened
    opened.runtime.close()


def expected(**changed):
    versions = {name: (1, parts) for name, parts in FILES.items()} | changed
    return {name: value for name, value in versions.items() if value is not None}


def test_a_migration_ends_with_every_document_in_green_and_nothing_else(machine):
    blue = machine.record.live
    started = machine.reindexing.start(BASE, machine.other.space.model)
    assert started["plan"]["passages"] == 6
    assert started["plan"]["documents"] == 3
    machine.settle()
    status = machine.reindexing.status(BASE)
    assert (status["state"], status["done"], status["objects"], status["failed"]) == ("ready", 3, 3, 0)
    assert status["report"]["recall_at_5"]["blue"] > 0
    assert machine.record.live == blue
    before = machine.fingerprint()
    machine.reindexing.switch(BASE)
    assert machine.fingerprint() != before
    machine.settle()
    machine.check(expected())
    machine.reindexing.retire(BASE)
    machine.check(expected())
    assert machine.runtime.index.collections(BASE) == [machine.record.live] == list(machine.record.writes_to)
    assert machine.runtime.reconcile.run(BASE, repair=False, yes=False)["details"] == []


def test_what_is_uploaded_overwritten_and_deleted_meanwhile_is_in_both(machine):
    blue = machine.record.live
    machine.begin()
    changed = {"quatro": (1, 2), "um": (2, 4), "dois": None}
    steps = iter(
        [lambda: machine.put("quatro", 1, 2), lambda: machine.put("um", 2, 4), lambda: remove(machine, "dois")]
    )

    def between(name):
        if name == "carried" and (step := next(steps, None)) is not None:
            step()

    machine.on_step = between
    machine.settle()
    assert machine.reindexing.status(BASE)["state"] == "ready"
    machine.check(expected(**changed))
    machine.reindexing.switch(BASE)
    machine.settle()
    machine.check(expected(**changed))
    green = machine.record.live
    live = {(o.ref.name, o.live): o.passages for o in machine.runtime.catalog.objects(BASE) if o.live is not None}
    assert (
        dict(machine.runtime.index.generations(BASE, green))
        == live
        == dict(machine.runtime.index.generations(BASE, blue))
    )


def remove(machine, name):
    machine.runtime.manage.delete(BASE, f"{name}.md")


def test_rollback_restores_equal_answers(machine):
    question = Search("doctres", threshold=None)
    before = machine.runtime.answers.answer(BASE, question)
    machine.begin()
    machine.settle()
    machine.reindexing.switch(BASE)
    assert machine.runtime.answers.answer(BASE, question).fingerprint != before.fingerprint
    machine.put("tres", 2, 2)
    machine.settle()
    machine.put("tres", 3, 1)
    machine.settle()
    machine.reindexing.rollback(BASE)
    after = machine.runtime.answers.answer(BASE, question)
    assert after.fingerprint == before.fingerprint
    assert machine.seen("tres") == (3, 1)
    machine.reindexing.retire(BASE)
    assert machine.runtime.index.collections(BASE) == [machine.record.live]
    machine.check(expected(tres=(3, 1)))


class Noting:
    """The index, with the names of what it is asked."""

    def __init__(self, index):
        self._index, self.asked = index, []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self._index, name)


def test_green_is_on_disk_before_it_is_counted(machine):
    """What was brought over is not flushed one by one; what a machine lost with its power is found missing here."""
    key = machine.begin()
    migrating = machine.runtime.migrating
    noting = Noting(machine.runtime.index)
    noted = replace(migrating, index=noting, send=lambda _: None, rebuild=replace(migrating.rebuild, index=noting))
    noted.take(Order("build", BASE, key))
    noted.take(Order("rebuild", BASE, key, tuple(f"{name}.md" for name in FILES)))
    assert "upsert" in noting.asked
    assert "flush" not in noting.asked
    noted.take(Order("verify", BASE, key))
    assert noting.asked.index("flush") < noting.asked.index("generations")
    assert machine.reindex.state == "ready"


class Switching:
    """The catalog, which is told to switch right before the second look at a base's epoch."""

    def __init__(self, catalog, switch):
        self._catalog, self._switch, self._looks = catalog, switch, 0

    def __getattr__(self, name):
        return getattr(self._catalog, name)

    def epoch(self, base):
        self._looks += 1
        if self._looks == 2:
            self._switch()
        return self._catalog.epoch(base)


@pytest.mark.parametrize("dimension", [64, 96])
def test_a_question_that_a_switch_overtakes_is_embedded_anew(tmp_path, dimension):
    """Its vector was of blue; where both spaces have equally many dimensions, nothing but its scores would tell."""
    machine = Moving(tmp_path, settings=TOLERANT)
    machine.other = Other(dimension)
    machine.restart()
    for name, parts in FILES.items():
        machine.put(name, 1, parts)
    machine.settle()
    machine.begin()
    machine.settle()
    searcher, question = machine.runtime.answers.searcher, Search("casa grande docum", mode="dense", threshold=None)
    overtaken = replace(searcher, catalog=Switching(searcher.catalog, lambda: machine.reindexing.switch(BASE)))
    answer = overtaken.search(BASE, question)
    fresh = machine.runtime.answers.answer(BASE, question)
    assert answer.collection == machine.reindex.green == fresh.collection
    assert [p.dense_score for p in answer.passages] == [p.dense_score for p in fresh.passages] != []
    machine.runtime.close()


class Other(HashingEmbedder):
    """A model of a space of its own, of whatever dimension."""

    def __init__(self, dimension):
        super().__init__(dimension)
        self.space = replace(self.space, model=f"other-{dimension}")

    def embed_passages(self, texts):
        return [vector[1:] + vector[:1] for vector in super().embed_passages(texts)]

    def embed_query(self, text):
        vector = super().embed_query(text)
        return vector[1:] + vector[:1]


def test_two_starts_are_one_migration(machine):
    key = machine.begin()
    with pytest.raises(Refused) as refused:
        machine.begin()
    assert (refused.value.status, refused.value.code, refused.value.extra["id"]) == (409, "REINDEX_RUNNING", key)
    machine.settle()
    machine.reindexing.cancel(BASE)
    machine.settle()
    assert machine.runtime.index.collections(BASE) == [machine.record.live]
    machine.begin()
    machine.settle()
    assert machine.reindexing.status(BASE)["state"] == "ready"


def test_a_cancelled_migration_started_anew_brings_everything_over_again(machine):
    """What objects said of the first green must not pass for what the second holds."""
    for _ in range(2):
        machine.begin()
        machine.settle()
        green = machine.reindex.green
        assert sum(machine.runtime.index.generations(BASE, green).values()) == 6
        machine.reindexing.cancel(BASE)
    machine.check(expected())


def test_commands_that_do_not_fit_say_so_and_those_in_effect_change_nothing(machine):
    with pytest.raises(Refused) as none:
        machine.reindexing.status(BASE)
    assert none.value.code == "NO_REINDEX"
    machine.begin()
    for command in (machine.reindexing.switch, machine.reindexing.rollback, machine.reindexing.retire):
        with pytest.raises(Refused) as refused:
            command(BASE)
        assert refused.value.status == 409
    machine.settle()
    machine.reindexing.switch(BASE)
    assert machine.reindexing.switch(BASE)["state"] == "live"
    with pytest.raises(Refused, match="migration"):
        machine.reindexing.cancel(BASE)
    assert machine.reindexing.retire(BASE)["state"] == "retired"
    assert machine.reindexing.retire(BASE)["state"] == "retired"
    with pytest.raises(Refused):
        machine.reindexing.rollback(BASE)


def test_the_same_space_is_no_migration(machine):
    with pytest.raises(Refused) as refused:
        machine.reindexing.start(BASE)
    assert refused.value.code == "SAME_SPACE"


def test_a_switch_waits_for_every_document(machine):
    machine.begin()

    def fails(texts):
        raise EmbeddingInvalid(0, "it holds nothing")

    machine.other.embed_passages = fails
    try:
        machine.settle()
        status = machine.reindexing.status(BASE)
        assert (status["state"], status["failed"], status["done"]) == ("building", 3, 0)
        assert {row["source"] for row in status["failures"]} == {"um.md", "dois.md", "tres.md"}
        assert all(row["attempts"] == 3 for row in status["failures"])
        with pytest.raises(Refused) as refused:
            machine.reindexing.switch(BASE)
        assert (refused.value.code, refused.value.extra["missing"]) == ("INCOMPLETE", 3)
        machine.put("quatro", 1, 1)
        machine.settle()
        assert machine.seen("quatro") == (1, 1)
        assert machine.reindexing.status(BASE)["failed"] == 4
    finally:
        del machine.other.embed_passages
    for name, parts in {**FILES, "quatro": 1}.items():
        machine.put(name, 2, parts)
    machine.settle()
    with pytest.raises(Refused):
        machine.reindexing.switch(BASE)
    machine.settle()
    assert machine.reindexing.status(BASE)["state"] == "ready"


def test_an_upload_that_green_cannot_take_makes_a_ready_migration_unready(machine):
    machine.begin()
    machine.settle()
    assert machine.reindex.state == "ready"
    asked = []

    def fails(texts):
        asked.append(texts)
        raise Unavailable("the model does not answer")

    machine.other.embed_passages = fails
    try:
        machine.put("um", 2, 2)
        delivery = machine.runtime.queue.take("kb-events", 3600)
        assert machine.deliver(delivery)
    finally:
        del machine.other.embed_passages
    assert asked
    assert machine.seen("um") == (2, 2)
    assert machine.reindex.state == "building"
    machine.settle()
    assert machine.reindex.state == "ready"
    machine.reindexing.switch(BASE)
    machine.settle()
    machine.check(expected(um=(2, 2)))


def test_a_worse_green_needs_force_and_is_told_by_how_much(machine):
    machine.begin()
    machine.settle()
    report = {**machine.reindex.report, "recall_at_5": {"blue": 0.9, "green": 0.1}}

    def worse(known):
        return replace(known, reindex=replace(known.reindex, report=report)), None

    machine.runtime.catalog.update_base(BASE, worse, raise_epoch=False)
    with pytest.raises(Refused) as refused:
        machine.reindexing.switch(BASE)
    assert refused.value.code == "WORSE"
    assert refused.value.extra["worse_by"]["recall_at_5"] == pytest.approx(0.8)
    assert machine.reindexing.switch(BASE, force=True)["state"] == "live"
    assert machine.reindexing.rollback(BASE)["state"] == "rolled_back"
    machine.settle()
    machine.check(expected())


def undisturbed(folder):
    opened = Moving(folder, settings=TOLERANT)
    try:
        return run(opened), len(opened.steps)
    finally:
        opened.runtime.close()


def run(machine):
    """A whole migration with changes on the way, to its end; answers what is stored in green."""
    for name, parts in FILES.items():
        machine.put(name, 1, parts)
    machine.settle()
    machine.steps.clear()
    machine.begin()
    machine.put("um", 2, 4)
    machine.settle()
    machine.reindexing.switch(BASE)
    machine.settle()
    machine.reindexing.retire(BASE)
    return stored(machine)


def stored(machine):
    live = machine.record.live
    names = [known.ref for known in machine.runtime.catalog.objects(BASE) if known.live is not None]
    return {
        (ref.name, point.id): (point.vector, dict(point.lexical), point.payload["text"])
        for ref in names
        for point in machine.runtime.index.stored(BASE, live, ref.name, machine.runtime.catalog.object(ref).live)
    }


def test_a_kill_at_any_boundary_ends_as_an_undisturbed_migration(tmp_path):
    whole, steps = undisturbed(tmp_path / "whole")
    assert steps > 25
    for after in range(steps):
        machine = Moving(tmp_path / str(after), settings=TOLERANT)
        try:
            for name, parts in FILES.items():
                machine.put(name, 1, parts)
            machine.settle()
            machine.begin()
            machine.put("um", 2, 4)
            machine.kill_after = after
            machine.settle()
            machine.kill_after = None
            assert machine.reindexing.status(BASE)["state"] == "ready", after
            machine.reindexing.switch(BASE)
            machine.settle()
            machine.reindexing.retire(BASE)
            texts = {key[0]: 0 for key in whole}
            found = stored(machine)
            for key in found:
                texts[key[0]] += 1
            assert sorted(value for value in found.values()) == sorted(value for value in whole.values()), after
            machine.check(expected(um=(2, 4)))
        finally:
            machine.runtime.close()


def test_a_stored_object_that_is_gone_is_not_rebuilt(machine):
    machine.begin()
    remove(machine, "um")
    machine.settle()
    assert machine.reindex.state == "ready"
    assert not any(name == "um.md" for name, _ in machine.runtime.index.generations(BASE, machine.reindex.green))


def test_documents_of_several_kinds_keep_their_own_counts_in_each_collection(machine):
    """A smaller window cuts into more passages: pages, listings and totals go by the collection that answers."""
    machine.other.window = 40
    try:
        machine.put("longo", 1, 6)
        machine.settle()
        before = {row["source"]: row["passages"] for row in machine.runtime.listing.documents(BASE, None, 0)}
        text = machine.runtime.reading.page(BASE, "longo.md")["text"]
        machine.begin()
        machine.settle()
        assert {r["source"]: r["passages"] for r in machine.runtime.listing.documents(BASE, None, 0)} == before
        machine.reindexing.switch(BASE)
        machine.settle()
        after = {row["source"]: row["passages"] for row in machine.runtime.listing.documents(BASE, None, 0)}
        assert after["longo.md"] > before["longo.md"]
        assert machine.runtime.reading.page(BASE, "longo.md")["text"] == text
        assert machine.runtime.listing.base(BASE)["passages"] == sum(after.values())
        assert machine.runtime.reconcile.run(BASE, repair=False, yes=False)["details"] == []
        machine.reindexing.rollback(BASE)
        machine.settle()
        assert {r["source"]: r["passages"] for r in machine.runtime.listing.documents(BASE, None, 0)} == before
        assert machine.runtime.listing.base(BASE)["passages"] == sum(before.values())
    finally:
        machine.other.window = 256


class Dying:
    """Whatever is asked of it, the process dies."""

    def __getattr__(self, name):
        raise Killed


def dies_behind(machine, command, **lost):
    """Give the command to a process that dies once it is in effect, and start another one."""
    with pytest.raises(Killed):
        getattr(replace(machine.reindexing, **lost), command)(BASE)
    machine.restart()
    machine.reindexing.resume(BASE)
    machine.settle()


@pytest.mark.parametrize(
    "lost", [{"send": Dying().__getattr__}, {"index": Dying()}], ids=["before it recounts", "before the alias"]
)
def test_what_follows_a_switch_is_done_by_another_process_when_the_first_one_dies(machine, lost):
    machine.other.window = 40
    try:
        machine.put("longo", 1, 6)
        machine.settle()
        machine.begin()
        machine.settle()
        for command, collection in (("switch", machine.reindex.green), ("rollback", machine.reindex.blue)):
            dies_behind(machine, command, **lost)
            assert machine.record.live == collection
            listed = sum(row["passages"] for row in machine.runtime.listing.documents(BASE, None, 0))
            stored = sum(machine.runtime.index.generations(BASE, collection).values())
            assert machine.runtime.listing.base(BASE)["passages"] == listed == stored
    finally:
        machine.other.window = 256


@pytest.mark.parametrize("command", ["cancel", "retire"])
def test_space_is_freed_by_another_process_when_the_first_one_dies(machine, command):
    machine.begin()
    machine.settle()
    if command == "retire":
        machine.reindexing.switch(BASE)
        machine.settle()
    dies_behind(machine, command, index=Dying())
    assert machine.runtime.index.collections(BASE) == [machine.record.live]
    machine.check(expected())


def test_a_zombie_of_an_earlier_generation_leaves_nothing_in_green(machine):
    """An upload publishes between the moment an object is brought over and the moment that is recorded."""
    machine.begin()
    once = iter([True])

    def between(name):
        if name == "upsert" and next(once, False):
            machine.on_step = None
            machine.put("um", 2, 1)
            delivery = machine.runtime.queue.take("kb-events", 3600)
            assert machine.deliver(delivery)

    machine.on_step = between
    machine.settle()
    assert machine.reindex.state == "ready"
    known = machine.runtime.catalog.object(ObjectRef(BASE, "um.md"))
    held = {pair for pair in machine.runtime.index.generations(BASE, machine.reindex.green) if pair[0] == "um.md"}
    assert held == {("um.md", known.live)}


class Between:
    """The catalog with something that happens behind each look at the epoch or at what answers."""

    def __init__(self, catalog, happens):
        self.catalog, self.happens = catalog, happens

    def __getattr__(self, name):
        return getattr(self.catalog, name)

    def epoch(self, base):
        epoch = self.catalog.epoch(base)
        self.happens("epoch")
        return epoch

    def live(self, base, names):
        found = self.catalog.live(base, names)
        self.happens("live")
        return found


def ask(machine, happens, question):
    catalog = Between(machine.runtime.catalog, happens)
    return machine.runtime.searcher(catalog).search(BASE, question)


def raise_epoch(machine):
    machine.runtime.catalog.update_base(BASE, lambda known: (None, known), raise_epoch=True)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_question_that_a_switch_overtakes_is_asked_anew_in_the_other_space(machine, mode):
    """The vector of one space is never looked up in another, whichever look the switch comes behind."""
    machine.begin()
    machine.settle()
    # The first look is spoiled, and before the second one reads the base it is another one.
    steps = iter([lambda: raise_epoch(machine), lambda: machine.reindexing.switch(BASE)])
    blue = machine.record.live

    def happens(seen):
        if seen == "epoch" and (step := next(steps, None)):
            step()

    answer = ask(machine, happens, Search("doctres", mode=mode, threshold=None))
    assert answer.collection == machine.record.live != blue
    assert answer.passages


def test_a_base_that_never_stands_still_is_answered_from_and_nothing_of_it_is_kept(machine):
    answer = ask(machine, lambda _: raise_epoch(machine), Search("doctres", mode="lexical", threshold=None, top_k=1))
    assert "doctres version1" in answer.passages[0].text
    assert not answer.settled


def test_what_no_longer_answers_is_shown_by_no_look(machine):
    """Versions come faster than they can be read; the file is removed between the look at what answers and the answer,
    and its passages are not swept yet.
    """
    looks = []

    def gone(held):
        return Decision(None, replace(held, object=replace(held.object, live=None)))

    def happens(seen):
        if seen == "epoch":
            raise_epoch(machine)
        elif len(looks) < 6:
            looks.append(seen)
            if len(looks) == 5:
                machine.runtime.catalog.transact(ObjectRef(BASE, "tres.md"), "x", gone)

    answer = ask(machine, happens, Search("doctres", mode="lexical", threshold=None, top_k=1))
    assert len(looks) == 6
    assert answer.passages == ()


def test_the_collection_that_a_question_was_asked_of_may_be_gone(machine):
    machine.begin()
    machine.settle()
    once = iter([True])

    def happens(_):
        if next(once, False):
            machine.reindexing.switch(BASE)
            machine.reindexing.retire(BASE)

    assert ask(machine, happens, Search("doctres", threshold=None)).passages


def test_a_machine_at_rest_frees_what_was_replaced_when_its_grace_is_over(machine):
    machine.begin()
    machine.settle()
    blue = machine.record.live
    machine.reindexing.switch(BASE)
    machine.settle()
    topic, bell, stopping = machine.runtime.settings.kb_topic_reindex, threading.Event(), threading.Event()

    def at_rest():
        crew = Workers(machine.runtime, topic, bell, stopping, count=1, fits=False)
        assert not crew._retire_due()
        return crew

    at_rest()
    assert blue in machine.runtime.index.collections(BASE)
    machine.clock.advance(71 * 3600)
    crew = at_rest()
    machine.clock.advance(2 * 3600)
    assert crew._retire_due()
    assert not crew._retire_due()
    assert machine.runtime.index.collections(BASE) == [machine.record.live]
    assert machine.reindex.state == "retired"
    events = Workers(machine.runtime, machine.runtime.settings.kb_topic_events, bell, stopping, count=1, fits=False)
    assert not events._retire_due()
