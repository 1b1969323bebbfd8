"""Vector spaces: what makes two vectors comparable, its fingerprint, and the collection named by it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from common.domain.objects import digest

FINGERPRINT_DIGITS: Final = 12
CHUNKING_VERSION: Final = 1
"""Part of the fingerprint: raised whenever the same document would be cut differently."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What makes vectors comparable, before chunking and tokenising are added to it."""

    model: str
    files_hash: str
    pooling: str
    normalisation: str
    query_prefix: str
    passage_prefix: str
    dimension: int
    distance: str = "cosine"
    provider: str = "fastembed"


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut: `tokens` is the packing target, 0 for automatic; `overlap` is of embedded text only."""

    version: int
    tokens: int
    overlap: int
    window: int


@dataclass(frozen=True, slots=True)
class LexicalSpace:
    """How text becomes terms and weights; `mode` is stem, fold or off."""

    version: int
    mode: Literal["stem", "fold", "off"]


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Everything that two collections must share before anything of them is compared."""

    embedding: EmbeddingSpace
    chunking: Chunking
    lexical: LexicalSpace

    @property
    def fingerprint(self) -> str:
        """12 hex digits over every field, in a canonical form."""
        return digest("space", json.dumps(asdict(self), sort_keys=True, ensure_ascii=True))[:FINGERPRINT_DIGITS]


def space_from_json(data: Mapping[str, Any]) -> VectorSpace:
    """What `asdict` made of a space."""
    return VectorSpace(
        EmbeddingSpace(**data["embedding"]), Chunking(**data["chunking"]), LexicalSpace(**data["lexical"])
    )


def collection_name(alias: str, fingerprint: str) -> str:
    """`<base>_kb__<fingerprint>`, where `alias` is the base's `<base>_kb`."""
    return f"{alias}__{fingerprint}"


def alias_name(template: str, base: str) -> str:
    """The name outside readers know; `template` holds `{base}` once."""
    return template.replace("{base}", base)
