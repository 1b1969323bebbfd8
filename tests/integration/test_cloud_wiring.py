"""Which bucket the settings choose, and how it is reached. When one fails, a deployment works on another bucket, or an
S3-compatible server is asked as only Amazon's own would answer.
"""

import sys
from contextlib import ExitStack

import pytest
from qdrant_client import QdrantClient

from common.adapters.gcs_objects import GcsObjectStore
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.plain_parser import PlainParser
from common.adapters.s3.calls import connect
from common.adapters.s3_objects import S3ObjectStore
from common.bootstrap import cloud_runtime
from common.bootstrap_query import cloud_asking
from common.domain.errors import Misconfigured
from common.domain.objects import ObjectRef
from common.settings import read_settings
from tests.contract.object_emulators import REGION, s3_endpoint

SETTINGS = {
    "KB_MODE": "cloud",
    "QDRANT_URL": "http://qdrant.test",
    "GOOGLE_CLOUD_PROJECT": "fichario-test",
    "KB_AUTH": "jwt",
    "KB_JWT_SECRET": "a secret that only this test knows",
}
NOWHERE = "127.0.0.1:9"
UPLOAD = (ObjectRef("acme", "um.md"), "text/markdown", 7)


@pytest.fixture
def environment(monkeypatch):
    """Credentials of nobody, and Google's services at an address where nothing answers."""
    for name in ("FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"):
        monkeypatch.setenv(name, NOWHERE)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{NOWHERE}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def wired(environment):
    """A runtime by its bucket's address; none of its clients has been asked anything."""
    with ExitStack() as stack:

        def made(bucket):
            settings = read_settings({**SETTINGS, "KB_BUCKET": bucket})
            engine = QdrantClient(":memory:")
            stack.callback(engine.close)
            return cloud_runtime(settings, embedder=HashingEmbedder(8), parser=PlainParser(), qdrant=engine)

        yield made


@pytest.mark.parametrize("address", ["gs://agency-docs", "agency-docs"])
def test_a_bucket_of_cloud_storage(wired, address):
    runtime = wired(address)
    assert isinstance(runtime.store, GcsObjectStore)
    assert (runtime.store.bucket, runtime.bucket) == ("agency-docs", "agency-docs")


def test_a_bucket_of_s3(wired):
    runtime = wired("s3://agency-docs")
    assert isinstance(runtime.store, S3ObjectStore)
    assert runtime.bucket == "agency-docs"
    assert runtime.ingest.store is runtime.manage.store is runtime.reconcile.store is runtime.store
    signed = runtime.manage.sign(*UPLOAD)
    assert signed.url.startswith("https://agency-docs.s3.amazonaws.com/acme/um.md?")
    assert "X-Amz-Signature=" in signed.url


def test_a_bucket_of_what_speaks_like_s3(wired, environment):
    """AWS_ENDPOINT_URL_S3 is boto3's own setting; such servers know a bucket by the path only."""
    environment.setenv("AWS_ENDPOINT_URL_S3", s3_endpoint())
    signed = wired("s3://agency-docs").manage.sign(*UPLOAD)
    assert signed.url.startswith(f"{s3_endpoint()}/agency-docs/acme/um.md?")


@pytest.mark.parametrize(
    ("address", "style", "checksums"),
    [
        ("", "virtual", "when_supported"),
        ("https://s3.eu-west-1.amazonaws.com", "virtual", "when_supported"),
        ("https://s3.cn-north-1.amazonaws.com.cn", "virtual", "when_supported"),
        ("https://bucket.vpce-1a2b3c4d.s3.eu-west-1.vpce.amazonaws.com", "path", "when_required"),
        ("http://minio:9000", "path", "when_required"),
        ("https://s3.amazonaws.com.example", "path", "when_required"),
    ],
)
@pytest.mark.parametrize("setting", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
def test_only_amazons_public_endpoint_is_asked_as_amazons(environment, address, style, checksums, setting):
    if address:
        environment.setenv(setting, address)
    client = connect()
    config = client.meta.config
    assert (config.s3["addressing_style"], config.request_checksum_calculation) == (style, checksums)
    assert client.meta.endpoint_url == (address or "https://s3.amazonaws.com")
    client.close()


def test_a_bucket_of_s3_needs_its_library_and_says_so(wired, environment):
    environment.setitem(sys.modules, "boto3", None)
    with pytest.raises(Misconfigured, match=r"KB_BUCKET=s3://.* needs boto3.*fichario\[aws\]"):
        wired("s3://agency-docs")
    wired("gs://agency-docs")


def test_the_query_side_needs_neither_bucket_nor_its_library(environment):
    environment.setitem(sys.modules, "boto3", None)
    settings = read_settings({**SETTINGS, "KB_BUCKET": "s3://agency-docs"})
    engine = QdrantClient(":memory:")
    assert cloud_asking(settings, embedder=HashingEmbedder(8), qdrant=engine).settings is settings
    engine.close()


@pytest.mark.parametrize(("given", "database"), [({}, "(default)"), ({"KB_FIRESTORE_DATABASE": "kb"}, "kb")])
def test_the_catalog_stands_in_the_database_that_is_named(environment, given, database):
    settings = read_settings({**SETTINGS, "KB_BUCKET": "agency-docs", **given})
    engine = QdrantClient(":memory:")
    asking = cloud_asking(settings, embedder=HashingEmbedder(8), qdrant=engine)
    assert asking.catalog._calls._client._database == database
    engine.close()
