"""Write-back without a network: addresses, tokens, what is recorded, and the stage's patience under a frozen clock."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.frozen_clock import FrozenClock
from common.adapters.http_notifier import HttpNotifier
from common.adapters.memory_catalog import MemoryCatalog
from common.domain.codes import STATES
from common.domain.errors import Misconfigured, Refused, Unavailable
from common.domain.objects import BASE_ID, ObjectChange, ObjectRef
from common.domain.records import BaseRecord, Decision, Held, JobRecord
from common.domain.writeback import Notice, NoticeReply, Told, bearer, told_of, writeback_address
from common.stages.writeback import BRIEF_SECONDS, DOWN_SECONDS, SECONDS, TOKEN_SECONDS, Callee, WriteBack

BASE = "affiliate_11522"
REF = ObjectRef(BASE, "um.md")
CHANGE = ObjectChange("finalize", REF, 7)
URL = "https://app.test/v2/affiliates/{affiliate_id}/root_agent"
SIGN_IN = "https://login.test/sign-in"
PASSWORD = "s3nh4-da-conta"
CALLEE = Callee(URL, SIGN_IN, "kb@app.test", PASSWORD, "{base}_kb")
GRANTED = NoticeReply(200, {"token": "t0ken"})


@dataclass
class Scripted:
    """A caller's system that answers from a list, the last answer for ever; `took` seconds pass with each."""

    signs_in: list[NoticeReply | Exception] = field(default_factory=lambda: [GRANTED])
    answers: list[NoticeReply | Exception] = field(default_factory=lambda: [NoticeReply(200)])
    took: float = 0.0
    sent: list[Notice] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    time: float = 0.0

    def send(self, notice, seconds):
        self.sent.append(notice)
        self.time += min(self.took, seconds)
        script = self.signs_in if notice.method == "POST" else self.answers
        reply = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def wait(self, seconds):
        self.waited.append(seconds)
        self.time += seconds

    def count(self, method):
        return sum(notice.method == method for notice in self.sent)


@dataclass
class Setting:
    """A base with one job, and a write-back of it."""

    other: Scripted
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(1_000_000.0))
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)

    def __post_init__(self):
        self.stage = WriteBack(
            self.catalog, self.clock, self.other, CALLEE, wait=self.other.wait, ticks=lambda: self.other.time
        )
        self.put(CHANGE)

    def put(self, change, state="indexed"):
        base = change.ref.base
        job = JobRecord(change.job_id, change.ref, change.generation, state=state, created_at=self.clock.now())
        known = self.catalog.base(base) or BaseRecord(base, live=f"{base}_kb__1")
        self.catalog.update_base(base, lambda _: (known, None), raise_epoch=False)
        self.catalog.transact(change.ref, change.job_id, lambda held: Decision(None, replace(held, job=job)))

    def finish(self, change=CHANGE):
        """Tell, and record as the transaction does that ends the job."""
        told = self.stage.after(change)
        now = self.clock.now()
        self.catalog.transact(change.ref, change.job_id, lambda held: told_of(Decision(None, held), told, now))
        return told

    def written_back(self):
        return self.catalog.base(BASE).written_back

    def job(self, change=CHANGE):
        return self.catalog.job(change.ref.base, change.job_id)


@given(st.from_regex(BASE_ID, fullmatch=True))
def test_only_an_affiliates_base_has_an_address(base):
    found = writeback_address("https://app.test/{base}/x/{affiliate_id}", base)
    if base.startswith("affiliate_") and base != "affiliate_":
        assert found == f"https://app.test/{base}/x/{base[len('affiliate_') :]}"
    else:
        assert found is None


@given(st.text(max_size=30).map(lambda text: f"affiliate_{text}"))
def test_no_base_can_bend_an_address(base):
    found = writeback_address("https://app.test/affiliates/{affiliate_id}/root_agent", base)
    assert found is None or set(found.split("/")[4]) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


def test_the_address_of_the_contract():
    assert writeback_address(URL, BASE) == "https://app.test/v2/affiliates/11522/root_agent"
    assert writeback_address(URL, "affiliate_") is None


@pytest.mark.parametrize(
    ("body", "token"),
    [
        ({"token": "a.b-c_d~+/="}, "a.b-c_d~+/="),
        ({"access_token": "b"}, "b"),
        ({"token": None, "access_token": "b"}, "b"),
        ({"token": "a", "access_token": "b"}, "a"),
        ({}, None),
        ({"token": ""}, None),
        ({"token": 5}, None),
        ({"token": "a\r\nX-Other: 1"}, None),
        ({"token": "a b"}, None),
        ({"token": "ação"}, None),
        ({"token": "a" * 8193}, None),
    ],
)
def test_a_token_is_one_word_that_a_header_can_hold(body, token):
    assert bearer(body) == token


@given(
    state=st.sampled_from(STATES),
    told=st.none() | st.builds(Told, st.just("x_kb"), st.sampled_from(["success", "failed"]), st.none() | st.text()),
    before=st.sampled_from(["", "x_kb", "old_kb"]),
)
def test_an_outcome_touches_nothing_but_its_own_fields(state, told, before):
    job = JobRecord("j", REF, 7, state=state, reason="as it was", updated_at=1.0)
    held = Held(BaseRecord(BASE, written_back=before), None, job)
    after = told_of(Decision("published", held, raise_epoch=False), told, 2.0)
    assert (after.value, after.raise_epoch) == ("published", False)
    kept = replace(after.held.job, writeback_status=None, writeback_error=None, updated_at=1.0)
    assert kept == job
    recorded = told is not None and state == "indexed"
    assert after.held.job.writeback_status == (told.status if recorded else None)
    assert len(after.held.job.writeback_error or "") <= 300
    taken = recorded and told.status == "success"
    assert after.held.base == BaseRecord(BASE, written_back="x_kb" if taken else before)


def test_an_indexed_document_tells_its_bases_alias_once():
    case = Setting(Scripted())
    assert case.finish() == Told(f"{BASE}_kb", "success")
    asked, told = case.other.sent
    assert (asked.method, asked.address) == ("POST", SIGN_IN)
    assert asked.body == {"email": "kb@app.test", "password": PASSWORD}
    assert (told.method, told.address, told.token) == (
        "PATCH",
        "https://app.test/v2/affiliates/11522/root_agent",
        "t0ken",
    )
    assert told.body == {"knowledgeBaseCollection": f"{BASE}_kb"}
    assert (case.written_back(), case.job().writeback_status, case.job().state) == (f"{BASE}_kb", "success", "indexed")
    second = ObjectChange("finalize", ObjectRef(BASE, "dois.md"), 8)
    case.put(second)
    case.finish(second)
    assert len(case.other.sent) == 2
    assert case.job(second).writeback_status == "success"


@pytest.mark.parametrize("state", sorted(set(STATES) - {"indexed"}))
def test_only_an_indexed_job_tells(state):
    case = Setting(Scripted())
    case.put(CHANGE, state)
    assert case.finish() is None
    assert case.other.sent == []
    assert case.job().writeback_status is None


def test_a_removal_tells_nothing():
    case = Setting(Scripted())
    assert case.stage.after(ObjectChange("delete", REF, 7)) is None
    assert case.other.sent == []


def test_a_base_without_the_prefix_is_not_written_back_and_says_so():
    case = Setting(Scripted())
    other = ObjectChange("finalize", ObjectRef("acme", "um.md"), 1)
    case.put(other)
    case.finish(other)
    assert case.other.sent == []
    assert case.job(other).writeback_status == "failed"
    assert "affiliate_" in case.job(other).writeback_error
    assert case.catalog.base("acme").written_back == ""


def test_a_crash_before_the_record_tells_again():
    case = Setting(Scripted())
    case.stage.after(CHANGE)
    case.finish()
    assert case.other.count("PATCH") == 2
    assert case.written_back() == f"{BASE}_kb"


def test_another_alias_is_told_anew():
    case = Setting(Scripted())
    case.finish()
    renamed = WriteBack(case.catalog, case.clock, case.other, replace(CALLEE, alias="kb-{base}"))
    assert renamed.after(CHANGE) == Told(f"kb-{BASE}", "success")


def test_a_token_serves_55_minutes():
    case = Setting(Scripted())
    for _ in range(2):
        case.stage.after(CHANGE)
    assert case.other.count("POST") == 1
    case.clock.advance(TOKEN_SECONDS - 1)
    case.stage.after(CHANGE)
    assert case.other.count("POST") == 1
    case.clock.advance(1)
    case.stage.after(CHANGE)
    assert case.other.count("POST") == 2


def test_a_refused_token_is_renewed_once():
    case = Setting(Scripted(answers=[NoticeReply(401), NoticeReply(200)]))
    assert case.stage.after(CHANGE).status == "success"
    assert (case.other.count("POST"), case.other.count("PATCH")) == (2, 2)


def test_a_token_refused_twice_fails_and_is_forgotten():
    case = Setting(Scripted(answers=[NoticeReply(401), NoticeReply(401), NoticeReply(200)]))
    told = case.finish()
    assert (told.status, told.error) == ("failed", "The write-back address answered 401.")
    assert (case.other.count("POST"), case.other.count("PATCH")) == (2, 2)
    assert (case.job().state, case.written_back()) == ("indexed", "")
    assert case.finish().status == "success"
    assert case.other.count("POST") == 3


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 301, 302, 307, 308])
def test_an_answer_that_no_retry_betters_is_asked_once(status):
    case = Setting(Scripted(answers=[NoticeReply(status)]))
    told = case.finish()
    assert told.status == "failed"
    assert str(status) in told.error
    assert case.other.count("PATCH") == 1


@pytest.mark.parametrize("failure", [NoticeReply(500), NoticeReply(429), Unavailable("did not answer")])
def test_a_passing_failure_is_retried_with_growing_pauses(failure):
    case = Setting(Scripted(answers=[failure, failure, NoticeReply(204)]))
    assert case.finish().status == "success"
    assert case.other.count("PATCH") == 3
    assert case.other.waited[0] < case.other.waited[1]


@pytest.mark.parametrize("where", ["signs_in", "answers"])
@pytest.mark.parametrize("took", [0.0, 2.0, 100.0])
def test_a_dead_system_costs_seconds_and_then_next_to_nothing(where, took):
    case = Setting(Scripted(took=took, **{where: [Unavailable("did not answer")]}))
    assert case.finish().status == "failed"
    assert case.other.time <= SECONDS
    before, at = len(case.other.sent), case.other.time
    case.finish()
    brief = len(case.other.sent) - before
    assert brief == 1
    assert case.other.time - at <= BRIEF_SECONDS
    case.clock.advance(DOWN_SECONDS)
    case.finish()
    assert len(case.other.sent) - before - brief > 1


def test_the_next_document_makes_a_failed_one_good():
    case = Setting(Scripted(answers=[*[NoticeReply(500)] * 3, NoticeReply(200)]))
    assert case.finish().status == "failed"
    second = ObjectChange("finalize", ObjectRef(BASE, "dois.md"), 8)
    case.put(second)
    assert case.finish(second).status == "success"
    assert case.written_back() == f"{BASE}_kb"


def test_a_repair_makes_it_good_on_the_newest_indexed_job():
    case = Setting(Scripted(answers=[*[NoticeReply(500)] * 3, NoticeReply(200)]))
    case.finish()
    assert case.job().writeback_status == "failed"
    assert case.stage.repair(BASE).status == "success"
    assert (case.job().writeback_status, case.job().writeback_error) == ("success", None)
    assert case.written_back() == f"{BASE}_kb"
    assert case.stage.repair(BASE) is None
    assert case.other.count("PATCH") == 4


def test_a_repair_of_a_base_without_an_indexed_document_tells_nothing():
    case = Setting(Scripted())
    case.put(CHANGE, "empty")
    assert case.stage.repair(BASE) is None
    assert case.other.sent == []


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": "a\nb"}])
def test_a_sign_in_without_a_token_fails_without_telling(body):
    case = Setting(Scripted(signs_in=[NoticeReply(200, body)]))
    assert case.finish() == Told(f"{BASE}_kb", "failed", "The sign-in address answered without a token.")
    assert case.other.count("PATCH") == 0


@pytest.mark.parametrize(
    "script",
    [
        {"signs_in": [NoticeReply(403, {"error": PASSWORD})]},
        {"signs_in": [Refused(422, "FOREIGN_ADDRESS", "no setting names its host.")]},
        {"answers": [NoticeReply(500, {"detail": f"t0ken {PASSWORD}"})]},
    ],
)
def test_no_secret_is_recorded_or_shown(script):
    case = Setting(Scripted(**script))
    told = case.finish()
    assert told.status == "failed"
    shown = f"{case.job()} {case.catalog.base(BASE)} {CALLEE} {case.other.sent} {GRANTED}"
    assert PASSWORD not in shown
    assert "t0ken" not in shown


@pytest.mark.parametrize(
    "address",
    [
        "http://app.test/x",
        "ftp://app.test/x",
        "https://user:word@app.test/x",
        "https://{base}.app.test/x",
        "https:///x",
        "https://app.test:port/x",
        "https://app.test/a b",
        "https://app.test/\r\nX: 1",
        "app.test/x",
        "",
    ],
)
def test_an_address_that_is_not_safe_is_refused_by_its_setting(address):
    with pytest.raises(Misconfigured, match="KB_WRITEBACK_URL"):
        HttpNotifier({"KB_WRITEBACK_URL": address, "KB_WRITEBACK_TOKEN_URL": SIGN_IN})


@pytest.mark.parametrize(
    "address",
    [
        "https://other.test/x",
        "https://app.test:8443/x",
        "http://app.test/x",
        "https://app.test@other.test/x",
        "http://127.0.0.1/x",
    ],
)
def test_a_host_that_no_setting_names_is_never_asked(address):
    notifier = HttpNotifier({"KB_WRITEBACK_URL": URL, "KB_WRITEBACK_TOKEN_URL": SIGN_IN})
    with pytest.raises(Refused):
        notifier.send(Notice("PATCH", address, {}), 1.0)
