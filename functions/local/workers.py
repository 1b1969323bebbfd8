"""The broker of one machine: takes what is due from the queue and hands it to the functions, as a push would."""

import base64
import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from cloudevents.http import CloudEvent

from common.domain.errors import FicharioError, Misconfigured, Transient
from common.ports import Delivery
from common.runtime import LocalRuntime, Runtime
from functions.ingest.decode import PUSHED
from functions.ingest.handle import handle
from functions.reindex.handle import handle as handle_order

HOLD_SECONDS: Final = 3600.0
"""How long a message stays with its worker; a start of the process gives back what a killed one held."""
IDLE_SECONDS: Final = 1.0
TIDY_SECONDS: Final = 3600.0
"""How often it is looked whether a collection that was replaced may be freed."""
_log = logging.getLogger("fichario.worker")


Take = Callable[[Delivery, Runtime], None]


def take_event(delivery: Delivery, runtime: Runtime) -> None:
    """An event of the bucket, as a push brings it."""
    handle(push(delivery), runtime)


def take_order(delivery: Delivery, runtime: Runtime) -> None:
    """An order of a migration."""
    handle_order(delivery.message.data, runtime)


def topics(runtime: Runtime) -> Mapping[str, Take]:
    """Who takes the messages of each topic."""
    return {runtime.settings.kb_topic_events: take_event, runtime.settings.kb_topic_reindex: take_order}


class Workers:
    """A fixed number of threads that work one topic. `bell` is rung when work arrives; once `stopping` is set, what was
    begun comes to its next checkpoint and no more is taken. With `fits`, idle workers fit the gates that are due.
    """

    def __init__(
        self,
        runtime: LocalRuntime,
        topic: str,
        bell: threading.Event,
        stopping: threading.Event,
        *,
        count: int,
        fits: bool,
    ) -> None:
        self._fits = fits
        self._topic = topic
        self._runtime = runtime
        self._bell = bell
        self._stopping = stopping
        self._unfit: set[str] = set()
        self._tidies_at = 0.0
        self._threads = [threading.Thread(target=self._run, name=f"{topic}-{i}", daemon=True) for i in range(count)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every worker come to its next checkpoint, and wait for them."""
        self._stopping.set()
        self._bell.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        queue, topic = self._runtime.queue, self._topic
        while not self._stopping.is_set():
            try:
                delivery = queue.take(topic, HOLD_SECONDS)
            except Transient as error:
                _log.warning("the queue does not answer", extra={"error": str(error)})
                self._stopping.wait(IDLE_SECONDS)
                continue
            if delivery is not None:
                deliver(self._runtime, delivery)
            elif queue.waiting(topic) or not (self._fit_gates() or self._retire_due()):
                self._wait(queue.next_due(topic))

    def _fit_gates(self) -> bool:
        """When nothing else is to do, fit the gates that changed bases need; answers whether there was one."""
        due = [b for b in self._runtime.gate_fit.due() if b not in self._unfit] if self._fits else []
        if not due:
            return False
        try:
            self._runtime.gate_fit.run(due[0])
        except FicharioError as error:
            self._unfit.add(due[0])
            _log.warning("a gate could not be fitted", extra={"error": str(error)})
        return True

    def _retire_due(self) -> bool:
        """Who works the orders frees the collections whose grace is over, as a schedule does in the cloud; answers
        whether there was one.
        """
        now = self._runtime.clock.now()
        if self._topic != self._runtime.settings.kb_topic_reindex or now < self._tidies_at:
            return False
        self._tidies_at = now + TIDY_SECONDS
        try:
            return bool(self._runtime.reindexing.retire_due())
        except FicharioError as error:
            _log.warning("nothing could be retired", extra={"error": str(error)})
            return False

    def _wait(self, due: float | None) -> None:
        until = IDLE_SECONDS if due is None else min(IDLE_SECONDS, max(0.0, due - self._runtime.clock.now()))
        if self._bell.wait(until):
            self._bell.clear()


def deliver(runtime: LocalRuntime, delivery: Delivery) -> bool:
    """Hand one message over; False when it goes back to the queue."""
    try:
        topics(runtime)[delivery.topic](delivery, runtime)
    except (Transient, Misconfigured) as error:
        _log.warning("delivered again later", extra={"error": str(error), "attempt": delivery.attempt})
        runtime.queue.retry(delivery, counts=False)
        return False
    except Exception as error:  # noqa: BLE001 - as a broker sees it: the function failed, the message comes back
        _log.error("the function failed", extra={"error_type": type(error).__name__, "attempt": delivery.attempt})
        runtime.queue.retry(delivery)
        return False
    runtime.queue.acknowledge(delivery)
    return True


def drain(runtime: LocalRuntime) -> int:
    """Deliver everything that is due now, in this thread; answers how many deliveries there were."""
    count = 0
    for topic in topics(runtime):
        while (delivery := runtime.queue.take(topic, HOLD_SECONDS)) is not None:
            deliver(runtime, delivery)
            count += 1
    return count


def push(delivery: Delivery) -> CloudEvent:
    """The message as a push subscription delivers it to a CloudEvent function."""
    body = base64.b64encode(json.dumps(delivery.message.data).encode()).decode()
    message = {"data": body, "attributes": dict(delivery.message.attributes), "messageId": delivery.id}
    attributes = {"type": PUSHED, "source": f"//fichario/{delivery.topic}", "id": delivery.id}
    return CloudEvent(attributes, {"message": message})
