"""What becomes of files on one machine: indexed, unchanged, overwritten, broken, deleted, and killed at every step."""

from dataclasses import replace

import pytest

from common.domain.errors import Misconfigured, Unavailable
from common.domain.search import Search
from tests.integration.one_machine import BASE, Killed, OneMachine, content


def put(machine, name, data):
    machine.names.add(name)
    return machine.runtime.manage.upload(BASE, f"{name}.md", data, "")["job_id"]


def job(machine, job_id):
    return machine.runtime.catalog.job(BASE, job_id)


def test_a_file_becomes_passages_and_its_job_says_what_it_cost(machine):
    job_id = put(machine, "um", content("um", 1, 3))
    assert job(machine, job_id).state == "queued"
    machine.settle()
    done = job(machine, job_id)
    assert (done.state, done.passages, done.new_passages, done.attempts) == ("indexed", 3, 3, 1)
    assert done.tokens_in_source == done.tokens_embedded == done.embedded_tokens > 0
    assert set(done.timings_ms) == {"read", "parse", "chunk", "embed", "write"}
    machine.check({"um": (1, 3)})


def test_only_what_is_new_is_embedded(machine):
    put(machine, "um", content("um", 1, 4))
    machine.settle()
    changed = content("um", 1, 4).replace(b"numero 2", b"numero dois")
    job_id = put(machine, "um", changed)
    machine.settle()
    assert job(machine, job_id).new_passages == 1
    longer = job(machine, put(machine, "um", changed + b"\n\n" + content("dois", 2, 1)))
    machine.settle()
    assert job(machine, longer.job_id).new_passages == 1


def test_equal_content_is_left_alone(machine):
    put(machine, "um", content("um", 1, 3))
    machine.settle()
    epoch = machine.runtime.catalog.epoch(BASE)
    again = machine.runtime.manage.upload(BASE, "um.md", content("um", 1, 3), "")
    machine.settle()
    assert again["unchanged"]
    assert machine.runtime.catalog.epoch(BASE) == epoch


def test_a_shorter_version_leaves_nothing_of_the_longer_one_and_an_empty_one_nothing_at_all(machine):
    """IDN-01: 30 sections, then one, then no bytes, then 30 again."""
    for version, parts in ((1, 30), (2, 1), (3, 0), (4, 30)):
        job_id = put(machine, "longo", content("longo", version, parts))
        machine.settle()
        assert job(machine, job_id).state == ("indexed" if parts else "empty")
        machine.check({"longo": (version, parts)} if parts else {})


@pytest.mark.parametrize(
    ("data", "code"), [(b"\x00\x01binary", "UNSUPPORTED"), (b"text with \x00 inside", "BAD_ENCODING")]
)
def test_a_version_that_cannot_be_read_takes_the_older_one_out_of_the_answers(machine, data, code):
    """RULES 4: the file's own fault is its newest outcome."""
    put(machine, "um", content("um", 1, 3))
    machine.settle()
    job_id = put(machine, "um", data)
    machine.settle()
    ended = job(machine, job_id)
    assert ended.code == code
    assert ended.reason
    assert ended.next_step
    machine.check({})
    row = machine.runtime.listing.documents(BASE, None, 0)[0]
    assert (row["source"], row["code"], row["stale"]) == ("um.md", code, False)


def test_a_fault_of_ours_leaves_the_older_version_answering_marked_stale(machine):
    put(machine, "um", content("um", 1, 3))
    machine.settle()
    put(machine, "um", content("um", 2, 3))
    for _ in range(3):
        machine.kill_after = 1
        delivery = machine.runtime.queue.take("kb-events", 3600)
        machine.deliver(delivery)
    machine.settle()
    assert machine.seen("um") == (1, 3)
    answer = machine.runtime.answers.answer(BASE, Search("docum version1", threshold=None))
    assert {passage.stale for passage in answer.passages} == {True}
    row = machine.runtime.listing.documents(BASE, None, 0)[0]
    assert (row["stale"], row["code"]) == (True, "ATTEMPTS_EXHAUSTED")
    put(machine, "um", content("um", 3, 2))
    machine.settle()
    machine.check({"um": (3, 2)})


def test_deleting_leaves_no_trace_and_a_late_event_does_not_bring_it_back(machine):
    put(machine, "um", content("um", 1, 3))
    put(machine, "dois", content("dois", 1, 2))
    late = machine.runtime.queue.take("kb-events", 3600)
    machine.settle()
    machine.deliver(late)
    removed = machine.runtime.manage.delete(BASE, "um.md")
    machine.settle()
    assert job(machine, removed["job_id"]).state == "deleted"
    machine.deliver(late)
    machine.settle()
    machine.check({"dois": (1, 2)})
    assert machine.runtime.catalog.totals(BASE).documents == 1
    assert not (machine.files / "um.md").exists()


def test_a_newer_upload_wins_over_a_delete(machine):
    put(machine, "um", content("um", 1, 3))
    machine.settle()
    (machine.files / "um.md").write_bytes(content("um", 2, 2))
    removed = machine.runtime.manage.delete(BASE, "um.md")
    machine.settle()
    assert job(machine, removed["job_id"]).state == "superseded"
    machine.check({"um": (2, 2)})


def test_an_id_of_two_documents_keeps_both_and_warns_on_the_later_job(machine):
    text = b"---\nid: pagamentos\n---\n\nTexto sobre pagamentos de contas e boletos."
    first = put(machine, "um", text)
    machine.settle()
    later = put(machine, "dois", text)
    machine.settle()
    assert not any(w.startswith("The id") for w in job(machine, first).warnings)
    assert any("pagamentos" in w and "um.md" in w for w in job(machine, later).warnings)
    assert [d.source for d in machine.runtime.catalog.documents(BASE)] == ["dois.md", "um.md"]


def test_reset_empties_the_base_and_keeps_it(machine):
    for name in ("um", "dois"):
        put(machine, name, content(name, 1, 2))
    machine.settle()
    epoch = machine.runtime.catalog.epoch(BASE)
    machine.runtime.manage.reset(BASE)
    machine.settle()
    machine.check({})
    assert machine.runtime.catalog.base(BASE) is not None
    assert machine.runtime.catalog.epoch(BASE) > epoch


def test_names_that_no_reader_wrote_are_skipped_with_a_reason(machine):
    """SUB-01: system and temporary files are no documents."""
    machine.files.mkdir(parents=True)
    names = [".DS_Store", "~$a.docx", "._b.md", "pasta_$folder$"]
    for name in names:
        (machine.files / name).write_bytes(b"x")
    put(machine, "um", content("um", 1, 1))
    machine.settle()
    skipped = {
        j.ref.name: (j.state, bool(j.reason)) for j in machine.runtime.catalog.jobs(BASE) if j.state == "skipped"
    }
    assert skipped == dict.fromkeys(names, ("skipped", True))
    machine.check({"um": (1, 1)})


def test_an_outage_is_given_back_to_the_broker_and_costs_no_attempt(machine):
    job_id = put(machine, "um", content("um", 1, 2))
    outage = Unavailable("the index is away")

    def fail(name):
        if name == "chunk":
            raise outage

    machine.on_step = fail
    for _ in range(5):
        machine.clock.advance(10)
        assert not machine.deliver(machine.runtime.queue.take("kb-events", 3600))
    machine.on_step = None
    machine.settle()
    done = job(machine, job_id)
    assert (done.state, done.attempts) == ("indexed", 1)


def test_a_bug_fails_the_job_after_its_attempts_and_never_the_machine(machine):
    job_id = put(machine, "um", content("um", 1, 2))

    def fail(name):
        if name == "chunk":
            raise ZeroDivisionError

    machine.on_step = fail
    machine.settle()
    machine.on_step = None
    ended = job(machine, job_id)
    assert (ended.state, ended.code, ended.attempts) == ("failed", "INTERNAL", 3)


def test_another_model_is_refused_and_says_what_to_do(tmp_path):
    from common.adapters.hashing_embedder import HashingEmbedder  # noqa: PLC0415 - only here

    first = OneMachine(tmp_path)
    put(first, "um", content("um", 1, 2))
    first.settle()
    first.runtime.close()
    second = OneMachine(tmp_path, embedder=HashingEmbedder(128))
    try:
        with pytest.raises(Misconfigured, match="reindex"):
            second.runtime.spaces.writing(BASE)
        answer = second.runtime.answers.answer(BASE, Search("docum version1 part0of2", threshold=None))
        assert answer.degraded
        assert answer.passages
        assert answer.warnings
    finally:
        second.runtime.close()


def steps_of(folder):
    """Every boundary that an overwrite and a delete pass."""
    clean = OneMachine(folder)
    put(clean, "um", content("um", 1, 40))
    clean.settle()
    clean.steps.clear()
    put(clean, "um", content("um", 2, 40))
    clean.settle()
    clean.runtime.manage.delete(BASE, "um.md")
    clean.settle()
    clean.runtime.close()
    return list(clean.steps)


def test_a_kill_at_every_boundary_ends_as_a_clean_run_does(tmp_path):
    boundaries = steps_of(tmp_path / "clean")
    assert {"begin", "read", "parse", "chunk", "embed", "upsert", "documents", "publish", "sweep", "finish"} <= set(
        boundaries
    )
    assert {"asked", "removed"} <= set(boundaries)
    for number in range(len(boundaries)):
        machine = OneMachine(tmp_path / f"killed-{number}")
        put(machine, "um", content("um", 1, 40))
        machine.settle()
        machine.kill_after = number
        put(machine, "um", content("um", 2, 40))
        machine.settle()
        machine.check({"um": (2, 40)})
        machine.runtime.manage.delete(BASE, "um.md")
        machine.settle()
        machine.check({})
        assert machine.kill_after is None, f"boundary {number} was never reached"
        machine.runtime.close()


def stored_of(machine, name, generation):
    """The text that the stored passages of one version rejoin to."""
    collection = machine.runtime.catalog.base(BASE).live
    points = machine.runtime.index.stored(BASE, collection, f"{name}.md", generation)
    return "".join(p.payload["before"] + p.payload["text"] + p.payload.get("after", "") for p in points)


def test_a_long_document_passes_through_slices_with_a_kill_in_each_and_embeds_nothing_twice(machine):
    job_id = put(machine, "longo", content("longo", 1, 200))
    machine.names.clear()
    slices = []

    def spend(name):
        if name == "upsert":
            machine.clock.advance(300)
        if name == "continuation":
            slices.append(name)
            machine.kill_after = 6

    machine.on_step = spend
    machine.settle()
    machine.on_step = None
    done = job(machine, job_id)
    assert (done.state, done.passages) == ("indexed", 200)
    assert len(slices) >= 2
    assert done.progress == {}
    assert stored_of(machine, "longo", 1) == content("longo", 1, 200).decode()


def test_a_stop_lets_the_object_go_at_the_next_checkpoint_and_the_next_start_goes_on(tmp_path):
    machine = OneMachine(tmp_path)
    ports = machine.runtime.ingest
    put(machine, "longo", content("longo", 1, 100))
    machine.names.clear()
    machine.runtime = replace(machine.runtime, ingest=replace(ports, stopping=lambda: True))
    delivery = machine.runtime.queue.take("kb-events", 3600)
    assert machine.deliver(delivery)
    halfway = machine.runtime.catalog.objects(BASE).__next__()
    assert (halfway.lease, halfway.live, halfway.state) == (None, None, "processing")
    machine.restart()
    machine.settle()
    assert stored_of(machine, "longo", 1) == content("longo", 1, 100).decode()
    machine.runtime.close()


def test_a_zombie_that_wakes_after_its_lease_was_taken_over_changes_nothing(machine):
    """It is held before its last upsert while another worker brings a newer version in."""
    put(machine, "um", content("um", 1, 3))
    first = machine.runtime.queue.take("kb-events", 3600)

    def overtake(name):
        if name != "embed":
            return
        machine.on_step = None
        machine.clock.advance(61)
        (machine.files / "um.md").write_bytes(content("um", 2, 2))
        machine.settle()
        assert machine.seen("um") == (2, 2)

    machine.on_step = overtake
    machine.deliver(first)
    machine.settle()
    machine.check({"um": (2, 2)})


def test_killed_is_not_an_exception_that_code_could_catch():
    assert not issubclass(Killed, Exception)
