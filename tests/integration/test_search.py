"""What a question gets: the right fields, live passages only, modes, thresholds, caches that are never stale."""

import threading
import time
from dataclasses import replace

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.errors import EmbeddingInvalid, Refused, Unavailable
from common.domain.search import Search, SearchFilter
from common.ports import Reranked
from common.stages.caching import EpochMemory
from common.stages.candidates import Candidates
from common.stages.rerank import Reordering
from common.stages.spaces import CANARIES
from tests.integration.one_machine import BASE, OneMachine, content

OTHERS = {
    "horarios": "# Horários\n\nA loja abre às nove horas e fecha às dezoito horas todos os dias úteis da semana.",
    "trocas": "# Trocas\n\nO cliente troca o produto em trinta dias com a nota e a embalagem original sem uso.",
    "fretes": "# Fretes\n\nO frete sai por conta do comprador, salvo acima de duzentos reais no mesmo pedido.",
}


class CountingEmbedder(HashingEmbedder):
    """Counts the questions it embeds, and fails when it is told to."""

    def __init__(self):
        super().__init__()
        self.asked = 0
        self.broken = None

    def embed_query(self, text):
        if self.broken:
            raise self.broken
        self.asked += 1
        return super().embed_query(text)


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path, embedder=CountingEmbedder())
    yield opened
    opened.runtime.close()


def put(machine, **files):
    for name, text in files.items():
        machine.runtime.manage.upload(BASE, f"{name}.md", text.encode(), "")
    machine.settle()


def ask(machine, query, **more):
    return machine.runtime.answers.answer(BASE, Search(query, **{"threshold": None, **more}))


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("zirconio", "---\ntitle: Manual do zircônio\n---\n\nTexto que fala de outra coisa qualquer."),
        ("zirconio", "---\nkeywords: [zircônio, titânio]\n---\n\nTexto que fala de outra coisa qualquer."),
        ("zirconio", "# Capítulo do zircônio\n\n## Parte\n\nTexto que fala de outra coisa qualquer."),
        ("zirconio", "Texto que fala do zircônio entre outras coisas."),
        ("alvo", "Texto que não diz o nome do arquivo em lugar algum."),
    ],
    ids=["title", "keyword", "heading", "text", "file name"],
)
def test_a_word_of_any_field_finds_the_document(machine, question, document):
    put(machine, alvo=document, **OTHERS)
    found = ask(machine, question, mode="lexical")
    assert found.passages[0].source == "alvo.md"
    assert found.passages[0].terms


def test_a_passage_cites_its_exact_lines(machine):
    text = "# Um\n\nPrimeiro parágrafo.\n\n## Dois\n\nSegundo parágrafo, com a palavra manivela no meio dele.\n"
    put(machine, alvo=text, **OTHERS)
    passage = ask(machine, "manivela").passages[0]
    first, last = passage.lines
    assert "manivela" in "\n".join(text.split("\n")[first - 1 : last])
    assert passage.citation == f"alvo.md:{first}-{last}"


def test_modes_carry_the_scores_they_have(machine):
    put(machine, **OTHERS)
    hybrid, lexical, dense = (ask(machine, "troca do produto", mode=m) for m in ("hybrid", "lexical", "dense"))
    assert {p.dense_score is None for p in hybrid.passages} == {False}
    assert {p.dense_score for p in lexical.passages} == {None}
    assert {p.lexical_score for p in dense.passages} == {0.0}
    assert (lexical.mode, lexical.degraded, lexical.query_tokens) == ("lexical", False, 0)
    for fusion in ("sum", "minmax", "rrf"):
        assert ask(machine, "troca do produto", fusion=fusion).passages[0].source == "trocas.md"


def test_a_fixed_threshold_drops_what_lies_below_it_and_keeps_what_lies_on_it(machine):
    """THR-01: inclusive, nought is a number, none left is no match with the best score seen."""
    put(machine, **OTHERS)
    everything = ask(machine, "troca do produto em trinta dias")
    scores = sorted((p.dense_score for p in everything.passages), reverse=True)
    for cut in (scores[0], scores[1], 0.0):
        kept = ask(machine, "troca do produto em trinta dias", threshold=cut)
        assert [p.dense_score for p in kept.passages] == [
            p.dense_score for p in everything.passages if p.dense_score >= cut
        ]
        assert kept.gate.method == "fixed"
    none = ask(machine, "troca do produto em trinta dias", threshold=0.9999)
    assert (none.match, none.passages) == (False, ())
    assert none.gate.value == pytest.approx(scores[0])


def test_filters_narrow_by_source_category_and_metadata(machine):
    put(
        machine,
        **{
            "a/um": "---\ncategory: casa\nano: 2024\n---\n\nA manivela azul da casa.",
            "b/dois": "---\ncategory: rua\nano: 2025\n---\n\nA manivela azul da rua.",
        },
    )

    def sources(**conditions):
        return {p.source for p in ask(machine, "manivela azul", filter=SearchFilter(**conditions)).passages}

    assert sources() == {"a/um.md", "b/dois.md"}
    assert sources(source_prefix="a/") == {"a/um.md"}
    assert sources(categories=("rua",)) == {"b/dois.md"}
    assert sources(metadata=(("ano", (2024, "2024")),)) == {"a/um.md"}
    assert sources(source_prefix="c/") == set()
    assert sources(metadata=(("base", ("acme",)),)) == set()


def test_a_small_document_comes_back_whole(machine):
    put(machine, **OTHERS)
    machine.runtime.manage.upload(BASE, "longo.md", content("longo", 1, 40), "")
    machine.settle()
    found = ask(machine, "qualquer coisa", top_k=50, filter=SearchFilter(source_prefix="longo"))
    assert len(found.passages) == 40


def test_nothing_of_the_question_in_the_base_is_no_match(machine):
    put(machine, **OTHERS)
    answer = ask(machine, "xilofone quântico marciano", threshold="auto")
    assert (answer.match, answer.passages, answer.gate.decision) == (False, (), "no_match")
    assert answer.gate.reason


def test_a_base_that_never_was_is_refused_with_the_sentinel(machine):
    with pytest.raises(Refused) as raised:
        ask(machine, "x")
    assert (raised.value.status, raised.value.code, raised.value.extra["sentinel"]) == (404, "NO_BASE", "NO_KB_MATCH")


def cached(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder())
    machine.runtime.close()
    machine.open = lambda: _with_cache(machine)
    machine.runtime = machine.open()
    return machine


def _with_cache(machine):
    from common.bootstrap import local_runtime  # noqa: PLC0415 - only here
    from common.settings import read_settings  # noqa: PLC0415 - only here

    settings = read_settings({"KB_DATA_DIR": str(machine.folder / "data")})
    return local_runtime(settings, embedder=machine.embedder, clock=machine.clock, step=machine.step)


class Moving:
    """The catalog, with something that happens right behind the second look at a base's epoch."""

    def __init__(self, catalog, happens):
        self._catalog, self._happens, self._looks = catalog, happens, 0

    def __getattr__(self, name):
        return getattr(self._catalog, name)

    def epoch(self, base):
        epoch = self._catalog.epoch(base)
        self._looks += 1
        if self._looks == 2:
            self._happens()
        return epoch


def test_an_answer_is_put_together_from_what_was_found_at_its_epoch(machine):
    """Another question at a newer epoch makes all that is remembered of the older one forgotten."""
    put(machine, trocas=OTHERS["trocas"])
    epoch = machine.runtime.catalog.epoch(BASE)

    def happens():
        put(machine, fretes=OTHERS["fretes"])
        ask(machine, "frete comprador")

    searcher = machine.runtime.answers.searcher
    searcher = replace(searcher, catalog=Moving(searcher.catalog, happens))
    answer = searcher.search(BASE, Search("nota embalagem original", threshold=None))
    assert [passage.source for passage in answer.passages] == ["trocas.md"]
    assert answer.epoch == epoch < machine.runtime.catalog.epoch(BASE)


def test_an_answer_is_cached_until_the_epoch_moves(tmp_path):
    """CAC-01: a changed document, a deleted one and a negative answer are never served from before."""
    machine = cached(tmp_path)
    put(machine, **OTHERS)
    machine.embedder.asked = 0
    assert [ask(machine, "troca").cache for _ in range(3)] == ["miss", "hit", "hit"]
    assert machine.embedder.asked == 1
    assert not ask(machine, "gaivota", threshold="auto").match
    assert ask(machine, "gaivota", threshold="auto").cache == "hit"
    put(machine, trocas="# Trocas\n\nA gaivota troca de pena uma vez por ano na praia.")
    answer = ask(machine, "gaivota")
    assert (answer.cache, answer.passages[0].source) == ("miss", "trocas.md")
    assert machine.embedder.asked == 2
    machine.runtime.manage.delete(BASE, "trocas.md")
    machine.settle()
    assert "trocas.md" not in {p.source for p in ask(machine, "gaivota").passages}
    machine.clock.advance(601)
    assert ask(machine, "troca").cache == "miss"
    machine.runtime.close()


def test_equal_questions_at_the_same_time_are_asked_once(tmp_path):
    machine = cached(tmp_path)
    put(machine, **OTHERS)
    machine.embedder.asked = 0
    inside, go = threading.Event(), threading.Event()
    original = machine.embedder.count_tokens

    def slow(text):
        inside.set()
        assert go.wait(10)
        return original(text)

    machine.embedder.count_tokens = slow
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(machine, "troca do produto"))) for _ in range(6)]
    threads[0].start()
    assert inside.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)
    assert machine.embedder.asked == 1
    assert len({tuple(p.id for p in answer.passages) for answer in answers}) == 1
    assert sorted({answer.cache for answer in answers} - {"hit"}) in (["miss"], ["miss", "shared"])
    machine.runtime.close()


@pytest.mark.parametrize("fault", [Unavailable("the model is away"), EmbeddingInvalid(0, "NaN")])
def test_a_failing_embedder_leaves_answers_by_words_marked_degraded(machine, fault):
    put(machine, **OTHERS)
    machine.embedder.broken = fault
    answer = ask(machine, "troca do produto", threshold="auto")
    assert (answer.degraded, answer.mode, answer.gate.method) == (True, "lexical", "coverage")
    assert answer.passages[0].source == "trocas.md"
    assert answer.warnings
    machine.embedder.broken = None
    assert not ask(machine, "troca do produto").degraded


def test_canaries_that_no_longer_agree_leave_answers_by_words(tmp_path):
    class Fit(CountingEmbedder):
        fit = True

    machine = OneMachine(tmp_path, embedder=Fit())
    put(machine, **OTHERS)
    assert not ask(machine, "troca do produto").degraded
    machine.embedder = Fit()
    machine.embedder.embed_query = lambda text: CountingEmbedder.embed_query(machine.embedder, text[::-1])
    machine.restart()
    answer = ask(machine, "troca do produto")
    assert answer.degraded
    assert "canary" in answer.warnings[0]
    machine.runtime.close()


def test_a_model_says_each_canary_once_however_many_ask(tmp_path):
    class Fit(CountingEmbedder):
        fit = True

    machine = OneMachine(tmp_path, embedder=Fit())
    put(machine, **OTHERS)
    machine.restart()
    machine.embedder.asked = 0
    machine.runtime.ready()
    assert machine.embedder.asked == len(CANARIES)
    assert not ask(machine, "troca do produto").degraded
    assert machine.embedder.asked == len(CANARIES) + 1
    machine.restart()
    machine.embedder.asked = 0
    assert not ask(machine, "troca do produto").degraded
    machine.runtime.ready()
    assert machine.embedder.asked == len(CANARIES) + 1
    machine.runtime.close()


def test_a_loaded_model_that_becomes_slow_leaves_answers_by_words(tmp_path):
    class Fit(CountingEmbedder):
        fit = True

    machine = OneMachine(tmp_path, embedder=Fit(), settings={"KB_DEADLINE_SECONDS": "1"})
    slow = threading.Event()
    put(machine, **OTHERS)
    assert not ask(machine, "troca do produto").degraded
    original = machine.embedder.embed_query

    def waiting(text):
        slow.wait(10)
        return original(text)

    machine.embedder.embed_query = waiting
    began = time.monotonic()
    answer = ask(machine, "prazo de troca")
    assert time.monotonic() - began < 5
    slow.set()
    assert answer.degraded
    assert "did not answer within" in answer.warnings[0]
    machine.runtime.close()


def test_a_collection_that_is_gone_when_its_terms_are_counted_is_looked_for_again(machine, monkeypatch):
    put(machine, **OTHERS)
    counted, index = [], machine.runtime.index

    def frequencies(base, collection, terms):
        counted.append(collection)
        if len(counted) == 1:
            machine.runtime.catalog.update_base(BASE, lambda known: (known, None), raise_epoch=True)
            raise Unavailable("there is no such collection")
        return type(index).frequencies(index, base, collection, terms)

    monkeypatch.setattr(index, "frequencies", frequencies)
    assert ask(machine, "troca do produto").passages
    assert len(counted) > 1


def test_a_word_begun_or_mistyped_finds_what_it_stands_for(machine):
    put(machine, reembolso="# Reembolso\n\nO reembolso do valor pago sai em dez dias.", **OTHERS)
    for written, mark in (("reemb", "reemb*"), ("reembolzo", "reembolzo~"), ("Reembolso", "reembolso")):
        found = machine.runtime.answers.answer(BASE, Search(written, mode="lexical"))
        assert found.match, written
        assert found.passages[0].source == "reembolso.md"
        assert found.passages[0].terms == (mark,)
    exact, loose = (ask(machine, word, mode="lexical").passages[0].lexical_score for word in ("reembolso", "reemb"))
    assert 0 < loose < exact
    assert not machine.runtime.answers.answer(BASE, Search("xilofone", mode="lexical")).match


def test_a_word_the_base_knows_is_loosened_only_where_it_finds_no_match_alone(machine):
    put(
        machine,
        porta="# Porta\n\nA porta da frente fecha sozinha.",
        portaria="# Portaria\n\nA portaria recebe pacotes grandes.",
        **OTHERS,
    )
    both = machine.runtime.answers.answer(BASE, Search("porta pacotes grandes recebe", mode="lexical"))
    assert both.match
    assert both.passages[0].source == "portaria.md"
    alone = machine.runtime.answers.answer(BASE, Search("porta", mode="lexical"))
    assert [p.source for p in alone.passages] == ["porta.md"]


def test_a_question_is_asked_again_only_where_a_looser_wording_could_answer_it(machine):
    """When it fails: a refused question costs twice what it has to, or one that could be answered is refused."""
    put(machine, porta="# Porta\n\nA porta fecha.", portaria="# Portaria\n\nA portaria recebe.", **OTHERS)
    runtime = machine.runtime
    asked = []

    class Counting:
        def __getattr__(self, name):
            return getattr(runtime.index, name)

        def lookup(self, base, collection, lookup):
            asked.append(lookup)
            return runtime.index.lookup(base, collection, lookup)

    searcher = runtime.answers.searcher
    counting = replace(searcher, index=Counting(), candidates=Candidates(runtime.catalog, Counting(), EpochMemory()))

    def lookups(query, **more):
        asked.clear()
        answer = counting.search(BASE, Search(query, **more))
        return answer.match, len(asked)

    def far(cut):
        view = counting.view(BASE)
        gates = dict.fromkeys(view.record.gates, replace(view.gate, cut=cut, med=0.0, sd=1.0))
        moved = replace(view, record=replace(view.record, gates=gates))
        counting.candidates.remembered.table(BASE, view.epoch, "view")[BASE] = moved

    assert lookups("porta recebe", threshold=0.99) == (False, 1)
    assert lookups("xilofone zabumba porta", mode="lexical") == (False, 1)
    assert lookups("porta recebe pacotes", mode="lexical")[1] == 2
    far(2.0)
    assert lookups("porta recebe") == (False, 1)
    far(1.0)
    assert lookups("porta recebe")[1] == 2
    assert lookups("porta recebe", mode="dense") == (False, 1)


def test_an_embedder_that_does_not_answer_in_time_costs_only_the_vector(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"KB_DEADLINE_SECONDS": "0.4"})
    put(machine, **OTHERS)
    held = threading.Event()
    machine.embedder.embed_query = lambda _: held.wait(60) and [1.0]
    answer = ask(machine, "troca do produto")
    assert (answer.degraded, answer.mode) == (True, "lexical")
    assert "did not answer within 0.2 s" in answer.warnings[0]
    assert answer.passages[0].source == "trocas.md"
    held.set()
    machine.runtime.close()


def test_a_remembered_epoch_is_told(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"KB_EPOCH_TTL": "30", "KB_CACHE_TTL": "600"})
    put(machine, **OTHERS)
    assert not ask(machine, "troca").warnings
    machine.clock.advance(10)
    put(machine, trocas="# Trocas\n\nNada se troca.")
    stale = ask(machine, "troca")
    assert stale.cache == "hit"
    assert "KB_EPOCH_TTL" in stale.warnings[0]
    machine.clock.advance(31)
    assert "Nada se troca" in ask(machine, "troca").passages[0].text
    machine.runtime.close()


def test_conditions_of_other_kinds_are_other_questions(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"KB_CACHE_TTL": "600"})
    put(machine, **{name: f"---\nativo: sim\n---\n\n{text}" for name, text in OTHERS.items()})
    kinds = [SearchFilter(metadata=(("ativo", (value,)),)) for value in (True, 1, 1.0)]
    assert [ask(machine, "troca", filter=each).cache for each in kinds] == ["miss"] * 3
    assert [ask(machine, "troca", filter=each).cache for each in kinds] == ["hit"] * 3
    machine.runtime.close()


def test_a_cached_vector_of_another_length_is_none(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"KB_CACHE_TTL": "600"})
    put(machine, **OTHERS)
    machine.runtime.answers.cache.put(("vector", machine.embedder.space, "troca"), ((1.0, 0.0), 1), 10)
    answer = ask(machine, "troca")
    assert not answer.degraded
    assert machine.embedder.asked == 1
    machine.runtime.close()


class Model:
    """A reranker that turns the order round, or fails."""

    def __init__(self):
        self.broken = False
        self.asked = []

    def rerank(self, question, texts, deadline):
        self.asked.append((question, len(texts)))
        if self.broken:
            raise Unavailable("the reranker answered 500")
        return Reranked(tuple(reversed(range(len(texts)))), 700, 12)


@pytest.fixture
def reranked(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"KB_CACHE_TTL": "600"})
    put(machine, **OTHERS)
    model = Model()
    yield replace(machine.runtime.answers, reordering=Reordering(model)), model
    machine.runtime.close()


def test_a_model_reorders_the_pool_before_the_cut(reranked):
    answers, model = reranked
    plain = answers.answer(BASE, Search("troca produto loja frete", top_k=3, threshold=None))
    turned = answers.answer(BASE, Search("troca produto loja frete", top_k=1, threshold=None, rerank="llm"))
    assert turned.passages[0].id == plain.passages[-1].id
    assert turned.rerank_tokens == (700, 12)
    assert (
        answers.answer(BASE, Search("troca produto loja frete", top_k=1, threshold=None, rerank="llm")).cache == "hit"
    )
    assert len(model.asked) == 1


def test_a_failed_reranking_keeps_the_order_and_is_not_remembered(reranked):
    answers, model = reranked
    model.broken = True
    asked = Search("troca produto loja frete", top_k=3, threshold=None, rerank="llm")
    plain = answers.answer(BASE, replace(asked, rerank="off"))
    failed = answers.answer(BASE, asked)
    assert [p.id for p in failed.passages] == [p.id for p in plain.passages]
    assert failed.warnings == ("Not reranked: the reranker answered 500.",)
    model.broken = False
    assert answers.answer(BASE, asked).passages[0].id == plain.passages[-1].id


def test_no_model_is_asked_where_nothing_matches(reranked):
    answers, model = reranked
    assert not answers.answer(BASE, Search("xilofone quebrado", mode="lexical", rerank="llm")).match
    assert model.asked == []


def test_without_a_model_the_order_stays_and_the_answer_says_so(machine):
    put(machine, **OTHERS)
    answer = ask(machine, "troca do produto", rerank="llm")
    assert answer.passages
    assert "KB_RERANK_URL" in answer.warnings[0]


def test_diversity_moves_a_copy_behind_something_else(machine):
    copy = OTHERS["trocas"] + " Vale para todos."
    other = "# Devolver\n\nO cliente troca o produto quando ele chega quebrado, sem pagar nada."
    put(machine, copia=copy, devolver=other, **OTHERS)
    plain, diverse = (
        ask(machine, "o cliente troca o produto em trinta dias", top_k=4, rerank=r) for r in ("off", "mmr")
    )
    assert {p.source for p in plain.passages[:2]} == {"copia.md", "trocas.md"}
    assert diverse.passages[0].source == plain.passages[0].source
    assert {p.source for p in diverse.passages[:2]} != {"copia.md", "trocas.md"}
    assert {p.id for p in diverse.passages} == {p.id for p in plain.passages}
