"""Another order for the best of the fused passages: more diverse (MMR, without any key), or a language model's."""

from dataclasses import dataclass, replace
from typing import Final

from common.domain.errors import Unavailable
from common.domain.fusion import diversify
from common.domain.lexical import fold
from common.domain.search import Answer, AnswerPassage, Search
from common.domain.usage import Count, Spend, uncounted
from common.ports import Reranker

RERANKED: Final = 24
"""How many passages are put in another order; those behind them keep theirs."""
NOT_CONFIGURED: Final = "Not reranked: set KB_RERANK_URL and KB_RERANK_MODEL for rerank=llm."


@dataclass(frozen=True, slots=True)
class Reordering:
    """Reranks what was found for one question. Whatever fails, the fused order stays."""

    reranker: Reranker | None = None
    spend: Spend = uncounted

    def pool(self, search: Search) -> Search:
        """The question as it is to be asked so that there is enough to put in order."""
        return search if search.rerank == "off" else replace(search, top_k=max(RERANKED, search.top_k))

    def apply(self, search: Search, answer: Answer, deadline: float) -> Answer:
        """The answer in its final order with `top_k` passages; `deadline` is of time.monotonic()."""
        if search.rerank == "mmr":
            answer = answer._replace(passages=_diverse(answer.passages))
        elif search.rerank == "llm" and len(answer.passages) > 1:
            answer = self._by_model(search.query, answer, deadline)
        if len(answer.passages) <= search.top_k:
            return answer
        return answer._replace(passages=answer.passages[: search.top_k])

    def _by_model(self, query: str, answer: Answer, deadline: float) -> Answer:
        if self.reranker is None:
            return answer._replace(warnings=(*answer.warnings, NOT_CONFIGURED), settled=False)
        head, tail = answer.passages[:RERANKED], answer.passages[RERANKED:]
        try:
            ranked = self.reranker.rerank(query, [passage.text for passage in head], deadline)
        except Unavailable as error:
            return answer._replace(warnings=(*answer.warnings, f"Not reranked: {error}."), settled=False)
        # Of several bases the one that holds the best passage pays.
        self.spend(head[0].base, "rerank", Count(1, ranked.prompt_tokens, ranked.completion_tokens))
        tokens = (ranked.prompt_tokens, ranked.completion_tokens)
        return answer._replace(passages=(*(head[place] for place in ranked.order), *tail), rerank_tokens=tokens)


def _diverse(passages: tuple[AnswerPassage, ...]) -> tuple[AnswerPassage, ...]:
    head = passages[:RERANKED]
    order = diversify([p.score for p in head], [frozenset(fold(p.text).split()) for p in head])
    return (*(head[place] for place in order), *passages[RERANKED:])
