"""A bucket of S3 as it is deployed: chosen by settings alone, with Firestore's numbers, Pub/Sub's announcements and the
real routes. When one fails, the adapters hold what they promise and the wiring loses it.
"""

import json
from contextlib import ExitStack
from urllib.parse import quote_plus

import pytest
import urllib3
from qdrant_client import QdrantClient
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.plain_parser import PlainParser
from common.bootstrap import cloud_runtime
from common.domain.notifications import Ignored, read_notification
from common.settings import read_settings
from functions.ingest.handle import router as ingest_router
from functions.manage.handle import router as manage_router
from tests.contract.emulators import (
    firestore_address,
    new_project,
    pubsub_address,
    pubsub_publisher,
    pubsub_subscriber,
)
from tests.contract.object_emulators import REGION, s3_bucket, s3_client, s3_endpoint
from tests.e2e.cloud import push_body
from tests.integration.one_machine import BASE, check_settled, content, whole


class Deployed:
    """The functions over the runtime that the settings make, and the topic that they announce on."""

    def __init__(self, stack, project, runtime, client, bucket):
        self.runtime, self.client, self.bucket = runtime, client, bucket
        self.ingest, self.manage = ingest_router(runtime), manage_router(runtime)
        publisher, self.subscriber = pubsub_publisher(), stack.enter_context(pubsub_subscriber())
        topic = publisher.topic_path(project, "kb-events")
        self.subscription = self.subscriber.subscription_path(project, "ingest")
        publisher.create_topic(name=topic)
        self.subscriber.create_subscription(name=self.subscription, topic=topic)
        publisher.stop()
        publisher.transport.close()

    def put(self, name, data):
        self.client.put_object(Bucket=self.bucket, Key=f"{BASE}/{name}.md", Body=data)

    def told_by_s3(self, name, event="ObjectCreated:Put"):
        place = {"bucket": {"name": self.bucket}, "object": {"key": quote_plus(f"{BASE}/{name}.md")}}
        self.post(self.ingest, "/", {"Records": [{"eventName": event, "s3": place}]})

    def told_by_topic(self):
        """The next announcement is pushed to ingest; answers what it spoke of."""
        pulled = self.subscriber.pull(subscription=self.subscription, max_messages=1, timeout=30)
        (received,) = pulled.received_messages
        attributes = dict(received.message.attributes)
        self.post(self.ingest, "/", json.loads(push_body(attributes, received.message.data)))
        self.subscriber.acknowledge(subscription=self.subscription, ack_ids=[received.ack_id])
        change = read_notification(attributes, {}, self.bucket)
        assert not isinstance(change, Ignored)
        return change.kind, change.ref.name, change.generation

    def post(self, router, path, body, status=200):
        environ = EnvironBuilder(
            path, method="POST", data=json.dumps(body), content_type="application/json"
        ).get_environ()
        answer = router(Request(environ))
        assert answer.status_code == status, answer.get_data()
        return answer.json

    def check(self, expected):
        found = {name: whole(self.runtime.answers, name) for name in ("um", "dois")}
        assert found == {name: expected.get(name) for name in found}
        check_settled(self.runtime.catalog, self.runtime.index, expected)
        drift = self.post(self.manage, f"/v1/bases/{BASE}/reconcile", {})
        assert drift["details"] == []


@pytest.fixture
def deployed(monkeypatch):
    project = new_project()
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", firestore_address())
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", pubsub_address())
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_endpoint())
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with ExitStack() as stack:
        client = s3_client()
        stack.callback(client.close)
        bucket = s3_bucket(client, versioned=True)
        engine = QdrantClient(":memory:")
        stack.callback(engine.close)
        settings = read_settings(
            {
                "KB_MODE": "cloud",
                "KB_BUCKET": f"s3://{bucket}",
                "QDRANT_URL": "http://qdrant.test",
                "GOOGLE_CLOUD_PROJECT": project,
                "KB_CACHE_TTL": "0",
            }
        )
        runtime = cloud_runtime(settings, embedder=HashingEmbedder(8), parser=PlainParser(), qdrant=engine)
        yield Deployed(stack, project, runtime, client, bucket)


def test_what_others_do_to_the_bucket_is_what_answers(deployed):
    deployed.put("um", content("um", 1, 2))
    deployed.told_by_s3("um")
    deployed.check({"um": (1, 2)})
    deployed.put("um", content("um", 2, 1))
    for _ in range(2):
        deployed.told_by_s3("um")
    deployed.check({"um": (2, 1)})
    deployed.client.delete_object(Bucket=deployed.bucket, Key=f"{BASE}/um.md")
    deployed.told_by_s3("um", "ObjectRemoved:DeleteMarkerCreated")
    assert deployed.told_by_topic() == ("delete", "um.md", 2)
    deployed.told_by_s3("um")
    deployed.check({})
    deployed.put("um", content("um", 3, 2))
    deployed.told_by_s3("um")
    deployed.check({"um": (3, 2)})


def test_what_is_managed_by_hand_is_announced_with_its_number(deployed):
    stored = deployed.runtime.manage.upload(BASE, "um.md", content("um", 1, 2), "text/markdown")
    assert deployed.told_by_topic() == ("finalize", "um.md", 1)
    deployed.told_by_s3("um")
    assert deployed.runtime.catalog.job(BASE, stored["job_id"]).attempts == 1
    deployed.check({"um": (1, 2)})
    deployed.runtime.manage.delete(BASE, "um.md")
    assert deployed.told_by_topic() == ("delete", "um.md", 1)
    deployed.check({})


def test_a_signed_upload_goes_past_us_and_is_told_by_the_bucket(deployed):
    data = content("dois", 1, 1)
    wanted = {"source": "dois.md", "content_type": "text/markdown", "size": len(data)}
    signed = deployed.post(deployed.manage, f"/v1/bases/{BASE}/uploads", wanted)
    sent = urllib3.request(signed["method"], signed["url"], body=data, headers=signed["headers"])
    assert sent.status == 200
    deployed.told_by_s3("dois")
    deployed.check({"dois": (1, 1)})


def test_a_lost_event_is_found_and_mended_by_reconcile(deployed):
    deployed.put("um", content("um", 1, 1))
    deployed.put("dois", content("dois", 1, 1))
    deployed.told_by_s3("um")
    deployed.client.delete_object(Bucket=deployed.bucket, Key=f"{BASE}/um.md")
    drift = deployed.post(deployed.manage, f"/v1/bases/{BASE}/reconcile", {"repair": True})
    assert (drift["missing"], drift["orphaned"]) == (1, 1)
    assert {deployed.told_by_topic()[:2] for _ in range(2)} == {("finalize", "dois.md"), ("delete", "um.md")}
    deployed.told_by_s3("um")
    deployed.check({"dois": (1, 1)})


def test_every_base_is_mended_by_one_request(deployed):
    deployed.put("um", content("um", 1, 1))
    deployed.told_by_s3("um")
    deployed.client.put_object(Bucket=deployed.bucket, Key="globex/um.md", Body=content("um", 1, 1))
    deployed.client.put_object(Bucket=deployed.bucket, Key="Fotos/a.jpg", Body=b"x")
    told = deployed.post(deployed.manage, "/v1/reconcile", {"repair": True})
    assert [(row["base"], row["missing"]) for row in told["bases"]] == [(BASE, 0), ("globex", 1)]
    assert (told["missing"], told["foreign"], told["errors"], told["left"]) == (1, 1, [], [])
    assert deployed.told_by_topic() == ("finalize", "um.md", 1)
    assert whole(deployed.runtime.answers, "um", "globex") == (1, 1)
    told = deployed.post(deployed.manage, "/v1/reconcile", {})
    assert [(row["base"], row["missing"]) for row in told["bases"]] == [("globex", 0), (BASE, 0)]
    assert deployed.runtime.catalog.base(BASE).reconciled_at > deployed.runtime.catalog.base(BASE).created_at
