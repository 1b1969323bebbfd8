"""TokenCounter by tiktoken, from an encoding's own file of ranks. The loader of tiktoken would fetch it: not used."""

import base64
from pathlib import Path
from typing import Final

from common.domain.errors import Misconfigured
from common.domain.surrogates import encodable

_BYTES: Final = 256
# From tiktoken_ext/openai_public.py of tiktoken 0.14 (MIT).
_WORDS: Final = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
)
_PATTERNS: Final = {
    "o200k_base": "|".join(_WORDS),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    ),
}


class TiktokenCounter:
    """Counts as the named encoding does, from `<folder>/<encoding>.tiktoken`.

    Raises Misconfigured for an encoding that is not known, a file that is missing or broken, or without tiktoken.
    """

    characters_per_token = 0

    def __init__(self, encoding: str, folder: Path) -> None:
        if encoding not in _PATTERNS:
            raise Misconfigured(f"KB_TOKEN_COUNTER knows the encodings {', '.join(_PATTERNS)}, not {encoding}.")
        try:
            import tiktoken  # noqa: PLC0415 - an extra that only who counts with it installs
        except ImportError:
            raise Misconfigured("KB_TOKEN_COUNTER=tiktoken needs `pip install fichario[tiktoken]`.") from None
        ranks = _ranks(folder / f"{encoding}.tiktoken")
        self._encoding = tiktoken.Encoding(
            encoding, pat_str=_PATTERNS[encoding], mergeable_ranks=ranks, special_tokens={}
        )

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(encodable(text)))


def _ranks(path: Path) -> dict[bytes, int]:
    """The encoding's pieces: a line each, the piece in base64 and its rank."""
    try:
        lines = path.read_bytes().splitlines()
        ranks = {
            base64.b64decode(piece, validate=True): int(rank) for piece, rank in map(bytes.split, filter(None, lines))
        }
    except OSError as error:
        raise Misconfigured(
            f"KB_TOKEN_COUNTER needs {path}: {error.strerror}. Nothing is fetched; put it there."
        ) from None
    except ValueError as error:
        raise Misconfigured(f"{path} is not a file of ranks: {error}.") from None
    if sum(len(piece) == 1 for piece in ranks) < _BYTES:
        raise Misconfigured(f"{path} is not whole: it lacks pieces of a single byte.")
    return ranks
