"""The product as it is deployed: what people do to the bucket is what is answered, under every delivery."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from common.domain.objects import ObjectRef, job_id
from tests.e2e.cloud import TERMINAL, bearer, escaped, notification, opened, push_body
from tests.e2e.conftest import MODELS
from tests.e2e.processes import send

FILES = Path(__file__).parents[1] / "corpus" / "files"


@pytest.fixture(scope="module")
def cloud():
    if not (MODELS / "e5-small-enpt" / "manifest.json").exists():
        pytest.skip("model e5-small-enpt is not prepared")
    with opened() as whole:
        yield whole
        assert {push.status for push in whole.tap.pushes} <= {200, 503}


@pytest.fixture
def base():
    """A tenant of its own for every test."""
    return f"t{uuid4().hex[:8]}"


def test_health_is_told_by_every_function(cloud):
    for function in cloud.functions.values():
        assert send(function.address, "GET", "/healthz").body == {"status": "alive"}
        ready = send(function.address, "GET", "/readyz")
        assert (ready.status, ready.body["model"]) == (200, "e5-small-enpt")
    cloud.qdrant.fail = lambda _: httpx.Response(503)
    try:
        for function in cloud.functions.values():
            refused = send(function.address, "GET", "/readyz")
            assert (refused.status, refused.body["code"]) == (503, "UNAVAILABLE")
            assert send(function.address, "GET", "/healthz").status == 200
    finally:
        cloud.qdrant.fail = lambda _: None


def test_upload_overwrite_and_delete_are_what_answers(cloud, base):
    job = cloud.index(base, "preco.md", "# Preço\n\nO preço antigo é 10 reais VELHO-1.".encode())
    assert (job["state"], job["attempts"]) == ("indexed", 1)
    assert "VELHO-1" in cloud.texts(base, "qual é o preço?")

    job = cloud.index(base, "preco.md", "# Preço\n\nO preço novo é 25 reais NOVO-2.".encode())
    assert job["state"] == "indexed"
    answered = cloud.texts(base, "qual é o preço?")
    assert "NOVO-2" in answered
    assert "VELHO-1" not in answered

    assert cloud.remove(base, "preco.md")["state"] == "deleted"
    assert cloud.search(base, "qual é o preço?")["passages"] == []
    assert cloud.documents(base) == {}


def test_a_shorter_version_leaves_nothing_of_the_longer_one(cloud, base):
    """IDN-01: 30 sections, then one, then no bytes, then 30 again."""
    long = "\n\n".join(f"# Seção {i}\n\nO marcador desta seção é LONGO-{i}." for i in range(30)).encode()
    assert cloud.index(base, "manual.md", long)["passages"] == cloud.points(base) == 30
    assert cloud.index(base, "manual.md", b"# Curto\n\nCURTO-0")["passages"] == cloud.points(base) == 1
    answered = cloud.texts(base, "marcador da seção LONGO", mode="dense")
    assert "LONGO" not in answered
    assert "CURTO-0" in answered
    assert cloud.index(base, "manual.md", b"")["state"] == "empty"
    assert (cloud.points(base), cloud.texts(base, "marcador")) == (0, "")
    assert cloud.index(base, "manual.md", long)["state"] == "indexed"
    answered = cloud.texts(base, "marcador da seção")
    assert all(f"LONGO-{i}." in answered for i in range(30))


def test_events_delivered_again_or_late_change_nothing(cloud, base):
    """ORD-01, and the same event three times."""
    key = f"{base}/preco.md"
    first = cloud.index(base, "preco.md", "Preço antigo: 10 reais VELHO-1".encode())["generation"]
    second = cloud.index(base, "preco.md", "Preço novo: 25 reais NOVO-2".encode())["generation"]
    late = [("FINALIZE", second), ("FINALIZE", first), ("DELETE", first), ("ARCHIVE", first), ("FINALIZE", second - 1)]
    for kind, generation in late:
        message = cloud.publish(*notification(kind, cloud.bucket.name, key, generation))
        cloud.acknowledged(message)
    answered = cloud.texts(base, "preço")
    assert "NOVO-2" in answered
    assert "VELHO-1" not in answered
    assert cloud.points(base) == 1
    assert cloud.documents(base)["preco.md"]["generation"] == second
    job = cloud.job(base, "preco.md", second)
    assert (job["state"], job["attempts"], job["new_passages"]) == ("indexed", 1, 1)

    cloud.remove(base, "preco.md")
    for generation in (first, second):
        message = cloud.publish(*notification("FINALIZE", cloud.bucket.name, key, generation))
        cloud.acknowledged(message)
    assert (cloud.texts(base, "preço"), cloud.points(base), cloud.documents(base)) == ("", 0, {})


def test_a_direct_storage_event_says_the_same_as_a_pushed_notification(cloud, base):
    generation = cloud.index(base, "um.md", b"# Um\n\nDIRETO-1")["generation"]
    data = {"bucket": cloud.bucket.name, "name": f"{base}/um.md", "generation": str(generation), "size": "9"}
    attributes = {"specversion": "1.0", "id": "e1", "source": "//storage.googleapis.com/projects/_/buckets/b"}
    event = {**attributes, "type": "google.cloud.storage.object.v1.finalized"}
    structured = json.dumps({**event, "datacontenttype": "application/json", "data": data}).encode()
    ingest = cloud.functions["ingest"].address
    cloud.at_rest()
    taken = send(ingest, "POST", "/", structured, {"Content-Type": "application/cloudevents+json"})
    assert taken.status == 200
    binary = {f"ce-{name}": value for name, value in event.items()}
    assert send(ingest, "POST", "/any/path", json.dumps(data).encode(), binary).status == 200
    assert cloud.job(base, "um.md", generation)["attempts"] == 1


NAMES = [
    "relatório final (1).md",
    "a+b c.md",
    "100%25 pronto.md",
    "literal%2Fbarra.md",
    "dupla%2520codificada.md",
    "c#1?x=y&z.md",
    "aspas'\"<b>.md",
    "😀/日本.md",
]


def test_names_are_used_exactly_as_they_are(cloud, base):
    """NAM-01."""
    generations = {
        name: cloud.upload(f"{base}/{name}", f"# Doc {i}\n\nMarcador NOME-{i}.\n".encode())
        for i, name in enumerate(NAMES)
    }
    jobs = {name: cloud.job(base, name, generation) for name, generation in generations.items()}
    assert {job["state"] for job in jobs.values()} == {"indexed"}
    assert sorted(cloud.documents(base)) == sorted(NAMES)
    for i, name in enumerate(NAMES):
        found = [p for p in cloud.search(base, f"NOME-{i}", mode="lexical")["passages"] if f"NOME-{i}." in p["text"]]
        assert [passage["source"] for passage in found] == [name]
        deleted = cloud.ask("manage", "DELETE", f"/v1/bases/{base}/documents/{escaped(name)}")
        assert cloud.job_named(base, deleted.body["job_id"])["state"] == "deleted"
    assert cloud.documents(base) == {}


def test_folder_markers_and_temporary_files_are_skipped_with_a_reason(cloud, base):
    """SUB-01: and a real file among them, told of three times, is embedded once."""
    names = ["", "docs_$folder$", ".DS_Store", "~$contrato.docx", "._foto.md"]
    generations = {name: cloud.upload(f"{base}/{name}", b"" if not name else b"x" * 120) for name in names}
    cloud.publish(*notification("FINALIZE", cloud.bucket.name, f"{base}/", generations[""]))
    for name, generation in generations.items():
        job = cloud.job(base, name, generation)
        assert (job["state"], job["code"]) == ("skipped", "UNSUPPORTED")
        assert job["reason"]
    job = cloud.index(base, "real.md", b"Texto REAL-PASTA-1")
    for _ in range(2):
        told = notification("FINALIZE", cloud.bucket.name, f"{base}/real.md", job["generation"])
        cloud.acknowledged(cloud.publish(*told))
    job = cloud.job(base, "real.md", job["generation"])
    assert (job["attempts"], job["new_passages"], cloud.points(base)) == (1, 1, 1)
    assert "REAL-PASTA-1" in cloud.texts(base, "texto")


def test_what_is_stored_compressed_is_read(cloud, base):
    """GZP-01."""
    note = (FILES / "GZP-01" / "ata.md").read_bytes()
    job = cloud.index(base, "ata.md", note, content_type="text/markdown", encoding="gzip")
    assert job["state"] == "indexed"
    assert "GZ-OK-1" in cloud.texts(base, "ata GZ-OK-1")
    table = (FILES / "GZP-01" / "dados.csv.gz").read_bytes()
    job = cloud.index(base, "dados.csv.gz", table, content_type="application/gzip")
    assert (job["state"], job["code"]) in {("indexed", None), ("skipped", "UNSUPPORTED")}
    assert ("GZ-CSV-2" in cloud.texts(base, "GZ-CSV-2")) == (job["state"] == "indexed")


BROKEN = {"truncated.pdf": "CORRUPT", "garbage.pdf": "CORRUPT", "user-password.pdf": "ENCRYPTED"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_fails_with_a_reason_and_is_acknowledged(cloud, base, name):
    job = cloud.index(base, name, (FILES / "PDA-01" / name).read_bytes())
    assert (job["state"], job["code"], job["attempts"]) == ("failed", BROKEN[name], 1)
    assert job["reason"]
    assert job["next_step"]
    assert cloud.points(base) == 0
    told = [push.status for push in cloud.tap.pushes if push.attributes["objectId"] == f"{base}/{name}"]
    assert told == [200]


def test_events_that_change_nothing_are_acknowledged(cloud, base):
    generation = cloud.index(base, "um.md", b"# Um\n\nUM-1")["generation"]
    blob = cloud.bucket.get_blob(f"{base}/um.md")
    blob.metadata = {"colour": "green"}
    blob.patch()
    assert cloud.ignored("metadata")
    key = f"{base}/um.md"
    junk = [
        notification("DELETE", "somebody-elses-bucket", key, generation),
        notification("FINALIZE", cloud.bucket.name, key, "many"),
        notification("FINALIZE", cloud.bucket.name, "no-base-at-all.md", 7),
        notification("FINALIZE", cloud.bucket.name, f"{base}/../other/um.md", 7),
        ({}, b"\x00\xff not JSON at all"),
        ({"eventType": "OBJECT_FINALIZE"}, b"[1, 2]"),
        ({"anything": "but a notification"}, b""),
    ]
    for attributes, data in junk:
        assert cloud.acknowledged(cloud.publish(attributes, data)) == [200]
    ingest = cloud.functions["ingest"].address
    assert send(ingest, "POST", "/", push_body({"only": "attributes"}, b"")).status == 200
    refused = send(ingest, "POST", "/", b"{}")
    assert (refused.status, refused.body["code"]) == (400, "NO_EVENT")
    assert "UM-1" in cloud.texts(base, "um")
    assert len(cloud.ask("manage", "GET", f"/v1/bases/{base}/jobs").body["jobs"]) == 1
    assert set(cloud.bases_of(base)) == {base}


def test_two_tenants_with_the_same_document_never_mix(cloud, base):
    """TEN-01: through every route, and with every kind of identity."""
    other = f"{base}-globex"
    cloud.index(base, "d1.md", b"Contrato Acme T-ACME-1")
    theirs = cloud.index(other, "d1.md", b"Contrato Globex T-GLOBEX-2")
    for mode in ("hybrid", "dense", "lexical"):
        assert "T-ACME-1" in (answered := json.dumps(cloud.search(base, "contrato", mode=mode)))
        assert "GLOBEX" not in answered
        assert "T-GLOBEX-2" in cloud.texts(other, "contrato", mode=mode)
    mine, at_theirs = f"/v1/bases/{base}", f"/v1/bases/{other}"
    for smuggled in ({"tenant": other}, {"doc_ids": ["d1"]}, {"base": other}):
        assert cloud.ask("query", "POST", f"{mine}/search", {"query": "contrato", **smuggled}).status == 400
    routes = [
        ("query", "POST", "/search", {"query": "contrato"}),
        ("query", "GET", "/documents/d1.md/links", None),
        ("manage", "GET", "/documents", None),
        ("manage", "GET", "/jobs", None),
        ("manage", "GET", f"/jobs/{theirs['job_id']}", None),
        ("manage", "POST", "/documents", b"x"),
        ("manage", "DELETE", "/documents/d1.md", None),
        ("manage", "DELETE", "", None),
    ]
    strangers = [bearer(base), bearer(""), bearer("", affiliate_id=""), "Bearer nothing", "", None]
    for function, method, path, body in routes:
        for token in strangers:
            headers = {"X-Source": "x.md", **({} if token is None else {"Authorization": token})}
            data = json.dumps(body).encode() if isinstance(body, dict) else body
            refused = send(cloud.functions[function].address, method, at_theirs + path, data, headers)
            assert refused.status in {401, 403}, (method, path, token)
            assert "GLOBEX" not in refused.text
    for path in (f"/documents/{theirs['document_id']}", f"/documents/{theirs['job_id']}"):
        assert cloud.ask("manage", "DELETE", mine + path).status == 404
    assert cloud.ask("manage", "GET", f"{mine}/jobs/{theirs['job_id']}").status == 404
    assert cloud.bases_of(base) == [base]

    unknown = f"{base}-naoexiste"
    before = cloud.collections()
    assert cloud.ask("query", "POST", f"/v1/bases/{unknown}/search", {"query": "contrato"}).status == 404
    assert cloud.collections() == before
    assert "T-GLOBEX-2" in cloud.texts(other, "contrato")
    assert cloud.points(other) == 1


def test_what_is_managed_by_hand_is_indexed_listed_deleted_and_reset(cloud, base):
    documents = f"/v1/bases/{base}/documents"
    named = "contratos/opção 1.md"
    header = named.encode().decode("latin-1")
    text = "# Opção\n\nA multa é de 12 por cento MANUAL-1.".encode()
    accepted = cloud.ask("manage", "POST", documents, text, **{"X-Source": header, "Content-Type": "text/markdown"})
    assert (accepted.status, accepted.body["source"]) == (202, named)
    job = cloud.job_named(base, accepted.body["job_id"])
    assert (job["state"], job["attempts"], job["new_passages"]) == ("indexed", 1, 1)
    assert "MANUAL-1" in cloud.texts(base, "qual é a multa?")
    assert list(cloud.documents(base)) == [named]
    assert len(cloud.ask("manage", "GET", f"/v1/bases/{base}/jobs").body["jobs"]) == 1
    again = cloud.ask("manage", "POST", documents, text, **{"X-Source": header})
    assert (again.status, again.body["unchanged"]) == (200, True)

    deleted = cloud.ask("manage", "DELETE", f"{documents}/{job['document_id']}")
    assert deleted.status == 202
    assert cloud.job_named(base, deleted.body["job_id"])["state"] == "deleted"
    assert (cloud.texts(base, "qual é a multa?"), cloud.documents(base)) == ("", {})
    assert cloud.bucket.get_blob(f"{base}/{named}") is None

    for name in ("um.md", "dois.md"):
        cloud.index(base, name, f"# {name}\n\nRESET-1".encode())
    reset = cloud.ask("manage", "DELETE", f"/v1/bases/{base}")
    assert (reset.status, reset.body["deleted"]) == (202, 2)
    assert {cloud.job_named(base, named)["state"] for named in reset.body["job_ids"]} == {"deleted"}
    assert (cloud.texts(base, "RESET-1"), cloud.points(base)) == ("", 0)
    cloud.at_rest()
    drift = cloud.ask("manage", "POST", f"/v1/bases/{base}/reconcile", {}).body
    kinds = ("missing", "stale", "orphaned", "duplicated", "half_indexed", "stuck", "foreign")
    assert {kind: drift[kind] for kind in kinds} == dict.fromkeys(kinds, 0)


def test_an_event_delivered_while_its_work_runs_is_busy_and_costs_nothing(cloud, base):
    """RED-01: no second pass, no attempt; the same event afterwards finds everything done."""
    with cloud.held_upsert(base) as upsert:
        generation = cloud.upload(f"{base}/um.md", b"# Um\n\nUMA-VEZ-1")
        assert upsert.arrived.wait(30)
        told = push_body(*notification("FINALIZE", cloud.bucket.name, f"{base}/um.md", generation))
        busy = send(cloud.functions["ingest"].address, "POST", "/", told)
        assert (busy.status, busy.headers["Retry-After"]) == (503, "2")
    job = cloud.job(base, "um.md", generation)
    assert (job["state"], job["attempts"], job["new_passages"], cloud.points(base)) == ("indexed", 1, 1, 1)
    assert send(cloud.functions["ingest"].address, "POST", "/", told).status == 200
    assert cloud.job(base, "um.md", generation)["attempts"] == 1


def test_a_process_that_is_told_to_stop_hands_its_work_over(cloud, base):
    """SIGTERM in the middle of a document: a checkpoint, a continuation, and nothing is embedded twice."""
    text = "\n\n".join(f"# Parte {i}\n\nO assunto da parte {i} é FATIA-{i}." for i in range(160)).encode()
    with cloud.held_upsert(base) as upsert:
        generation = cloud.upload(f"{base}/longo.md", text)
        assert upsert.arrived.wait(30)
        cloud.functions["ingest"].signal("TERM")
    assert cloud.functions["ingest"].stop() == 0
    path = f"/v1/bases/{base}/jobs/{job_id(ObjectRef(base, 'longo.md'), generation)}"
    assert cloud.ask("manage", "GET", path).body["state"] not in TERMINAL
    assert 0 < cloud.points(base) < 160
    cloud.restart("ingest")
    job = cloud.job(base, "longo.md", generation)
    assert (job["state"], job["passages"], job["new_passages"], cloud.points(base)) == ("indexed", 160, 160, 160)
    assert job["attempts"] <= 2
