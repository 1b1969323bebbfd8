"""The S3 store beyond its contract, on moto: identities and numbers, events from bucket to change, refusals."""

import gzip
import io
import json
from types import SimpleNamespace

import pytest
import requests
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectTimeoutError, NoCredentialsError

from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_generations import MemoryGenerations
from common.adapters.s3_objects import S3ObjectStore
from common.domain.errors import DocumentError, Misconfigured, ObjectGone, Superseded, Unavailable
from common.domain.objects import ObjectChange, ObjectRef
from common.stages.touched import changes_of
from functions.ingest.decode_s3 import Touched, decode_s3
from tests.contract.object_emulators import (
    REGION,
    aws_session,
    cut_off_s3,
    once_before,
    opened_s3,
    s3_bucket,
    s3_client,
    s3_endpoint,
)

REF = ObjectRef("acme", "ata.md")
ACCOUNT = "123456789012"
NAMES = [
    "relatório final (1).md",
    "a+b c.md",
    "100%25 pronto.md",
    "literal%2Fbarra.md",
    "dupla%2520codificada.md",
    "c#1?x=y&z.md",
    "aspas'\"<b>.md",
    "😀/日本.md",
]


@pytest.fixture(params=[False, True], ids=["unversioned", "versioned"])
def opened(request):
    told = []
    with opened_s3(versioned=request.param, notify=told.append) as (store, client, bucket):
        yield SimpleNamespace(store=store, client=client, bucket=bucket, told=told, versioned=request.param)


@pytest.fixture
def store(opened):
    return opened.store


def put(opened, data, ref=REF, **more):
    opened.client.put_object(Bucket=opened.bucket, Key=ref.key, Body=data, **more)
    return opened.store.stat(ref).generation


def answer_instead(client, operation, *answers):
    """The next requests of that operation get these statuses (with their S3 codes) instead; None lets one through."""
    pending = list(answers)

    def answer(request, **_):
        status, code = pending.pop(0) if pending else (None, "")
        if status is None:
            return None
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        raw = SimpleNamespace(stream=lambda **_: iter([body]), headers={})
        return AWSResponse(request.url, status, {}, raw)

    client.meta.events.register_first(f"before-send.s3.{operation}", answer)
    return pending


def test_the_same_bytes_stored_again_by_others_are_new_where_the_bucket_keeps_versions(opened):
    """RULES 2: without versions ETag and size are all that S3 tells."""
    first = put(opened, b"same")
    assert (put(opened, b"same") > first) is opened.versioned
    assert opened.told == []


def test_a_version_from_before_the_bucket_kept_any_is_known_by_its_content():
    with opened_s3(versioned=False) as (store, client, bucket):
        before = store.write(REF, b"x").generation
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        assert store.read(REF, before, 0) == b"x"
        assert store.stat(REF).generation == before


def test_the_same_bytes_written_again_here_are_told_as_a_new_generation(opened):
    """When it fails: uploading a file again after its job failed would change nothing."""
    first, second = (opened.store.write(REF, b"same").generation for _ in range(2))
    assert opened.told == [ObjectChange("finalize", REF, number, 4) for number in (first, second)]
    assert opened.store.read(REF, second, 0) == b"same"


def test_an_object_removed_by_others_is_told_once_and_newer_when_put_back(opened):
    old = put(opened, b"x")
    opened.client.delete_object(Bucket=opened.bucket, Key=REF.key)
    assert opened.store.stat(REF) is None
    assert opened.store.stat(REF) is None
    assert opened.told == [ObjectChange("delete", REF, old)]
    assert put(opened, b"x") > old
    with pytest.raises(Superseded):
        opened.store.read(REF, old, 0)


def test_a_read_gives_no_number_to_what_it_meets(opened):
    """When it fails: a version could be numbered by somebody who tells nobody, and never be brought in."""
    old = put(opened, b"old")
    opened.client.put_object(Bucket=opened.bucket, Key=REF.key, Body=b"new")
    for look in (lambda: opened.store.read(REF, old, 0), lambda: opened.store.delete(REF, old)):
        with pytest.raises(Superseded):
            look()
    assert put(opened, b"newest") == old + 1


@pytest.mark.parametrize("honoured", [True, False], ids=["If-Match", "If-Match ignored"])
def test_a_read_is_of_one_version_even_where_preconditions_are_ignored(opened, honoured):
    generation = opened.store.write(REF, b"1234").generation
    asked = []

    def replace(params, **_):
        asked.append(params["headers"].get("If-Match"))
        if not honoured:
            del params["headers"]["If-Match"]
        opened.client.put_object(Bucket=opened.bucket, Key=REF.key, Body=b"5678")

    etag = opened.client.head_object(Bucket=opened.bucket, Key=REF.key)["ETag"]
    opened.client.meta.events.register("before-call.s3.GetObject", replace)
    with pytest.raises(Superseded):
        opened.store.read(REF, generation, 0)
    assert asked == [etag]


def test_an_object_removed_while_it_is_read_is_gone(opened):
    generation = opened.store.write(REF, b"x").generation
    once_before(
        opened.client, "GetObject", lambda: opened.client.delete_object(Bucket=opened.bucket, Key=REF.key) and None
    )
    with pytest.raises(ObjectGone):
        opened.store.read(REF, generation, 0)


def test_an_upload_between_look_and_removal_wins(opened):
    old = opened.store.write(REF, b"old").generation
    once_before(opened.client, "DeleteObject", lambda: put(opened, b"new") and None)
    with pytest.raises(Superseded):
        opened.store.delete(REF, old)
    assert opened.store.read(REF, opened.store.stat(REF).generation, 0) == b"new"
    assert [change.kind for change in opened.told] == ["finalize"]


def test_a_listing_agrees_with_the_bucket_without_asking_for_what_is_known(opened):
    refs = [ObjectRef("acme", f"{number}.md") for number in range(5)]
    for ref in refs:
        opened.store.write(ref, b"x")
    put(opened, b"changed", refs[3])
    opened.client.put_object(Bucket=opened.bucket, Key="acme/new.md", Body=b"new")
    heads = []
    opened.client.meta.events.register("before-call.s3.HeadObject", lambda **_: heads.append(1))
    listed = list(opened.store.list("acme"))
    assert len(heads) == 1
    assert listed == [opened.store.stat(ref) for ref in [*refs, ObjectRef("acme", "new.md")]]


def test_a_listing_has_all_pages_or_is_unavailable():
    with opened_s3(versioned=False, page_size=2) as (store, client, _):
        for number in range(5):
            store.write(ObjectRef("acme", f"{number}.md"), b"x")
        assert len(list(store.list("acme"))) == 5
        answer_instead(client, "ListObjectsV2", (None, ""), (503, "SlowDown"))
        with pytest.raises(Unavailable):
            store.list("acme")


def test_sub_01_folder_markers_and_strangers_are_not_listed(opened):
    for key in ("acme/", "acme/pasta/", "acme/a//b", "leia-me.txt", "Fotos/a.jpg", "_x/a"):
        opened.client.put_object(Bucket=opened.bucket, Key=key, Body=b"")
    opened.store.write(ObjectRef("acme", "pasta/a.md"), b"x")
    assert [stat.ref.name for stat in opened.store.list("acme")] == ["pasta/a.md"]
    assert opened.store.bases() == ["acme"]
    assert opened.store.foreign() == ["Fotos", "_x", "leia-me.txt"]


def test_text_stored_with_gzip_is_unfolded_within_the_limit(opened):
    generation = put(opened, gzip.compress(b"# Ata\n" * 100), ContentEncoding="gzip")
    assert opened.store.read(REF, generation, 600) == b"# Ata\n" * 100
    with pytest.raises(DocumentError, match="TOO_LARGE"):
        opened.store.read(REF, generation, 599)


def test_a_file_in_an_archive_class_says_what_to_do(opened):
    generation = put(opened, b"x", StorageClass="GLACIER")
    with pytest.raises(DocumentError) as refused:
        opened.store.read(REF, generation, 0)
    assert refused.value.code == "UNSUPPORTED"
    assert "Restore" in refused.value.next_step


CALLS = {
    "stat": lambda store: store.stat(REF),
    "read": lambda store: store.read(REF, 1, 0),
    "write": lambda store: store.write(REF, b"x"),
    "delete": lambda store: store.delete(REF, 1),
    "list": lambda store: list(store.list("acme")),
    "bases": lambda store: store.bases(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_missing_bucket_is_unavailable_never_an_empty_one(call):
    """When it fails: a bucket that is gone would take every document of every base out of the answers."""
    generations = MemoryGenerations()
    generations.assign(REF, "etag 1 ")
    store = S3ObjectStore(s3_client(), "no-such-bucket", generations, lambda _: None, FrozenClock())
    with pytest.raises(Unavailable):
        call(store)
    assert generations.current(REF) == ("etag 1 ", 1)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (403, "AccessDenied", Misconfigured),
        (401, "Unauthorized", Misconfigured),
        (400, "InvalidRequest", ValueError),
        (503, "SlowDown", Unavailable),
        (500, "InternalError", Unavailable),
        (409, "OperationAborted", Unavailable),
    ],
)
def test_a_refusal_is_told_apart(call, status, code, error):
    with opened_s3(versioned=False) as (store, client, _):
        store.write(REF, b"x")
        answer_instead(client, "*", *[(status, code)] * 9)
        with pytest.raises(error):
            call(store)


def test_a_passing_failure_is_tried_again():
    client = s3_client(attempts=3)
    bucket = s3_bucket(client, versioned=False)
    store = S3ObjectStore(client, bucket, MemoryGenerations(), lambda _: None, FrozenClock())
    generation = store.write(REF, b"x").generation
    pending = answer_instead(client, "GetObject", (503, "SlowDown"))
    assert store.read(REF, generation, 0) == b"x"
    assert pending == []


@pytest.mark.parametrize(
    ("failure", "error"),
    [(ConnectTimeoutError(endpoint_url="s3"), Unavailable), (NoCredentialsError(), Misconfigured)],
)
def test_what_keeps_a_request_from_going_out_is_told_apart(failure, error):
    def fail(**_):
        raise failure

    with opened_s3(versioned=False) as (store, client, _):
        client.meta.events.register_first("before-send.s3", fail)
        with pytest.raises(error):
            store.stat(REF)


def test_content_that_breaks_off_is_unavailable(opened):
    generation = opened.store.write(REF, b"# Ata").generation
    found = opened.client.head_object(Bucket=opened.bucket, Key=REF.key)

    def break_off(request, **_):
        raw = io.BytesIO(b"# A")
        headers = {"ETag": found["ETag"], "Content-Length": "5", "x-amz-version-id": found.get("VersionId", "null")}
        return AWSResponse(request.url, 200, headers, raw)

    opened.client.meta.events.register_first("before-send.s3.GetObject", break_off)
    with pytest.raises(Unavailable):
        opened.store.read(REF, generation, 0)


@pytest.mark.parametrize("name", NAMES)
def test_nam_01_a_signed_upload_arrives_under_its_very_name(name):
    with opened_s3(versioned=False) as (store, client, bucket):
        ref = ObjectRef("acme", name)
        upload = store.signed_upload(ref, "text/markdown", 10)
        assert requests.put(upload.url, data=b"# Marcador", headers=dict(upload.headers), timeout=10).ok
        assert [(stat.ref, stat.size) for stat in store.list("acme")] == [(ref, 10)]
        assert client.head_object(Bucket=bucket, Key=ref.key)["ContentType"] == "text/markdown"


@pytest.fixture
def queue():
    """A new queue: its address, its name's ARN, and a client."""
    sqs = aws_session().client("sqs", endpoint_url=s3_endpoint())
    url = sqs.create_queue(QueueName="kb-events")["QueueUrl"]
    yield SimpleNamespace(client=sqs, url=url, arn=f"arn:aws:sqs:{REGION}:{ACCOUNT}:kb-events")
    sqs.delete_queue(QueueUrl=url)
    sqs.close()


def received(queue):
    """All messages' bodies, in order."""
    bodies = []
    while got := queue.client.receive_message(QueueUrl=queue.url, MaxNumberOfMessages=10).get("Messages"):
        for message in got:
            bodies.append(message["Body"])
            queue.client.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
    return bodies


def by_sqs(client, bucket, queue):
    configuration = {
        "QueueConfigurations": [{"QueueArn": queue.arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}]
    }
    client.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=configuration)


def by_sns(client, bucket, queue):
    sns = aws_session().client("sns", endpoint_url=s3_endpoint())
    topic = sns.create_topic(Name="kb-events")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue.arn)
    configuration = {
        "TopicConfigurations": [{"TopicArn": topic, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}]
    }
    client.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=configuration)
    sns.close()


def by_bridge(client, bucket, queue):
    events = aws_session().client("events", endpoint_url=s3_endpoint())
    events.put_rule(Name="kb-events", EventPattern=json.dumps({"source": ["aws.s3"]}), State="ENABLED")
    events.put_targets(Rule="kb-events", Targets=[{"Id": "kb", "Arn": queue.arn}])
    client.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    events.close()


def touched(queue, bucket):
    """The objects that the queue's messages speak of, in order. (moto tells EventBridge of tags with every upload.)"""
    heard = [each for body in received(queue) for each in decode_s3(body, bucket)]
    return [each.ref for each in heard if isinstance(each, Touched)]


@pytest.mark.parametrize("way", [by_sqs, by_sns, by_bridge])
def test_nam_01_what_happens_in_the_bucket_is_heard_under_its_very_name(queue, way):
    with opened_s3(versioned=False) as (_, client, bucket):
        way(client, bucket, queue)
        received(queue)
        refs = [ObjectRef("acme", name) for name in NAMES]
        for ref in refs:
            client.put_object(Bucket=bucket, Key=ref.key, Body=b"x")
        assert touched(queue, bucket) == refs
        client.delete_object(Bucket=bucket, Key=refs[0].key)
        assert touched(queue, bucket) == refs[:1]


def test_a_multipart_upload_is_one_change_however_often_it_is_told(opened, queue):
    by_sqs(opened.client, opened.bucket, queue)
    received(queue)
    place = {"Bucket": opened.bucket, "Key": REF.key}
    upload = {**place, "UploadId": opened.client.create_multipart_upload(**place)["UploadId"]}
    etag = opened.client.upload_part(**upload, PartNumber=1, Body=b"# Ata")["ETag"]
    opened.client.complete_multipart_upload(**upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]})
    hints = touched(queue, opened.bucket)
    assert hints == [REF, REF]
    changes = [change for ref in hints for change in changes_of(ref, opened.store)]
    assert {change.job_id for change in changes} == {ObjectChange("finalize", REF, 1).job_id}
    assert opened.store.read(REF, 1, 0) == b"# Ata"


def test_what_is_cut_off_marks_nothing_as_gone(opened):
    opened.store.write(REF, b"x")
    cut_off_s3(opened.client)
    with pytest.raises(Unavailable):
        list(changes_of(REF, opened.store))
    assert [change.kind for change in opened.told] == ["finalize"]
