"""A base of any size out of a few hundred paragraphs: copies of other words whose vectors lie as far from the model's
own as two paragraphs of one article do. Needs numpy alone, so that every system's environment has it.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

SWAPPED = 0.3
DISTURBED = 0.5
"""Length of the noise beside a unit vector: cosine about .89 to the paragraph's own vector."""
_WORD = re.compile(r"\w{4,}")
_MARK = re.compile(r"\bvariante(\d+)x(\d+)\b")


class Disturbed:
    """The model's vectors of a few hundred paragraphs for any number of their copies; the rest is the model's own."""

    def __init__(self, inner: object, vectors: np.ndarray) -> None:
        self.inner = inner
        self.vectors = vectors

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        mark = _MARK.search(text)
        if mark is None:
            return self.inner.embed_passages([text])[0]
        number, copy = map(int, mark.groups())
        noise = np.random.default_rng((number, copy)).standard_normal(self.vectors.shape[1])
        vector = self.vectors[number] + DISTURBED * noise / np.linalg.norm(noise)
        return (vector / np.linalg.norm(vector)).tolist()


def varied(paragraphs: Sequence[str], count: int) -> list[str]:
    """Copies in no order, each a paragraph of its own with a mark that names its origin."""
    chance = Random(1)  # noqa: S311 - a draw that can be repeated
    words = [word for paragraph in paragraphs for word in _WORD.findall(paragraph)]

    def swap(match: re.Match[str]) -> str:
        return chance.choice(words) if chance.random() < SWAPPED else match[0]

    made = [
        f"{_WORD.sub(swap, ' '.join(paragraphs[at % len(paragraphs)].split()))} "
        f"variante{at % len(paragraphs)}x{at // len(paragraphs)}"
        for at in range(count)
    ]
    chance.shuffle(made)
    return made


def in_files(made: Sequence[str], per_file: int) -> Iterator[tuple[str, str]]:
    """So many of them in each file, by its name."""
    for start in range(0, len(made), per_file):
        yield f"parte-{start // per_file:05}.txt", "\n\n".join(made[start : start + per_file])
