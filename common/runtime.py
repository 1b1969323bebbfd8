"""What the functions use, wired from the adapters of one place to run. Chooses nothing of the place itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from common.adapters.process_cache import ProcessCache
from common.domain.budget import EstimatedTokens, TokenCounter
from common.domain.chunking import CHUNKING_VERSION
from common.domain.lexical import LEXICAL_VERSION
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.records import Gate
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace
from common.domain.uploads import SignedUpload
from common.identity import Authenticate, loopback_only
from common.loading import Models
from common.models import gate_constants
from common.ports import Catalog, Clock, ObjectStore, Parser, PullQueue, Reranker, VectorIndex
from common.settings import Settings
from common.stages.answers import Answers
from common.stages.around import Surroundings
from common.stages.caching import EpochMemory, Epochs
from common.stages.candidates import Candidates
from common.stages.context import Contexts
from common.stages.fit import GateFit
from common.stages.ingest import IngestPorts
from common.stages.listing import Listing
from common.stages.manage import Manage
from common.stages.patience import Patience, Within, at_once
from common.stages.pinned import PinnedDocuments
from common.stages.quota import Quota
from common.stages.reconcile import Reconcile
from common.stages.rerank import Reordering
from common.stages.search import Searcher
from common.stages.several import SeveralBases
from common.stages.spaces import Spaces
from common.stages.vectors import QuestionVectors
from common.stages.writeback import Callee, WriteBack

if TYPE_CHECKING:
    from common.adapters.data_folder import DataFolder
    from common.adapters.folder.scan import FolderScan
    from common.adapters.signed_puts import SignedPuts

MEGABYTE: Final = 2**20
ANY_BASE: Final = "readyz"
"""Whose collections are asked for where only the answer counts."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is needed to answer questions: no bucket, no parser, nothing that writes."""

    settings: Settings
    clock: Clock
    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    answers: Answers
    several: SeveralBases
    contexts: Contexts
    token_counter: TokenCounter
    listing: Listing
    authenticate: Authenticate
    ready: Callable[[], Mapping[str, Any]]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Runtime(Asking):
    """Everything the functions use. `bucket` is the name that events must carry."""

    store: ObjectStore
    manage: Manage
    reconcile: Reconcile
    gate_fit: GateFit
    ingest: IngestPorts
    bucket: str


@dataclass(frozen=True, slots=True)
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


def asking(
    settings: Settings,
    clock: Clock,
    catalog: Catalog,
    index: VectorIndex,
    models: Models,
    close: Callable[[], None],
    within: Within = at_once,
) -> Asking:
    """The query side. `within` bounds a look-up where the catalog and the index are other machines."""
    spaces = Spaces(
        catalog=catalog,
        index=index,
        clock=clock,
        template=settings.kb_collection_template,
        configured=models.configured,
        chunking=lambda embedder: Chunking(
            CHUNKING_VERSION, settings.kb_chunk_tokens, settings.kb_chunk_overlap, embedder.window
        ),
        lexical=LexicalSpace(LEXICAL_VERSION, settings.kb_normalize),  # type: ignore[arg-type]  # Settings checked it
        find=models.find,
        gate=_shipped_gate,
    )
    cache = ProcessCache(clock, settings.kb_cache_ttl, settings.kb_cache_max_mb * MEGABYTE)
    patience = Patience("the embedding model", settings.kb_deadline_seconds / 2)
    vectors = QuestionVectors(cache, spaces, patience)
    searcher = Searcher(catalog, index, spaces, Candidates(catalog, index, EpochMemory()), vectors)
    epochs = Epochs(catalog, clock, settings.kb_epoch_ttl)
    answers = Answers(searcher, epochs, cache, Reordering(_reranker(settings)), settings.kb_deadline_seconds, within)
    several = SeveralBases(answers)
    pinned, surroundings = PinnedDocuments(catalog, index, searcher.candidates), Surroundings(index, cache)
    return Asking(
        settings=settings,
        clock=clock,
        catalog=catalog,
        index=index,
        spaces=spaces,
        answers=answers,
        several=several,
        contexts=Contexts(answers, several, pinned, surroundings, lambda _base, _tokens: "", within),
        token_counter=token_counter(settings),
        listing=Listing(catalog),
        authenticate=_authenticate(settings, clock),
        ready=lambda: _readiness(models, catalog, index),
        close=close,
    )


def working(side: Asking, bucket: Bucket, work: Work) -> dict[str, Any]:
    """The fields that a Runtime has beyond the query side `side`."""
    settings, catalog, index, clock, spaces = side.settings, side.catalog, side.index, side.clock, side.spaces
    write_back = _write_back(settings, catalog, clock)
    quota = Quota(catalog, settings.kb_max_base_mb * MEGABYTE, settings.kb_max_documents)
    file_limit = settings.kb_max_file_mb * MEGABYTE
    return {
        "store": bucket.store,
        "manage": Manage(bucket.store, catalog, spaces, clock, bucket.announce, bucket.sign, quota, file_limit),
        "reconcile": Reconcile(
            bucket.store,
            catalog,
            index,
            clock,
            bucket.announce,
            bucket.foreign,
            write_back.repair if write_back else lambda _: None,
        ),
        "gate_fit": GateFit(catalog, index, spaces),
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
        ),
        "bucket": bucket.name,
    }


def _readiness(models: Models, catalog: Catalog, index: VectorIndex) -> dict[str, Any]:
    """What a ready function says of itself. Raises Misconfigured or Unavailable for what is not there."""
    model, bases = models.configured().space.model, catalog.bases()
    index.collections(ANY_BASE)
    return {"model": model, "bases": len(bases)}


def _authenticate(settings: Settings, clock: Clock) -> Authenticate:
    """Who may ask, as KB_AUTH says. The libraries of signed tokens are imported only where tokens are read."""
    if settings.kb_auth == "none":
        return loopback_only
    from common.adapters.jose.keys import RemoteKeys, SecretKey  # noqa: PLC0415 - see above

    if settings.kb_auth == "iam":
        from common.adapters.iam_identity import GOOGLE_KEYS, IamIdentity, read_grants  # noqa: PLC0415 - see above

        keys = RemoteKeys(GOOGLE_KEYS, clock)
        return IamIdentity(keys, clock, settings.kb_iam_audience, read_grants(settings.kb_iam_bases))
    from common.adapters.jwt_identity import JwtIdentity  # noqa: PLC0415 - see above

    found = RemoteKeys(settings.kb_jwks_url, clock) if settings.kb_jwks_url else SecretKey(settings.kb_jwt_secret)
    return JwtIdentity(found, clock, audience=settings.kb_jwt_audience, issuer=settings.kb_jwt_issuer)


def token_counter(settings: Settings) -> TokenCounter:
    """What KB_TOKEN_COUNTER names. Raises Misconfigured for one that is not there."""
    wanted = settings.kb_token_counter
    if wanted == "estimate":
        return EstimatedTokens()
    if wanted.startswith("tiktoken:"):
        from common.adapters.tiktoken_counter import TiktokenCounter  # noqa: PLC0415 - only where it is asked for

        return TiktokenCounter(wanted.removeprefix("tiktoken:"), settings.models / "tiktoken")
    from common.adapters.tokenizer_file import TokenizerFileCounter  # noqa: PLC0415 - see above

    return TokenizerFileCounter(Path(wanted))


def _reranker(settings: Settings) -> Reranker | None:
    """None where no model is named. Raises Misconfigured for an address or a key that cannot be used."""
    if not (settings.kb_rerank_url and settings.kb_rerank_model):
        return None
    from common.adapters.openai_reranker import OpenaiReranker  # noqa: PLC0415 - brings TLS, see above

    return OpenaiReranker(settings.kb_rerank_url, settings.kb_rerank_model, settings.kb_rerank_api_key)


def _write_back(settings: Settings, catalog: Catalog, clock: Clock) -> WriteBack | None:
    """None unless it is switched on. Raises Misconfigured for an address that cannot be used."""
    if not settings.kb_writeback_enabled:
        return None
    from common.adapters.http_notifier import HttpNotifier  # noqa: PLC0415 - brings TLS, which nothing else here needs

    url, token_url = settings.kb_writeback_url, settings.kb_writeback_token_url
    notifier = HttpNotifier({"KB_WRITEBACK_URL": url, "KB_WRITEBACK_TOKEN_URL": token_url})
    email, password = settings.kb_writeback_email, settings.kb_writeback_password
    return WriteBack(catalog, clock, notifier, Callee(url, token_url, email, password, settings.kb_collection_template))


def _shipped_gate(space: EmbeddingSpace) -> Gate:
    constants = gate_constants(space.model)
    return Gate(constants.med, constants.sd, constants.cut)
