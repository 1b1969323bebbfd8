"""Answers of several bases to one question as one answer. Pure: scores are absolute terms, each measured by its own
base, so a base with a single hit is not favoured and bases of different vector spaces meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from common.domain.gate import GateDecision
from common.domain.search import Answer, AnswerPassage, BaseShare


@dataclass(frozen=True, slots=True)
class Weighted:
    """One base of a question, and how much its passages count."""

    base: str
    weight: float = 1.0


def merge(found: Sequence[tuple[Weighted, Answer]], warnings: Sequence[str] = ()) -> Answer:
    """One answer of at least one base's; passages of bases that do not match are left out, equal texts stand once.

    Its epoch is the sum of the bases', so it grows with any of them.
    """
    answers = [answer for _, answer in found]
    told = dict.fromkeys(warning for answer in answers for warning in answer.warnings)
    tokens = {answer.fingerprint: answer.query_tokens for answer in answers}
    return Answer(
        passages=_merged(found),
        gate=_nearest([answer.gate for answer in answers]),
        mode=answers[0].mode,
        degraded=any(answer.degraded for answer in answers),
        cache=answers[0].cache if len({answer.cache for answer in answers}) == 1 else "miss",
        fingerprint="+".join(sorted(tokens)),
        epoch=sum(answer.epoch for answer in answers),
        query_tokens=sum(tokens.values()),
        embedded=any(answer.embedded for answer in answers),
        timings_ms={name: max(a.timings_ms.get(name, 0.0) for a in answers) for name in answers[0].timings_ms},
        warnings=(*told, *warnings),
        settled=all(answer.settled for answer in answers) and not warnings,
        bases=tuple(
            BaseShare(w.base, w.weight, a.gate, a.mode, a.degraded, a.cache, a.fingerprint, a.epoch) for w, a in found
        ),
    )


def _merged(found: Sequence[tuple[Weighted, Answer]]) -> tuple[AnswerPassage, ...]:
    scored = [
        passage._replace(score=_weighted(passage.absolute, weighted.weight))
        for weighted, answer in found
        for passage in answer.passages
    ]
    # Equal scores keep the order of the bases as they were asked, and within a base its own.
    ranked = sorted(scored, key=lambda passage: -passage.score)
    distinct = {" ".join(passage.text.split()): passage for passage in reversed(ranked)}
    kept = {passage.id for passage in distinct.values()}
    return tuple(passage for passage in ranked if passage.id in kept)


def _weighted(score: float, weight: float) -> float:
    """A weight above 1 lifts a passage and one below 1 sinks it, also where its score is negative."""
    return score * weight if score >= 0 else score / weight


def _nearest(gates: Sequence[GateDecision]) -> GateDecision:
    """The decision of the base that came nearest to answering, a match before any refusal."""
    return max(gates, key=lambda gate: (gate.decision == "match", (gate.value or 0.0) - (gate.threshold or 0.0)))
