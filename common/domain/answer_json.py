"""Answers and question vectors as JSON-ready data, for caches that instances share. What cannot be read is refused."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from common.domain.search import Answer
from common.domain.typed_json import reader_of, to_json

T = TypeVar("T")
QuestionVector = tuple[tuple[float, ...], int]
"""A question's unit vector and its tokens."""
_ANSWER_BYTES: Final = 600
"""What a passage or an answer takes beside its texts."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """One kind of value between instances: `decode` raises ValueError for data that `encode` did not make, `size` is
    about how many bytes of memory a value takes.
    """

    encode: Callable[[T], Any]
    decode: Callable[[Any], T]
    size: Callable[[T], int]


def answer_size(answer: Answer) -> int:
    """About how many bytes of memory the answer takes."""
    return _ANSWER_BYTES + sum(_ANSWER_BYTES + len(passage.text) for passage in answer.passages)


def decode_answer(data: Any) -> Answer:  # noqa: ANN401 - what JSON holds
    """The answer; raises ValueError for anything that is none."""
    answer: Answer = reader_of(Answer)(data)
    return answer


def decode_vector(data: Any) -> QuestionVector:  # noqa: ANN401 - what JSON holds
    """The vector and its tokens; raises ValueError for anything that is no direction."""
    found: QuestionVector = reader_of(QuestionVector)(data)
    if not 0 < math.hypot(*found[0]) < math.inf:
        raise ValueError("the vector is no direction")
    return found


def vector_size(found: QuestionVector) -> int:
    """About how many bytes of memory the vector takes with its question."""
    return 8 * len(found[0]) + 4 * found[1] + _ANSWER_BYTES


ANSWERS: Final[Codec[Answer]] = Codec(to_json, decode_answer, answer_size)
QUESTION_VECTORS: Final[Codec[QuestionVector]] = Codec(to_json, decode_vector, vector_size)
