"""One scheduled request that compares and mends every base: nobody's base but those that the caller may administer, one
failure that holds up no other, and an end in time. When one fails, drift stays in some bases for ever.
"""

import json
from dataclasses import replace

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.adapters.frozen_clock import FrozenClock
from common.adapters.iam_identity import IamIdentity, read_grants
from common.adapters.jose.keys import RemoteKeys
from common.domain.errors import Unavailable
from common.domain.objects import ObjectRef
from common.identity import Identity
from common.stages.reconcile import KINDS, ROUND_SECONDS
from functions.manage.handle import router as manage_router
from tests.contract.issuer import jwk, published, rsa_key, sign
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import content, whole

BASES = ("acme", "globex", "initech")
EVERYBODY = Identity(None, {"*": "admin"})
NOW = 1_800_000_000


class Watched:
    """A store that may take its time over a listing, or fail, and knows which bases it was asked for."""

    def __init__(self, store, clock):
        self._store, self._clock = store, clock
        self.seconds, self.failures, self.asked = 0.0, {}, []

    def __getattr__(self, name):
        return getattr(self._store, name)

    def list(self, base):
        self.asked.append(base)
        self._clock.advance(self.seconds)
        if base in self.failures:
            raise self.failures[base]
        return self._store.list(base)


@pytest.fixture
def cloud():
    made = CloudMachine(windows=False, clock=FrozenClock(NOW))
    for base in BASES:
        write(made, base, "um")
    made.drain()
    made.watched = Watched(made.store, made.clock)
    made.runtime = replace(made.runtime, reconcile=replace(made.runtime.reconcile, store=made.watched))
    return made


def write(cloud, base, name, parts=1):
    return cloud.store.write(ObjectRef(base, f"{name}.md"), content(name, 1, parts))


def remove(cloud, base, name):
    ref = ObjectRef(base, f"{name}.md")
    cloud.store.delete(ref, cloud.store.stat(ref).generation)


def run(cloud, who=EVERYBODY, body=None, status=200):
    runtime = replace(cloud.runtime, authenticate=who if callable(who) else lambda _: who)
    sent = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    environ = EnvironBuilder("/v1/reconcile", method="POST", **sent).get_environ()
    answer = manage_router(runtime)(Request(environ))
    assert answer.status_code == status, answer.get_data()
    return answer.json


def compared(answer):
    return [row["base"] for row in answer["bases"]]


def drift(answer):
    return {row["base"]: {kind: row[kind] for kind in KINDS if row.get(kind)} for row in answer["bases"]}


def test_bases_without_drift_are_all_told_and_cost_nothing(cloud):
    epochs = [cloud.catalog.epoch(base) for base in BASES]
    answer = run(cloud)
    assert (compared(answer), answer["errors"], answer["left"]) == (list(BASES), [], [])
    assert [answer[kind] for kind in KINDS] == [0] * len(KINDS)
    assert drift(answer) == {base: {} for base in BASES}
    assert [cloud.catalog.epoch(base) for base in BASES] == epochs
    assert cloud.mail == []
    assert "um.md" not in json.dumps(answer)


def test_drift_of_every_base_is_counted_and_mended(cloud):
    """A base of which only the bucket knows has lost all its events: it needs the run most."""
    remove(cloud, "acme", "um")
    write(cloud, "globex", "dois", 2)
    write(cloud, "novo", "tres")
    cloud.mail.clear()
    looked = run(cloud)
    found = {"acme": {"orphaned": 1}, "globex": {"missing": 1}, "initech": {}, "novo": {"missing": 1}}
    assert (drift(looked), looked["missing"], looked["orphaned"]) == (found, 2, 1)
    assert cloud.mail == []
    assert drift(run(cloud, body={"repair": True})) == found
    assert cloud.runtime.listing.jobs("novo", None, None, 10)
    assert cloud.runtime.listing.documents("novo", None, 10)[0]["state"] == "queued"
    cloud.drain()
    assert drift(run(cloud)) == {base: {} for base in found}
    assert whole(cloud.reader.answers, "um", "acme") is None
    assert whole(cloud.reader.answers, "dois", "globex") == (1, 2)
    assert whole(cloud.reader.answers, "tres", "novo") == (1, 1)


def test_what_lies_beside_the_bases_is_looked_up_once(cloud):
    looked = []
    foreign = replace(cloud.runtime.reconcile, foreign=lambda: looked.append(1) or ["Fotos", "leia-me.txt"])
    cloud.runtime = replace(cloud.runtime, reconcile=foreign)
    answer = run(cloud)
    assert (answer["foreign"], len(looked)) == (2, 1)
    assert "foreign" not in answer["bases"][0]


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        (Identity(frozenset({"globex"}), {"*": "admin"}), ["globex"]),
        (Identity(frozenset({"acme", "globex"}), {"*": "write", "globex": "admin"}), ["globex"]),
        (Identity(frozenset({"nobodys"}), {"*": "admin"}), []),
        (Identity(None, {"*": "write", "acme": "admin"}), ["acme"]),
    ],
)
def test_only_what_the_caller_administers_is_touched_and_told(cloud, who, seen):
    for base in BASES:
        remove(cloud, base, "um")
    cloud.mail.clear()
    cloud.watched.failures = {"initech": Unavailable("out of reach")}
    answer = run(cloud, who, {"repair": True})
    assert (compared(answer), answer["errors"], answer["left"]) == (seen, [], [])
    assert cloud.watched.asked == seen
    assert {change.ref.base for change in cloud.mail} == set(seen)
    assert {base for base in BASES if base in json.dumps(answer)} == set(seen)


@pytest.mark.parametrize(
    "who",
    [
        Identity(None, {"*": "write"}),
        Identity(None, {}),
        Identity(frozenset(BASES), {"*": "write"}),
        Identity(frozenset(BASES), {"*": "read", "another": "admin"}),
        Identity(frozenset(), {"*": "admin"}),
    ],
)
def test_who_administers_nothing_is_refused(cloud, who):
    before = list(cloud.catalog.bases())
    assert run(cloud, who, {"repair": True}, status=403)["code"] == "FORBIDDEN"
    assert (list(cloud.catalog.bases()), cloud.watched.asked) == (before, [])


def test_a_base_that_fails_holds_up_no_other_and_is_told_with_its_reason(cloud, logged):
    cloud.watched.failures = {"acme": Unavailable("The bucket is out of reach."), "globex": KeyError("hush-hush")}
    answer = run(cloud)
    assert compared(answer) == ["initech"]
    first, second = answer["errors"]
    assert first == {"base": "acme", "code": "UNAVAILABLE", "detail": "The bucket is out of reach."}
    assert (second["base"], second["code"]) == ("globex", "INTERNAL")
    assert "hush-hush" not in second["detail"]
    reference = second["detail"].rsplit(" ", 1)[-1].rstrip(".")
    assert [line.error_type for line in logged if getattr(line, "request_id", "") == reference] == ["KeyError"]
    assert [line.reason for line in logged if line.getMessage() == "not reconciled"] == ["UNAVAILABLE", "INTERNAL"]


def test_no_base_loses_most_of_its_files_by_a_schedule(cloud):
    for number in range(22):
        write(cloud, "acme", f"n{number}")
    cloud.drain()
    for number in range(22):
        remove(cloud, "acme", f"n{number}")
    remove(cloud, "globex", "um")
    cloud.mail.clear()
    answer = run(cloud, body={"repair": True})
    assert [(row["base"], row["code"]) for row in answer["errors"]] == [("acme", "MASS_REMOVAL")]
    assert [change.ref.base for change in cloud.mail] == ["globex"]
    assert run(cloud, body={"repair": True, "yes": True})["errors"] == []


def test_a_run_ends_in_time_and_the_next_one_begins_with_what_was_left(cloud):
    for number in range(5):
        write(cloud, f"base{number}", "um")
    cloud.drain()
    cloud.watched.seconds = ROUND_SECONDS / 2.5
    everything = sorted([*BASES, *(f"base{number}" for number in range(5))])
    runs = [run(cloud) for _ in range(3)]
    assert [compared(answer) for answer in runs] == [
        everything[:3],
        everything[3:6],
        [*everything[6:], everything[0]],
    ]
    assert runs[0]["left"] == everything[3:]
    assert runs[1]["left"] == [*everything[6:], *everything[:3]]


def test_a_base_that_always_fails_or_ends_the_process_waits_its_turn_like_all_others(cloud):
    """When it fails: every run begins with it, and those behind it never have their turn."""
    cloud.watched.seconds = ROUND_SECONDS
    cloud.watched.failures = {"acme": Unavailable("out of reach"), "globex": KeyboardInterrupt()}
    assert [row["base"] for row in run(cloud)["errors"]] == ["acme"]
    with pytest.raises(KeyboardInterrupt):
        run(cloud)
    assert compared(run(cloud)) == ["initech"]


def test_a_base_that_went_meanwhile_or_is_an_empty_folder_is_no_failure(cloud):
    store = cloud.watched
    store.bases = lambda: [*BASES, "pasta-vazia"]
    answer = run(cloud)
    assert (compared(answer), answer["errors"], answer["left"]) == (list(BASES), [], [])


def test_a_bucket_that_cannot_be_listed_is_no_cloud_without_bases(cloud):
    cloud.store.broken = Unavailable("The bucket is out of reach.")
    assert run(cloud, status=503)["code"] == "UNAVAILABLE"


def test_a_cloud_without_a_base_has_nothing_to_compare():
    answer = run(CloudMachine(windows=False))
    assert (answer["bases"], answer["errors"], answer["left"], answer["missing"]) == ([], [], [], 0)


@pytest.mark.parametrize("body", [{"repair": "yes"}, {"base": "acme"}, {"repair": 1}, []])
def test_a_body_that_asks_for_something_else_is_refused(cloud, body):
    run(cloud, body=body, status=400)
    assert cloud.watched.asked == []


@pytest.mark.parametrize(
    ("grant", "seen"),
    [
        ({"bases": ["*"], "scope": "admin"}, list(BASES)),
        ({"bases": ["globex"], "scope": "admin"}, ["globex"]),
        ({"bases": ["*"], "scope": "write"}, None),
        ({"bases": ["*"]}, None),
    ],
)
def test_a_scheduler_is_known_by_its_google_identity(cloud, grant, seen):
    """Cloud Scheduler sends an OIDC token of its service account; KB_IAM_BASES says what that one may."""
    key, audience = rsa_key(), "https://manage.example"
    email = "scheduler@agency.iam.gserviceaccount.com"
    claims = {"iss": "https://accounts.google.com", "aud": audience, "exp": NOW + 600, "email": email}
    token = sign({**claims, "email_verified": True}, key, "rsa")
    with published(jwk(key, "rsa")) as issuer:
        who = IamIdentity(
            RemoteKeys(issuer.url, cloud.clock), cloud.clock, audience, read_grants(json.dumps({email: grant}))
        )
        answer = run(cloud, lambda _: who({"Authorization": f"Bearer {token}"}), {}, 200 if seen is not None else 403)
        assert seen is None or compared(answer) == seen
        refused = run(cloud, lambda _: who({"Authorization": "Bearer nothing"}), {}, 401)
        assert refused["code"] != "FORBIDDEN"


def test_a_round_that_repairs_fits_the_gates_that_are_due(cloud):
    for base in BASES:
        write(cloud, base, "muitos", parts=40)
    cloud.drain()
    assert set(cloud.runtime.gate_fit.due()) == set(BASES)
    assert run(cloud, body={"repair": False})["fitted"] == []
    assert set(run(cloud, who=Identity(frozenset({"acme"}), {"*": "admin"}), body={"repair": True})["fitted"]) == {
        "acme"
    }
    assert set(run(cloud, body={"repair": True})["fitted"]) == {"globex", "initech"}
    assert run(cloud, body={"repair": True})["fitted"] == []
