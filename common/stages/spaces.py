"""Which collection a base writes to and answers from, in which vector space, with which model."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from common.domain.errors import Misconfigured, ModelFilesDiffer, ModelMissing, Unavailable
from common.domain.records import BaseRecord, CollectionRecord, Gate
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace, VectorSpace, alias_name, collection_name
from common.domain.usage import Count, Spend, uncounted
from common.ports import Catalog, Clock, CollectionShape, Embedder, VectorIndex
from common.stages.turns import Turns

CANARY_COSINE: Final = 0.99
CANARIES: Final = (
    "Como faço para cancelar a minha reserva?",
    "O reembolso é feito em até dez dias úteis.",
    "What does the warranty cover?",
    "The server listens on port 8765 by default.",
    "¿Dónde puedo recoger el paquete?",
    "El horario de atención es de nueve a seis.",
    "aws_eks_cluster main version 1.29",
    "12 x 350 = 4200",
)
"""Eight texts whose vectors are stored with a collection: a model that answers others is not the one that filled it."""


@dataclass(frozen=True, slots=True)
class Target:
    """One collection with all that is needed to write to it or to ask it."""

    collection: str
    space: VectorSpace
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Writing:
    """The collections of a base that ingest fills: those it can, the one that answers first, and why not the others."""

    targets: Sequence[Target]
    lacking: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Spaces:
    """Knows the configured model and finds the model of any stored collection.

    `find` answers the embedder of exactly that embedding space or raises ModelMissing, `named` the one of that name;
    `gate` the model's shipped constants until a base has its own.
    """

    catalog: Catalog
    index: VectorIndex
    clock: Clock
    template: str
    configured: Callable[[], Embedder]
    chunking: Callable[[Embedder], Chunking]
    lexical: LexicalSpace
    find: Callable[[EmbeddingSpace], Embedder]
    named: Callable[[str], Embedder]
    gate: Callable[[EmbeddingSpace], Gate]
    spend: Spend = uncounted
    turns: Turns = field(default_factory=Turns)

    def writing(self, base: str) -> Writing:
        """The collections that ingest fills for this base; the first object of a base creates its collection.

        Raises Misconfigured when the configured model is not the one that the live collection was built with, or when
        the model of the live collection cannot be used.
        """
        record = self.catalog.base(base)
        if record is None or not record.writes_to:
            record = self._create(base)
        differs = self.refusal(base)
        if differs:
            raise Misconfigured(differs)
        targets: list[Target] = []
        lacking: dict[str, str] = {}
        for name in sorted(record.writes_to, key=lambda name: name != record.live):
            try:
                targets.append(self.target(base, name))
            except (ModelMissing, ModelFilesDiffer) as error:
                if name == record.live:
                    raise
                lacking[name] = str(error)
        return Writing(targets, lacking)

    def target(self, base: str, name: str) -> Target:
        """One collection with the model that fills it. Raises ModelMissing, ModelFilesDiffer."""
        stored = self.stored(base, name)
        return Target(name, stored.space, self.turns.of(base, self._model_of(stored.space.embedding)))

    def wanted(self, model: str | None = None) -> tuple[VectorSpace, Embedder]:
        """The vector space that a new collection would have, with that model or the configured one."""
        embedder = self.named(model) if model else self.configured()
        return VectorSpace(embedder.space, self.chunking(embedder), self.lexical), embedder

    def make(self, base: str, space: VectorSpace, embedder: Embedder) -> CollectionRecord:
        """A collection of that space with its canaries, or the one that stands already."""
        embedder = self.turns.of(base, embedder)
        name = collection_name(alias_name(self.template, base), space.fingerprint)
        self.index.create(base, name, CollectionShape(space.embedding.dimension))
        canaries = tuple((text, tuple(embedder.embed_query(text))) for text in CANARIES) if embedder.fit else ()
        if canaries:
            self.spend(base, "upkeep", canary_count(embedder))
        return self.catalog.put_collection(CollectionRecord(name, base, space, canaries, self.clock.now()))

    def refusal(self, base: str) -> str | None:
        """Why ingest would refuse this base, or None: its live collection was built with another model, or it is not
        ours yet. One that its last migration moved from or to the configured model is not refused: nobody changed it
        unawares. Nor is one that was adopted with a model that was named.

        Raises ModelMissing or ModelFilesDiffer when the configured model itself cannot be used.
        """
        configured = self.configured().space
        record = self.catalog.base(base)
        if record is None or record.live is None:
            foreign = self.index.foreign.of(base)
            return None if foreign is None else foreign.sentence(base)
        wanted = self.stored(base, record.live).space.embedding
        moved = record.reindex is not None and record.reindex.state not in {"cancelled", "failed"}
        ends = (record.reindex.before, record.reindex.after.embedding) if moved and record.reindex else ()
        adopted = moved and record.reindex is not None and record.reindex.adopted and wanted in ends
        if wanted == configured or adopted or (wanted in ends and configured in ends):
            return None
        return _other_model(base, wanted, configured)

    def answering(self, record: BaseRecord) -> tuple[CollectionRecord, Embedder | None, str]:
        """The live collection, the embedder of its space, and, when there is none to trust, why."""
        stored = self.stored(record.base, record.live or "")
        try:
            return stored, self.turns.of(record.base, self.find(stored.space.embedding)), ""
        except ModelMissing as missing:
            return stored, None, str(missing)

    def stored(self, base: str, name: str) -> CollectionRecord:
        """The record of one collection. Raises Misconfigured when the catalog lost it."""
        stored = self.catalog.collection(base, name)
        if stored is None:
            raise Misconfigured(
                f"The catalog names collection {name} for base {base} but holds no record of it. Restore the catalog."
            )
        return stored

    def _model_of(self, space: EmbeddingSpace) -> Embedder:
        configured = self.configured()
        return configured if configured.space == space else self.find(space)

    def _create(self, base: str) -> BaseRecord:
        foreign = self.index.foreign.of(base)
        if foreign is not None:
            raise Misconfigured(foreign.sentence(base))
        space, embedder = self.wanted()
        name, now = self.make(base, space, embedder).name, self.clock.now()
        gate = self.gate(space.embedding)

        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, BaseRecord]:
            if known is not None and known.writes_to:
                return None, known
            if known is not None and known.reindex is not None and known.reindex.open:
                raise Unavailable(f"base {base} is being adopted")
            created = BaseRecord(base, live=name, writes_to=(name,), gates={name: gate}, created_at=now)
            return created, created

        settled = self.catalog.update_base(base, settle, raise_epoch=True)
        if settled.live is not None:
            self.index.set_alias(base, settled.live)
        return settled


def canary_count(embedder: Embedder) -> Count:
    """What embedding the canaries comes to."""
    return Count(len(CANARIES), sum(embedder.count_tokens(text) for text in CANARIES))


def canaries_differ(
    record: CollectionRecord, embedder: Embedder, known: Mapping[str, Sequence[float]] | None = None
) -> str | None:
    """What is wrong with the model by the collection's canaries (RULES 18), or None when all agree. `known` are vectors
    that the model gave for some of the texts already.
    """
    for text, expected in record.canaries:
        vector = (known or {}).get(text) or embedder.embed_query(text)
        cosine = _cosine(expected, vector)
        if cosine < CANARY_COSINE:
            return (
                f"model {embedder.space.model} no longer gives the vectors of collection {record.name} "
                f"(cosine {cosine:.3f} for a canary, {CANARY_COSINE} needed)"
            )
    return None


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norms = math.hypot(*a) * math.hypot(*b)
    return math.fsum(x * y for x, y in zip(a, b, strict=False)) / norms if norms else 0.0


def _other_model(base: str, stored: EmbeddingSpace, configured: EmbeddingSpace) -> str:
    provider = "" if stored.provider == configured.provider else f"KB_EMBED_PROVIDER={stored.provider} and "
    return (
        f"Base {base} was built with model {_named(stored)}, the configured one is {_named(configured)}. Set "
        f"{provider}KB_EMBEDDING_MODEL={stored.model}, or move the base "
        f"with `fichario reindex start --base {base} --model {configured.model}`."
    )


def _named(space: EmbeddingSpace) -> str:
    """The model, and what tells it from others of its name: its files, or its provider and dimension."""
    return f"{space.model} ({space.files_hash[:12] or f'{space.provider}, {space.dimension} numbers'})"
