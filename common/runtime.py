"""What the functions that change a base use, wired around the query side. Chooses nothing of the place to run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from common.asking import MEGABYTE, Asking, authenticate, found_wrong
from common.domain.comparison import Asked
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.reindex import Order
from common.domain.uploads import SignedUpload
from common.loading import check_provider
from common.ports import Catalog, Clock, ObjectStore, Parser, PullQueue
from common.settings import Settings
from common.stages.adopting import Adopting
from common.stages.comparing import Comparing
from common.stages.fit import GateFit
from common.stages.ingest import IngestPorts
from common.stages.manage import Manage
from common.stages.migrating import Migrating
from common.stages.planning import Planning
from common.stages.proposing import Proposing
from common.stages.quota import Quota
from common.stages.rebuild import Rebuild
from common.stages.reconcile import Reconcile
from common.stages.reindex import Reindexing
from common.stages.writeback import Callee, Notifier, WriteBack

if TYPE_CHECKING:
    from common.adapters.data_folder import DataFolder
    from common.adapters.folder.scan import FolderScan
    from common.adapters.signed_puts import SignedPuts


@dataclass(frozen=True)
class Runtime(Asking):
    """Everything the functions use. `bucket` is the name that events must carry."""

    store: ObjectStore
    manage: Manage
    reconcile: Reconcile
    gate_fit: GateFit
    ingest: IngestPorts
    reindexing: Reindexing
    migrating: Migrating
    bucket: str


@dataclass(frozen=True)
class LocalRuntime(Runtime):
    """One machine, which is its own broker and watches its own bucket."""

    queue: PullQueue
    scan: "FolderScan"
    folder: "DataFolder"
    uploads: "SignedPuts"


@dataclass(frozen=True, slots=True)
class Bucket:
    """The side of the bucket: its store and name, how a change is announced by hand, what lies beside the bases, and
    how an upload past us is signed.
    """

    store: ObjectStore
    name: str
    announce: Callable[[ObjectChange], None]
    foreign: Callable[[], list[str]]
    sign: Callable[[ObjectRef, str, int], SignedUpload]


@dataclass(frozen=True, slots=True)
class Work:
    """How ingest works here: its parser, whether it is to stop soon, and who is told of each step."""

    parser: Parser
    stopping: Callable[[], bool] = lambda: False
    step: Callable[[str], None] = lambda _: None


def working(side: Asking, bucket: Bucket, work: Work, send: Callable[[Order], None]) -> dict[str, Any]:
    """The fields that a Runtime has beyond the query side `side`; `send` publishes the orders of migrations."""
    settings, catalog, index, clock, spaces = side.settings, side.catalog, side.index, side.clock, side.spaces
    write_back = _write_back(settings, catalog, clock)
    quota = Quota(catalog, settings.kb_max_base_mb * MEGABYTE, settings.kb_max_documents)
    file_limit = settings.kb_max_file_mb * MEGABYTE
    gate_fit = GateFit(catalog, index, spaces, side.meter.count)
    reindexing = _reindexing(side, bucket, work, send)
    return {
        "store": bucket.store,
        "manage": Manage(
            bucket.store,
            catalog,
            spaces,
            clock,
            bucket.announce,
            bucket.sign,
            quota,
            file_limit,
            side.keeping.forget,
        ),
        "reconcile": Reconcile(
            bucket.store,
            catalog,
            index,
            clock,
            bucket.announce,
            bucket.foreign,
            write_back.repair if write_back else lambda _: None,
            reindexing.resume,
        ),
        "gate_fit": gate_fit,
        "reindexing": reindexing,
        "migrating": _migrating(side, reindexing, gate_fit, work, send),
        "ingest": IngestPorts(
            bucket.store,
            catalog,
            index,
            spaces,
            work.parser,
            clock,
            quota,
            bucket.announce,
            settings.kb_max_attempts,
            file_limit,
            settings.kb_slice_seconds,
            work.stopping,
            work.step,
            write_back.after if write_back else lambda _: None,
            side.meter.count,
            reindexing.again,
        ),
        "bucket": bucket.name,
    }


def _reindexing(side: Asking, bucket: Bucket, work: Work, send: Callable[[Order], None]) -> Reindexing:
    catalog, index, spaces, clock, settings = side.catalog, side.index, side.spaces, side.clock, side.settings
    planning = Planning(catalog, index, side.prices, side.meter.count)
    adopting = Adopting(
        bucket.store, catalog, index, spaces, clock, planning, bucket.announce, work.stopping, work.step
    )
    proposing = Proposing(catalog, index, spaces, clock, planning, adopting)
    grace = settings.kb_reindex_grace_hours * 3600
    return Reindexing(catalog, index, spaces, clock, proposing, adopting, send, settings.kb_reindex_tolerance, grace)


def _migrating(
    side: Asking, reindexing: Reindexing, gate_fit: GateFit, work: Work, send: Callable[[Order], None]
) -> Migrating:
    catalog, index, spaces, clock = side.catalog, side.index, side.spaces, side.clock
    slices = side.settings.kb_slice_seconds
    rebuild = Rebuild(catalog, index, spaces, clock, slices, work.stopping, work.step, side.meter.count)
    comparing = Comparing(catalog, index, side.searcher, lambda base: _kept(side, base), side.prices)
    adopting = reindexing.adopting
    return Migrating(catalog, index, spaces, clock, reindexing, adopting, rebuild, gate_fit, comparing, send, work.step)


def _kept(side: Asking, base: str) -> list[Asked]:
    """The questions of a base that are stored with their words: its set, and real ones where they may be kept."""
    return [Asked(each.text, each.source, each.origin) for each in side.keeping.questions(base) if each.text]


def unusable(settings: Settings, clock: Clock) -> list[str]:
    """What is wrong with settings that are sound each by itself, found without asking anybody: who may ask, who
    embeds, and where write-back goes.
    """
    checks: list[Callable[[], object]] = [
        lambda: authenticate(settings, clock),
        lambda: check_provider(settings.provider, settings.model),
    ]
    if settings.kb_writeback_enabled:
        checks.append(lambda: _notifier(settings))
    return found_wrong(*checks)


def _write_back(settings: Settings, catalog: Catalog, clock: Clock) -> WriteBack | None:
    """None unless it is switched on. Raises Misconfigured for an address that cannot be used."""
    if not settings.kb_writeback_enabled:
        return None
    notifier = _notifier(settings)
    url, token_url = settings.kb_writeback_url, settings.kb_writeback_token_url
    email, password = settings.kb_writeback_email, settings.kb_writeback_password
    return WriteBack(catalog, clock, notifier, Callee(url, token_url, email, password, settings.kb_collection_template))


def _notifier(settings: Settings) -> Notifier:
    from common.adapters.http_notifier import HttpNotifier  # noqa: PLC0415 - brings TLS, which nothing else here needs

    addresses = {
        "KB_WRITEBACK_URL": settings.kb_writeback_url,
        "KB_WRITEBACK_TOKEN_URL": settings.kb_writeback_token_url,
    }
    return HttpNotifier(addresses)
