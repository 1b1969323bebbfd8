"""The hard cases of questions, thresholds, caches and accents, word for word and over HTTP: QRY-01, THR-01, CAC-01 and
BM2-01.
"""

import json
import math
from pathlib import Path

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Request

from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.memory_index import MemoryIndex
from common.domain.errors import Unavailable
from common.domain.objects import ObjectRef
from common.identity import Identity
from functions.query.handle import router as query_router
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE

CASES = Path(__file__).parents[1] / "corpus" / "files"
SEARCH = f"/v1/bases/{BASE}/search"


def case(name):
    return json.loads((CASES / name).read_text(encoding="utf-8"))


class Counted(HashingEmbedder):
    """Counts the questions that it embeds."""

    def __init__(self, dimension=8):
        super().__init__(dimension)
        self.asked = 0

    def embed_query(self, text):
        self.asked += 1
        return super().embed_query(text)


class Breakable(MemoryIndex):
    """Does not answer while it is told so."""

    broken = False

    def lookup(self, *args):
        if self.broken:
            raise Unavailable("the index does not answer")
        return super().lookup(*args)


class Deployment:
    """A bucket and the query function over it, with its cache on."""

    def __init__(self, embedder=None):
        self.index = Breakable()
        self.embedder = embedder or Counted()
        self.machine = CloudMachine(
            index=self.index, embedder=self.embedder, windows=False, settings={"KB_CACHE_TTL": "600"}
        )
        owner = Identity(frozenset({BASE}), {"*": "read"})
        self.client = Client(Request.application(query_router(self.machine.reader_as(lambda _: owner))))

    def put(self, **files):
        for name, text in files.items():
            self.machine.put(name, text.encode())
        self.machine.names.clear()
        self.machine.drain()

    def delete(self, name):
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        self.machine.store.delete(stat.ref, stat.generation)
        self.machine.drain()

    def ask(self, query, **more):
        response = self.client.post(SEARCH, json={"query": query, **more})
        assert response.status_code == 200, response.text
        return response.json

    def found(self, query, **more):
        return [passage["source"].removesuffix(".md") for passage in self.ask(query, **more)["passages"]]


@pytest.fixture(scope="module")
def anything():
    made = Deployment()
    made.put(um="Um texto qualquer.")
    return made


@pytest.mark.parametrize("request_", case("QRY-01/requests.json"), ids=lambda request: json.dumps(request)[:60])
def test_a_question_that_is_none_is_refused_before_anything_is_embedded(anything, request_):
    """QRY-01. A `top_k` that is too large is refused, and so is a body that is not declared as JSON."""
    data = request_.get("raw", json.dumps(request_["body"]) if "body" in request_ else None)
    kind = request_.get("content_type", "application/json")
    response = anything.client.open(SEARCH, method=request_.get("method", "POST"), data=data, content_type=kind)
    wanted = {"400 or capped, documented": 400, "400/415, documented": 415}.get(request_["expect"], request_["expect"])
    assert response.status_code == wanted
    assert response.mimetype == "application/problem+json"
    assert anything.embedder.asked == 0
    if "body" in request_:
        named = next((name for name in request_["body"] if name != "query"), "query")
        assert response.json["field"] == named


class Angled(Counted):
    """Gives each passage the cosine to the question that THR-01 gives its document."""

    def __init__(self, cosines):
        super().__init__(2)
        self.cosines = cosines

    def embed_passages(self, texts):
        named = [next(cosine for name, cosine in self.cosines.items() if name in text) for text in texts]
        return [[cosine, math.sqrt(1 - cosine * cosine)] for cosine in named]

    def embed_query(self, text):
        return [1.0, 0.0]


THRESHOLDS = case("THR-01/scenario.json")["thresholds"]


@pytest.fixture(scope="module")
def angled():
    cosines = {hit["id"]: hit["cosine_similarity"] for hit in case("THR-01/scenario.json")["hits"]}
    made = Deployment(Angled(cosines))
    made.put(**{name: f"A passagem {name}." for name in cosines})
    return made


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
@pytest.mark.parametrize("threshold", list(THRESHOLDS))
def test_a_threshold_keeps_what_lies_on_it_or_above(angled, threshold, mode):
    """THR-01: higher is better, nought is a number, null is off; none left is a no match that says the best score."""
    answer = angled.ask("passagem", threshold=json.loads(threshold), mode=mode)
    assert [passage["source"] for passage in answer["passages"]] == [f"{name}.md" for name in THRESHOLDS[threshold]]
    assert answer["match"] is bool(THRESHOLDS[threshold])
    assert answer["sentinel"] == (None if THRESHOLDS[threshold] else "NO_KB_MATCH")
    assert answer["gate"]["dense"] == pytest.approx(0.82)
    if threshold != "null":
        assert (answer["gate"]["method"], answer["gate"]["threshold"]) == ("fixed", json.loads(threshold))
        assert answer["gate"]["value"] == pytest.approx(0.82)


def test_no_cached_answer_outlives_a_change():
    """CAC-01, step by step: overwritten, deleted, and a no match whose answer came later."""
    acme = Deployment()
    acme.put(outro="Um texto de outra coisa.", preco="Preço 10 CACHE-A")
    question = {"query": "qual o preço", "mode": "lexical"}
    assert ["CACHE-A" in acme.ask(**question)["passages"][0]["text"] for _ in range(2)] == [True, True]
    assert acme.ask(**question)["cache"] == "hit"
    acme.put(preco="Preço 25 CACHE-B")
    answer = acme.ask(**question)
    assert (answer["cache"], answer["passages"][0]["text"]) == ("miss", "Preço 25 CACHE-B")
    acme.delete("preco")
    answers = [acme.ask(**question) for _ in range(2)]
    assert [answer["cache"] for answer in answers] == ["miss", "hit"]
    assert not any("CACHE" in json.dumps(answer["passages"]) for answer in answers)
    assert [answer["sentinel"] for answer in answers] == ["NO_KB_MATCH"] * 2
    acme.put(preco="Preço 30 CACHE-C")
    assert acme.ask(**question)["passages"][0]["text"] == "Preço 30 CACHE-C"


def test_an_error_is_never_cached():
    """CAC-01."""
    acme = Deployment()
    acme.put(preco="Preço 10 CACHE-A")
    acme.index.broken = True
    refused = [acme.client.post(SEARCH, json={"query": "qual o preço"}) for _ in range(2)]
    assert [response.status_code for response in refused] == [503, 503]
    assert refused[0].headers["Retry-After"]
    acme.index.broken = False
    assert acme.ask("qual o preço")["cache"] == "miss"
    assert acme.found("qual o preço", threshold=None) == ["preco"]


@pytest.fixture(scope="module")
def manuals():
    made = Deployment()
    made.put(**{document["id"]: document["text"] for document in case("BM2-01/corpus.json")})
    return made


@pytest.mark.parametrize("query", case("BM2-01/queries.json"), ids=lambda query: query["q"])
def test_accents_and_capitals_find_each_other_both_ways(manuals, query):
    """BM2-01: exactly what shares a word with the question scores by words, alone and beside the vectors."""
    assert sorted(manuals.found(query["q"], mode="lexical", threshold=None)) == query["expect_ids"]
    passages = manuals.ask(query["q"], threshold=None)["passages"]
    scored = {passage["source"].removesuffix(".md") for passage in passages if passage["lexical_score"] > 0}
    assert sorted(scored) == query["expect_ids"]
    assert len(passages) == len(case("BM2-01/corpus.json"))
