"""Addresses that carry their own permission: what is signed, with which key, for how long."""

import base64
import hashlib
import json
from types import SimpleNamespace
from urllib.parse import parse_qsl, unquote, urlsplit

import boto3
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.auth import compute_engine
from google.auth.credentials import AnonymousCredentials
from google.auth.crypt import RSASigner
from google.oauth2 import credentials as personal
from google.oauth2 import service_account

from common.adapters.frozen_clock import FrozenClock
from common.adapters.gcs.calls import connect as connect_gcs
from common.adapters.gcs.signing import CLOUD_PLATFORM, process_signer, signer_of
from common.adapters.gcs_objects import GcsObjectStore
from common.adapters.memory_generations import MemoryGenerations
from common.adapters.s3.calls import connect as connect_s3
from common.adapters.s3_objects import S3ObjectStore
from common.domain.errors import Misconfigured, Refused, Unavailable
from common.domain.objects import ObjectRef

EMAIL = "kb@test.iam.gserviceaccount.com"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
REF = ObjectRef("acme", "atas/Reunião 100%25 + #1?.md")


def gcs(signer):
    client = connect_gcs("test", credentials=AnonymousCredentials())
    return GcsObjectStore(client, "kb-bucket", FrozenClock(1_790_000_000.0), signer=signer)


def s3(endpoint=""):
    session = boto3.Session(aws_access_key_id="AKIATEST", aws_secret_access_key="secret")
    client = connect_s3(endpoint=endpoint, region="eu-west-1", session=session)
    return S3ObjectStore(client, "kb-bucket", MemoryGenerations(), lambda _: None, FrozenClock(1_790_000_000.0))


def local_account():
    return service_account.Credentials(RSASigner(KEY), EMAIL, "https://token.test")


def check_signature(upload):
    """Verify the address with the public key, as "V4 signing process" of Cloud Storage spells what is signed."""
    parts = urlsplit(upload.url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "X-Goog-Signature"]
    asked = dict(query)
    canonical = "\n".join(
        [
            "PUT",
            parts.path,
            parts.query.rpartition("&X-Goog-Signature=")[0],
            *(f"{name}:{value}" for name, value in signed_headers(upload, parts.netloc)),
            "",
            asked["X-Goog-SignedHeaders"],
            "UNSIGNED-PAYLOAD",
        ]
    )
    date = asked["X-Goog-Date"]
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    message = f"GOOG4-RSA-SHA256\n{date}\n{date[:8]}/auto/storage/goog4_request\n{hashed}"
    signature = bytes.fromhex(dict(parse_qsl(parts.query))["X-Goog-Signature"])
    KEY.public_key().verify(signature, message.encode(), padding.PKCS1v15(), SHA256())
    return asked


def signed_headers(upload, host):
    return sorted({**{name.lower(): value for name, value in upload.headers.items()}, "host": host}.items())


def test_cloud_storage_signs_name_type_and_range_of_sizes_for_15_minutes():
    upload = gcs(local_account).signed_upload(REF, "text/markdown", 1234)
    asked = check_signature(upload)
    assert asked["X-Goog-Expires"] == "900"
    assert asked["X-Goog-SignedHeaders"] == "content-type;host;x-goog-content-length-range"
    assert asked["X-Goog-Credential"].startswith(f"{EMAIL}/")
    assert upload.headers == {"Content-Type": "text/markdown", "x-goog-content-length-range": "0,1234"}
    assert upload.expires_at == 1_790_000_900.0
    assert unquote(urlsplit(upload.url).path) == f"/kb-bucket/{REF.key}"


@pytest.mark.parametrize(("name", "value"), [("x-goog-content-length-range", "0,9999999"), ("Content-Type", "x/y")])
def test_another_type_or_range_breaks_the_signature(name, value):
    upload = gcs(local_account).signed_upload(REF, "text/markdown", 1234)
    upload.headers[name] = value
    with pytest.raises(InvalidSignature):
        check_signature(upload)


class Google:
    """The metadata server of an instance without any key, and IAM that signs for it."""

    def __init__(self, status=200):
        self.status = status
        self.signed = []

    def __call__(self, url, method="GET", body=None, headers=None, **_):
        if "/service-accounts/default/" in url and url.endswith("recursive=true"):
            return answered(200, {"email": EMAIL})
        if "/token" in url:
            assert CLOUD_PLATFORM in unquote(url)
            return answered(200, {"access_token": "token-of-the-instance", "expires_in": 3600})
        assert url == f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{EMAIL}:signBlob"
        assert headers["authorization"] == "Bearer token-of-the-instance"
        self.signed.append(base64.b64decode(json.loads(body)["payload"]))
        signature = KEY.sign(self.signed[-1], padding.PKCS1v15(), SHA256())
        return answered(self.status, {"signedBlob": base64.b64encode(signature).decode()})


def instance():
    # The universe is named since the credentials would ask the metadata server for it behind the request's back.
    return compute_engine.Credentials(scopes=[CLOUD_PLATFORM], universe_domain="googleapis.com")


def answered(status, body):
    return SimpleNamespace(
        status=status,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", "metadata-flavor": "Google"},
    )


def test_without_a_private_key_iam_signs_for_the_service_account():
    """When it fails: signed uploads do not work on Cloud Run, where no key may lie about."""
    google = Google()
    store = gcs(lambda: signer_of(instance(), google))
    for _ in range(2):
        asked = check_signature(store.signed_upload(REF, "text/markdown", 1234))
        assert asked["X-Goog-Credential"].startswith(f"{EMAIL}/")
    assert len(google.signed) == 2


def test_what_iam_refuses_to_sign_is_unavailable_and_names_the_role():
    store = gcs(lambda: signer_of(instance(), Google(status=403)))
    with pytest.raises(Unavailable, match="serviceAccountTokenCreator"):
        store.signed_upload(REF, "text/markdown", 1234)


def test_the_process_signs_with_the_key_it_is_given(tmp_path, monkeypatch):
    pem = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {"type": "service_account", "client_email": EMAIL, "private_key": pem, "token_uri": "https://token.test"}
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    assert process_signer().scopes == [CLOUD_PLATFORM]
    check_signature(gcs(process_signer).signed_upload(REF, "text/markdown", 1234))


def test_a_process_without_credentials_is_misconfigured(tmp_path, monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    with pytest.raises(Misconfigured, match="service account"):
        process_signer()


def test_a_persons_credentials_cannot_sign():
    with pytest.raises(Misconfigured, match="person"):
        signer_of(personal.Credentials("token"), Google())


def test_s3_signs_name_type_and_size_for_15_minutes():
    upload = s3().signed_upload(REF, "text/markdown", 1234)
    parts = urlsplit(upload.url)
    asked = dict(parse_qsl(parts.query))
    assert asked["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert asked["X-Amz-Expires"] == "900"
    assert {"content-length", "content-type", "host"} <= set(asked["X-Amz-SignedHeaders"].split(";"))
    assert upload.headers == {"Content-Type": "text/markdown", "Content-Length": "1234"}
    assert upload.expires_at == 1_790_000_900.0
    assert (parts.scheme, parts.netloc) == ("https", "kb-bucket.s3.eu-west-1.amazonaws.com")
    assert unquote(parts.path) == f"/{REF.key}"


def test_an_s3_compatible_endpoint_is_asked_by_path():
    parts = urlsplit(s3("https://minio.test:9000").signed_upload(REF, "text/markdown", 1).url)
    assert (parts.netloc, unquote(parts.path)) == ("minio.test:9000", f"/kb-bucket/{REF.key}")


@pytest.mark.parametrize("store", [gcs(local_account), s3()], ids=["gcs", "s3"])
@pytest.mark.parametrize(
    ("ref", "content_type"),
    [
        (ObjectRef("acme", "../other/a.md"), "text/markdown"),
        (ObjectRef("", "a.md"), "text/markdown"),
        (ObjectRef("acme", "x" * 1020), "text/markdown"),
        (REF, "text/markdown\r\nx-goog-acl: public-read"),
        (REF, "markdown"),
        (REF, "text/märkdown"),
    ],
)
def test_what_cannot_be_a_name_or_a_type_is_refused(store, ref, content_type):
    with pytest.raises(Refused) as refused:
        store.signed_upload(ref, content_type, 10)
    assert refused.value.status == 400


@pytest.mark.parametrize("store", [gcs(local_account), s3()], ids=["gcs", "s3"])
def test_a_type_may_have_parameters_or_be_left_out(store):
    for given, sent in (("text/plain; charset=utf-8", "text/plain; charset=utf-8"), ("", "application/octet-stream")):
        assert store.signed_upload(REF, given, 10).headers["Content-Type"] == sent
