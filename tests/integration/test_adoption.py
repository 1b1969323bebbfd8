"""A collection of an unknown model, filled by plain qdrant-client, becomes a base of ours without one failed query."""

import pytest
from qdrant_client import models

from common.cli import reindex as reindex_lines
from common.domain.errors import EmbeddingInvalid, Misconfigured
from common.domain.objects import ObjectRef
from common.domain.search import Search
from functions.ingest.handle import handle
from functions.local import doctor
from tests.integration.adopting_machine import ALIAS, WORDS, AdoptingMachine, fill, foreign_points, payloads, refused
from tests.integration.cloud_machine import event_of
from tests.integration.one_machine import BASE, Killed

BEFORE = f"{ALIAS}__before"


@pytest.fixture
def machine():
    opened = AdoptingMachine()
    fill(opened.client)
    return opened


def migrated(machine):
    machine.start()
    machine.settle()
    machine.command("switch")
    machine.settle()
    return machine


def test_the_plan_is_made_of_its_payloads(machine):
    plan = machine.reindexing.plan(BASE)
    assert (plan["documents"], plan["passages"]) == (7, 8)
    assert plan["adopts"] == {"collection": ALIAS, "points": 10, "without_text": 2, "named": ["5", "6"]}
    assert plan["tokens"] > 800
    assert plan["disk_mb"] > 0
    assert machine.record is None


def test_it_migrates_with_no_failed_query(machine):
    old = foreign_points(machine.client, ALIAS)
    begun = machine.start()
    assert begun["state"] == "building"
    assert machine.record.reindex.texts_in
    answer = machine.ask("jabuticaba")
    assert (answer.degraded, answer.mode, answer.embedded) == (True, "lexical", False)
    assert "words alone" in answer.warnings[0]
    machine.settle()
    status = machine.reindexing.status(BASE)
    assert (status["state"], status["failed"], status["adopted"]) == ("ready", 0, True)
    assert status["done"] == status["objects"] == 6
    assert foreign_points(machine.client, ALIAS) == old
    machine.command("switch")
    answer = machine.ask("jabuticaba")
    assert (answer.degraded, answer.mode, answer.warnings) == (False, "hybrid", ())
    assert answer.passages[0].dense_score > 0
    machine.settle()
    assert machine.looks > 50
    assert set(machine.gone) == {f"after delete_collection {ALIAS}", "before update_collection_aliases"}
    assert len(machine.gone) == 2
    assert machine.aliases() == {ALIAS: machine.record.live}
    assert foreign_points(machine.client, BEFORE) == old
    machine.command("retire")
    assert machine.names() == {machine.record.live}
    assert machine.reindexing.lacking(BASE, machine.record.live) == []


def test_a_reader_from_outside_finds_its_text_and_its_id(machine):
    migrated(machine)
    texts = {record.payload["text"]: record.payload for record in machine.stored().values()}
    wanted = {payload["text"] for _, payload in payloads() if payload.get("text") and len(payload["text"]) < 1000}
    assert wanted <= texts.keys()
    assert texts["A graviola pesa dois quilos."]["metadata"]["document_id"] == "b2"
    assert texts["A pitanga tem oito gomos."]["metadata"] == {"document_id": 12, "lang": "pt"}
    assert all(len(record.vector[""]) == machine.embedder.space.dimension for record in machine.stored().values())


def test_what_has_no_text_is_counted_and_named(machine):
    migrated(machine)
    rows = {row["source"]: row for row in machine.runtime.listing.documents(BASE, None, 0)}
    assert set(rows) == {*WORDS, "foreign/9", "vazio"}
    assert (rows["vazio"]["state"], rows["vazio"]["reason"]) == ("empty", "None of its points has a text.")
    assert rows["a1"]["warnings"] == ["1 points without text were left out: 5"]
    assert rows["manual/um.md"]["external_id"] == "b2"
    assert rows["12"]["passages"] == 2
    assert rows["longo"]["passages"] > 3


def whole(machine):
    """All that a migration came to, without what differs from run to run."""
    live = machine.record.live
    points = {
        key: (record.payload, tuple(record.vector[""]), record.vector["lexical"].indices)
        for key, record in machine.stored().items()
    }
    objects = {o.ref.name: (o.live, o.state, o.passages, dict(o.holds)) for o in machine.catalog.objects(BASE)}
    documents = sorted(document.source for document in machine.catalog.documents(BASE))
    return live, points, objects, documents, machine.aliases(), foreign_points(machine.client, BEFORE)


def test_a_kill_at_any_boundary_ends_as_an_undisturbed_adoption():
    undisturbed = AdoptingMachine()
    fill(undisturbed.client)
    wanted = whole(migrated(undisturbed))
    steps = [name for name in undisturbed.boundaries if name.startswith("before")]
    assert len(steps) > 50
    for after, name in enumerate(steps):
        machine = AdoptingMachine(kill_after=after, words={"12": "pitanga", "longo": "cupuacu"})
        fill(machine.client)
        try:
            machine.start()
        except Killed:
            if machine.record is None or machine.record.reindex is None:
                machine.start()
            machine.reindexing.resume(BASE)
        machine.settle()
        machine.answered = True
        machine.look("settled")
        assert machine.reindexing.status(BASE)["state"] == "ready", name
        assert machine.record.reindex.rounds == 0, name
        machine.command("switch")
        machine.settle()
        assert whole(machine) == wanted, name
        assert machine.kill_after is None


def test_a_rollback_gives_the_outside_its_vectors_back_and_a_new_start_is_soon_ready(machine):
    old = foreign_points(machine.client, ALIAS)
    migrated(machine)
    machine.gone.clear()
    assert machine.command("rollback")["state"] == "rolled_back"
    assert machine.command("rollback")["state"] == "rolled_back"
    assert foreign_points(machine.client, ALIAS) == old
    assert "rolled back" in machine.ask("pitanga").warnings[0]
    machine.settle()
    machine.clock.advance(73 * 3600)
    machine.reindexing.retire_due()
    assert foreign_points(machine.client, ALIAS) == old
    assert machine.start()["state"] == "building"
    machine.settle()
    machine.command("switch")
    machine.settle()
    assert machine.aliases() == {ALIAS: machine.record.live}
    assert not machine.ask("pitanga").degraded
    assert machine.gone == []
    machine.command("retire")
    assert machine.names() == {machine.record.live}


@pytest.mark.parametrize("when", ["building", "ready", "rolled_back"])
def test_a_cancel_leaves_the_collection_as_it_was_and_no_record_of_the_base(machine, when):
    old = foreign_points(machine.client, ALIAS)
    machine.put("um.md", "Uma lichia na cesta.")
    machine.start()
    if when != "building":
        machine.settle()
    if when == "rolled_back":
        machine.command("switch")
        machine.command("rollback")
    machine.answered = False
    assert machine.command("cancel")["state"] == "cancelled"
    assert machine.command("cancel")["state"] == "cancelled"
    # The broker gives up on events that nobody can take.
    machine.mail.clear()
    machine.settle()
    assert foreign_points(machine.client, ALIAS) == old
    assert machine.names() == {BEFORE if when == "rolled_back" else ALIAS}
    assert refused(lambda: machine.ask("pitanga")).code == "NO_BASE"
    assert refused(lambda: machine.runtime.listing.documents(BASE, None, 0)).code == "NO_BASE"
    assert list(machine.catalog.documents(BASE)) == []
    assert machine.catalog.totals(BASE).objects == 0
    machine.start()
    machine.settle()
    machine.command("switch")
    machine.words["um.md"] = "lichia"
    machine.settle()
    machine.look("settled again")
    assert machine.reindexing.status(BASE)["done"] == 7


def test_nothing_is_mixed_with_it_before_and_nothing_is_lost(machine):
    old = foreign_points(machine.client, ALIAS)
    no = refused(lambda: machine.runtime.manage.upload(BASE, "um.md", b"texto", "text/markdown"))
    assert (no.status, no.code) == (409, "FOREIGN")
    assert f"fichario reindex start --base {BASE}" in no.detail
    everybody = machine.runtime.reconcile.run_all(lambda base: True, repair=True, yes=False)
    assert (everybody.foreign, list(everybody.counts)) == (1, [BASE])
    machine.put("um.md", "Uma lichia na cesta.")
    change = machine.mail.pop()
    with pytest.raises(Misconfigured, match="reindex start"):
        machine_takes(machine, change)
    found = machine.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert (found["foreign"], found["missing"]) == (1, 0)
    assert f"fichario reindex start --base {BASE}" in found["details"][0]["why"]
    assert machine.mail == []
    assert machine.names() == {ALIAS}
    assert foreign_points(machine.client, ALIAS) == old
    machine.start()
    machine.settle()
    assert "um.md" in {passage.source for passage in machine.ask("lichia").passages}


def machine_takes(machine, change):
    handle(event_of(change, direct=False), machine.runtime)


def test_a_file_of_the_bucket_takes_the_place_of_its_text(machine):
    machine.put("manual/um.md", "A graviola do ficheiro pesa tres quilos.")
    machine.mail.clear()
    machine.start()
    assert {passage.text for passage in machine.ask("graviola").passages} == {"A graviola pesa dois quilos."}
    machine.settle()
    machine.command("switch")
    machine.put("a1", "A jabuticaba do ficheiro.")
    machine.settle()
    for word in ("graviola", "jabuticaba"):
        found = [passage.text for passage in machine.ask(word).passages if word in passage.text]
        assert len(found) == 1
        assert "ficheiro" in found[0]
    held = machine.reader.index.generations(BASE, machine.record.live)
    assert {generation for (name, generation) in held if name in {"a1", "manual/um.md"}} == {
        1_790_000_000,
        1_790_000_001,
    }


def test_documents_without_a_file_are_listed_and_stay(machine):
    migrated(machine)
    machine.put("12", "A pitanga do ficheiro.")
    machine.settle()
    found = machine.runtime.reconcile.run(BASE, repair=True, yes=True)
    assert {
        kind: found[kind] for kind in ("missing", "orphaned", "half_indexed", "alias", "duplicated")
    } == dict.fromkeys(("missing", "orphaned", "half_indexed", "alias", "duplicated"), 0)
    named = {detail["object"] for detail in found["details"] if detail["kind"] == "foreign"}
    assert named == {"a1", "manual/um.md", "longo", "so.md", "foreign/9", "vazio"}
    assert all("upload" in detail["why"] for detail in found["details"])
    machine.settle()
    machine.look("reconciled")


@pytest.mark.parametrize("when", ["building", "live"])
def test_a_document_that_is_deleted_does_not_come_back(machine, when):
    machine.start()
    if when == "live":
        machine.settle()
        machine.command("switch")
    machine.words.pop("manual/um.md")
    machine.runtime.manage.delete(BASE, "b2")
    machine.settle()
    if when == "building":
        machine.command("switch")
    assert not any("graviola" in passage.text for passage in machine.ask("graviola").passages)
    machine.settle()
    held = machine.reader.index.generations(BASE, machine.record.live)
    assert not any(name == "manual/um.md" for name, _ in held)
    assert all(job.terminal for job in machine.catalog.jobs(BASE))


def test_failures_are_told_by_document_and_hold_up_the_switch_alone(machine):
    machine.start()

    def fails(texts):
        if any("graviola" in text for text in texts):
            raise EmbeddingInvalid(0, "it holds nothing")
        return type(machine.embedder).embed_passages(machine.embedder, texts)

    machine.embedder.embed_passages = fails
    machine.settle()
    status = machine.reindexing.status(BASE)
    assert (status["state"], status["failed"]) == ("building", 1)
    assert status["failures"][0]["source"] == "manual/um.md"
    assert refused(lambda: machine.reindexing.switch(BASE)).extra["missing"] == 1
    del machine.embedder.embed_passages
    machine.runtime.manage.delete(BASE, "manual/um.md")
    machine.words.pop("manual/um.md")
    machine.settle()
    machine.reindexing.resume(BASE)
    machine.settle()
    assert machine.command("switch")["state"] == "live"


def test_a_large_one_answers_while_its_texts_come(machine):
    """The start's time is over behind the first document; orders bring in the rest."""
    machine.words = {}
    machine.on_boundary = lambda name: machine.clock.advance(150.0 if name.startswith("before upsert") else 0.0)
    machine.start()
    assert not machine.record.reindex.texts_in
    assert machine.ask("jabuticaba").degraded
    assert "still being brought in" in machine.ask("jabuticaba").warnings[0]
    machine.settle()
    machine.words = dict(WORDS)
    machine.command("switch")
    machine.settle()
    machine.look("settled")


def test_what_comes_into_it_meanwhile_is_found_by_the_verification(machine):
    machine.start()
    new = {"text": "Um caju tardio.", "document_id": "tarde"}
    machine.client.upsert(ALIAS, [models.PointStruct(id=77, vector=[1.0] * 384, payload=new)])
    machine.settle()
    assert machine.reindexing.status(BASE)["state"] == "ready"
    machine.command("switch")
    assert machine.ask("caju").passages[0].source == "tarde"


def test_words_that_were_written_behind_the_vectors_are_found_by_the_verification(machine):
    """A worker that slept over its lease writes once more what has its vectors by now."""
    machine.start()
    slept = []

    def between(name):
        if name.startswith("before update_base") and machine.record.reindex.state == "building" and not slept:
            lacking = machine.reindexing.lacking(BASE, machine.record.live)
            if not lacking:
                slept.append(name)
                index, live = machine.reader.index, machine.record.live
                points = index.stored(BASE, live, "a1", 0)
                index.upsert(BASE, live, [type(p)(p.id, None, p.lexical, p.payload) for p in points])

    machine.on_boundary = between
    machine.settle()
    assert slept
    assert machine.record.reindex.rounds == 1
    stored = machine.reader.index.stored(BASE, machine.record.live, "a1", 0)
    assert all(point.vector is not None for point in stored)


def test_an_alias_of_somebody_else_is_adopted_without_any_gap():
    machine = AdoptingMachine()
    fill(machine.client, "their_v3")
    named = models.CreateAlias(collection_name="their_v3", alias_name=ALIAS)
    machine.client.update_collection_aliases([models.CreateAliasOperation(create_alias=named)])
    migrated(machine)
    assert machine.gone == []
    machine.command("rollback")
    assert machine.aliases() == {ALIAS: "their_v3"}
    machine.start()
    machine.settle()
    machine.command("switch")
    machine.command("retire")
    assert machine.names() == {machine.record.live, "their_v3"}


def test_readiness_counts_it_and_the_log_names_it(machine, caplog):
    ready = dict(machine.runtime.ready())
    assert ready["foreign"] == 1
    assert f"fichario reindex start --base {BASE}" in str([record.__dict__.get("reason") for record in caplog.records])
    machine.start()
    assert "foreign" not in machine.runtime.ready()


def test_two_starts_are_one_adoption(machine):
    key = machine.start()["id"]
    no = refused(lambda: machine.reindexing.start(BASE))
    assert (no.code, no.extra["id"]) == ("REINDEX_RUNNING", key)


def test_a_base_that_nobody_knows_is_still_none(machine):
    assert refused(lambda: machine.reindexing.start("nobody")).code == "NO_BASE"
    machine.client.delete_collection(ALIAS)
    assert refused(lambda: machine.reindexing.plan(BASE)).code == "NO_BASE"
    assert ObjectRef(BASE, "x") not in [known.ref for known in machine.catalog.objects(BASE)]


def test_the_gate_judges_answers_by_words_too(machine):
    machine.start()
    assert machine.reader.answers.answer(BASE, Search("jabuticaba tronco")).passages[0].source == "a1"
    assert machine.reader.answers.answer(BASE, Search("helicóptero soviético")).passages == ()


def test_an_adoption_may_switch_by_itself(machine):
    machine.switching = True
    machine.start(auto_switch=True)
    machine.settle()
    assert machine.record.reindex.state == "live"
    assert machine.aliases() == {ALIAS: machine.record.live}


def test_a_model_that_gives_other_vectors_fails_the_adoption_and_words_go_on_answering(machine):
    machine.embedder.fit = True
    machine.start()
    machine.embedder.embed_query = lambda text: [1.0, *[0.0] * 63]
    machine.settle()
    assert machine.record.reindex.state == "failed"
    assert "no longer gives the vectors" in machine.record.reindex.reason
    answer = machine.ask("pitanga")
    assert (answer.degraded, answer.warnings) == (True, ("Answered by words alone: its adoption failed.",))
    machine.put("novo.md", "Um caqui maduro.")
    machine.settle()
    assert "novo.md" in {passage.source for passage in machine.ask("caqui").passages}
    del machine.embedder.embed_query
    machine.start()
    machine.settle()
    machine.command("switch")
    assert not machine.ask("caqui").degraded


def test_a_failed_adoption_can_be_let_go(machine):
    old = foreign_points(machine.client, ALIAS)
    machine.embedder.fit = True
    machine.start()
    machine.embedder.embed_query = lambda text: [1.0, *[0.0] * 63]
    machine.settle()
    machine.answered = False
    assert machine.command("cancel")["state"] == "cancelled"
    assert (foreign_points(machine.client, ALIAS), machine.names()) == (old, {ALIAS})


def test_the_command_line_says_what_is_adopted_and_how_it_answers(machine):
    plan = machine.reindexing.plan(BASE)
    line = reindex_lines.plan_line(BASE, plan)
    assert line.startswith(f"{BASE}: adopts {ALIAS}: 7 documents, 8 passages")
    assert "(2 points without text: 5, 6)" in line
    machine.start()
    machine.settle()
    lines = reindex_lines.status_lines(machine.reindexing.status(BASE))
    assert lines[0] == f"{BASE}: ready, 6 of 6 files, unknown -> {machine.embedder.space.model}"
    assert lines[1:] == ["  answered by words alone: its vectors are being made"]


def test_doctor_names_the_command(machine):
    assert f"fichario reindex start --base {BASE}" in doctor.told_of(machine.reader.index)
    migrated(machine)
    assert doctor.told_of(machine.reader.index) == "every collection is ours"


def test_a_base_that_came_with_too_many_documents_still_takes_files_in_their_place():
    machine = AdoptingMachine(settings={"KB_MAX_DOCUMENTS": "3"})
    fill(machine.client)
    migrated(machine)
    machine.put("a1", "A jabuticaba do ficheiro.")
    machine.put("novo.md", "Um caqui a mais.")
    machine.settle()
    assert "A jabuticaba do ficheiro." in {passage.text for passage in machine.ask("jabuticaba").passages}
    assert machine.catalog.object(ObjectRef(BASE, "novo.md")).code == "QUOTA"


@pytest.mark.parametrize("when", ["building", "ready", "rolled_back"])
def test_reconcile_leaves_the_outside_its_collection_while_words_answer(machine, when):
    old = foreign_points(machine.client, ALIAS)
    machine.start()
    if when != "building":
        machine.settle()
    if when == "rolled_back":
        machine.command("switch")
        machine.command("rollback")
        machine.settle()
    found = machine.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert (found["alias"], found["half_indexed"], found["orphaned"]) == (0, 0, 0)
    machine.settle()
    assert foreign_points(machine.client, ALIAS) == old


def test_a_switch_that_died_in_between_is_finished_by_reconcile(machine):
    machine.start()
    machine.settle()
    machine.on_boundary = killing("before update_collection_aliases")
    machine.switching = True
    with pytest.raises(Killed):
        machine.reindexing.switch(BASE)
    machine.on_boundary = lambda name: None
    assert machine.runtime.reconcile.run(BASE, repair=True, yes=False)["alias"] == 1
    assert machine.aliases() == {ALIAS: machine.record.live}
    machine.settle()


def killing(boundary):
    def kill(name):
        if name == boundary:
            raise Killed

    return kill


def test_what_a_cancel_that_died_left_is_cleared_by_the_next_start(machine):
    machine.start()
    machine.settle()
    machine.answered = False

    def kill(name):
        if name.startswith("before transact") and machine.record.reindex.state == "cancelled":
            raise Killed

    machine.on_boundary = kill
    with pytest.raises(Killed):
        machine.reindexing.cancel(BASE)
    machine.on_boundary = lambda name: None
    machine.client.delete(ALIAS, models.PointIdsList(points=[3, 4]))
    del machine.words["12"]
    machine.start()
    machine.settle()
    assert "12" not in {document.source for document in machine.catalog.documents(BASE)}
    assert not any(name == "12" for name, _ in machine.reader.index.generations(BASE, machine.record.live))


def test_a_gate_is_not_due_while_words_answer(machine):
    vector = [1.0] * 384
    more = [models.PointStruct(id=100 + n, vector=vector, payload={"text": f"Texto numero {n}."}) for n in range(30)]
    machine.client.upsert(ALIAS, more)
    machine.start()
    assert machine.runtime.gate_fit.due() == []
    machine.answered = False
    machine.reindexing.cancel(BASE)
    assert machine.runtime.gate_fit.due() == []
