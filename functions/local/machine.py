"""One machine at work: the runtime with its workers, opened for one command or for a server."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from werkzeug.test import Client

from common.adapters.folder.scan import ScanReport
from common.bootstrap import local_runtime
from common.cli.api import Reply
from common.domain.errors import ProviderRefuses, Transient
from common.identity import Authenticate
from common.runtime import LocalRuntime
from common.settings import Settings
from functions.local.app import application
from functions.local.workers import Workers

PATIENCE_SECONDS = 30.0
_log = logging.getLogger("fichario.machine")


@dataclass(frozen=True, slots=True)
class Machine:
    """A runtime whose queue is being worked."""

    runtime: LocalRuntime
    found: ScanReport


@contextmanager
def machine(
    settings: Settings,
    *,
    workers: int = 1,
    fits: bool = True,
    patience: float = PATIENCE_SECONDS,
    allow_mass_removal: bool = False,
    operator: Callable[[Authenticate], Authenticate] = lambda authenticate: authenticate,
) -> Iterator[Machine]:
    """Open the data folder, take note of what changed in the bucket meanwhile, and work the queue until the end."""
    stopping = threading.Event()
    bells = {topic: threading.Event() for topic in (settings.kb_topic_events, settings.kb_topic_reindex)}
    runtime = local_runtime(
        settings, wake=lambda topic: bells[topic].set(), stopping=stopping.is_set, patience=patience
    )
    runtime = replace(runtime, authenticate=operator(runtime.authenticate))
    try:
        found = runtime.scan.scan(allow_mass_removal=allow_mass_removal)
        for record in runtime.catalog.bases():
            runtime.reindexing.resume(record.base)
        events, orders = settings.kb_topic_events, settings.kb_topic_reindex
        crews = [
            Workers(runtime, events, bells[events], stopping, count=workers, fits=fits),
            Workers(runtime, orders, bells[orders], stopping, count=1, fits=False),
        ]
        for crew in crews:
            crew.start()
        try:
            yield Machine(runtime, found)
        finally:
            for crew in crews:
                crew.stop()
    finally:
        runtime.close()


class InProcess:
    """The HTTP contract without a port: calls go straight into the application."""

    def __init__(self, runtime: LocalRuntime) -> None:
        self._client = Client(application(runtime))

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,  # noqa: ANN401 - JSON-ready data
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request and its answer."""
        sent = {"json": body} if body is not None else {"data": data}
        response = self._client.open(path, method=method, headers=dict(headers or {}), **sent)
        return Reply(response.status_code, response.get_json(silent=True) or {}, response.get_data(as_text=True))


@contextmanager
def in_process(settings: Settings, notice: Callable[[str], None]) -> Iterator[InProcess]:
    """The machine for one command, with all that had changed in the bucket brought in first."""
    with machine(settings, fits=False) as opened:
        if opened.found.held_back:
            for base, count in opened.found.held_back.items():
                notice(f"{count} files of base {base} are gone from the bucket; `fichario up --yes` lets them go.")
        yield InProcess(opened.runtime)
        for base in opened.runtime.gate_fit.due():
            notice(f"Fitting the gate of base {base}.")
            try:
                opened.runtime.gate_fit.run(base)
            except (Transient, ProviderRefuses) as error:
                # What the command did stands; the model that fails is somebody else's.
                notice(f"The gate of base {base} is not fitted yet: {error}.")
