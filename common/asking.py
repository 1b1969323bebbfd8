"""What the query function uses, wired from the adapters of one place to run: no bucket, no parser, nothing that writes.
Chooses nothing of the place itself, and imports nothing that a question does not need.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from common.adapters.process_cache import ProcessCache
from common.domain.budget import EstimatedTokens, TokenCounter
from common.domain.errors import Misconfigured
from common.domain.gate import COVERAGE_CUT
from common.domain.lexical import LEXICAL_VERSION
from common.domain.records import BaseRecord, Gate
from common.domain.space import CHUNKING_VERSION, Chunking, EmbeddingSpace, LexicalSpace
from common.domain.usage import Prices
from common.identity import Authenticate, loopback_only
from common.loading import Models
from common.models import gate_constants
from common.ports import AnswerCache, Catalog, Clock, Reranker, VectorIndex
from common.release import RELEASE
from common.settings import Settings
from common.stages.answers import Answers
from common.stages.caching import EpochMemory, Epochs
from common.stages.candidates import Candidates
from common.stages.contents import Library
from common.stages.keeping import Keeping
from common.stages.metering import Meter
from common.stages.neighbourhood import Neighbourhood
from common.stages.patience import Patience, Within, at_once
from common.stages.rerank import Reordering
from common.stages.search import Searcher
from common.stages.spaces import Spaces
from common.stages.vectors import QuestionVectors

if TYPE_CHECKING:
    from common.stages.addressing import Addressing
    from common.stages.context import Contexts
    from common.stages.listing import Listing
    from common.stages.reading import Reading
    from common.stages.several import SeveralBases

MEGABYTE: Final = 2**20
ANY_BASE: Final = "readyz"
"""Whose collections are asked for where only the answer counts."""
_log = logging.getLogger("fichario.cache")
_told: Final[set[str]] = set()


@dataclass(frozen=True)
class Asking:
    """What is needed to answer questions: no bucket, no parser, nothing that writes. `place` is where the bases' files
    lie. What a first question does not need is made, and imported, when it is first asked for.
    """

    settings: Settings
    clock: Clock
    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    answers: Answers
    library: Library
    place: str
    token_counter: TokenCounter
    meter: Meter
    keeping: Keeping
    prices: Prices
    authenticate: Authenticate
    ready: Callable[[], Mapping[str, Any]]
    searcher: Callable[[Catalog], Searcher]
    """Answers questions over another view of the catalog, past all caches of answers."""
    close: Callable[[], None]

    @cached_property
    def several(self) -> "SeveralBases":
        """Answers over several bases."""
        from common.stages.several import SeveralBases  # noqa: PLC0415 - see above

        return SeveralBases(self.answers)

    @cached_property
    def contexts(self) -> "Contexts":
        """Answers as text for a model."""
        from common.stages.around import Surroundings  # noqa: PLC0415 - see above
        from common.stages.context import Contexts  # noqa: PLC0415 - see above
        from common.stages.pinned import PinnedDocuments  # noqa: PLC0415 - see above

        pinned = PinnedDocuments(self.catalog, self.index, self.answers.searcher.candidates)
        around, card = Surroundings(self.index), self.reading.card
        return Contexts(self.answers, self.several, pinned, around, card, self.answers.within)

    @cached_property
    def listing(self) -> "Listing":
        """What bases hold, as rows."""
        from common.stages.listing import Listing  # noqa: PLC0415 - see above

        return Listing(self.catalog, self._addressing, self.library, self.answers.searcher.view, self.prices)

    @cached_property
    def reading(self) -> "Reading":
        """Cards, contents and pages."""
        from common.stages.reading import Reading  # noqa: PLC0415 - see above

        view, count = self.answers.searcher.view, self.token_counter.count
        return Reading(self.catalog, self.index, self._addressing, self.library, view, self.place, count)

    @cached_property
    def _addressing(self) -> "Addressing":
        from common.stages.addressing import Addressing  # noqa: PLC0415 - see above

        return Addressing(self.catalog, self.index)


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
    meter, prices = Meter(catalog), _prices(settings)
    keeping = Keeping(catalog, clock, settings.kb_keep_questions)  # type: ignore[arg-type]  # Settings checked it
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
        named=models.named,
        gate=_shipped_gate,
        spend=meter.count,
    )
    cache, vector_cache = _caches(settings, clock)
    patience = Patience("the embedding model", settings.kb_deadline_seconds / 2)
    vectors = QuestionVectors(vector_cache, spaces, patience, meter.count)
    searcher = Searcher(catalog, index, spaces, Candidates(catalog, index, EpochMemory()), vectors)
    epochs = Epochs(catalog, clock, settings.kb_epoch_ttl)
    library = Library(catalog)
    reordering, neighbourhood = Reordering(_reranker(settings), meter.count), Neighbourhood(library.related, within)
    deadline = settings.kb_deadline_seconds
    answers = Answers(searcher, epochs, cache, reordering, deadline, within, neighbourhood, keeping.asked)
    upkeep = QuestionVectors(vector_cache, spaces, patience, lambda base, _, spent: meter.count(base, "upkeep", spent))
    return Asking(
        settings=settings,
        clock=clock,
        catalog=catalog,
        index=index,
        spaces=spaces,
        answers=answers,
        library=library,
        place=_bucket_path(settings),
        token_counter=token_counter(settings),
        meter=meter,
        keeping=keeping,
        prices=prices,
        authenticate=authenticate(settings, clock),
        ready=lambda: _readiness(models, catalog, index, vectors),
        searcher=lambda over: Searcher(over, index, spaces, Candidates(over, index, EpochMemory()), upkeep),
        close=lambda: _in_turn(meter.close, keeping.close, close),
    )


def _in_turn(*closing: Callable[[], None]) -> None:
    for close in closing:
        close()


def _prices(settings: Settings) -> Prices:
    return Prices(settings.kb_price_embedding, settings.kb_price_rerank_input, settings.kb_price_rerank_output)


def _caches(settings: Settings, clock: Clock) -> tuple[AnswerCache, AnswerCache]:
    """Where answers and question vectors are kept: in the process, and where REDIS_URL is set shared by instances."""
    ttl = settings.kb_cache_ttl
    near = ProcessCache(clock, ttl, settings.kb_cache_max_mb * MEGABYTE)
    if not settings.redis_url:
        return near, near
    from common.adapters.layered_cache import LayeredCache  # noqa: PLC0415 - only who shares pays for the client
    from common.adapters.redis_cache import RedisCache, connect  # noqa: PLC0415 - see above
    from common.domain.answer_json import ANSWERS, QUESTION_VECTORS  # noqa: PLC0415 - see above
    from common.domain.shared_keys import shared_prefix  # noqa: PLC0415 - see above

    def report(error: str) -> None:
        _log.warning("the shared cache fails", extra={"error_type": error})

    far = RedisCache(connect(settings.redis_url), shared_prefix(settings.shown(), RELEASE), ttl, report)
    return LayeredCache(near, far, ANSWERS, clock, ttl), LayeredCache(near, far, QUESTION_VECTORS, clock, ttl)


def _bucket_path(settings: Settings) -> str:
    """Where the files come from. Of a folder only the name: its whole path would tell whose machine this is."""
    if settings.kb_mode == "local":
        return settings.bucket.absolute().name
    return f"{settings.cloud_bucket.provider}://{settings.cloud_bucket.name}"


def _readiness(models: Models, catalog: Catalog, index: VectorIndex, vectors: QuestionVectors) -> dict[str, Any]:
    """What a ready function says of itself; of collections that are not ours how many there are, because anybody may
    ask: the log names them. Raises Misconfigured or Unavailable for what is not there.
    """
    embedder, bases = models.configured(), catalog.bases()
    vectors.warm(embedder)
    index.collections(ANY_BASE)
    foreign = _foreign(bases, index)
    return {"model": embedder.space.model, "bases": len(bases), **({"foreign": len(foreign)} if foreign else {})}


def _foreign(bases: Sequence[BaseRecord], index: VectorIndex) -> list[str]:
    """The bases that are not ours yet, each told once by every process."""
    ours = {record.base for record in bases if record.live is not None}
    found = [base for base in index.foreign.bases() if base not in ours]
    for base in found:
        foreign = index.foreign.of(base) if base not in _told else None
        if foreign is not None:
            _told.add(base)
            logging.getLogger("fichario.start").warning("foreign collection", extra={"reason": foreign.sentence(base)})
    return found


def found_wrong(*checks: Callable[[], object]) -> list[str]:
    """What these checks say is misconfigured, all of it at once."""
    problems = []
    for check in checks:
        try:
            check()
        except Misconfigured as error:
            problems.append(str(error))
    return problems


def authenticate(settings: Settings, clock: Clock) -> Authenticate:
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


def _shipped_gate(space: EmbeddingSpace) -> Gate:
    if not space.dimension:
        return Gate(0.0, 1.0, COVERAGE_CUT)
    constants = gate_constants(space.model)
    return Gate(constants.med, constants.sd, constants.cut)
