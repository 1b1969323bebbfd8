"""What becomes of a base when its model's files change, and when it is to move to a model that is worse."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from common.adapters.onnx_embedder import OnnxEmbedder
from common.adapters.plain_parser import PlainParser
from common.bootstrap import local_runtime
from common.domain.errors import Misconfigured, ModelFilesDiffer, Refused
from common.domain.search import Search
from common.domain.typed_json import to_json
from common.settings import read_settings
from functions.local.workers import drain
from tests.integration.altered_models import alter, copied, describe, one_byte, scrambled
from tests.integration.one_machine import BASE
from tests.integration.prose import TRAVEL

MODELS = Path(os.environ.get("KB_MODEL_DIR", Path(__file__).parents[2] / ".models")).resolve()
MODEL = "e5-small-enpt"
QUESTION = Search("Quanto pesa a mala que posso levar?", threshold=None)

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not (MODELS / MODEL / "manifest.json").exists(), reason=f"model {MODEL} is not prepared"),
]


ONE = {"bagagem.md": (TRAVEL / "pt" / "bagagem.md").read_text(encoding="utf-8")}
FOREIGN = {
    "Can I bring my bicycle on the trip?": "**Bicicleta:**",
    "What happens if my suitcase gets lost on the bus?": "Avise o guia em",
    "I changed my mind a few days after buying, do I get everything back?": "pode desistir em",
    "How long until the refund reaches my bank account?": "em até 10 dias úteis, na conta",
    "Can somebody else travel in my place?": "### Passar a vaga",
    "What if too few people join the group?": "não chega a 6 viajantes",
    "What should I carry in my daypack?": "garrafa de 1,5 litro",
    "What do I write on the luggage tag?": "etiquetas verdes",
    "My father died, do you give the money back?": "falecimento do viajante",
    "What if a road is closed because of a storm?": "Em caso de estrada interditada",
}
"""Questions in one language about sections in the other, by words that the section has: no word of theirs helps."""


def sections():
    """The Portuguese documents, each section of them a document of its own."""
    for path in sorted((TRAVEL / "pt").glob("[bcdpt]*.md")):
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\n## ")):
            yield f"{path.stem}-{number}.md", text


class Place:
    """A data folder beside model folders of its own; each `open` is a new process."""

    def __init__(self, folder):
        self.folder, self.models = folder, folder / "models"
        self.models.mkdir()
        self.model = copied(MODELS / MODEL, self.models)
        self.runtime = None

    def open(self):
        self.close()
        given = {"KB_DATA_DIR": self.folder / "data", "KB_MODEL_DIR": self.models, "KB_EMBEDDING_MODEL": MODEL}
        settings = read_settings({name: str(value) for name, value in given.items()})
        self.runtime = local_runtime(settings, parser=PlainParser())
        return self.runtime

    def close(self):
        if self.runtime is not None:
            self.runtime.close()
            self.runtime = None

    def fill(self, texts):
        for name, text in texts.items():
            self.runtime.manage.upload(BASE, name, text.encode(), "")
        drain(self.runtime)
        self.runtime.gate_fit.run(BASE)

    def told(self):
        """The answer as bytes, without what differs between two equal ones."""
        answer = to_json(self.runtime.answers.answer(BASE, QUESTION))
        kept = {
            name: value for name, value in answer.items() if name not in {"epoch", "timings_ms", "cache", "embedded"}
        }
        return json.dumps(kept, sort_keys=True).encode()

    def moved(self, model=None):
        """The status of a migration to that model, once it waits for a person."""
        self.runtime.reindexing.start(BASE, model)
        drain(self.runtime)
        return self.runtime.reindexing.status(BASE)


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.open()
    yield made
    made.close()


@pytest.mark.slow
def test_a_worse_model_is_refused_with_the_figures_and_forced_and_rolled_back(place):
    """By questions of people, whose words are not those of the passages: those that are made of the passages' own
    words are found by them with whatever model.
    """
    texts = dict(sections())
    sources = {question: next(n for n, text in texts.items() if words in text) for question, words in FOREIGN.items()}
    place.fill(texts)
    place.runtime.keeping.replace(BASE, list(sources.items()))
    before = place.told()
    worse = copied(place.model, place.models, "worse")
    alter(worse, scrambled)
    describe(worse)
    status = place.moved("worse")
    assert status["state"] == "ready"
    reindexing, blue = place.runtime.reindexing, place.runtime.catalog.base(BASE).live
    with pytest.raises(Refused) as refused:
        reindexing.switch(BASE)
    assert (refused.value.status, refused.value.code) == (409, "WORSE")
    assert refused.value.extra["worse_by"] == status["worse_by"] != {}
    assert all(f"{name} by {by:.3f}" in refused.value.detail for name, by in status["worse_by"].items())
    assert place.told() == before
    assert reindexing.switch(BASE, force=True)["state"] == "live"
    assert place.told() != before
    assert reindexing.rollback(BASE)["state"] == "rolled_back"
    assert (place.runtime.catalog.base(BASE).live, place.told()) == (blue, before)


def test_files_that_differ_from_their_manifest_stop_a_start_with_both_hashes(place):
    place.fill(ONE)
    before = place.told()
    good = (place.model / "model.onnx").read_bytes()
    alter(place.model, one_byte)
    with pytest.raises(ModelFilesDiffer, match=r"expected sha256 \w{64}, found \w{64}"):
        place.open().ready()
    (place.model / "model.onnx").write_bytes(good)
    place.open().ready()
    assert place.told() == before


def test_other_files_of_the_same_name_degrade_questions_and_the_base_can_be_moved_to_them(place):
    place.fill(ONE)
    alter(place.model, one_byte)
    describe(place.model)
    runtime = place.open()
    runtime.ready()
    assert "fichario reindex start" in runtime.spaces.refusal(BASE)
    answer = runtime.answers.answer(BASE, QUESTION)
    assert (answer.degraded, answer.mode) == (True, "lexical")
    assert answer.passages
    assert all(passage.dense_score is None for passage in answer.passages)
    assert "holds another vector space" in answer.warnings[0]
    with pytest.raises((Refused, Misconfigured)):
        runtime.manage.upload(BASE, "novo.md", b"Um texto novo.", "")
    status = place.moved()
    assert (status["state"], status["report"]) == ("ready", None)
    assert "could not be compared" in status["reason"]
    runtime.reindexing.switch(BASE)
    drain(runtime)
    assert not runtime.answers.answer(BASE, QUESTION).degraded
    runtime.manage.upload(BASE, "novo.md", b"Um texto novo.", "")
    drain(runtime)
    assert runtime.listing.base(BASE)["documents"] == 2


def test_other_files_that_pass_for_the_same_are_told_by_the_canaries(place):
    """An image's start compares sizes alone: only what the model says gives it away."""
    place.fill(ONE)
    alter(place.model, one_byte)
    altered = OnnxEmbedder(place.model, full_check=False)
    runtime = place.open()
    for name in ("configured", "named", "find"):
        object.__setattr__(runtime.spaces, name, lambda *_: altered)
    assert runtime.spaces.refusal(BASE) is None
    answer = runtime.answers.answer(BASE, replace(QUESTION, mode="dense"))
    assert (answer.degraded, answer.mode) == (True, "lexical")
    assert "no longer gives the vectors" in answer.warnings[0]
