"""What a request's JSON body is read as: the same whichever way it is looked at, and refused where it could not be
written again.
"""

import json
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.domain.errors import Refused
from common.json_bodies import json_body, json_bytes

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be"])


def request(data, content_type="application/json"):
    built = EnvironBuilder(method="POST", data=data, content_type=content_type)
    return Request(built.get_environ())


def read(data):
    try:
        return json_body(request(data))
    except Refused as error:
        return error.code, error.field


def carefully(data):
    """Every body written again, to see that it can be."""

    def no_constant(name):
        raise ValueError(name)

    try:
        body = json.loads(data, parse_constant=no_constant)
        json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return "BAD_JSON", "body"
    return body if isinstance(body, dict) else ("BAD_JSON", "body")


@given(st.dictionaries(st.text(), VALUES) | VALUES, st.booleans(), ENCODINGS)
def test_a_body_is_read_as_it_was_written_in_every_encoding(body, ascii_only, encoding):
    data = json.dumps(body, ensure_ascii=ascii_only).encode(encoding, "surrogatepass")
    assert repr(read(data)) == repr(carefully(data))


@given(st.binary() | st.text('{}[]",:\\ud8c0 1é').map(str.encode))
@example(b'{"query": "\\ud83d"}')
@example(b'{"query": "\\uD83d\\uDE00"}')
@example(b'{"query": "\xed\xa0\xbd"}')
@example(b'{"query": NaN}')
@example(b'\xef\xbb\xbf{"query": "a"}')
@example('{"query": "\\ud83d"}'.encode("utf-16"))
@example(b'{"a":' * 5_000 + b"1" + b"}" * 5_000)
@example(b'{"a":' + b"[" * 90 + b"]" * 90 + b"}")
def test_whatever_comes_is_refused_or_read_alike(data):
    assert repr(read(data)) == repr(carefully(data))


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("APPLICATION/JSON", True),
        ("text/plain", False),
        ("", False),
    ],
)
def test_json_is_taken_as_json_alone(content_type, taken):
    if taken:
        assert json_body(request(b'{"a": 1}', content_type)) == {"a": 1}
    else:
        with pytest.raises(Refused) as refused:
            json_body(request(b'{"a": 1}', content_type))
        assert refused.value.status == 415


class Sent(BytesIO):
    """A body as a server hands it on, and how much of it was read."""

    took = 0

    def read(self, size=-1):
        self.took += 0 if size is None or size < 0 else size
        return super().read(size)


@pytest.mark.parametrize(
    ("given", "size", "expected"),
    [
        ({"CONTENT_LENGTH": "12"}, 12, "fit"),
        ({"CONTENT_LENGTH": "12", "wsgi.input_terminated": True}, 12, "fit"),
        ({"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}, 12, "fit"),
        ({"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}, 21, "TOO_LARGE"),
        ({"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "1", "wsgi.input_terminated": True}, 12, "fit"),
        ({"CONTENT_LENGTH": "21"}, 21, "TOO_LARGE"),
        ({"CONTENT_LENGTH": "9" * 15}, 21, "TOO_LARGE"),
        ({"CONTENT_LENGTH": "9" * 5000}, 21, "nothing"),
        ({"CONTENT_LENGTH": ""}, 12, "nothing"),
        ({"CONTENT_LENGTH": "-1"}, 12, "nothing"),
    ],
)
def test_as_much_of_a_body_is_read_as_may_be(given, size, expected):
    sent = Sent(b"x" * size)
    asked = request(b"")
    asked.environ.pop("CONTENT_LENGTH", None)
    asked.environ.update({"CONTENT_TYPE": "application/json", "wsgi.input": sent, **given})
    try:
        read = json_bytes(asked, 20)
    except Refused as error:
        assert (error.status, error.code) == (413, expected)
    else:
        assert read == {"fit": b"x" * size, "nothing": b""}[expected]
    assert sent.took <= 21
