"""Questions of a base that are kept: those it was really asked, for what they say of its gaps and for comparing two
models, and the set that its owner stores with their sources. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from common.domain.objects import digest

Origin = Literal["asked", "set"]
Keep = Literal["off", "hashed", "text"]
"""What is kept of a real question: nothing, its hash, or its words as well."""
LIMITS: Final[dict[Origin, int]] = {"asked": 500, "set": 2000}
"""How many questions of each origin a base keeps."""
MAX_CHARACTERS: Final = 1000
"""Of a question whose words are kept; a longer one is kept by its hash alone, or refused in a set."""


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """One question however often it was asked. `text` is empty where only the hash is kept; `source` is what answers a
    question of the set, None for real ones and where nothing does; `answered` is what came of it the last time it was
    asked, `asked_at` when that was, in seconds.
    """

    text: str
    digest: str
    source: str | None
    origin: Origin
    answered: bool
    count: int
    asked_at: float


def question_digest(text: str) -> str:
    """Equal for questions that differ in case and white space alone. It hides a question only from who cannot guess it:
    whoever knows the words can tell whether they were asked.
    """
    return digest("question", " ".join(text.casefold().split()))


def asked_question(text: str, at: float, *, answered: bool, words: bool) -> KeptQuestion:
    """A question that was asked just now; with `words` they are kept too, secrets of known forms masked."""
    kept = _masked(text) if words and len(text) <= MAX_CHARACTERS else ""
    return KeptQuestion(kept, question_digest(text), None, "asked", answered, 1, at)


def _masked(text: str) -> str:
    from common.domain.redaction import redact  # noqa: PLC0415 - its patterns take 3 ms, and few keep any words

    return redact(text)[0]


def set_question(text: str, source: str | None, at: float) -> KeptQuestion:
    """A question of a stored set, answered by `source` or by nothing."""
    return KeptQuestion(text, question_digest(text), source, "set", source is not None, 1, at)


def together(one: KeptQuestion, other: KeptQuestion) -> KeptQuestion:
    """Two that are equal as one: counts add up, all else is the newer one's, in whatever order they come."""
    newer = one if _age(one) > _age(other) else other
    return KeptQuestion(
        newer.text,
        newer.digest,
        newer.source,
        newer.origin,
        newer.answered,
        one.count + other.count,
        newer.asked_at,
    )


def merged(*batches: Iterable[KeptQuestion]) -> list[KeptQuestion]:
    """Each question once and of each origin the newest up to its limit; real ones first, the newest first."""
    found: dict[tuple[Origin, str], KeptQuestion] = {}
    for batch in batches:
        for each in batch:
            known = found.get((each.origin, each.digest))
            found[each.origin, each.digest] = each if known is None else together(known, each)
    ordered = sorted(found.values(), key=lambda each: (-each.asked_at, each.digest))
    return [each for origin, most in LIMITS.items() for each in [q for q in ordered if q.origin == origin][:most]]


def gaps(questions: Iterable[KeptQuestion], limit: int) -> list[KeptQuestion]:
    """The real questions that the base does not answer, those asked most often first, then the newest."""
    open_ones = [each for each in questions if each.origin == "asked" and not each.answered]
    return sorted(open_ones, key=lambda each: (-each.count, -each.asked_at, each.digest))[:limit]


def counts_view(questions: Sequence[KeptQuestion]) -> dict[str, Any]:
    """How many are kept, without their words: real ones by what became of them, and those of the set."""
    asked = [each for each in questions if each.origin == "asked"]
    stored = [each for each in questions if each.origin == "set"]
    answered = [each.count for each in asked if each.answered]
    return {
        "asked": {
            "questions": len(asked),
            "answered": len(answered),
            "unanswered": len(asked) - len(answered),
            "times_asked": sum(each.count for each in asked),
        },
        "set": {"questions": len(stored), "answerable": sum(each.answered for each in stored)},
    }


def _age(question: KeptQuestion) -> tuple[float, bool, str, str, bool]:
    """Two of one time are told apart by all that they hold, so that merging gives the same in any order."""
    source = question.source
    return question.asked_at, question.answered, question.text, source or "", source is not None
