"""Embedders behind an address, over real sockets: what they send, how often they ask again, and what they make of every
way in which a provider can fail.
"""

import json
import logging
import math
import threading

import numpy as np
import pytest

from common.adapters import remote_embedder
from common.adapters.bedrock_embedder import BedrockEndpoint, bedrock_embedder
from common.adapters.openai_embedder import OpenaiEndpoint, openai_embedder
from common.adapters.remote_embedder import PROBE, Bounds, RemoteEmbedder
from common.domain.errors import (
    EmbeddingInvalid,
    FicharioError,
    Misconfigured,
    PassagesRejected,
    ProviderRefuses,
    Unavailable,
)
from common.domain.providers import RemoteModel
from tests.contract.embed_endpoint import DIMENSION, KEY, MODELS, Fault, serving

NAMES = list(MODELS)
OVER_HTTP = ["openai", "voyage", "ollama"]
QUICK = Bounds(attempts=4, request=5.0, total=10.0, wait=2.0)


@pytest.fixture
def endpoint():
    with serving() as opened:
        yield opened


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def quick(endpoint, pauses):
    """An embedder of the provider named that notes its pauses instead of making them."""

    def build(name, **bounds):
        made = endpoint.embedder(name)
        return RemoteEmbedder(
            MODELS[name],
            RemoteModel(512),
            made._endpoint,
            passages=bounds.get("bounds", QUICK),
            question=bounds.get("bounds", QUICK),
            pause=pauses.append,
        )

    return build


def test_openai_is_asked_as_its_clients_ask(endpoint):
    embedder = endpoint.embedder("openai")
    embedder.embed_passages(["um", "dois"])
    embedder.embed_query("três?")
    asked = endpoint.asked[0]
    assert (asked.path, asked.headers["Authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert asked.body == {"model": "text-embedding-test", "input": ["um", "dois"]}
    assert [each.texts for each in endpoint.asked] == [["um", "dois"], [PROBE], ["três?"]]


def test_voyage_is_told_what_a_text_is_for_and_never_to_cut_it(endpoint):
    embedder = endpoint.embedder("voyage")
    embedder.embed_passages(["um"])
    embedder.embed_query("dois?")
    bodies = [each.body for each in endpoint.asked if each.texts != [PROBE]]
    assert [(body["input_type"], body["truncation"]) for body in bodies] == [("document", False), ("query", False)]
    assert embedder.space.query_prefix != embedder.space.passage_prefix


def test_ollama_needs_no_key_and_its_model_its_prefixes(endpoint):
    embedder = openai_embedder("ollama", endpoint.url, "nomic-embed-text:latest")
    embedder.embed_passages(["um"])
    embedder.embed_query("dois?")
    texts = [text for each in endpoint.asked for text in each.texts]
    assert texts == ["search_document: um", f"search_query: {PROBE}", "search_query: dois?"]
    assert {each.path for each in endpoint.asked} == {"/v1/embeddings"}
    assert "Authorization" not in endpoint.asked[0].headers
    assert embedder.window == 2048


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_an_address_may_end_as_it_likes(endpoint, suffix):
    openai_embedder("ollama", endpoint.url + suffix, "m").embed_query("um")
    assert endpoint.asked[0].path == "/v1/embeddings"


def test_titan_takes_one_text_a_request_and_cohere_many(endpoint):
    endpoint.embedder("titan").embed_passages(["um", "dois"])
    assert [each.texts for each in endpoint.asked if each.texts != [PROBE]] == [["um"], ["dois"]]
    assert endpoint.asked[0].path == "/model/amazon.titan-embed-text-test:0/invoke"
    endpoint.asked.clear()
    endpoint.embedder("cohere").embed_passages(["um", "dois"])
    body = next(each.body for each in endpoint.asked if each.texts == ["um", "dois"])
    assert (body["input_type"], body["truncate"]) == ("search_document", "NONE")


def test_cohere_may_answer_by_type(endpoint, monkeypatch):
    plain = endpoint.answer

    def by_type(asked):
        answer = json.loads(plain(asked))
        return json.dumps({"embeddings": {"float": answer["embeddings"]}}).encode()

    monkeypatch.setattr(endpoint, "answer", by_type)
    assert len(endpoint.embedder("cohere").embed_query("um")) == DIMENSION


@pytest.mark.parametrize("name", NAMES)
def test_no_request_carries_more_than_64(endpoint, name):
    texts = [f"texto {i}" for i in range(130 if name != "titan" else 3)]
    vectors = endpoint.embedder(name).embed_passages(texts)
    assert len(vectors) == len(texts)
    assert max(len(each.texts) for each in endpoint.asked) == (1 if name == "titan" else 64)


@pytest.mark.parametrize("name", NAMES)
def test_the_dimension_is_learned_once_and_is_part_of_the_space(endpoint, name):
    embedder = endpoint.embedder(name)
    assert endpoint.asked == []
    spaces = {embedder.space for _ in range(3)}
    assert len(endpoint.asked) == 1
    [space] = spaces
    provider = "bedrock" if name in {"titan", "cohere"} else name
    assert (space.provider, space.model, space.dimension, space.files_hash) == (provider, MODELS[name], DIMENSION, "")
    endpoint.dimension = 32
    assert endpoint.embedder(name).space != space
    with pytest.raises(Misconfigured, match="32 numbers"):
        embedder.embed_passages(["um"])


def test_a_provider_that_is_down_is_not_asked_for_its_dimension_by_everybody(endpoint, quick):
    endpoint.fault = lambda _: Fault(503)
    embedder = quick("openai")
    for _ in range(3):
        with pytest.raises(Unavailable):
            _ = embedder.space
    assert len(endpoint.asked) == QUICK.attempts


def first(count, fault):
    """A fault of the first so many requests."""
    left = [count]

    def of(_):
        left[0] -= 1
        return fault if left[0] >= 0 else None

    return of


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_fails_in_passing_is_asked_again(endpoint, quick, pauses, name, status):
    embedder = quick(name)
    assert embedder.space
    endpoint.asked.clear()
    endpoint.fault = first(2, Fault(status, headers={"Retry-After": "1.5"}))
    assert len(embedder.embed_passages(["um"])) == 1
    assert len(endpoint.asked) == 3
    assert pauses == [1.5, 1.5]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_asked_only_so_often(endpoint, quick, pauses, name):
    endpoint.fault = lambda _: Fault(500)
    with pytest.raises(Unavailable, match="500"):
        quick(name).embed_passages(["um"])
    assert len(endpoint.asked) == QUICK.attempts
    assert len(pauses) == QUICK.attempts - 1
    assert pauses == sorted(pauses)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seconds", [QUICK.wait + 1, 3600])
def test_who_asks_to_be_left_alone_for_long_is(endpoint, quick, pauses, name, seconds):
    endpoint.fault = lambda _: Fault(429, headers={"Retry-After": f"{seconds}"})
    with pytest.raises(Unavailable):
        quick(name).embed_passages(["um"])
    assert len(endpoint.asked) == 1
    assert pauses == []


@pytest.mark.parametrize("said", ["soon", "-1", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_says_nothing_leaves_the_own_pause(endpoint, quick, pauses, said):
    endpoint.fault = first(1, Fault(429, headers={"Retry-After": said}))
    quick("openai").embed_query("um")
    assert len(pauses) == 1
    assert 0 < pauses[0] < 1


@pytest.mark.parametrize("name", OVER_HTTP)
def test_one_that_hangs_is_given_up(endpoint, quick, name):
    done = threading.Event()
    endpoint.fault = lambda _: done.wait(20) and None
    try:
        with pytest.raises(Unavailable, match="did not answer within"):
            quick(name, bounds=Bounds(attempts=2, request=0.1, total=0.3, wait=0.05)).embed_query("um")
    finally:
        done.set()


def test_one_that_is_not_there_is_unavailable():
    nowhere = OpenaiEndpoint("openai", "http://127.0.0.1:9/v1", "m")
    embedder = RemoteEmbedder("m", RemoteModel(512), nowhere, pause=lambda _: None)
    with pytest.raises(Unavailable, match="could not be reached"):
        embedder.embed_query("um")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_named_and_not_tried_again(endpoint, quick, name, status):
    endpoint.fault = lambda _: Fault(status)
    setting = "bedrock:InvokeModel" if name in {"titan", "cohere"} else "KB_EMBED_API_KEY"
    embedder = quick(name)
    for ask in (lambda: embedder.space, lambda: embedder.embed_passages(["a", "b"]), lambda: embedder.embed_query("a")):
        endpoint.asked.clear()
        with pytest.raises(ProviderRefuses, match=setting):
            ask()
        assert len(endpoint.asked) == 1


@pytest.mark.parametrize(("name", "hint"), [("openai", "KB_EMBED_URL"), ("ollama", "ollama pull nomic-embed-text")])
def test_a_model_that_is_not_there_is_named(endpoint, quick, name, hint):
    endpoint.fault = lambda _: Fault(404)
    with pytest.raises(ProviderRefuses, match=hint) as raised:
        _ = quick(name).space
    assert MODELS[name] in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_at_fault_is_told_from_a_provider_that_refuses_all(endpoint, quick, name, status):
    endpoint.fault = lambda asked: Fault(status) if any("mau" in text for text in asked.texts) else None
    embedder = quick(name)
    with pytest.raises(PassagesRejected, match=str(status)):
        embedder.embed_passages(["mau"])
    with pytest.raises(EmbeddingInvalid, match=str(status)):
        embedder.embed_query("mau?")
    endpoint.fault = lambda _: Fault(status)
    with pytest.raises(ProviderRefuses, match="refuses every text"):
        embedder.embed_passages(["bom"])
    with pytest.raises(ProviderRefuses, match="KB_EMBEDDING_MODEL"):
        _ = quick(name).space


BAD = {
    "NaN": [math.nan] * DIMENSION,
    "infinity": [math.inf] * DIMENSION,
    "zero": [0.0] * DIMENSION,
    "text": ["a"] * DIMENSION,
    "flags": [True] * DIMENSION,
    "nothing": None,
    "empty": [],
    "overflow": [1e308] * DIMENSION,
}


@pytest.mark.parametrize("name", ["openai", "cohere"])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_vector_that_is_no_direction_is_named_by_its_text(endpoint, quick, name, bad):
    embedder = quick(name)
    assert embedder.space
    endpoint.changed = lambda vectors: [*vectors[:-1], bad]
    with pytest.raises(EmbeddingInvalid) as raised:
        embedder.embed_passages(["um", "dois"])
    assert raised.value.position == 1


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_provider_without_vectors_teaches_no_dimension(endpoint, quick, bad):
    endpoint.changed = lambda _: [bad]
    with pytest.raises(ProviderRefuses, match="gives no vector"):
        _ = quick("openai").space


@pytest.mark.parametrize("name", ["openai", "cohere"])
@pytest.mark.parametrize("changed", [lambda v: v[:-1], lambda v: [*v, v[0]], lambda v: []])
def test_a_wrong_count_is_said(endpoint, quick, name, changed):
    embedder = quick(name)
    assert embedder.space
    endpoint.changed = changed
    with pytest.raises(Unavailable, match="vectors for 2 texts"):
        embedder.embed_passages(["um", "dois"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"data": 7}',
        b'{"data": [7]}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": "0", "embedding": [1.0]}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_makes_no_sense_is_unavailable(endpoint, quick, body):
    endpoint.fault = lambda _: Fault(200, body)
    with pytest.raises(Unavailable):
        quick("openai").embed_query("um")


def test_vectors_without_numbers_of_their_places_come_in_order(endpoint, quick):
    endpoint.fault = lambda asked: Fault(
        200, json.dumps({"data": [{"embedding": [float(len(text)), 1.0]} for text in asked.texts]}).encode()
    )
    vectors = quick("openai").embed_passages(["a", "aaa"])
    assert [round(x / y) for x, y in vectors] == [1, 3]


@pytest.mark.parametrize("name", NAMES)
def test_vectors_come_at_length_one(endpoint, name):
    assert np.linalg.norm(endpoint.embedder(name).embed_query("um")) == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", [Fault(401), Fault(400), Fault(429), Fault(500), Fault(200, b"x"), Fault(302)])
def test_neither_key_nor_text_is_ever_told(endpoint, quick, caplog, name, fault):
    said = json.dumps({"error": f"Bearer {KEY} segredo"}).encode()
    endpoint.fault = lambda _: Fault(fault.status, fault.body if fault.status == 200 else said, {"Location": "/x"})
    caplog.set_level(logging.INFO)
    embedder = quick(name)
    for ask in (lambda: embedder.space, lambda: embedder.embed_passages(["segredo"])):
        with pytest.raises(FicharioError) as raised:
            ask()
        shown = f"{raised.value!s} {raised.value!r} {embedder!r} {embedder._endpoint!r} {caplog.text}"
        assert KEY not in shown
        assert "segredo" not in shown
    assert all(each.path != "/x" for each in endpoint.asked)


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("ftp://example.com", "", "KB_EMBED_URL is an http or https address"),
        ("example.com/v1", "", "KB_EMBED_URL"),
        ("https://me:secret@example.com", "", "KB_EMBED_URL"),
        ("http://example.com/v1", KEY, "KB_EMBED_API_KEY goes out over https only"),
        ("https://example.com/v1", "two words", "KB_EMBED_API_KEY is one word"),
        ("https://example.com/v1", "chave-é", "KB_EMBED_API_KEY is one word"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_used_is_refused_at_once(url, key, said):
    with pytest.raises(Misconfigured, match=said) as raised:
        openai_embedder("openai", url, "m", key)
    assert "secret" not in str(raised.value)
    assert KEY not in str(raised.value)


def test_bedrock_names_what_it_lacks(monkeypatch):
    with pytest.raises(Misconfigured, match="KB_EMBEDDING_MODEL"):
        bedrock_embedder("meta.llama3")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(Misconfigured, match="AWS_DEFAULT_REGION"):
        BedrockEndpoint("amazon.titan-embed-text-v2:0")


def test_bedrocks_quota_is_no_fault_of_a_text(endpoint, quick):
    embedder = quick("cohere")
    assert embedder.space
    fault = Fault(400, b"{}", {"x-amzn-ErrorType": "ServiceQuotaExceededException"})
    endpoint.fault = first(1, fault)
    assert len(embedder.embed_passages(["um", "dois"])) == 2


def test_known_models_are_read_to_their_window(endpoint):
    session = endpoint.embedder("titan")._endpoint._session
    assert bedrock_embedder("us.amazon.titan-embed-text-v2:0", session=session).window == 8192
    assert bedrock_embedder("cohere.embed-multilingual-v3", session=session).window == 512
    assert openai_embedder("openai", "https://api.openai.com/v1", "text-embedding-3-small").window == 8191
    assert openai_embedder("voyage", "https://api.voyageai.com/v1", "voyage-3.5").window == 32_000


def test_the_bounds_keep_an_ingest_within_its_lease_and_a_question_within_its_patience():
    assert remote_embedder.PASSAGES.total < 60
    assert remote_embedder.QUESTION.total < 5
