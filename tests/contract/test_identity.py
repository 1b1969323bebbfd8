"""Every authenticator, asked through the router as a stranger asks it: who is let in, who gets 401, who gets 403, and
that no token chooses its own key. The issuers are real servers on this machine.
"""

import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request, Response

from common.adapters.frozen_clock import FrozenClock
from common.adapters.iam_identity import IamIdentity, read_grants
from common.adapters.jose.fetch import MAX_BYTES, read_document
from common.adapters.jose.keys import COOLDOWN_SECONDS, RETRY_SECONDS, TTL_SECONDS, RemoteKeys, SecretKey
from common.adapters.jose.tokens import LEEWAY_SECONDS
from common.adapters.jwt_identity import JwtIdentity
from common.boundary import Call, Route, Router, answer
from common.domain.errors import Misconfigured, Refused, Unavailable
from common.identity import Authenticate
from tests.contract.issuer import Issuer, by_hand, ec_key, jwk, pem, published, rsa_key, sign

NOW = 1_800_000_000
AUDIENCE = "fichario"
ISSUER = "https://login.agency.example"
SECRET = "a secret that only issuer and verifier know"
RSA, EC, STRANGER = rsa_key(), ec_key(), rsa_key()
CLAIMS = {"base": "agency", "exp": NOW + 600, "aud": AUDIENCE, "iss": ISSUER}


def router(authenticate: Authenticate) -> Router:
    def told(call: Call) -> Response:
        return answer({"base": call.base})

    def bases(call: Call) -> Response:
        return answer({"bases": None if call.identity.bases is None else sorted(call.identity.bases)})

    return Router(
        [
            Route("GET", "/v1/bases/<base>/card", told, "read"),
            Route("POST", "/v1/bases/<base>/documents", told, "write"),
            Route("DELETE", "/v1/bases/<base>", told, "admin"),
            Route("GET", "/v1/bases", bases, None),
        ],
        authenticate,
        dict,
    )


def ask(
    authenticate: Authenticate, token: str | None, path: str = "/v1/bases/agency/card", method: str = "GET", **headers
) -> Response:
    sent = headers if token is None else {"Authorization": f"Bearer {token}", **headers}
    return router(authenticate)(Request(EnvironBuilder(path, method=method, headers=sent).get_environ()))


def status(*arguments, **headers) -> int:
    return ask(*arguments, **headers).status_code


@dataclass
class World:
    issuer: Issuer
    clock: FrozenClock

    def keys(self, patience: float = 30.0) -> RemoteKeys:
        return RemoteKeys(self.issuer.url, self.clock, patience=patience)

    def jwt(self) -> JwtIdentity:
        return JwtIdentity(self.keys(), self.clock, audience=AUDIENCE, issuer=ISSUER)


@pytest.fixture
def world() -> Iterator[World]:
    with published(jwk(RSA, "rsa"), jwk(EC, "ec")) as issuer:
        yield World(issuer, FrozenClock(NOW))


@pytest.fixture
def thief() -> Iterator[Issuer]:
    """Publishes the stranger's key under the names of the true ones."""
    with published(jwk(STRANGER, "rsa"), jwk(STRANGER, "stranger")) as issuer:
        yield issuer


def by_secret(clock: FrozenClock, **wanted: str) -> JwtIdentity:
    return JwtIdentity(SecretKey(SECRET), clock, **wanted)


@pytest.mark.parametrize(("key", "kid"), [(RSA, "rsa"), (EC, "ec"), (RSA, None), (EC, None)])
def test_a_token_of_the_issuer_opens_its_base_and_no_other(world, key, kid):
    who = world.jwt()
    token = sign(CLAIMS, key, kid)
    assert ask(who, token).json == {"base": "agency"}
    assert ask(who, token, "/v1/bases").json == {"bases": ["agency"]}
    assert status(who, token, "/v1/bases/rival/card") == 403
    assert status(who, token, "/v1/nowhere") == 404


def test_a_token_of_the_shared_secret_opens_its_base():
    token = sign({"affiliate_id": 11522, "exp": NOW + 1}, SECRET)
    assert status(by_secret(FrozenClock(NOW)), token, "/v1/bases/affiliate_11522/card") == 200


def hostile_tokens(thief: Issuer) -> dict[str, str | None]:
    """Everything but the faults of claims: each is refused although its claims would open the base."""
    good = sign(CLAIMS, RSA, "rsa")
    head, body, signature = good.split(".")
    other = sign({**CLAIMS, "base": "rival"}, RSA, "rsa").split(".")[1]
    public = jwk(RSA, "rsa")
    return {
        "no token": None,
        "empty token": "",
        "two tokens": f"{good},Bearer {good}",
        "no JWT": "letmein",
        "two parts": f"{head}.{body}",
        "an encrypted one": f"{good}.a.b",
        "very long": f"{head}.{'A' * 40_000}.{signature}",
        "header is no JSON": f"AAAA.{body}.{signature}",
        "header is a list": f"W10.{body}.{signature}",
        "other claims": f"{head}.{other}.{signature}",
        "signature cut": f"{head}.{body}.{signature[:-4]}",
        "signature gone": f"{head}.{body}.",
        "alg none": by_hand({"alg": "none", "kid": "rsa"}, CLAIMS),
        "alg NONE": by_hand({"alg": "NONE", "kid": "rsa"}, CLAIMS),
        "alg none with a signature": by_hand({"alg": "none", "kid": "rsa"}, CLAIMS, b"x"),
        "alg missing": by_hand({"kid": "rsa"}, CLAIMS),
        "alg a list": by_hand({"alg": ["RS256"], "kid": "rsa"}, CLAIMS),
        "HS256 by the public key's PEM": by_hand({"alg": "HS256", "kid": "rsa"}, CLAIMS, pem(RSA)),
        "HS256 by the JWK": by_hand({"alg": "HS256", "kid": "rsa"}, CLAIMS, str(public).encode()),
        "HS256 by the modulus": by_hand({"alg": "HS256", "kid": "rsa"}, CLAIMS, str(public["n"]).encode()),
        "HS256 by nothing": by_hand({"alg": "HS256", "kid": "rsa"}, CLAIMS, b""),
        "RS256 with the EC key's name": sign(CLAIMS, RSA, "ec"),
        "unknown kid": sign(CLAIMS, STRANGER, "stranger"),
        "known kid, other key": sign(CLAIMS, STRANGER, "rsa"),
        "kid a path": sign(CLAIMS, STRANGER, "../../dev/null"),
        "kid a number": by_hand({"alg": "RS256", "kid": 7}, CLAIMS, b"x"),
        "no kid, other key": sign(CLAIMS, STRANGER),
        "jku": sign(CLAIMS, STRANGER, "stranger", jku=thief.url),
        "jku and a known kid": sign(CLAIMS, STRANGER, "rsa", jku=thief.url),
        "x5u": sign(CLAIMS, STRANGER, "rsa", x5u=thief.url),
        "jwk": sign(CLAIMS, STRANGER, "rsa", jwk=jwk(STRANGER, "rsa")),
        "jwk without kid": sign(CLAIMS, STRANGER, jwk=jwk(STRANGER, None)),
        "iss of the thief": sign({**CLAIMS, "iss": thief.url}, STRANGER, "stranger"),
        "crit": sign(CLAIMS, RSA, "rsa", crit=["exp"], exp=NOW + 600),
        "crit empty": sign(CLAIMS, RSA, "rsa", crit=[]),
        "b64 and crit": by_hand({"alg": "RS256", "kid": "rsa", "b64": False, "crit": ["b64"]}, "", b"x"),
        "payload is no JSON": by_hand({"alg": "RS256", "kid": "rsa"}, "{", b"x"),
    }


@pytest.mark.parametrize("name", list(hostile_tokens(Issuer())))
def test_a_token_that_is_not_the_issuers_is_unauthorised_everywhere(world, thief, name, caplog):
    who = world.jwt()
    token = hostile_tokens(thief)[name]
    with caplog.at_level(logging.DEBUG):
        refused = ask(who, token)
        assert status(who, token, "/v1/nowhere") == 401
        assert status(who, token, "/mcp", "PATCH") == 401
    assert (refused.status_code, refused.json["code"]) == (401, "UNAUTHENTICATED")
    assert thief.readings == 0
    for part in (token or "").split("."):
        assert len(part) < 8 or part not in refused.get_data(as_text=True) + caplog.text


def test_a_token_is_read_from_the_authorization_header_alone(world):
    who = world.jwt()
    token = sign(CLAIMS, RSA, "rsa")
    assert status(who, None, f"/v1/bases/agency/card?access_token={token}") == 401
    assert status(who, None, Cookie=f"access_token={token}") == 401
    assert status(who, None, Authorization=f"Basic {token}") == 401
    assert status(who, None, Authorization=token) == 401
    assert status(who, None, Authorization=f"bearer   {token} ") == 200


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"exp": NOW + 1}, 200),
        ({"exp": NOW - LEEWAY_SECONDS + 1}, 200),
        ({"exp": NOW - LEEWAY_SECONDS}, 401),
        ({"exp": NOW - 3600}, 401),
        ({"exp": None}, 401),
        ({"exp": str(NOW + 600)}, 401),
        ({"exp": True}, 401),
        ({"exp": float("inf")}, 401),
        ({"exp": float("nan")}, 401),
        ({"exp": 10**400}, 200),
        ({"nbf": NOW + LEEWAY_SECONDS}, 200),
        ({"nbf": NOW + LEEWAY_SECONDS + 1}, 401),
        ({"nbf": "soon"}, 401),
        ({"nbf": True}, 401),
        ({"nbf": float("nan")}, 401),
        ({"aud": "another"}, 401),
        ({"aud": ["another", AUDIENCE]}, 200),
        ({"aud": ["another"]}, 401),
        ({"aud": [AUDIENCE, 7]}, 401),
        ({"aud": ""}, 401),
        ({"aud": None}, 401),
        ({"iss": ISSUER + "/"}, 401),
        ({"iss": [ISSUER]}, 401),
        ({"iss": None}, 401),
        ({"sub": 11522, "jti": 7, "iat": "yesterday"}, 200),
    ],
)
def test_times_audience_and_issuer_are_what_the_configuration_asks(claims, expected):
    who = by_secret(FrozenClock(NOW), audience=AUDIENCE, issuer=ISSUER)
    # The library that signs would refuse some of these itself.
    token = by_hand({"alg": "HS256"}, {**CLAIMS, **claims}, SECRET.encode())
    assert status(who, token) == expected
    assert status(who, token, "/v1/nowhere") == (401 if expected == 401 else 404)


@pytest.mark.parametrize("claim", ["exp", "aud", "iss"])
def test_a_claim_that_is_asked_for_cannot_be_left_out(claim):
    who = by_secret(FrozenClock(NOW), audience=AUDIENCE, issuer=ISSUER)
    assert status(who, sign({name: CLAIMS[name] for name in CLAIMS if name != claim}, SECRET)) == 401


def test_audience_and_issuer_do_not_matter_where_none_is_configured():
    who = by_secret(FrozenClock(NOW))
    assert status(who, sign({**CLAIMS, "aud": "whoever", "iss": "whoever"}, SECRET)) == 200
    assert status(who, sign({"base": "agency", "exp": NOW + 1}, SECRET)) == 200


def test_a_signed_token_may_ask_for_no_extension_and_has_a_bounded_size():
    who = by_secret(FrozenClock(NOW))
    for header in ({"crit": ["b64"], "b64": True}, {"b64": True}):
        assert status(who, by_hand({"alg": "HS256", **header}, CLAIMS, SECRET.encode())) == 401
    assert status(who, sign({**CLAIMS, "more": "x" * 11_000}, SECRET)) == 200
    assert status(who, sign({**CLAIMS, "more": "x" * 13_000}, SECRET)) == 401


@pytest.mark.parametrize("now", [1_000_000_000, 4_000_000_000])
def test_times_are_those_of_the_clock_that_was_given(now):
    who = by_secret(FrozenClock(now))
    assert status(who, sign({"base": "agency", "nbf": now, "iat": now, "exp": now + 1}, SECRET)) == 200
    assert status(who, sign({"base": "agency", "exp": now - 60}, SECRET)) == 401


GRANTS_NOTHING = {
    "no base": {},
    "empty base": {"base": ""},
    "null base": {"base": None},
    "base a number": {"base": 11522},
    "base a list": {"base": ["agency"]},
    "base no id": {"base": "Agency/.."},
    "base a star": {"base": "*"},
    "bases empty": {"bases": []},
    "bases a text": {"bases": "agency"},
    "bases an object": {"bases": {"agency": "read"}},
    "bases with a number": {"bases": ["agency", 7]},
    "bases with an empty one": {"bases": ["agency", ""]},
    "bases a star": {"bases": ["*"]},
    "bases and base differ": {"bases": ["agency", "rival"], "base": "agency"},
    "bases empty beside base": {"bases": [], "base": "agency"},
    "affiliate and base differ": {"affiliate_id": 11522, "base": "agency"},
    "affiliate null beside base": {"affiliate_id": None, "base": "agency"},
    "affiliate true": {"affiliate_id": True},
    "affiliate negative": {"affiliate_id": -1},
    "scope of other words": {"base": "agency", "scope": "openid reader"},
    "scope in capitals": {"base": "agency", "scope": "READ"},
    "scope empty": {"base": "agency", "scope": ""},
    "scope null": {"base": "agency", "scope": None},
    "scope a list": {"base": "agency", "scope": ["admin"]},
}


@pytest.mark.parametrize("name", list(GRANTS_NOTHING))
def test_a_believed_token_that_grants_nothing_is_forbidden_everywhere(name):
    who = by_secret(FrozenClock(NOW))
    token = sign({"exp": NOW + 1, **GRANTS_NOTHING[name]}, SECRET)
    refused = ask(who, token)
    assert (refused.status_code, refused.json["code"]) == (403, "NO_GRANT")
    assert status(who, token, "/v1/nowhere") == 403
    assert status(who, token, "/v1/bases") == 403


@pytest.mark.parametrize(
    ("scope", "read", "write", "admin"),
    [(None, 200, 403, 403), ("read", 200, 403, 403), ("openid write", 200, 200, 403), ("read admin", 200, 200, 200)],
)
def test_a_scope_opens_what_lies_below_it(scope, read, write, admin):
    who = by_secret(FrozenClock(NOW))
    token = sign({"base": "agency", "exp": NOW + 1} | ({} if scope is None else {"scope": scope}), SECRET)
    assert status(who, token) == read
    assert status(who, token, "/v1/bases/agency/documents", "POST") == write
    assert status(who, token, "/v1/bases/agency", "DELETE") == admin
    assert status(who, token, "/v1/bases/rival", "DELETE") == 403


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*", fullmatch=True))
def test_no_text_in_the_tokens_place_is_more_than_unauthorised(token):
    who = by_secret(FrozenClock(NOW))
    with pytest.raises(Refused) as caught:
        who({"Authorization": f"Bearer {token}"})
    assert caught.value.status == 401


def test_a_secret_that_everybody_knows_is_no_configuration():
    for secret in (pem(RSA).decode(), str(jwk(RSA, "rsa")).replace("'", '"'), ""):
        with pytest.raises(Misconfigured, match="KB_JWT_SECRET"):
            SecretKey(secret)


def test_a_short_secret_serves_and_is_reported(caplog):
    who = JwtIdentity(SecretKey("short"), FrozenClock(NOW))
    assert status(who, by_hand({"alg": "HS256"}, CLAIMS, b"short")) == 200
    assert status(who, by_hand({"alg": "HS256"}, CLAIMS, b"shorter")) == 401
    assert "RFC 7518" in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "http://login.agency.example/keys",
        "http://127.0.0.1.agency.example/keys",
        "http://localhost@agency.example/keys",
        "https://user:word@agency.example/keys",
        "https:///keys",
        "https://[::1/keys",
        "https://agency.example:port/keys",
        "file:///etc/passwd",
        "ftp://localhost/keys",
        "agency.example",
        "",
    ],
)
def test_keys_come_over_https_unless_from_this_machine(url):
    with pytest.raises(Misconfigured, match="KB_JWKS_URL"):
        RemoteKeys(url, FrozenClock())


@pytest.mark.parametrize("url", ["https://agency.example/keys", "http://localhost:1/keys", "http://[::1]:1/keys"])
def test_a_safe_address_of_keys_is_taken_without_reading_it(url):
    assert RemoteKeys(url, FrozenClock()).algorithms == ("RS256", "ES256")


UNUSABLE_KEYS = {
    "for encryption": jwk(RSA, "rsa", use="enc"),
    "for signing only": jwk(RSA, "rsa", key_ops=["sign"]),
    "operations no list": jwk(RSA, "rsa", key_ops=7),
    "of another algorithm": jwk(RSA, "rsa", alg="RS512"),
    "too short": jwk(rsa_key(1024), "rsa"),
    "private": {**RSAAlgorithm.to_jwk(RSA, as_dict=True), "kid": "rsa", "key_ops": ["verify"]},
    "of another curve": jwk(ec_key(ec.SECP384R1()), "rsa"),
    "of no known curve": {**jwk(EC, "rsa"), "crv": ["P-256"]},
    "not on its curve": {**jwk(EC, "rsa"), "x": jwk(EC, "rsa")["y"]},
    "a secret": {"kty": "oct", "kid": "rsa", "k": "c2VjcmV0"},
    "without number": {"kty": "RSA", "kid": "rsa", "e": "AQAB"},
    "with a number of another type": {**jwk(RSA, "rsa"), "n": 7},
    "with an even number": {**jwk(RSA, "rsa"), "n": "AA"},
    "of no type": {"kid": "rsa"},
    "no object": "rsa",
}


@pytest.mark.parametrize("name", list(UNUSABLE_KEYS))
def test_a_published_key_that_must_not_verify_is_passed_over(world, name):
    world.issuer.keys = [UNUSABLE_KEYS[name], jwk(EC, "ec")]
    who = world.jwt()
    assert status(who, sign(CLAIMS, RSA, "rsa")) == 401
    assert status(who, sign(CLAIMS, EC, "ec")) == 200


def test_a_token_without_a_name_is_not_tried_on_several_keys(world):
    world.issuer.keys = [jwk(RSA, "one"), jwk(STRANGER, "two")]
    who = world.jwt()
    assert status(who, sign(CLAIMS, RSA)) == 401
    assert status(who, sign(CLAIMS, RSA, "one")) == 200


def test_keys_are_read_once_until_they_are_old(world):
    who = world.jwt()
    token = sign({**CLAIMS, "exp": NOW + 9000}, RSA, "rsa")
    assert [status(who, token) for _ in range(3)] == [200] * 3
    assert world.issuer.readings == 1
    world.clock.advance(TTL_SECONDS - 1)
    assert (status(who, token), world.issuer.readings) == (200, 1)
    world.issuer.keys = [jwk(EC, "ec")]
    world.clock.advance(1)
    assert (status(who, token), world.issuer.readings) == (401, 2)


def test_a_rotated_key_serves_at_once_and_junk_names_cannot_cause_a_flood(world):
    who = world.jwt()
    assert status(who, sign(CLAIMS, RSA, "rsa")) == 200
    world.issuer.keys.append(jwk(STRANGER, "new"))
    assert (status(who, sign(CLAIMS, STRANGER, "new")), world.issuer.readings) == (200, 2)
    assert [status(who, sign(CLAIMS, STRANGER, f"junk {n}")) for n in range(5)] == [401] * 5
    assert world.issuer.readings == 2
    world.clock.advance(COOLDOWN_SECONDS)
    assert [status(who, sign(CLAIMS, STRANGER, f"junk {n}")) for n in range(5)] == [401] * 5
    assert world.issuer.readings == 3


def test_an_unknown_name_on_fresh_keys_does_not_read_them_twice(world):
    assert status(world.jwt(), sign(CLAIMS, STRANGER, "stranger")) == 401
    assert world.issuer.readings == 1


def test_algorithms_that_are_not_configured_cause_no_reading(world):
    who = world.jwt()
    assert status(who, by_hand({"alg": "HS256", "kid": "x"}, CLAIMS, b"x")) == 401
    assert status(who, None) == 401
    assert world.issuer.readings == 0


def test_many_at_once_cause_one_reading_and_all_are_served(world):
    world.issuer.gate.clear()
    who = world.jwt()
    token = sign(CLAIMS, RSA, "rsa")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(status, who, token) for _ in range(8)]
        assert world.issuer.arrived.wait(30)
        world.issuer.gate.set()
        assert [each.result(30) for each in asked] == [200] * 8
    assert world.issuer.readings == 1


def test_many_at_once_with_a_new_key_cause_one_reading_and_all_are_served(world):
    who = world.jwt()
    assert status(who, sign(CLAIMS, RSA, "rsa")) == 200
    world.issuer.arrived.clear()
    world.issuer.gate.clear()
    world.issuer.keys.append(jwk(STRANGER, "new"))
    token = sign(CLAIMS, STRANGER, "new")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(status, who, token) for _ in range(8)]
        assert world.issuer.arrived.wait(30)
        assert status(who, sign(CLAIMS, RSA, "rsa")) == 200
        world.issuer.gate.set()
        assert [each.result(30) for each in asked] == [200] * 8
    assert world.issuer.readings == 2


FAILURES = {
    "an error": {"status": 500},
    "not found": {"status": 404},
    "no content": {"status": 202},
    "no JSON": {"body": b"<html>"},
    "no JWK set": {"body": b'{"issuer": "x"}'},
    "a list": {"body": b"[]"},
    "nested too deeply": {"body": b"[" * 100_000},
    "too much": {"body": json.dumps({"keys": [jwk(RSA, "rsa")]}).encode().ljust(MAX_BYTES + 1)},
    "nothing": {"body": b""},
}


def fail(issuer: Issuer, **how: object) -> None:
    for name, value in how.items():
        setattr(issuer, name, value)


@pytest.mark.parametrize("name", list(FAILURES))
def test_an_issuer_that_does_not_answer_is_unavailable_and_asked_again_soon(world, name):
    fail(world.issuer, **FAILURES[name])
    who = world.jwt()
    token = sign(CLAIMS, RSA, "rsa")
    refused = ask(who, token)
    assert (refused.status_code, refused.json["code"]) == (503, "UNAVAILABLE")
    assert refused.headers["Retry-After"]
    assert world.issuer.url not in refused.get_data(as_text=True)
    assert (status(who, token), world.issuer.readings) == (503, 1)
    fail(world.issuer, status=200, body=None)
    world.clock.advance(RETRY_SECONDS)
    assert (status(who, token), world.issuer.readings) == (200, 2)


@pytest.mark.parametrize("name", list(FAILURES))
def test_keys_go_on_serving_while_their_issuer_does_not_answer(world, name, caplog):
    who = world.jwt()
    old, new = sign({**CLAIMS, "exp": NOW + 9000}, RSA, "rsa"), sign({**CLAIMS, "exp": NOW + 9000}, STRANGER, "new")
    assert status(who, old) == 200
    world.clock.advance(TTL_SECONDS)
    fail(world.issuer, **FAILURES[name])
    assert [status(who, old) for _ in range(3)] == [200] * 3
    assert world.issuer.readings == 2
    assert "could not be read" in caplog.text
    # Whether an unknown key is the issuer's cannot be told now.
    assert (status(who, new), world.issuer.readings) == (503, 2)
    world.clock.advance(COOLDOWN_SECONDS)
    fail(world.issuer, status=200, body=None, keys=[jwk(STRANGER, "new")])
    assert (status(who, new), world.issuer.readings) == (200, 3)
    assert status(who, old) == 401


def test_an_issuer_that_withdraws_all_keys_is_obeyed(world):
    who = world.jwt()
    token = sign({**CLAIMS, "exp": NOW + 9000}, RSA, "rsa")
    assert status(who, token) == 200
    world.issuer.keys = []
    world.clock.advance(TTL_SECONDS)
    assert status(who, token) == 401


def test_a_redirect_to_other_keys_is_not_followed(world, thief):
    fail(world.issuer, status=302, location=thief.url)
    assert status(world.jwt(), sign(CLAIMS, STRANGER, "stranger")) == 503
    assert thief.readings == 0


@pytest.mark.parametrize("drips", ["", "headers", "body"])
def test_an_issuer_that_never_ends_its_answer_holds_up_nobody_for_long(world, drips):
    fail(world.issuer, drips=drips)
    world.issuer.gate.clear()
    who = JwtIdentity(world.keys(patience=0.2), world.clock)
    token = sign(CLAIMS, RSA, "rsa")
    started = time.monotonic()
    assert status(who, token) == 503
    world.clock.advance(RETRY_SECONDS - 0.1)
    assert [status(who, token) for _ in range(50)] == [503] * 50
    assert time.monotonic() - started < 5
    assert world.issuer.readings == 1


def test_keys_go_on_serving_while_a_reading_never_ends(world):
    keys = world.keys(patience=1.5)
    assert keys.find("RS256", "rsa") is not None
    fail(world.issuer, drips="headers")
    world.issuer.gate.clear()
    world.clock.advance(TTL_SECONDS)
    assert keys.find("RS256", "rsa") is not None
    world.clock.advance(COOLDOWN_SECONDS)
    started = time.monotonic()
    assert all(keys.find("RS256", "rsa") is not None for _ in range(50))
    assert time.monotonic() - started < 5
    assert world.issuer.readings == 2


@pytest.mark.parametrize("drips", ["", "body"])
def test_a_slow_document_is_given_up(world, drips):
    fail(world.issuer, drips=drips, body=b" " * 300)
    world.issuer.gate.clear()
    with pytest.raises(Unavailable, match=r"TimeoutError|took more than"):
        read_document(world.issuer.url, 0.2)


def test_no_answer_at_all_is_unavailable(world):
    with published() as gone:
        pass
    keys = RemoteKeys(gone.url, world.clock)
    with pytest.raises(Unavailable, match="ConnectionRefusedError"):
        keys.find("RS256", "rsa")


EMAIL = "desk@agency.example"
GOOGLE_CLAIMS = {
    "iss": "https://accounts.google.com",
    "aud": AUDIENCE,
    "exp": NOW + 600,
    "email": EMAIL,
    "email_verified": True,
}
GRANTS = read_grants(
    '{"desk@agency.example": {"bases": ["agency"], "scope": "write"}, "Ops@agency.example": {"bases": ["*"]}}'
)


def iam(world: World) -> IamIdentity:
    return IamIdentity(world.keys(), world.clock, AUDIENCE, GRANTS)


def test_a_google_identity_opens_what_the_configuration_grants(world):
    who = iam(world)
    bot = sign(GOOGLE_CLAIMS, RSA, "rsa")
    assert status(who, bot) == 200
    assert status(who, bot, "/v1/bases/agency/documents", "POST") == 200
    assert status(who, bot, "/v1/bases/agency", "DELETE") == 403
    assert status(who, bot, "/v1/bases/rival/card") == 403
    ops = sign({**GOOGLE_CLAIMS, "iss": "accounts.google.com", "email": "OPS@agency.example"}, RSA, "rsa")
    assert status(who, ops, "/v1/bases/rival/card") == 200
    assert status(who, ops, "/v1/bases/rival/documents", "POST") == 403


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"iss": "https://accounts.google.com.agency.example"}, 401),
        ({"iss": "https://securetoken.google.com/agency"}, 401),
        ({"iss": None}, 401),
        ({"aud": "another"}, 401),
        ({"aud": None}, 401),
        ({"exp": NOW - 60}, 401),
        ({"nbf": NOW + 60}, 401),
        ({"email_verified": False}, 401),
        ({"email_verified": "true"}, 401),
        ({"email_verified": 1}, 401),
        ({"email_verified": None}, 401),
        ({"email": None}, 401),
        ({"email": [EMAIL]}, 401),
        ({"email": "nobody@agency.example"}, 403),
        ({"email": ""}, 403),
        ({"email": "des\N{KELVIN SIGN}@agency.example"}, 403),
        ({"email": "nobody@agency.example", "bases": ["agency"], "base": "agency", "scope": "admin"}, 403),
    ],
)
def test_a_google_identity_that_is_not_the_granted_one_is_refused_everywhere(world, claims, expected):
    who = iam(world)
    token = sign({**GOOGLE_CLAIMS, **claims}, RSA, "rsa") if claims.get("iss", "") is not None else None
    token = token or sign({name: GOOGLE_CLAIMS[name] for name in GOOGLE_CLAIMS if name != "iss"}, RSA, "rsa")
    assert status(who, token) == expected
    assert status(who, token, "/v1/nowhere") == expected


@pytest.mark.parametrize("name", list(hostile_tokens(Issuer())))
def test_a_token_that_google_did_not_sign_is_unauthorised(world, thief, name):
    assert status(iam(world), hostile_tokens(thief)[name], "/v1/nowhere") == 401
    assert thief.readings == 0


def test_google_signs_with_rsa_alone(world):
    assert status(iam(world), sign(GOOGLE_CLAIMS, EC, "ec")) == 401
    assert status(iam(world), sign(GOOGLE_CLAIMS, RSA, "rsa")) == 200


def test_a_signature_that_cloud_run_took_off_is_explained(world):
    token = sign(GOOGLE_CLAIMS, RSA, "rsa").rsplit(".", 1)[0] + ".SIGNATURE_REMOVED_BY_GOOGLE"
    refused = ask(iam(world), token)
    assert refused.status_code == 401
    assert "X-Serverless-Authorization" in refused.json["detail"]


def test_google_identities_without_an_audience_are_no_configuration(world):
    with pytest.raises(Misconfigured, match="KB_IAM_AUDIENCE"):
        IamIdentity(world.keys(), world.clock, "", GRANTS)


def test_no_thread_is_left_reading(world):
    assert status(world.jwt(), sign(CLAIMS, RSA, "rsa")) == 200
    for thread in threading.enumerate():
        if thread.name == "issuer-keys":
            thread.join(30)
            assert not thread.is_alive()
