"""What an identity may do, what claims and grants make of it, and who is let in without authentication."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.iam_identity import read_grants
from common.adapters.jwt_identity import claimed_identity
from common.domain.errors import Misconfigured, Refused
from common.domain.objects import is_base_id
from common.identity import Identity, loopback_only

SCOPES = ("read", "write", "admin")
BASES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(BASES, BASES, st.sampled_from(SCOPES), st.sampled_from(SCOPES))
def test_an_identity_opens_its_bases_up_to_its_scope(base, other, held, wanted):
    identity = Identity(frozenset({base}), {"*": held})
    enough = SCOPES.index(held) >= SCOPES.index(wanted)
    assert identity.allows(base, wanted) is enough
    assert identity.allows(other, wanted) is (enough and other == base)
    assert Identity(None, {"*": held}).allows(other, wanted) is enough


@pytest.mark.parametrize("bases", [None, frozenset(), frozenset({""}), frozenset({"agency"})])
@pytest.mark.parametrize("scope", SCOPES)
def test_no_identity_opens_a_base_without_name(bases, scope):
    assert not Identity(bases, {"*": "admin", "": "admin"}).allows("", scope)


@given(
    st.none() | st.frozensets(st.sampled_from(["agency", "rival"])),
    st.dictionaries(st.sampled_from(["*", "agency", "third"]), st.sampled_from(SCOPES)),
    st.sampled_from(SCOPES),
)
def test_an_identity_holds_what_it_may_do_on_one_base_at_least(bases, scopes, wanted):
    identity = Identity(bases, scopes)
    assert identity.holds(wanted) is any(
        identity.allows(base, wanted) for base in ("agency", "rival", "third", "yet-unknown")
    )


def test_an_identity_without_bases_opens_none():
    assert not Identity(frozenset(), {"*": "admin"}).allows("agency", "read")


def test_a_base_may_have_a_scope_of_its_own():
    identity = Identity(frozenset({"agency", "rival"}), {"*": "read", "agency": "admin"})
    assert [identity.allows(base, "write") for base in ("agency", "rival", "third")] == [True, False, False]
    assert Identity(frozenset({"rival"}), {}).allows("rival", "read")
    assert not Identity(frozenset({"rival"}), {}).allows("rival", "write")


@pytest.mark.parametrize(
    ("claims", "bases"),
    [
        ({"base": "agency"}, {"agency"}),
        ({"bases": ["agency", "rival", "agency"]}, {"agency", "rival"}),
        ({"affiliate_id": 11522}, {"affiliate_11522"}),
        ({"affiliate_id": "11522"}, {"affiliate_11522"}),
        ({"affiliate_id": 11522, "base": "affiliate_11522", "bases": ["affiliate_11522"]}, {"affiliate_11522"}),
    ],
)
def test_claims_that_agree_name_the_bases(claims, bases):
    assert claimed_identity(claims) == Identity(frozenset(bases), {"*": "read"})


@pytest.mark.parametrize(
    "written", [0, -7, 7.0, "0", "007", "-7", "7 ", "7\n", "\N{ARABIC-INDIC DIGIT SEVEN}", "x", "", "9" * 64]
)
def test_an_affiliate_has_one_spelling(written):
    with pytest.raises(Refused) as refused:
        claimed_identity({"affiliate_id": written})
    assert refused.value.status == 403


@given(st.dictionaries(st.sampled_from(["bases", "base", "affiliate_id", "scope"]), JSON | BASES | st.lists(BASES)))
def test_whatever_is_claimed_opens_base_ids_or_nothing(claims):
    try:
        identity = claimed_identity(claims)
    except Refused as refused:
        assert refused.status == 403
        return
    assert identity.bases
    assert all(is_base_id(base) for base in identity.bases)
    assert "scope" in claims or identity.scopes == {"*": "read"}
    assert "bases" not in claims or identity.bases == frozenset(claims["bases"])


@given(st.lists(st.sampled_from([*SCOPES, "openid", "READ", "administrator", ""])))
def test_the_highest_known_word_of_a_scope_counts(words):
    claims = {"base": "agency", "scope": " ".join(words)}
    known = [scope for scope in SCOPES if scope in words]
    if known:
        assert claimed_identity(claims).scopes == {"*": known[-1]}
    else:
        with pytest.raises(Refused, match="scope"):
            claimed_identity(claims)


def test_grants_go_by_e_mail():
    grants = read_grants('{"Bot@agency.example": {"bases": ["agency"], "scope": "admin"}, "o@x.y": {"bases": ["*"]}}')
    assert grants == {
        "bot@agency.example": Identity(frozenset({"agency"}), {"*": "admin"}),
        "o@x.y": Identity(None, {"*": "read"}),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["is JSON"]),
        ("[", ["is JSON"]),
        ("[" * 100_000, ["is JSON"]),
        ("[]", ["at least one"]),
        ("{}", ["at least one"]),
        ('{"a@x.y": []}', ["a grant is"]),
        ('{"a@x.y": {}}', ["bases is a list"]),
        ('{"a@x.y": {"bases": []}}', ["bases is a list"]),
        ('{"a@x.y": {"bases": "agency"}}', ["bases is a list"]),
        ('{"a@x.y": {"bases": ["*", "agency"]}}', ["'*' is no base id"]),
        ('{"a@x.y": {"bases": [["*"]]}}', ["['*'] is no base id"]),
        ('{"a@x.y": {"bases": ["agency"], "scope": ["read"]}}', ["scope is one of"]),
        ('{"a@x.y": {"bases": ["agency"], "scope": null}}', ["scope is one of"]),
        ('{"a@x.y": {"bases": ["agency"], "role": "admin"}}', ["not role"]),
        ('{"serviceAccount:a@x.y": {"bases": ["agency"]}}', ["no e-mail"]),
        ('{"\u212aa@x.y": {"bases": ["agency"]}}', ["no e-mail"]),
        ('{"a@x.y": {"bases": ["agency"]}, "A@x.y": {"bases": ["rival"]}}', ["named twice"]),
        ('{"a@x.y": {"bases": ["agency"]}, "a@x.y": {"bases": ["rival"]}}', ["stands twice"]),
        ('{"a": {"bases": ["B"], "scope": "all"}, "b@x.y": 1}', ["no e-mail", "'B' is no", "scope is", "a grant is"]),
    ],
)
def test_every_problem_of_the_grants_is_told_at_once(text, words):
    with pytest.raises(Misconfigured) as problem:
        read_grants(text)
    told = str(problem.value)
    assert [word for word in words if word not in told] == []
    assert len(told.splitlines()) == len(words)


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "LOCALHOST:8765", "127.0.0.1:8765", "[::1]:8765"])
def test_without_authentication_this_machine_may_do_everything(host):
    assert loopback_only({"Host": host}).allows("agency", "admin")
    assert loopback_only({"Host": host, "Origin": f"http://{host}"}).allows("agency", "admin")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": ""},
        {"Host": "agency.example"},
        {"Host": "localhost.agency.example"},
        {"Host": "127.0.0.1.agency.example:8765"},
        {"Host": "[::1"},
        {"Host": "localhost:8765", "Origin": "null"},
        {"Host": "localhost:8765", "Origin": "https://agency.example"},
        {"Host": "localhost:8765", "Origin": "http://localhost:3000"},
        {"Host": "localhost:8765", "Origin": "http://127.0.0.1:8765"},
    ],
)
def test_without_authentication_others_are_refused(headers):
    with pytest.raises(Refused) as refused:
        loopback_only(headers)
    assert refused.value.status == 403
