"""Workers in the cloud's shape that are killed at each boundary, or that sleep there past their lease and wake up after
another one took over: the end is that of a clean run, and no reader on the way misses or halves a document.
"""

from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content


def test_a_worker_that_wakes_late_leaves_alone_the_version_that_answers_although_a_newer_one_was_announced():
    machine = CloudMachine()
    change = machine.put("um", content("um", 1, 3))
    sleeper = machine.start(machine.mail.pop())
    while sleeper.at != "before upsert":
        machine.let(sleeper, 1)
    machine.clock.advance(61)
    machine.mail.append(change)
    machine.drain_around_sleepers()
    machine.runtime.manage.upload(BASE, "um.md", content("um", 2, 2), "")
    machine.let(sleeper)
    assert machine.seen("um") == (1, 3)
    machine.drain()
    machine.check()
