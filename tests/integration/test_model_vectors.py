"""The vectors of the packaged models, against numbers that no part of this product computed.

Model folders come from KB_MODEL_DIR, else `.models` of the repository; `fichario models prepare NAME` makes them.
"""

import os
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from common.adapters.fastembed_embedder import FastembedEmbedder
from common.adapters.onnx_embedder import OnnxEmbedder
from common.models import CANONICAL_NUMBERS, KNOWN, model_folder, verify
from common.prepare import pinned
from common.prepare.check import INT8_BOUND, INT8_BOUNDS, embed
from common.prepare.texts import CANONICAL, PINNED, SAMPLES

MODEL_DIR = Path(os.environ.get("KB_MODEL_DIR") or Path(__file__).parents[2] / ".models")
QUESTION = "Qual é o prazo para pedir reembolso?"

# First eight numbers, by model and canonical text. Processors without VNNI round int8 products otherwise: two vectors
# of cosine .997 differ by .004 in a typical number, a forgotten prefix or another pooling by several times the bound.
NUMBERS_BOUND = 0.012
CANONICAL_VECTOR_VALUES = {
    "e5-small-enpt": {
        "hello world": [0.0349, 0.0451, -0.0213, -0.0634, 0.0797, -0.0168, -0.0086, 0.0437],
        QUESTION: [0.0106, -0.0264, -0.0276, -0.1106, 0.0482, -0.0405, 0.0193, 0.0303],
    },
    "e5-small": {
        "hello world": [0.0349, 0.0451, -0.0213, -0.0634, 0.0797, -0.0168, -0.0086, 0.0437],
        QUESTION: [0.0106, -0.0264, -0.0276, -0.1106, 0.0482, -0.0405, 0.0193, 0.0303],
    },
    "all-MiniLM-L6-v2": {
        "hello world": [-0.0371, 0.0255, 0.0029, 0.0245, -0.0560, -0.1584, 0.0640, -0.0157],
        QUESTION: [-0.0358, 0.0862, -0.1011, -0.0154, -0.1040, 0.0236, 0.0374, 0.0933],
    },
}
# What sentence-transformers prints for all-MiniLM-L6-v2 and "hello world"; int8 is the distance from it.
PUBLISHED = [-0.034478, 0.031023, 0.006735, 0.026109, -0.039362]

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", params=list(CANONICAL_VECTOR_VALUES))
def folder(request):
    folder = model_folder(MODEL_DIR, request.param)
    if not folder.exists():
        pytest.skip(f"{request.param} is not prepared in {MODEL_DIR}: run `fichario models prepare {request.param}`")
    return folder


@pytest.fixture(scope="module")
def embedder(folder):
    return OnnxEmbedder(folder)


def test_the_canonical_numbers_are_those_they_were(folder, embedder):
    expected = CANONICAL_VECTOR_VALUES[verify(folder).name]
    for sample, vector in zip(CANONICAL, embed(embedder, CANONICAL), strict=True):
        assert vector[:CANONICAL_NUMBERS] == pytest.approx(expected[sample.text], abs=NUMBERS_BOUND), sample


def test_the_manifest_holds_the_numbers_of_this_machine(folder, embedder):
    vectors = embed(embedder, CANONICAL)
    assert [list(entry.values) for entry in verify(folder).canonical] == [
        pytest.approx(vector[:CANONICAL_NUMBERS], abs=NUMBERS_BOUND) for vector in vectors
    ]


def test_vectors_point_where_the_reference_points(folder, embedder):
    """Eight texts against the package's C engine (e5) and a float64 evaluation of the weights (MiniLM)."""
    name = verify(folder).name
    ours = np.array(embed(embedder, [SAMPLES[position] for position in PINNED]))
    reference = np.array(pinned.reference(name).vectors)
    cosines = (ours * reference).sum(axis=1) / np.linalg.norm(reference, axis=1)
    assert cosines.min() >= INT8_BOUNDS.get(name, INT8_BOUND)


def test_the_wrong_side_or_model_would_be_noticed(folder, embedder):
    """The bound on the numbers is not so wide that a mistake fits in it."""
    expected = CANONICAL_VECTOR_VALUES[verify(folder).name]
    question = np.array(expected[QUESTION])
    others = [
        values[QUESTION] for name, values in CANONICAL_VECTOR_VALUES.items() if values[QUESTION] != list(question)
    ]
    if embedder.space.query_prefix:
        others.append(embedder.embed_passages([QUESTION])[0][:CANONICAL_NUMBERS])
    assert all(np.abs(question - other).max() > NUMBERS_BOUND for other in others)


def test_fastembed_and_our_own_runtime_agree_on_every_bit(folder, embedder):
    theirs = FastembedEmbedder(folder)
    assert embed(theirs, SAMPLES) == embed(embedder, SAMPLES)
    passages = [*(sample.text for sample in SAMPLES), "a [SEP] b [CLS]", "</s> c <pad>", "<|endoftext|>"]
    assert theirs.embed_passages(passages) == embedder.embed_passages(passages)
    assert theirs.space == embedder.space
    assert [theirs.count_tokens(text) for text in passages] == [embedder.count_tokens(text) for text in passages]


def test_the_installed_fastembed_is_the_one_the_vectors_were_checked_with(folder):
    """When this fails: prepare the models again, look at the drift, and reindex if a canonical number moved."""
    assert version("fastembed") == verify(folder).fastembed


def test_the_manifest_agrees_with_what_is_known_of_the_model(folder):
    manifest = verify(folder)
    known = KNOWN[manifest.name]
    for field in ("pooling", "query_prefix", "passage_prefix", "window", "dimension", "quantisation"):
        assert getattr(manifest, field) == getattr(known, field), field
    assert manifest.checks["graph_lowest"] >= 0.999


def test_minilm_reproduces_the_published_numbers():
    folder = model_folder(MODEL_DIR, "all-MiniLM-L6-v2")
    if not folder.exists():
        pytest.skip(f"all-MiniLM-L6-v2 is not prepared in {MODEL_DIR}")
    vector = OnnxEmbedder(folder).embed_query("hello world")
    assert vector[: len(PUBLISHED)] == pytest.approx(PUBLISHED, abs=0.02)


def test_the_answering_runtime_imports_nothing_it_does_not_run(folder):
    script = """
        import sys
        from pathlib import Path
        from common.adapters.onnx_embedder import OnnxEmbedder
        OnnxEmbedder(Path(sys.argv[1])).embed_query("olá")
        print(sorted({"fastembed", "huggingface_hub", "onnx", "PIL", "requests", "qdrant_client"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), folder], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
