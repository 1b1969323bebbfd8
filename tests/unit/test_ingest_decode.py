"""Recorded events as changes. When one fails, a bucket's event would be lost or do the wrong thing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.notifications import Ignored, read_notification, write_notification
from common.domain.objects import ObjectChange, ObjectRef
from functions.ingest.decode import BY_S3, PUSHED, decode_changes

EVENTS = Path(__file__).parents[1] / "events"
REF = ObjectRef("acme", "manual/Guia do usuário.md")
GENERATION = 1700000000000001


def decoded(name):
    event = json.loads(recorded(name))
    (change,) = decode_changes(event["type"], event["data"], "bucket")
    return change


def recorded(name):
    return (EVENTS / f"{name}.json").read_bytes()


@pytest.mark.parametrize(
    ("name", "kind", "size", "overwritten_by"),
    [
        ("finalize", "finalize", 1204, None),
        ("delete", "delete", 1204, 1700000000000002),
        ("archive", "archive", 1204, None),
        ("direct-finalized", "finalize", 1204, None),
        ("direct-deleted", "delete", 1204, None),
    ],
)
def test_a_recorded_event_is_the_change_it_speaks_of(name, kind, size, overwritten_by):
    assert decoded(name) == ObjectChange(kind, REF, GENERATION, size, overwritten_by)


@pytest.mark.parametrize("name", ["metadata-update", "direct-metadata", "foreign-bucket"])
def test_what_changes_no_answer_is_acknowledged(name):
    assert isinstance(decoded(name), Ignored)


NAMES = ["a b.md", "a+b.md", "100%25.md", "x%2Fy.md", "%2520.md", "#?.md", '\'"quoted".md', "🧭/ç.md"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_used_exactly_as_it_is_given(name):
    """NAM-01: names arrive raw; decoding them even once would look for another object."""
    data = {"bucket": "bucket", "name": f"acme/{name}", "generation": "7", "size": "1"}
    changes = decode_changes("google.cloud.storage.object.v1.finalized", data, "bucket")
    assert changes == (ObjectChange("finalize", ObjectRef("acme", name), 7, 1),)


@pytest.mark.parametrize(
    "key", ["no-base.md", "UPPER/x.md", "_x/a.md", "acme/../other/a.md", "acme//a.md", "acme/a\u0000.md", "/a.md"]
)
def test_a_key_that_names_no_document_of_a_base_is_ignored(key):
    data = {"bucket": "bucket", "name": key, "generation": "7"}
    (ignored,) = decode_changes("google.cloud.storage.object.v1.finalized", data, "bucket")
    assert isinstance(ignored, Ignored)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.sampled_from([PUSHED, BY_S3, "other"]), JSON)
def test_junk_is_ignored_never_raised(event_type, data):
    assert all(isinstance(said, Ignored) for said in decode_changes(event_type, data, "bucket"))
    assert decode_changes(event_type, data, "bucket")


@given(st.sampled_from(["finalize", "delete", "archive"]), st.integers(0, 2**63), st.none() | st.integers(0, 2**63))
def test_what_is_written_is_read_back(kind, generation, overwritten_by):
    change = ObjectChange(kind, REF, generation, 12, overwritten_by)
    attributes, resource = write_notification(change, "bucket")
    assert read_notification(attributes, resource, "bucket") == change
