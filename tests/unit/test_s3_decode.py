"""S3's events as hints. When one fails, an object's change would never be noticed, or another object looked for."""

import json
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.notifications import Ignored
from common.domain.objects import ObjectRef, source_problem
from functions.ingest.decode_s3 import Touched, decode_s3

EVENTS = Path(__file__).parents[1] / "events"
TOUCHED = Touched(ObjectRef("acme", "manual/Guia do usuário + 100%25.md"))


def recorded(name):
    return (EVENTS / f"s3-{name}.json").read_text(encoding="utf-8")


def notified(key, event="ObjectCreated:Put", bucket="bucket"):
    return {"Records": [{"eventName": event, "s3": {"bucket": {"name": bucket}, "object": {"key": key}}}]}


def bridged(key, kind="Object Created"):
    return {
        "source": "aws.s3",
        "detail-type": kind,
        "detail": {"bucket": {"name": "bucket"}, "object": {"key": key}},
    }


@pytest.mark.parametrize(
    "name",
    [
        "put",
        "multipart",
        "removed",
        "delete-marker",
        "expired",
        "minio",
        "sqs-of-sns",
        "sns",
        "sns-lambda",
        "bridge-created",
        "bridge-deleted",
    ],
)
def test_a_recorded_event_names_the_object_it_touched(name):
    assert decode_s3(json.loads(recorded(name)), "bucket") == (TOUCHED,)
    assert decode_s3(recorded(name), "bucket") == (TOUCHED,)
    assert decode_s3(recorded(name).encode(), "bucket") == (TOUCHED,)


def test_a_batch_names_each_object_once():
    assert decode_s3(json.loads(recorded("sqs-batch")), "bucket") == (TOUCHED, Touched(ObjectRef("acme", "b.md")))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tagging", "changes no answer"),
        ("restored", "changes no answer"),
        ("bridge-tags", "changes no answer"),
        ("foreign-bucket", "foreign"),
        ("test-event", "test event"),
        ("sns-confirmation", "confirmed"),
    ],
)
def test_what_changes_no_answer_is_ignored_with_the_reason(name, reason):
    (ignored,) = decode_s3(json.loads(recorded(name)), "bucket")
    assert isinstance(ignored, Ignored)
    assert reason in ignored.reason


@pytest.mark.parametrize(
    "key", ["acme/", "acme/pasta/", "acme/pasta_$folder$/", "leia-me.md", "Acme/a.md", "acme/../b.md", "/a.md", ""]
)
def test_sub_01_what_names_no_document_of_a_base_is_ignored_with_a_reason(key):
    for event in (notified(quote_plus(key)), bridged(key)):
        (ignored,) = decode_s3(event, "bucket")
        assert isinstance(ignored, Ignored)
        assert ignored.reason


def test_one_bad_record_spoils_no_other():
    batch = {"Records": [*notified("acme/%ff.md")["Records"], {"body": "{"}, 7, *notified("acme/b.md")["Records"]]}
    *ignored, touched = decode_s3(batch, "bucket")
    assert touched == Touched(ObjectRef("acme", "b.md"))
    assert [each.reason for each in ignored] == ["the object's name is not UTF-8", "no event of S3"]


SOURCES = st.text(min_size=1, max_size=40).filter(lambda name: source_problem(name) is None)


@given(SOURCES, st.sampled_from(["", "/"]))
def test_nam_01_a_quoted_name_is_decoded_exactly_once(name, unquoted):
    """S3 leaves slashes as they are, its likes quote them too; both are form-encoded, a space as plus."""
    assert decode_s3(notified(quote_plus(f"acme/{name}", safe=unquoted)), "bucket") == (
        Touched(ObjectRef("acme", name)),
    )


@given(SOURCES)
def test_nam_01_a_bridged_name_is_taken_as_it_is(name):
    assert decode_s3(bridged(f"acme/{name}"), "bucket") == (Touched(ObjectRef("acme", name)),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["Records", "s3", "body", "Sns", "Message", "Type", "eventName", "x"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_junk_is_ignored_never_raised(data):
    assert all(isinstance(each, Ignored) for each in decode_s3(data, "bucket"))
    assert decode_s3(json.dumps(data), "bucket")


def test_envelopes_without_end_are_ignored():
    nested = json.dumps(notified("acme/b.md"))
    for _ in range(6):
        nested = json.dumps({"Type": "Notification", "Message": nested})
    (ignored,) = decode_s3(nested, "bucket")
    assert isinstance(ignored, Ignored)
    assert decode_s3("[" * 100_000, "bucket") == (Ignored("no event of S3"),)
