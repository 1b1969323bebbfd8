"""Bases whose model stands behind an address, from the bucket to the answer: what a failure costs, what a refused
passage keeps, and which provider answers for which base.
"""

import json
import threading
from dataclasses import replace

import pytest
from werkzeug.test import Client

from common.adapters.hashing_embedder import HashingEmbedder
from common.bootstrap import local_runtime
from common.domain.errors import Misconfigured, ModelMissing, ProviderRefuses, Refused, Unavailable
from common.domain.providers import Provider
from common.domain.search import Search
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace, VectorSpace
from common.loading import Models
from common.settings import read_settings
from common.stages.spaces import CANARIES
from functions.local.app import application
from functions.local.doctor import examine
from functions.local.machine import in_process
from functions.local.workers import drain
from tests.contract.embed_endpoint import DIMENSION, KEY, MODELS, Fault, serving
from tests.integration.one_machine import BASE, OneMachine, content

REFUSED = "part2of"


@pytest.fixture
def endpoint():
    with serving() as opened:
        yield opened


def settings_of(endpoint, folder, provider="openai", **more):
    given = {
        "KB_DATA_DIR": str(folder / "data"),
        "KB_CACHE_TTL": "0",
        "KB_EMBED_PROVIDER": provider,
        "KB_EMBED_URL": endpoint.url,
        "KB_EMBED_API_KEY": KEY,
        "KB_EMBEDDING_MODEL": MODELS.get(provider, "m"),
    }
    return {**given, **more}


@pytest.fixture
def machine(endpoint, tmp_path):
    opened = OneMachine(tmp_path, embedder=None, settings=settings_of(endpoint, tmp_path))
    yield opened
    opened.runtime.close()


def upload(machine, name, version, parts):
    machine.runtime.manage.upload(BASE, f"{name}.md", content(name, version, parts), "")


def points(machine, name, generation=1):
    record = machine.runtime.catalog.base(BASE)
    return list(machine.runtime.index.stored(BASE, record.live, f"{name}.md", generation))


def asked_passages(endpoint):
    """Every passage that was sent, request by request."""
    found = [[t for t in each.texts if "doc" in t and "part" in t] for each in endpoint.asked]
    return [each for each in found if each]


@pytest.mark.parametrize("provider", ["openai", "voyage", "ollama"])
def test_a_base_of_each_provider_answers_with_its_vectors(endpoint, tmp_path, provider):
    machine = OneMachine(tmp_path, embedder=None, settings=settings_of(endpoint, tmp_path, provider))
    upload(machine, "um", 1, 3)
    machine.settle()
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar numero 1", threshold=None))
    assert (answer.match, answer.mode, answer.degraded, answer.warnings) == (True, "hybrid", False, ())
    record = machine.runtime.catalog.base(BASE)
    stored = machine.runtime.catalog.collection(BASE, record.live)
    space = stored.space.embedding
    assert (space.provider, space.model, space.dimension) == (provider, MODELS[provider], DIMENSION)
    assert len(stored.canaries) == len(CANARIES)
    [job] = machine.runtime.catalog.jobs(BASE)
    usage = machine.runtime.meter.usage(BASE)
    assert usage["ingest"].tokens == job.embedded_tokens > 0
    assert usage["questions"].calls == 1
    assert endpoint.most_at_once == 1
    machine.runtime.close()


def test_a_refused_passage_keeps_its_words_and_is_named(endpoint, machine):
    endpoint.fault = lambda asked: Fault(400) if any(REFUSED in text for text in asked.texts) else None
    upload(machine, "um", 1, 5)
    machine.settle()
    [job] = machine.runtime.catalog.jobs(BASE)
    without = [point for point in points(machine, "um") if point.vector is None]
    assert [REFUSED in str(point.payload["text"]) for point in without] == [True]
    assert without[0].lexical
    tokens = without[0].payload["tokens"]
    first, last = without[0].payload["lines"]
    assert job.state == "indexed"
    assert job.tokens_embedded == job.tokens_in_source - tokens
    [warning] = job.warnings
    assert warning.startswith(f"um.md:{first}-{last}: the provider")
    assert f"({tokens} tokens)" in warning
    [document] = machine.runtime.catalog.documents(BASE)
    assert (document.passages, document.warnings) == (5, job.warnings)
    assert document.tokens_embedded == job.tokens_embedded
    found = machine.runtime.answers.answer(BASE, Search("docum lugar numero", threshold=None, top_k=50))
    scores = {REFUSED in passage.text: passage.dense_score for passage in found.passages}
    assert (found.mode, len(found.passages), scores[True]) == ("hybrid", 5, None)
    assert scores[False] is not None
    assert machine.seen("um") == (1, 5)


def test_a_refused_passage_is_tried_anew_with_the_next_version_only(endpoint, machine):
    endpoint.fault = lambda asked: Fault(400) if any(REFUSED in text for text in asked.texts) else None
    upload(machine, "um", 1, 4)
    machine.settle()
    endpoint.asked.clear()
    endpoint.fault = lambda _: None
    machine.runtime.manage.upload(BASE, "um.md", content("um", 1, 4) + b"\n\n", "")
    machine.settle()
    assert [REFUSED in text for each in asked_passages(endpoint) for text in each] == [True]
    assert all(point.vector for point in points(machine, "um", 2))
    assert machine.runtime.catalog.jobs(BASE)[0].warnings == ()


@pytest.mark.parametrize(
    ("provider", "answers"), [("openai", 0), ("openai", 1), ("cohere", 1), ("titan", 0), ("titan", 5), ("titan", 33)]
)
def test_what_came_before_a_failure_is_kept_and_not_paid_twice(endpoint, tmp_path, provider, answers):
    machine = OneMachine(tmp_path, embedder=endpoint.embedder(provider))
    upload(machine, "fora", 1, 1)
    machine.settle()
    endpoint.asked.clear()
    paid, given = [], []

    def fault(asked):
        if len(given) >= answers:
            return Fault(429, headers={"Retry-After": "3600"})
        given.append(asked)
        paid.extend(asked.texts)
        return None

    endpoint.fault = fault
    upload(machine, "um", 1, 40)
    topic = machine.runtime.settings.kb_topic_events
    assert not machine.deliver(machine.runtime.queue.take(topic, 3600))
    kept = [point.payload["identity"] for point in points(machine, "um")]
    assert len(kept) == len(paid)
    assert machine.seen("um") is None
    machine.names.add("um")
    endpoint.fault = lambda asked: paid.extend(asked.texts)
    machine.settle()
    assert machine.seen("um") == (1, 40)
    passages = [text for text in paid if "docum" in text]
    assert len(passages) == len(set(passages)) == 40
    [job] = [job for job in machine.runtime.catalog.jobs(BASE) if job.ref.name == "um.md"]
    assert (job.state, job.warnings) == ("indexed", ())
    machine.runtime.close()


def test_a_failure_while_halving_keeps_the_halves_that_came(endpoint, machine):
    upload(machine, "fora", 1, 1)
    machine.settle()
    endpoint.asked.clear()
    paid = []

    def fault(asked):
        if any(REFUSED in text for text in asked.texts):
            return Fault(413)
        if paid:
            return Fault(503, headers={"Retry-After": "3600"})
        paid.extend(asked.texts)
        return None

    endpoint.fault = fault
    upload(machine, "um", 1, 20)
    assert drain(machine.runtime)
    assert len([point for point in points(machine, "um") if point.vector]) == len(paid) > 0

    def better(asked):
        return Fault(413) if any(REFUSED in text for text in asked.texts) else paid.extend(asked.texts)

    endpoint.fault = better
    machine.settle()
    assert machine.seen("um") == (1, 20)
    passages = [text for text in paid if "docum" in text]
    assert len(passages) == len(set(passages)) == 19
    assert [len(job.warnings) for job in machine.runtime.catalog.jobs(BASE) if job.ref.name == "um.md"] == [1]


def test_a_refused_passage_is_still_named_by_a_later_delivery(endpoint, machine):
    upload(machine, "fora", 1, 1)
    machine.settle()

    def fault(asked):
        if any(REFUSED in text for text in asked.texts):
            return Fault(400)
        return Fault(503, headers={"Retry-After": "3600"}) if any("part35of" in text for text in asked.texts) else None

    endpoint.fault = fault
    upload(machine, "um", 1, 40)
    assert drain(machine.runtime)
    assert len(points(machine, "um")) == 32
    endpoint.asked.clear()
    endpoint.fault = lambda _: None
    machine.settle()
    assert not any(REFUSED in text for each in asked_passages(endpoint) for text in each)
    [job] = [job for job in machine.runtime.catalog.jobs(BASE) if job.ref.name == "um.md"]
    assert len(job.warnings) == 1
    assert job.tokens_embedded < job.tokens_in_source


def test_ingest_and_questions_of_a_base_take_turns(endpoint, machine):
    upload(machine, "um", 1, 1)
    machine.settle()
    spaces = machine.runtime.spaces
    [target] = spaces.writing(BASE).targets
    _, answering, _ = spaces.answering(machine.runtime.catalog.base(BASE))
    done, tick = threading.Event(), threading.Event()

    def fault(_):
        # Until the other one waits for its turn, or has come in beside this one.
        while len(spaces.turns._lines.get(BASE, ())) < 2 and endpoint.under_way < 2 and not done.is_set():
            tick.wait(0.001)

    endpoint.fault, endpoint.most_at_once = fault, 0
    asking = [
        threading.Thread(target=target.embedder.embed_passages, args=(["a"],), daemon=True),
        threading.Thread(target=answering.embed_query, args=("b",), daemon=True),
    ]
    for thread in asking:
        thread.start()
    while all(thread.is_alive() for thread in asking):
        tick.wait(0.001)
    done.set()
    for thread in asking:
        thread.join(20)
    assert endpoint.most_at_once == 1


def test_a_provider_that_refuses_everything_fails_no_document(endpoint, machine):
    upload(machine, "fora", 1, 1)
    machine.settle()
    endpoint.fault = lambda _: Fault(400)
    upload(machine, "um", 1, 5)
    topic = machine.runtime.settings.kb_topic_events
    assert not machine.deliver(machine.runtime.queue.take(topic, 3600))
    assert points(machine, "um") == []
    endpoint.fault = lambda _: None
    machine.settle()
    assert all(point.vector for point in points(machine, "um"))


def test_a_refused_key_halves_nothing_names_the_setting_and_leaves_words_alone(endpoint, machine, logged):
    upload(machine, "um", 1, 5)
    machine.settle()
    endpoint.fault = lambda _: Fault(401, json.dumps({"error": KEY}).encode())
    endpoint.asked.clear()
    upload(machine, "dois", 1, 5)
    topic = machine.runtime.settings.kb_topic_events
    assert not machine.deliver(machine.runtime.queue.take(topic, 3600))
    assert len(asked_passages(endpoint)) == 1
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar numero 1", threshold=None))
    assert (answer.match, answer.mode, answer.degraded) == (True, "lexical", True)
    assert "KB_EMBED_API_KEY" in answer.warnings[0]
    told = " ".join(str({**vars(record)}) for record in logged) + str(answer)
    assert "KB_EMBED_API_KEY" in told
    assert KEY not in told
    endpoint.fault = lambda _: None
    machine.settle()
    assert machine.seen("dois") == (1, 5)


def test_an_outage_degrades_questions_and_refuses_uploads_only_where_nothing_was_learned(endpoint, machine, tmp_path):
    upload(machine, "um", 1, 3)
    machine.settle()
    endpoint.fault = lambda _: Fault(503, headers={"Retry-After": "60"})
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar"))
    assert (answer.mode, answer.degraded) == ("lexical", True)
    upload(machine, "dois", 1, 1)
    machine.restart()
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar"))
    assert (answer.mode, answer.degraded) == ("lexical", True)
    with pytest.raises(Unavailable):
        upload(machine, "tres", 1, 1)
    endpoint.fault = lambda _: None


def test_a_model_that_changed_behind_its_name_is_found_by_the_canaries(endpoint, machine):
    upload(machine, "um", 1, 3)
    machine.settle()
    machine.restart()
    endpoint.changed = lambda vectors: [vector[::-1] for vector in vectors]
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar numero 1", threshold=None))
    assert (answer.mode, answer.degraded) == ("lexical", True)
    assert "canary" in answer.warnings[0]


def test_readiness_asks_the_provider_once(endpoint, machine):
    client = Client(application(machine.runtime))
    assert client.get("/readyz").json["model"] == MODELS["openai"]
    count = len(endpoint.asked)
    assert count == 1 + len(CANARIES)
    endpoint.fault = lambda _: Fault(503)
    assert client.get("/readyz").status_code == 200
    assert len(endpoint.asked) == count


@pytest.mark.parametrize("fault", [Fault(401), Fault(503, headers={"Retry-After": "3600"})])
def test_a_command_that_is_done_stays_done_when_the_gate_cannot_be_fitted(endpoint, tmp_path, fault):
    notices = []
    with in_process(read_settings(settings_of(endpoint, tmp_path)), notices.append) as api:
        sent = api.call("POST", f"/v1/bases/{BASE}/documents", data=content("um", 1, 25), headers={"X-Source": "um.md"})
        job = f"/v1/bases/{BASE}/jobs/{sent.body['job_id']}"
        while api.call("GET", job).body["state"] != "indexed":
            threading.Event().wait(0.01)
        endpoint.fault = lambda _: fault
    assert notices[0] == f"Fitting the gate of base {BASE}."
    assert notices[1].startswith(f"The gate of base {BASE} is not fitted yet: openai at 127.0.0.1 answered")


def test_the_doctor_asks_it_too(endpoint, tmp_path):
    settings = read_settings(settings_of(endpoint, tmp_path))
    found = {each.name: each for each in examine(settings, 0)}
    assert found["model"].ok
    assert f"{DIMENSION} numbers" in found["model"].detail
    endpoint.fault = lambda _: Fault(401)
    found = {each.name: each for each in examine(settings, 0)}
    assert not found["model"].ok
    assert "KB_EMBED_API_KEY" in found["model"].detail
    assert KEY not in found["model"].detail


def test_a_base_of_another_provider_is_refused_with_the_way_out(endpoint, machine, tmp_path):
    upload(machine, "um", 1, 3)
    machine.settle()
    machine.settings = settings_of(endpoint, tmp_path, "ollama")
    machine.restart()
    with pytest.raises(Refused, match="KB_EMBED_PROVIDER=openai and KB_EMBEDDING_MODEL=text-embedding") as raised:
        upload(machine, "dois", 1, 3)
    assert raised.value.code == "OTHER_MODEL"
    answer = machine.runtime.answers.answer(BASE, Search("docum lugar numero 1", threshold=None))
    assert (answer.mode, answer.degraded) == ("lexical", True)
    assert "KB_EMBED_PROVIDER=openai" in answer.warnings[0]


def space_of(provider, model, dimension=DIMENSION):
    prefix = {"nomic-embed-text": ("search_query: ", "search_document: ")}.get(model, ("", ""))
    return EmbeddingSpace(model, "", "", "l2", *prefix, dimension, provider=provider)


def test_provider_model_and_dimension_are_part_of_the_fingerprint():
    spaces = [space_of("openai", "m"), space_of("voyage", "m"), space_of("openai", "n"), space_of("openai", "m", 9)]
    cut, words = Chunking(1, 0, 0, 512), LexicalSpace(1, "stem")
    assert len({VectorSpace(space, cut, words).fingerprint for space in spaces}) == len(spaces)


def test_models_are_found_by_the_provider_of_their_space(endpoint, tmp_path):
    folders = Models(tmp_path, "e5-small-enpt", provider=Provider("fastembed", endpoint.url, KEY))
    assert folders.find(space_of("openai", "m")).space.provider == "openai"
    assert folders.find(replace(space_of("none", "none", 0), normalisation="")).space.dimension == 0
    with pytest.raises(ModelMissing, match="another vector space"):
        folders.find(space_of("openai", "m", 9))
    with pytest.raises(ModelMissing, match="prepare"):
        folders.find(space_of("fastembed", "e5-small-enpt"))
    with pytest.raises(ModelMissing, match="prepare"):
        folders.configured()
    ours = Models(tmp_path, "m", provider=Provider("openai", endpoint.url, KEY))
    assert ours.configured() is ours.named("m") is ours.find(space_of("openai", "m"))
    assert ours.named("other").space.model == "other"
    with pytest.raises(ModelMissing, match="KB_EMBED_PROVIDER=voyage"):
        ours.find(space_of("voyage", "m"))
    words = Models(tmp_path, "none", provider=Provider("none"))
    assert words.configured().space.provider == "none"
    with pytest.raises(ModelMissing, match="KB_EMBED_PROVIDER=openai"):
        words.find(space_of("openai", "m"))


def test_a_base_whose_provider_cannot_be_opened_here_lacks_its_model(tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ModelMissing, match="AWS_DEFAULT_REGION"):
        Models(tmp_path, "m").find(space_of("bedrock", "amazon.titan-embed-text-v2:0"))


def test_a_key_goes_to_its_own_provider_alone():
    for mine in ("openai", "voyage", "ollama"):
        for other in {"openai", "voyage", "ollama", "bedrock", "none"} - {mine}:
            asked = Provider(mine, "https://mine.example.com", KEY).asked_for(other)
            assert asked is None or (asked.key == "" and "mine" not in asked.url)
    assert Provider("fastembed", "", KEY).asked_for("openai") is None
    assert Provider("openai", "", KEY).asked_for("openai").url == "https://api.openai.com/v1"
    assert KEY not in repr(Provider("openai", "", KEY))


def test_a_given_embedder_stays_the_only_one(tmp_path):
    given = HashingEmbedder()
    models = Models(tmp_path, "", given, Provider("none"))
    assert models.configured() is models.find(given.space) is models.named("hashing-64") is given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"KB_EMBED_PROVIDER": "openai"}, ["KB_EMBEDDING_MODEL", "KB_EMBED_API_KEY"]),
        ({"KB_EMBED_PROVIDER": "voyage"}, ["KB_EMBEDDING_MODEL", "KB_EMBED_API_KEY"]),
        ({"KB_EMBED_PROVIDER": "bedrock"}, ["KB_EMBEDDING_MODEL"]),
        ({"KB_EMBED_PROVIDER": "openai", "KB_EMBEDDING_MODEL": "m", "KB_EMBED_URL": "http://localhost:1"}, []),
        ({"KB_EMBED_PROVIDER": "ollama"}, []),
        ({"KB_EMBED_PROVIDER": "none"}, []),
        ({"KB_EMBED_PROVIDER": "cohere"}, ["KB_EMBED_PROVIDER"]),
    ],
)
def test_what_a_provider_lacks_is_said_at_once(given, said):
    if not said:
        assert read_settings(given).provider.name == given["KB_EMBED_PROVIDER"]
        return
    with pytest.raises(Misconfigured) as raised:
        read_settings(given)
    assert str(raised.value).count("\n") == len(said) - 1
    assert all(name in str(raised.value) for name in said)


def test_ollama_and_none_have_models_of_their_own():
    assert read_settings({"KB_EMBED_PROVIDER": "ollama"}).model == "nomic-embed-text"
    assert read_settings({"KB_EMBED_PROVIDER": "none"}).model == "none"


def test_a_runtime_opens_without_asking_the_provider(endpoint, tmp_path):
    runtime = local_runtime(read_settings(settings_of(endpoint, tmp_path)))
    runtime.close()
    assert endpoint.asked == []
    endpoint.fault = lambda _: Fault(401)
    runtime = local_runtime(read_settings(settings_of(endpoint, tmp_path)))
    with pytest.raises(ProviderRefuses, match="KB_EMBED_API_KEY"):
        runtime.ready()
    runtime.close()
