"""Content stored with gzip comes out as it was put in, and never more of it than the limit."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.content_encoding import content_of
from common.domain.errors import DocumentError

CODINGS = st.sampled_from(["gzip", "GZIP", "x-gzip", "gzip, aws-chunked", "aws-chunked,gzip"])


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), CODINGS)
def test_what_was_put_in_comes_out(members, coding):
    """A gzip may have several members (RFC 1952, 2.2)."""
    stored = b"".join(gzip.compress(member) for member in members)
    content = b"".join(members)
    assert content_of(stored, coding, 0) == content
    assert content_of(stored, coding, len(content) or 1) == content


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4).filter(lambda members: sum(map(len, members)) > 1))
def test_content_beyond_the_limit_is_too_large(members):
    stored = b"".join(gzip.compress(member) for member in members)
    with pytest.raises(DocumentError) as refused:
        content_of(stored, "gzip", sum(map(len, members)) - 1)
    assert refused.value.code == "TOO_LARGE"


def test_a_bomb_is_refused_with_the_size_it_tells():
    with pytest.raises(DocumentError, match=r"64\.0 MB; at most 1\.0 MB"):
        content_of(gzip.compress(bytes(64 << 20)), "gzip", 1 << 20)


@given(st.binary(max_size=60), st.sampled_from(["", "identity", "br", "aws-chunked", "deflate"]))
def test_other_encodings_leave_the_bytes_alone(data, coding):
    stored = gzip.compress(data)
    assert content_of(stored, coding, 0) == stored


@given(st.binary(max_size=60), st.data())
def test_no_whole_gzip_stays_as_it_is(data, draw):
    """Whoever reads it says that it is broken; half of its text would pass for the whole."""
    stored = gzip.compress(data)
    cut = stored[: draw.draw(st.integers(0, len(stored) - 1))]
    assert content_of(cut, "gzip", 0) == cut
    assert content_of(data, "gzip", 0) == data or data.startswith(b"\x1f\x8b")


def test_what_follows_the_gzip_is_padding():
    assert content_of(gzip.compress(b"Ata") + bytes(512), "gzip", 0) == b"Ata"
