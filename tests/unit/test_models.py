"""Model names, folders and manifests."""

import hashlib
import json
from dataclasses import replace

import pytest

from common.domain.errors import ModelFilesDiffer, ModelMissing
from common.models import (
    KNOWN,
    MANIFEST,
    UNMEASURED_GATE,
    CanonicalVector,
    Manifest,
    ModelSource,
    canonical_name,
    file_entry,
    gate_constants,
    known_model,
    list_models,
    model_folder,
    read_manifest,
    verify,
    write_manifest,
)

PARAPHRASE = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "models" / "some__model"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    write_manifest(folder, manifest_of(folder))
    return folder


def manifest_of(folder):
    return Manifest(
        name="some/model",
        files={name: file_entry(folder / name) for name in ("model.onnx", "tokenizer.json")},
        model_file="model.onnx",
        pooling="mean",
        normalisation="l2",
        query_prefix="query: ",
        passage_prefix="passage: ",
        window=512,
        dimension=2,
        quantisation="int8",
        pad_id=1,
        source=ModelSource("package", "1.0", "00", "MIT"),
        fastembed="0.9.1",
        tools={"onnx": "1"},
        checks={"reference": "engine", "graph_lowest": 0.9999},
        canonical=(CanonicalVector("query", "olá", (0.5, -0.25)),),
    )


def test_a_manifest_reads_back_as_it_was_written(folder):
    assert read_manifest(folder) == manifest_of(folder)
    assert verify(folder) == verify(folder, full=False) == manifest_of(folder)


def test_equal_manifests_are_equal_bytes(folder):
    before = (folder / MANIFEST).read_bytes()
    manifest = manifest_of(folder)
    write_manifest(folder, replace(manifest, files=dict(reversed(manifest.files.items()))))
    assert (folder / MANIFEST).read_bytes() == before


def test_the_space_names_all_that_makes_vectors_comparable(folder):
    space = verify(folder).space
    assert (space.model, space.pooling, space.dimension) == ("some/model", "mean", 2)
    assert (space.query_prefix, space.passage_prefix) == ("query: ", "passage: ")
    assert space.files_hash == manifest_of(folder).files_hash


def test_the_files_hash_changes_with_any_file_and_with_nothing_else(folder):
    before = manifest_of(folder)
    (folder / "tokenizer.json").write_text("{ }")
    after = manifest_of(folder)
    assert after.files_hash != before.files_hash
    assert replace(after, checks={}, fastembed="1").files_hash == after.files_hash


def test_a_changed_file_is_named_with_both_hashes(folder):
    (folder / "model.onnx").write_bytes(b"Weights")
    with pytest.raises(ModelFilesDiffer) as raised:
        verify(folder)
    assert raised.value.path == str(folder / "model.onnx")
    assert raised.value.expected == hashlib.sha256(b"weights").hexdigest()
    assert raised.value.actual == hashlib.sha256(b"Weights").hexdigest()
    assert raised.value.expected in str(raised.value)
    assert raised.value.actual in str(raised.value)


def test_sizes_alone_are_compared_where_hashes_were_checked_before(folder):
    (folder / "model.onnx").write_bytes(b"Weights")
    assert verify(folder, full=False).name == "some/model"
    (folder / "model.onnx").write_bytes(b"more weights")
    with pytest.raises(ModelFilesDiffer):
        verify(folder, full=False)


def test_a_missing_file_is_named(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match=r"tokenizer\.json"):
        verify(folder, full=False)


def test_an_absent_model_says_how_to_get_it(tmp_path):
    with pytest.raises(ModelMissing, match="fichario models prepare some/model"):
        verify(tmp_path / "some__model")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(format=2),
        lambda data: data.pop("window"),
        lambda data: data.update(files={}),
        lambda data: data.update(files=[]),
        lambda data: data["files"].update({"../model.onnx": {"sha256": "0", "size": 1}}),
        lambda data: data.update(unheard_of=1),
        lambda data: data.update(canonical=[{}]),
    ],
)
def test_a_broken_manifest_is_refused(folder, change):
    data = json.loads((folder / MANIFEST).read_text())
    change(data)
    (folder / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(ModelMissing, match="prepare the model again"):
        verify(folder)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\x00"])
def test_a_manifest_that_is_no_json_object_is_refused(folder, text):
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ModelMissing):
        verify(folder)


def test_models_are_listed_with_their_problems(folder):
    broken = folder.parent / "broken"
    broken.mkdir()
    (broken / MANIFEST).write_text("{")
    (folder.parent / ".half.part").mkdir()
    (folder.parent / ".half.part" / MANIFEST).write_text("{")
    (folder.parent / "no-model").mkdir()
    listed = list_models(folder.parent)
    assert [(model.folder.name, bool(model.manifest), bool(model.problem)) for model in listed] == [
        ("broken", False, True),
        ("some__model", True, False),
    ]
    assert list_models(folder.parent / "nowhere") == []


def test_a_models_folder_carries_its_name(tmp_path):
    assert model_folder(tmp_path, PARAPHRASE) == tmp_path / PARAPHRASE.replace("/", "__")
    assert model_folder(tmp_path, "e5-small") == tmp_path / "e5-small"


@pytest.mark.parametrize("name", ["", "..", "../up", "/etc", "a/b/c", "a b", ".hidden", "a/../b", "a\\b"])
def test_what_is_no_name_leads_to_no_folder(tmp_path, name):
    with pytest.raises(ModelMissing):
        model_folder(tmp_path, name)


def test_both_forms_of_a_name_are_one_model(tmp_path):
    assert canonical_name("paraphrase-multilingual-MiniLM-L12-v2") == PARAPHRASE
    assert known_model("paraphrase-multilingual-MiniLM-L12-v2") is known_model(PARAPHRASE) is KNOWN[PARAPHRASE]
    assert model_folder(tmp_path, "sentence-transformers/all-MiniLM-L6-v2") == tmp_path / "all-MiniLM-L6-v2"


def test_the_default_production_model_reads_128_tokens():
    """Its tokenizer says so; a catalogue that says 512 embeds the head of a passage and drops the rest in silence."""
    assert KNOWN[PARAPHRASE].window == 128


def test_every_model_has_usable_gate_constants():
    for name in (*KNOWN, "BAAI/bge-small-en-v1.5"):
        gate = gate_constants(name)
        assert -1 < gate.med < 1
        assert 0 < gate.sd < 1
        assert gate.cut > 0
    assert gate_constants("BAAI/bge-small-en-v1.5") == UNMEASURED_GATE
    assert gate_constants("e5-small").cut == 1.12
