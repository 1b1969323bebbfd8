"""A model folder appears whole or not at all, and a sound one is left alone."""

import importlib
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from common.domain.errors import ModelFilesDiffer, ModelMissing
from common.models import Manifest, ModelSource, file_entry, verify, write_manifest
from common.prepare import prepare

NAME = "some/model"


def fill(name, folder, progress):
    (folder / "model.onnx").write_bytes(b"weights")
    manifest = Manifest(
        name=name,
        files={"model.onnx": file_entry(folder / "model.onnx")},
        model_file="model.onnx",
        pooling="mean",
        normalisation="l2",
        query_prefix="",
        passage_prefix="",
        window=8,
        dimension=2,
        quantisation="fp32",
        pad_id=0,
        source=ModelSource("package", "1", "", "MIT"),
        fastembed="",
        tools={},
        checks={},
        canonical=(),
    )
    write_manifest(folder, manifest)
    progress("filled")


def visible(parent):
    return sorted(path.name for path in parent.iterdir() if not path.name.endswith(".lock"))


def test_a_prepared_model_stands_in_its_folder(tmp_path):
    said = []
    folder = prepare(NAME, tmp_path / "models", said.append, fill)
    assert folder == tmp_path / "models" / "some__model"
    assert verify(folder).name == NAME
    assert visible(tmp_path / "models") == ["some__model"]
    assert said[0] == "filled"


def test_a_sound_folder_is_left_alone(tmp_path):
    prepare(NAME, tmp_path, lambda _: None, fill)
    said = []
    prepare(NAME, tmp_path, said.append, lambda *_: pytest.fail("built again"))
    assert said == [f"{NAME} is already prepared"]


def test_a_damaged_folder_is_replaced(tmp_path):
    folder = prepare(NAME, tmp_path, lambda _: None, fill)
    (folder / "model.onnx").write_bytes(b"damaged")
    (folder / "leftover").touch()
    said = []
    prepare(NAME, tmp_path, said.append, fill)
    assert said[0].startswith("preparing again: ")
    assert verify(folder).name == NAME
    assert visible(tmp_path) == ["some__model"]
    assert not (folder / "leftover").exists()


def test_another_models_folder_is_never_overwritten(tmp_path):
    prepare("some/model", tmp_path, lambda _: None, fill)
    (tmp_path / "some__model").rename(tmp_path / "other")
    with pytest.raises(ModelMissing, match="move it away"):
        prepare("other", tmp_path, lambda _: None, fill)
    assert visible(tmp_path) == ["other"]


def test_a_failed_build_leaves_nothing_and_keeps_what_stood_there(tmp_path):
    folder = prepare(NAME, tmp_path, lambda _: None, fill)
    (folder / "model.onnx").write_bytes(b"damaged")

    def fail(name, building, progress):
        fill(name, building, progress)
        raise ModelMissing("no index")

    with pytest.raises(ModelMissing, match="no index"):
        prepare(NAME, tmp_path, lambda _: None, fail)
    assert visible(tmp_path) == ["some__model"]
    with pytest.raises(ModelFilesDiffer):
        verify(folder)


def test_a_package_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(ModelMissing, match=r"needs the package onnx_absent.*fichario\[models\]"):
        prepare(NAME, tmp_path, lambda _: None, lambda *_: importlib.import_module("onnx_absent"))


def test_what_a_build_leaves_broken_is_not_put_in_place(tmp_path):
    with pytest.raises(ModelMissing):
        prepare(NAME, tmp_path, lambda _: None, lambda *_: None)
    assert visible(tmp_path) == []


def test_a_killed_preparation_is_made_good_by_the_next(tmp_path):
    script = """
        import os, sys
        from pathlib import Path
        from common.prepare import prepare

        def die(name, folder, progress):
            (folder / "model.onnx").write_bytes(b"half")
            os._exit(9)

        prepare("some/model", Path(sys.argv[1]), lambda _: None, die)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path], check=False)
    assert killed.returncode == 9
    assert [name for name in visible(tmp_path) if not name.startswith(".")] == []
    assert len(visible(tmp_path)) == 1
    prepare(NAME, tmp_path, lambda _: None, fill)
    assert visible(tmp_path) == ["some__model"]


def test_preparations_of_one_model_wait_for_each_other(tmp_path):
    built = []

    def count(name, folder, progress):
        built.append(name)
        fill(name, folder, progress)

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: prepare(NAME, tmp_path, lambda _: None, count), range(8)))
    assert built == [NAME]
    assert folders == {tmp_path / "some__model"}
