"""Any order of writing, deleting, scanning, delivering twice, late or reordered, and being killed, ends with the index
equal to the folder, and no reader on the way sees half a document. When it fails, read the steps from the first kill.
"""

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from common.ports import Delivery
from tests.integration.one_machine import OneMachine, content

SCHEDULES = int(os.environ.get("KB_TEST_SCHEDULES", "200"))
NAMES = st.sampled_from(["um", "dois", "tres"])


class FolderAndIndex(RuleBasedStateMachine):
    """A folder, the events of its changes in any order, and the index that has to follow."""

    @initialize()
    def open(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.machine = OneMachine(Path(self.temporary.name))
        self.version = 0
        self.expected: dict[str, tuple[int, int]] = {}
        self.kept: list[Delivery] = []

    def teardown(self) -> None:
        try:
            self.machine.kill_after = None
            for delivery in self.kept:
                self.machine.deliver(delivery)
            self.machine.settle()
            self.machine.check(self.expected)
        finally:
            self.machine.runtime.close()
            self.temporary.cleanup()

    @rule(name=NAMES, parts=st.integers(0, 4), through_store=st.booleans())
    def write(self, name: str, parts: int, through_store: bool) -> None:
        self.version += 1
        self.machine.names.add(name)
        data = content(name, self.version, parts)
        if through_store:
            self.machine.runtime.manage.upload("acme", f"{name}.md", data, "")
        else:
            self.machine.files.mkdir(parents=True, exist_ok=True)
            (self.machine.files / f"{name}.md").write_bytes(data)
        if parts:
            self.expected[name] = (self.version, parts)
        else:
            self.expected.pop(name, None)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.machine.files / f"{name}.md").unlink(missing_ok=True)
        self.expected.pop(name, None)

    @rule()
    def scan(self) -> None:
        self.machine.runtime.scan.scan(allow_mass_removal=True)

    @rule(kill_after=st.none() | st.integers(0, 12), acknowledged=st.booleans())
    def deliver(self, kill_after: int | None, acknowledged: bool) -> None:
        delivery = self.machine.runtime.queue.take("kb-events", 3600)
        if delivery is None:
            self.machine.clock.advance(1)
            return
        self.machine.kill_after = kill_after
        self.machine.deliver(delivery)
        self.machine.kill_after = None
        if not acknowledged:
            self.kept.append(delivery)

    @rule()
    def hold_back(self) -> None:
        """A message that is delivered much later than those behind it."""
        delivery = self.machine.runtime.queue.take("kb-events", 3600)
        if delivery is not None:
            self.kept.append(delivery)

    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        if self.kept:
            self.machine.deliver(self.kept.pop(data.draw(st.integers(0, len(self.kept) - 1))))

    @rule(seconds=st.floats(0.1, 90))
    def wait(self, seconds: float) -> None:
        self.machine.clock.advance(seconds)

    @rule()
    def restart(self) -> None:
        self.machine.restart()

    @invariant()
    def readers_see_whole_documents(self) -> None:
        self.machine.look()


FolderAndIndex.TestCase.settings = settings(
    max_examples=SCHEDULES,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestFolderAndIndex = FolderAndIndex.TestCase
