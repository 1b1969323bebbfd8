"""A document far longer than one slice can bring in: every slice goes on where the last one stopped, also where its
first worker was killed, and what a kill costs is bounded by a batch.
"""

from common.domain.search import Search
from tests.integration.cloud_machine import CloudMachine, CountingEmbedder
from tests.integration.one_machine import BASE, content

SLICE = 30.0
PASSAGES = 10_000
BATCH = 32
BATCHES_PER_SLICE = 20


def test_a_document_of_ten_thousand_passages_passes_through_slices_with_a_kill_in_each(capsys):
    """The bucket, the catalog and the index of the cloud's shape in memory, every slice taking as many batches."""
    machine = CloudMachine(
        embedder=CountingEmbedder(), settings={"KB_SLICE_SECONDS": str(SLICE), "KB_MAX_FILE_MB": "50"}, windows=False
    )
    machine.put("um", content("um", 1, 1))
    machine.drain()
    machine.embedder.passages.clear()
    text = content("longo", 1, PASSAGES)
    change = machine.put("longo", text)
    machine.names.remove("longo")
    slices, kills = 1, 0
    deaths = ["read", "parse", "chunk", "embed", "upsert"]
    while machine.mail:
        worker, doomed = machine.start(machine.mail.pop()), kills < slices
        while machine.let(worker, 1):
            if worker.at == "upsert":
                machine.clock.advance(SLICE / BATCHES_PER_SLICE)
            if worker.at == "continuation":
                slices += 1
            if doomed and worker.at == deaths[kills % len(deaths)]:
                machine.kill(worker)
                machine.clock.advance(61)
                kills += 1
                assert machine.job(change).attempts <= 1
                found = machine.reader.answers.answer(BASE, Search("doclongo", threshold=None)).passages
                assert {passage.source for passage in found} <= {"um.md"}
                break
    done = machine.job(change)
    assert (done.state, done.passages, machine.mail) == ("indexed", PASSAGES, [])
    assert slices == kills >= PASSAGES / BATCH / BATCHES_PER_SLICE
    assert PASSAGES <= machine.embedder.passages.total() <= PASSAGES + BATCH * kills
    assert len(machine.embedder.passages) == PASSAGES
    record = machine.catalog.base(BASE)
    stored = machine.index.stored(BASE, record.live, "longo.md", change.generation)
    texts = [p.payload["before"] + p.payload["text"] + p.payload.get("after", "") for p in stored]
    assert (len(texts), "".join(texts)) == (PASSAGES, text.decode())
    assert machine.index.generations(BASE, record.live)["longo.md", change.generation] == PASSAGES
    again = machine.embedder.passages.total() - PASSAGES
    with capsys.disabled():
        print(f"\n{PASSAGES} passages in {slices} slices, {kills} kills, {again} passages embedded again: 0 faults")
