"""What a file costs in writes of Firestore, from its announcement to the last flag: each document written is one. When
one of these grows, look at which collection it is in, and at layout.py for what stands together.
"""

import pytest

from common.adapters.firestore.catalog import FirestoreCatalog
from common.domain.objects import ObjectChange, ObjectRef
from tests.contract.emulators import Meter, firestore_client, new_project, tap
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content

MOST = 6
"""Writes of one version of a file that holds one document, progress apart."""
SOURCE = "um.md"
REF = ObjectRef(BASE, SOURCE)


@pytest.fixture
def meter():
    return Meter()


@pytest.fixture
def machine(meter):
    """A base whose collection is there: its first file makes it."""
    with firestore_client(new_project()) as client:
        tap(client, meter)
        made = CloudMachine(catalog=FirestoreCatalog(client), windows=False)
        made.put("primeiro", content("primeiro", 1, 1))
        made.drain()
        yield made


def upload(machine, version, *, asked, parts=2):
    """By our route, which announces the job, or by another program straight into the bucket."""
    data = content("um", version, parts)
    machine.names.add("um")
    if asked:
        machine.runtime.manage.upload(BASE, SOURCE, data, "")
    else:
        machine.put("um", data)


def spent(machine, meter):
    """Deliver all that the bucket tells of, with what was written since the meter was reset."""
    machine.drain()
    counted = dict(meter.collections())
    machine.check()
    return counted


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(False, {"kb_objects": 2, "kb_epochs": 1, "kb_jobs": 1}), (True, {"kb_objects": 3, "kb_epochs": 1, "kb_jobs": 1})],
    ids=["bucket", "route"],
)
def test_a_new_file(machine, meter, asked, expected):
    """Announced (by the route), claimed, published with its document and the epoch, finished."""
    meter.reset()
    upload(machine, 1, asked=asked)
    assert spent(machine, meter) == expected
    assert len(meter.writes) <= MOST


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(False, {"kb_objects": 2, "kb_epochs": 2, "kb_jobs": 1}), (True, {"kb_objects": 3, "kb_epochs": 2, "kb_jobs": 1})],
    ids=["bucket", "route"],
)
@pytest.mark.parametrize("removal_first", [False, True])
@pytest.mark.parametrize("direct", [False, True], ids=["notification", "direct"])
def test_an_overwrite_with_the_removal_of_the_old_version_in_any_order(
    machine, meter, asked, expected, removal_first, direct
):
    """The epoch moves twice: when the new version answers, and when the old one's passages no longer count. The event
    of the old version's removal is included; it costs nothing, whether it names its successor or not.
    """
    machine.direct = direct
    upload(machine, 1, asked=asked)
    machine.drain()
    for version in (2, 3):
        meter.reset()
        upload(machine, version, asked=asked)
        assert sorted(change.kind for change in machine.mail) == ["delete", "finalize"]
        machine.mail.sort(key=lambda change: change.removes != removal_first)
        assert spent(machine, meter) == expected
        assert len(meter.writes) <= MOST


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(False, {"kb_objects": 2, "kb_epochs": 2, "kb_jobs": 1}), (True, {"kb_objects": 3, "kb_epochs": 2, "kb_jobs": 1})],
    ids=["bucket", "route"],
)
def test_a_removal(machine, meter, asked, expected):
    upload(machine, 1, asked=False)
    machine.drain()
    meter.reset()
    if asked:
        machine.runtime.manage.delete(BASE, SOURCE)
    else:
        machine.store.delete(REF, machine.store.stat(REF).generation)
    assert spent(machine, meter) == expected
    assert len(meter.writes) <= MOST
    assert machine.catalog.documents_named(BASE, SOURCE) == []


def test_what_is_delivered_again_costs_nothing(machine, meter):
    upload(machine, 1, asked=True)
    machine.drain()
    change = ObjectChange("finalize", REF, machine.store.stat(REF).generation)
    meter.reset()
    machine.mail += [change, change]
    assert spent(machine, meter) == {}
    machine.runtime.manage.upload(BASE, SOURCE, content("um", 1, 2), "")
    assert spent(machine, meter) == {}


@pytest.mark.parametrize("asked", [False, True], ids=["bucket", "route"])
def test_a_file_that_is_at_fault_itself(machine, meter, asked):
    upload(machine, 1, asked=False)
    machine.drain()
    meter.reset()
    if asked:
        machine.runtime.manage.upload(BASE, SOURCE, b"\x00\x01binary", "")
    else:
        machine.put("um", b"\x00\x01binary")
    machine.drain()
    assert machine.catalog.object(REF).state == "skipped"
    assert 5 <= len(meter.writes) <= MOST


def test_a_version_that_is_past_costs_its_record(machine, meter):
    upload(machine, 1, asked=False)
    machine.mail.clear()
    older = machine.store.stat(REF).generation
    upload(machine, 2, asked=False)
    machine.drain()
    meter.reset()
    machine.mail.append(ObjectChange("finalize", REF, older))
    assert spent(machine, meter) == {"kb_jobs": 1}


def test_a_file_of_many_documents_costs_each_of_them_once_when_it_comes_and_once_when_it_goes(machine, meter):
    machine.put("varios", content("varios", 1, 8))
    meter.reset()
    assert spent(machine, meter) == {"kb_objects": 2 + 2, "kb_epochs": 1, "kb_jobs": 1}
    meter.reset()
    machine.put("varios", content("varios", 2, 8))
    assert spent(machine, meter) == {"kb_objects": 2 + 2 + 2, "kb_epochs": 2, "kb_jobs": 1}


def test_progress_is_written_once_a_second_however_fast_the_batches_are(machine, meter):
    batches = 60
    change = machine.put("longo", content("longo", 1, 32 * batches))
    machine.names.remove("longo")
    worker = machine.start(machine.mail.pop())
    since = machine.clock.now()
    meter.reset()
    while worker.resume():
        machine.clock.advance(0.02 if worker.at == "upsert" else 0.0)
    machine.part(worker)
    seconds = machine.clock.now() - since
    assert seconds == pytest.approx(batches * 0.02, rel=0.1)
    assert 1 <= meter.collections()["kb_objects"] - 2 <= seconds + 1
    assert machine.job(change).passages == 32 * batches
