"""Every real Portuguese document: its passages rejoin to its text, cite the lines that hold them, and fit the model."""

import os
from pathlib import Path

import pytest

from common.adapters.onnx_embedder import OnnxEmbedder
from common.adapters.plain_parser import PlainParser
from common.domain.chunking import ChunkSettings, chunk
from common.domain.coverage import coverage
from common.domain.documents import rejoin

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("KB_SHARED_DATA", ROOT / ".." / "shared" / "data")) / "docs" / "markdown-pt"
MODEL = Path(os.environ.get("KB_MODEL_DIR", ROOT / ".models")).resolve() / "e5-small-enpt"
DOCUMENTS = sorted(FOLDER.rglob("*.md"))

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not DOCUMENTS, reason="shared data not present"),
    pytest.mark.skipif(not (MODEL / "manifest.json").exists(), reason="model e5-small-enpt is not prepared"),
]


@pytest.fixture(scope="module")
def embedder():
    return OnnxEmbedder(MODEL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_document_is_cut_without_losing_or_misplacing_a_letter(embedder, path):
    raw = path.read_bytes()
    document = PlainParser().parse(raw, path.name).documents[0]
    reserved = embedder.special_tokens + embedder.passage_prefix_tokens
    passages = chunk(document, ChunkSettings(0, 0, embedder.window, reserved), embedder.token_ends)
    assert passages
    assert rejoin(passages) == raw.decode()
    lines = raw.decode().split("\n")
    for passage in passages:
        assert passage.text == document.text[passage.start : passage.end]
        first, last = passage.lines
        assert passage.text in "\n".join(lines[first - 1 : last])
        assert embedder.count_tokens(passage.embedded) + reserved <= embedder.window
    covered = coverage(document, passages, embedder.token_ends)
    missing = covered.tokens_in_source - covered.tokens_embedded
    assert missing == 0 or covered.warnings
