"""Requests of the query function as checked questions. Every fault is a 400 that names the field."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError, field_validator

from common.domain.errors import Refused
from common.domain.gate import Threshold
from common.domain.index import MAX_FILTER_KEYS, MAX_FILTER_VALUES
from common.domain.merging import Weighted
from common.domain.objects import is_base_id
from common.domain.search import MAX_QUERY, MAX_TOP_K, Search, SearchFilter
from common.settings import Settings

MAX_BASES: Final = 50
MAX_WEIGHT: Final = 100.0
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Cs"})
_NO_FILTER: Final = SearchFilter()
_Value = StrictStr | StrictInt | StrictFloat | bool
_Filter = dict[str, _Value | Annotated[list[_Value], Field(max_length=MAX_FILTER_VALUES)]]


class SearchBody(BaseModel):
    """The body of a search, as CONTRACT.md has it. Unknown fields are refused: a misspelt one would be ignored."""

    model_config = ConfigDict(extra="forbid")

    query: StrictStr
    top_k: Annotated[StrictInt, Field(ge=1, le=MAX_TOP_K)] | None = None
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid"
    threshold: Literal["auto"] | Annotated[StrictFloat | StrictInt, Field(allow_inf_nan=False)] | None = "auto"
    filter: Annotated[_Filter, Field(max_length=MAX_FILTER_KEYS)] | None = None
    rerank: Literal["off", "mmr", "llm"] | None = None
    fusion: Literal["sum", "minmax", "rrf"] | None = None

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str) -> str:
        trimmed = query.strip()
        if is_blank(trimmed):
            raise ValueError("the question is blank")
        if len(trimmed) > MAX_QUERY:
            raise ValueError(f"a question has at most {MAX_QUERY:,} characters, this one has {len(trimmed):,}")
        return trimmed

    def search(self, settings: Settings, narrowed: SearchFilter | None = None) -> Search:
        """The question with what the settings say where the body says nothing; `narrowed` is its filter if given."""
        threshold: Threshold = self.threshold
        if "threshold" not in self.model_fields_set:
            threshold = None if settings.kb_similarity_threshold == "off" else _threshold(settings)
        return Search(
            query=self.query,
            top_k=self.top_k or settings.kb_top_k,
            mode=self.mode,
            threshold=threshold,
            filter=narrowed or (decode_filter(self.filter) if self.filter else _NO_FILTER),
            rerank=self.rerank or settings.kb_rerank,  # type: ignore[arg-type]  # Settings checked the word
            fusion=self.fusion or settings.kb_fusion,  # type: ignore[arg-type]  # Settings checked the word
        )


class BaseWeight(BaseModel):
    """One base of a question over several."""

    model_config = ConfigDict(extra="forbid")

    base: StrictStr
    weight: Annotated[StrictFloat | StrictInt, Field(gt=0, le=MAX_WEIGHT, allow_inf_nan=False)] = 1.0


class SeveralBody(SearchBody):
    """The body of a search over several bases."""

    bases: Annotated[list[BaseWeight], Field(min_length=1, max_length=MAX_BASES)]

    @field_validator("bases")
    @classmethod
    def _each_once(cls, bases: list[BaseWeight]) -> list[BaseWeight]:
        if len({each.base for each in bases}) < len(bases):
            raise ValueError("each base stands once")
        return bases

    def weighted(self) -> list[Weighted]:
        """The bases in the order in which they were asked."""
        return [Weighted(each.base, float(each.weight)) for each in self.bases]


def decode_several(body: Mapping[str, Any], settings: Settings) -> tuple[list[Weighted], Search]:
    """The bases and the checked question. Raises Refused 400 naming the first field at fault."""
    try:
        asked = SeveralBody.model_validate(body)
    except ValidationError as error:
        raise refused(error) from error
    check_bases(asked)
    return asked.weighted(), asked.search(settings)


def check_bases(asked: SeveralBody) -> None:
    """Raises Refused 400 for a base whose name is none."""
    for each in asked.bases:
        if not is_base_id(each.base):
            raise Refused(400, "BAD_BASE", f"{each.base!r} is not the id of a base.", "bases")


def decode_search(body: Mapping[str, Any], settings: Settings) -> Search:
    """The checked question of one base. Raises Refused 400 naming the first field at fault."""
    try:
        return SearchBody.model_validate(body).search(settings)
    except ValidationError as error:
        raise refused(error) from error


def is_blank(text: str) -> bool:
    """Nothing left after white space, format and control characters (RULES 24)."""
    return all(unicodedata.category(c) in _INVISIBLE or c.isspace() for c in text)


def _threshold(settings: Settings) -> Threshold:
    value = settings.kb_similarity_threshold
    return value if isinstance(value, float) else "auto"


def decode_filter(given: Mapping[str, Any]) -> SearchFilter:
    """`source_prefix` and `category` are known; every other key is looked up under `metadata.` only (RULES 17)."""
    values = {key: tuple(value) if isinstance(value, list) else (value,) for key, value in given.items()}
    prefix = values.pop("source_prefix", ("",))
    if len(prefix) != 1 or not isinstance(prefix[0], str):
        raise Refused(400, "BAD_REQUEST", "source_prefix is one text.", "filter.source_prefix")
    categories = values.pop("category", ())
    if not all(isinstance(c, str) for c in categories):
        raise Refused(400, "BAD_REQUEST", "category is a text or a list of texts.", "filter.category")
    return SearchFilter(prefix[0], categories, tuple(sorted(values.items())))


def refused(error: ValidationError) -> Refused:
    """The first fault as a 400 that names its field."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(first["loc"][0]) if first["loc"] else "body"
    return Refused(400, "BAD_REQUEST", f"{field}: {first['msg'].removeprefix('Value error, ')}.", field)
