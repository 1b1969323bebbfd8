"""Settings: every problem at once, secrets hidden, and the same names in README."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from common.domain.buckets import CloudBucket
from common.domain.errors import Misconfigured
from common.settings import SECRETS, Settings, read_settings

ROOT = Path(__file__).parents[2]
CLOUD = {"KB_MODE": "cloud", "QDRANT_URL": "u", "KB_BUCKET": "my-bucket", "GOOGLE_CLOUD_PROJECT": "p"}


def test_nothing_set_is_one_machine_with_its_defaults():
    settings = read_settings({})
    assert (settings.kb_mode, settings.model, settings.kb_top_k) == ("local", "e5-small-enpt", 5)
    assert settings.bucket == Path(".fichario/bucket")


def test_the_cloud_keeps_its_own_default_model():
    assert read_settings(CLOUD).model == "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


@pytest.mark.parametrize(
    ("written", "bucket"),
    [
        ("my-bucket", CloudBucket("gs", "my-bucket")),
        ("gs://docs.agency.example", CloudBucket("gs", "docs.agency.example")),
        ("gs://under_score", CloudBucket("gs", "under_score")),
        ("s3://my-bucket", CloudBucket("s3", "my-bucket")),
    ],
)
def test_a_bucket_names_who_keeps_it(written, bucket):
    assert read_settings({**CLOUD, "KB_BUCKET": written}).cloud_bucket == bucket


@pytest.mark.parametrize(
    "written",
    [
        "s3://",
        "gs://",
        "://my-bucket",
        "S3://my-bucket",
        "https://my-bucket",
        "s3a://my-bucket",
        "s3://my-bucket/",
        "s3://my-bucket/acme",
        "gs://my-bucket/acme",
        "my-bucket/acme",
        "gs://s3://my-bucket",
        "s3://under_score",
        "My-Bucket",
        "/var/bucket",
        "ab",
        "arn:aws:s3:::my-bucket",
    ],
)
def test_what_names_no_bucket_is_refused_in_the_cloud(written):
    with pytest.raises(Misconfigured, match="KB_BUCKET is gs://name or s3://name") as raised:
        read_settings({**CLOUD, "KB_BUCKET": written})
    assert written in str(raised.value)


@pytest.mark.parametrize("written", ["s3://my-bucket", "gs://my-bucket"])
def test_one_machine_watches_no_bucket_of_a_cloud(written):
    """When it fails: a folder of that name is made and watched, and nothing ever arrives."""
    with pytest.raises(Misconfigured, match="KB_MODE=local watches a folder"):
        read_settings({"KB_BUCKET": written})


def test_all_problems_are_reported_at_once():
    given = {"KB_TOP_K": "many", "KB_FUSION": "best", "KB_COLLECTION_TEMPLATE": "kb", "KB_AUTH": "jwt"}
    with pytest.raises(Misconfigured) as raised:
        read_settings(given)
    message = str(raised.value)
    assert message.count("\n") == 3
    for name in given:
        assert name in message


@pytest.mark.parametrize(
    ("text", "value"), [("auto", "auto"), ("off", "off"), ("0", 0.0), ("0.75", 0.75), ("-0.1", -0.1)]
)
def test_a_threshold_of_nought_is_a_number(text, value):
    assert read_settings({"KB_SIMILARITY_THRESHOLD": text}).kb_similarity_threshold == value


@pytest.mark.parametrize("text", ["nan", "inf", "2", "high"])
def test_a_threshold_that_no_cosine_has_is_refused(text):
    with pytest.raises(Misconfigured, match="KB_SIMILARITY_THRESHOLD"):
        read_settings({"KB_SIMILARITY_THRESHOLD": text})


def test_secrets_never_print():
    names = {name.upper(): "hush-hush" for name in SECRETS}
    shown = read_settings(names).shown()
    assert {shown[name] for name in names} == {"***"}
    with pytest.raises(Misconfigured) as raised:
        read_settings({"KB_TOP_K": "x", **names})
    assert "hush-hush" not in str(raised.value)


def test_the_table_of_readme_names_exactly_the_settings():
    table = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert table == {setting.name.upper() for setting in fields(Settings)}
