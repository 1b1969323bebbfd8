"""OpenAI's vector store search over a base: its request as our questions, our answers in its shape. Knows no route."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from common.domain.errors import Refused
from common.domain.index import MAX_FILTER_KEYS, MAX_FILTER_VALUES
from common.domain.search import MAX_TOP_K, Answer, AnswerPassage, Search, SearchFilter
from common.settings import Settings
from functions.query.bodies import SearchBody, refused
from functions.query.decode import decode_filter

MAX_QUERIES: Final = 8
DEFAULT_RESULTS: Final = 10
MAX_ATTRIBUTES: Final = 16
MAX_ATTRIBUTE: Final = 512
MAX_ATTRIBUTE_NAME: Final = 64
_Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
_Conditions = dict[str, list[Any]]
_NOT_EXPRESSIBLE: Final = (
    "Only eq, in, an and of them, and an or of them over one key can be asked here; ne, nin, gt, gte, lt, lte cannot."
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Comparison(_Strict):
    """One attribute against a value, or for `in` against a list of them."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: Annotated[StrictStr, Field(min_length=1)]
    value: _Scalar | Annotated[list[_Scalar], Field(max_length=MAX_FILTER_VALUES)]


class Compound(_Strict):
    """Filters of which all (`and`) or any one (`or`) must hold."""

    type: Literal["and", "or"]
    filters: Annotated[list["Filter"], Field(min_length=1)]


Filter = Annotated[Comparison | Compound, Field(discriminator="type")]


class RankingOptions(_Strict):
    """`ranker` none reorders nothing, any other is what the deployment is set to; `score_threshold` stands in the place
    of the base's own gate and is compared with each result's `score`.
    """

    ranker: StrictStr | None = None
    score_threshold: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class VectorStoreBody(_Strict):
    """The body as OpenAI documents it. `rewrite_query` is taken and changes nothing: questions are asked as written."""

    query: StrictStr | Annotated[list[StrictStr], Field(min_length=1, max_length=MAX_QUERIES)]
    filters: Filter | None = None
    max_num_results: Annotated[StrictInt, Field(ge=1, le=MAX_TOP_K)] | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: StrictBool | None = None

    @property
    def queries(self) -> list[str]:
        return [self.query] if isinstance(self.query, str) else self.query

    @property
    def results(self) -> int:
        return self.max_num_results or DEFAULT_RESULTS

    @property
    def least_score(self) -> float | None:
        return self.ranking_options.score_threshold if self.ranking_options else None


def decode_vector_store(body: Mapping[str, Any], settings: Settings) -> tuple[VectorStoreBody, list[Search]]:
    """The request and its questions. Raises Refused 400 naming the field at fault."""
    try:
        asked = VectorStoreBody.model_validate(body)
        wanted: dict[str, Any] = {"top_k": asked.results}
        if asked.least_score is not None:
            wanted["threshold"] = None
        if asked.ranking_options is not None and asked.ranking_options.ranker == "none":
            wanted["rerank"] = "off"
        bodies = [SearchBody.model_validate({"query": query, **wanted}) for query in asked.queries]
    except ValidationError as error:
        raise refused(error) from error
    narrowed = _search_filter(asked.filters) if asked.filters else SearchFilter()
    return asked, [each.search(settings, narrowed) for each in bodies]


def encode_page(asked: VectorStoreBody, answers: Sequence[Answer]) -> dict[str, Any]:
    """One page of results, best first: of several questions each passage once, with its best score."""
    best: dict[str, tuple[float, AnswerPassage]] = {}
    for passage in (passage for answer in answers for passage in answer.passages):
        score = _score(passage)
        if passage.id not in best or score > best[passage.id][0]:
            best[passage.id] = score, passage
    # Sorting keeps the order of equals, and so of one reranked answer nothing but what its scores say is changed.
    ranked = list(best.values()) if len(answers) == 1 else sorted(best.values(), key=lambda each: -each[0])
    kept = [(score, passage) for score, passage in ranked if score >= (asked.least_score or 0.0)]
    return page_of(asked.queries, [_result(score, passage) for score, passage in kept[: asked.results]])


def page_of(queries: Sequence[str], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """OpenAI's page around the results; there is never a next one."""
    return {
        "object": "vector_store.search_results.page",
        "search_query": list(queries),
        "data": list(results),
        "has_more": False,
        "next_page": None,
    }


def _score(passage: AnswerPassage) -> float:
    """The fused score within 0 to 1: what it adds up may lie a little outside."""
    return min(1.0, max(0.0, passage.score))


def _result(score: float, passage: AnswerPassage) -> dict[str, Any]:
    return {
        "file_id": passage.document_id,
        "filename": passage.source,
        "score": score,
        "attributes": _attributes(passage),
        "content": [{"type": "text", "text": passage.text}],
    }


def _attributes(passage: AnswerPassage) -> dict[str, str | float | bool]:
    """What cites the passage, then its document's category and metadata, which are what filters ask for, within the
    bounds of OpenAI: 16 of them, names of 64 and texts of 512 characters.
    """
    own: dict[str, Any] = {"citation": passage.citation, "title": passage.title, "page": passage.page}
    if passage.lines:
        own |= {"first_line": passage.lines[0], "last_line": passage.lines[1]}
    known = {**dict(passage.metadata), "category": passage.category or None, **own}
    ordered = {name: known[name] for name in (*own, "category", *known)}
    told = {
        name[:MAX_ATTRIBUTE_NAME]: value[:MAX_ATTRIBUTE] if isinstance(value, str) else value
        for name, value in ordered.items()
        if value is not None
    }
    return dict(list(told.items())[:MAX_ATTRIBUTES])


def _search_filter(wanted: Comparison | Compound) -> SearchFilter:
    """The filter as ours. Raises Refused 400 naming `filters` for what ours cannot express."""
    conditions = _conditions(wanted)
    if len(conditions) > MAX_FILTER_KEYS or any(len(values) > MAX_FILTER_VALUES for values in conditions.values()):
        raise _refuse(f"A filter has at most {MAX_FILTER_KEYS} keys of {MAX_FILTER_VALUES} values each.")
    # A key without any value left can be met by nothing; only metadata says so.
    nothing: _Conditions = {key: values for key, values in conditions.items() if not values}
    if nothing:
        return SearchFilter(metadata=tuple((key, ()) for key in sorted(nothing)))
    try:
        return decode_filter(conditions)
    except Refused as error:
        raise _refuse(error.detail) from error


def _conditions(wanted: Comparison | Compound) -> _Conditions:
    """The values that each key may have, where all keys must hold."""
    if isinstance(wanted, Comparison):
        if wanted.type == "eq" and not isinstance(wanted.value, list):
            return {wanted.key: [wanted.value]}
        if wanted.type == "in" and isinstance(wanted.value, list):
            return {wanted.key: _once(wanted.value)}
        raise _refuse(_NOT_EXPRESSIBLE)
    parts = [_conditions(each) for each in wanted.filters]
    if wanted.type == "and":
        return _all_of(parts)
    keys = {tuple(part) for part in parts}
    if len(parts) == 1:
        return parts[0]
    if len(keys) > 1 or len(parts[0]) != 1:
        raise _refuse(_NOT_EXPRESSIBLE)
    (key,) = parts[0]
    return {key: _once(value for part in parts for value in part[key])}


def _all_of(parts: Iterable[_Conditions]) -> _Conditions:
    found: _Conditions = {}
    for key, values in (item for part in parts for item in part.items()):
        allowed = {_identity(value) for value in values}
        found[key] = [value for value in found[key] if _identity(value) in allowed] if key in found else values
    return found


def _once(values: Iterable[Any]) -> list[Any]:
    return list({_identity(value): value for value in values}.values())


def _identity(value: object) -> tuple[bool, object]:
    """Numbers are equal by value; a bool is none of them, whatever the language says."""
    return isinstance(value, bool), value


def _refuse(detail: str) -> Refused:
    return Refused(400, "BAD_REQUEST", detail, "filters")
