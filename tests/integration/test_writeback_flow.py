"""Write-back inside the ingest flow: switched off, on, killed around it, failed and made good."""

import pytest

from common.adapters.plain_parser import PlainParser
from common.bootstrap import local_runtime
from common.domain.objects import ObjectRef
from common.settings import read_settings
from tests.integration.one_machine import OneMachine, content
from tests.integration.test_writeback import BASE, System, says


class Telling(OneMachine):
    """A machine whose caller's system listens on a port of its own; `on` switches write-back."""

    system = None
    on = True

    def open(self):
        url = f"{self.system.address}/affiliates/{{affiliate_id}}/root_agent"
        settings = read_settings(
            {
                "KB_DATA_DIR": str(self.folder / "data"),
                "KB_CACHE_TTL": "0",
                "KB_WRITEBACK_ENABLED": str(self.on),
                "KB_WRITEBACK_URL": url,
                "KB_WRITEBACK_TOKEN_URL": f"{self.system.address}/sign-in",
                "KB_WRITEBACK_EMAIL": "kb@app.test",
                "KB_WRITEBACK_PASSWORD": "s3nh4",
            }
        )
        return local_runtime(settings, embedder=self.embedder, parser=PlainParser(), clock=self.clock, step=self.step)

    def put(self, name, base=BASE, parts=1):
        self.runtime.store.write(ObjectRef(base, f"{name}.md"), content(name, 1, parts))
        self.settle()

    def job(self, name, base=BASE):
        return next(job for job in self.runtime.catalog.jobs(base) if job.ref.name == f"{name}.md")


@pytest.fixture
def telling(tmp_path):
    Telling.system = System()
    Telling.on = True
    machine = Telling(tmp_path)
    yield machine
    machine.runtime.close()
    Telling.system.close()


def test_the_first_document_of_a_base_tells_its_alias_once(telling):
    telling.put("vazio", parts=0)
    assert telling.system.tokens() == []
    telling.put("um")
    telling.put("dois")
    assert len(telling.system.tokens()) == 1
    assert [telling.job(name).writeback_status for name in ("vazio", "um", "dois")] == [None, "success", "success"]
    assert telling.runtime.catalog.base(BASE).written_back == f"{BASE}_kb"


def test_a_failure_changes_no_state_and_the_repair_makes_it_good(telling):
    telling.system.agent = [says(403)]
    telling.put("um")
    job = telling.job("um")
    assert (job.state, job.writeback_status, job.finished) == ("indexed", "failed", True)
    epoch = telling.runtime.catalog.epoch(BASE)
    telling.system.agent = [says(200)]
    done = telling.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert done["writeback_status"] == "success"
    assert telling.job("um").writeback_status == "success"
    assert "writeback_status" not in telling.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert telling.runtime.catalog.epoch(BASE) == epoch


def test_switched_off_it_asks_nothing_and_switched_on_later_it_is_made_good(telling):
    Telling.on = False
    telling.restart()
    telling.put("um")
    assert telling.system.asked == []
    assert telling.job("um").writeback_status is None
    Telling.on = True
    telling.restart()
    telling.put("dois")
    assert len(telling.system.tokens()) == 1


def test_a_kill_between_the_telling_and_its_record_tells_again(telling):
    telling.runtime.store.write(ObjectRef(BASE, "um.md"), content("um", 1, 1))
    delivery = telling.runtime.queue.take("kb-events", 3600)

    def die(name):
        telling.kill_after = 0 if name == "notified" else None

    telling.on_step = die
    telling.deliver(delivery)
    telling.on_step = None
    assert (len(telling.system.tokens()), telling.job("um").writeback_status) == (1, None)
    telling.settle()
    assert (len(telling.system.tokens()), telling.job("um").writeback_status) == (2, "success")
    assert telling.job("um").finished


def test_a_base_that_is_no_affiliate_says_so(telling):
    telling.put("um", base="acme")
    job = telling.job("um", base="acme")
    assert (job.state, job.writeback_status) == ("indexed", "failed")
    assert "affiliate_" in job.writeback_error
    assert telling.system.asked == []
