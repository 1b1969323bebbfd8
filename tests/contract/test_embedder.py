"""The Embedder port's contract. A failure means that tokens, vectors or errors are not what stages rely on.

Model folders come from KB_MODEL_DIR, else `.models` of the repository; `fichario models prepare NAME` makes them.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.fastembed_embedder import FastembedEmbedder
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.onnx_embedder import OnnxEmbedder
from common.domain.errors import EmbeddingInvalid, ModelFilesDiffer, PassageTooLong
from common.models import model_folder
from tests.contract import embed_endpoint

MODEL_DIR = Path(os.environ.get("KB_MODEL_DIR") or Path(__file__).parents[2] / ".models")
RUNTIMES = {"onnx": OnnxEmbedder, "fastembed": FastembedEmbedder}
MODELS = ("e5-small-enpt", "e5-small", "all-MiniLM-L6-v2")

WORDS = "o contrato prevê reembolso da despesa em trinta dias após a viagem"
TEXTS = [WORDS, "The invoice is due in ten days.", "¿Dónde puedo consultar mis facturas?", "x", WORDS * 4, "42 %"]


def build(name, endpoint):
    if name == "hashing":
        return HashingEmbedder()
    if name in embed_endpoint.MODELS:
        return endpoint.embedder(name)
    runtime, model = name.split(":")
    folder = model_folder(MODEL_DIR, model)
    if not folder.exists():
        pytest.skip(f"{model} is not prepared in {MODEL_DIR}: run `fichario models prepare {model}`")
    return RUNTIMES[runtime](folder)


@pytest.fixture(scope="module")
def endpoint():
    """Where the embedders ask that are behind an address."""
    with embed_endpoint.serving() as opened:
        yield opened


@pytest.fixture(
    scope="module",
    params=[
        "hashing",
        *embed_endpoint.MODELS,
        *(pytest.param(f"{runtime}:{model}", marks=pytest.mark.model) for model in MODELS for runtime in RUNTIMES),
    ],
)
def embedder(request, endpoint):
    return build(request.param, endpoint)


def filled(embedder, tokens):
    """A text of exactly `tokens` tokens, prefix and special tokens included."""
    text, unit = "", " a"
    room = tokens - embedder.special_tokens - embedder.passage_prefix_tokens
    assert embedder.count_tokens(unit * 3) == 3
    return (text + unit * room).strip()


def test_vectors_are_unit_lists_of_the_spaces_dimension(embedder):
    vectors = [*embedder.embed_passages(TEXTS), embedder.embed_query(WORDS)]
    assert [len(vector) for vector in vectors] == [embedder.space.dimension] * len(vectors)
    assert all(type(number) is float for vector in vectors for number in vector)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_vectors(embedder):
    assert embedder.embed_passages([]) == []


def test_a_text_repeats_bit_for_bit_alone_and_among_others(embedder):
    together = embedder.embed_passages(TEXTS)
    assert [embedder.embed_passages([text])[0] for text in TEXTS] == together
    assert embedder.embed_passages(TEXTS[::-1]) == together[::-1]


def test_another_instance_gives_the_same_vectors(embedder, endpoint, request):
    again = build(request.node.callspec.params["embedder"], endpoint)
    assert again.space == embedder.space
    assert again.embed_passages(TEXTS) == embedder.embed_passages(TEXTS)


def test_threads_do_not_disturb_each_other(embedder):
    alone = embedder.embed_passages(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: embedder.embed_passages(TEXTS), range(16)))
    assert answers == [alone] * 16


def test_the_query_side_is_another_only_where_the_space_says_so(embedder):
    same = embedder.space.query_prefix == embedder.space.passage_prefix
    assert (embedder.embed_query(WORDS) == embedder.embed_passages([WORDS])[0]) is same


def test_a_passage_is_nearer_to_its_own_question(embedder):
    passages = ["Reembolso de despesa de viagem em trinta dias.", "Receita de pão de queijo com polvilho azedo."]
    question = embedder.embed_query("reembolso de viagem")
    near, far = (float(np.dot(question, vector)) for vector in embedder.embed_passages(passages))
    assert near > far


def test_the_window_is_used_to_its_last_token_and_never_overrun(embedder):
    full = filled(embedder, embedder.window)
    assert len(embedder.embed_passages([full])) == 1
    with pytest.raises(PassageTooLong) as raised:
        embedder.embed_passages(["fine", f"{full} a"])
    assert (raised.value.position, raised.value.tokens, raised.value.window) == (
        1,
        embedder.window + 1,
        embedder.window,
    )


def test_the_last_word_of_a_full_passage_still_counts(embedder):
    full = filled(embedder, embedder.window - 1)
    first, second = embedder.embed_passages([f"{full} b", f"{full} c"])
    assert first != second


def test_a_question_longer_than_the_window_is_embedded_whole(embedder):
    question = " ".join(f"{WORDS} {number}" for number in range(embedder.window // 8))
    assert embedder.count_tokens(question) > embedder.window
    vector = embedder.embed_query(question)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector != embedder.embed_query(f"{question} fotossíntese das plantas verdes")
    assert float(np.dot(vector, embedder.embed_query(WORDS))) > 0.5


SPELLED = ["<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"]


@pytest.mark.parametrize("token", SPELLED)
def test_a_special_token_in_a_text_is_ordinary_text(embedder, token):
    """Spelled out it costs more than the one token it would be, and moves the vector like any other text."""
    assert embedder.count_tokens(token) > 1
    assert embedder.token_ends(f"a {token} b")[-1] == len(f"a {token} b")
    spelled, without = embedder.embed_passages([f"fim {token} aqui", "fim aqui"])
    assert spelled != without


def test_half_a_surrogate_pair_is_text_like_any_other(embedder):
    assert len(embedder.token_ends("a \ud83d b")) == embedder.count_tokens("a \ud83d b")
    assert len(embedder.embed_query("a \ud83d b")) == embedder.space.dimension


@given(text=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_ends_are_monotone_offsets_one_per_token(embedder, text):
    ends = embedder.token_ends(text)
    assert len(ends) == embedder.count_tokens(text)
    assert ends == sorted(ends)
    assert all(0 <= end <= len(text) for end in ends)


@given(text=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_what_was_counted_is_what_is_embedded(embedder, text):
    """A text's tokens, the prefix's and the special ones add up, so that what a chunker measured is what is read."""
    text += " a" * (embedder.window + 1)
    with pytest.raises(PassageTooLong) as raised:
        embedder.embed_passages([text])
    assert raised.value.tokens == (
        embedder.count_tokens(text) + embedder.passage_prefix_tokens + embedder.special_tokens
    )


def test_fit_says_whether_it_is_a_model(embedder):
    assert embedder.fit is (embedder.space.provider != "hashing")


def test_hashing_refuses_a_text_without_tokens():
    with pytest.raises(EmbeddingInvalid) as raised:
        HashingEmbedder().embed_passages(["words", " \n"])
    assert raised.value.position == 1


@pytest.mark.model
@pytest.mark.parametrize("changed", ["tokenizer.json", "model.onnx"])
def test_files_of_the_right_size_that_differ_are_told_apart_from_the_engines_own_faults(changed, tmp_path):
    """When it fails: files are compared while they are loaded, and what loading them led to hides what is wrong."""
    folder = model_folder(MODEL_DIR, "e5-small-enpt")
    if not folder.exists():
        pytest.skip(f"e5-small-enpt is not prepared in {MODEL_DIR}")
    for path in folder.iterdir():
        if path.name == changed:
            data = bytearray(path.read_bytes())
            data[:16] = bytes(16)
            (tmp_path / path.name).write_bytes(data)
        else:
            (tmp_path / path.name).symlink_to(path.resolve())
    with pytest.raises(ModelFilesDiffer, match=changed):
        OnnxEmbedder(tmp_path)
