"""Bodies of searches as they may be sent, field by field. Imported with the first one that needs a closer look."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError, field_validator

from common.domain.errors import Refused
from common.domain.index import MAX_FILTER_KEYS, MAX_FILTER_VALUES
from common.domain.merging import Weighted
from common.domain.search import MAX_QUERY, MAX_TOP_K, Search, SearchFilter
from common.settings import Settings
from functions.query.decode import MAX_BASES, NO_FILTER, UNSAID, decode_filter, is_blank, search_of

MAX_WEIGHT: Final = 100.0
_Value = StrictStr | StrictInt | StrictFloat | bool
_Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]
_Whole = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
_Filter = dict[str, _Value | Annotated[list[_Value], Field(max_length=MAX_FILTER_VALUES)]]


class SearchBody(BaseModel):
    """The body of a search, as CONTRACT.md has it. Unknown fields are refused: a misspelt one would be ignored."""

    model_config = ConfigDict(extra="forbid")

    query: StrictStr
    top_k: Annotated[StrictInt, Field(ge=1, le=MAX_TOP_K)] | None = None
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid"
    threshold: Literal["auto"] | _Finite | _Whole | None = "auto"
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
        return search_of(
            settings,
            query=self.query,
            top_k=self.top_k,
            mode=self.mode,
            threshold=self.threshold if "threshold" in self.model_fields_set else UNSAID,
            filter=narrowed or (decode_filter(self.filter) if self.filter else NO_FILTER),
            rerank=self.rerank,
            fusion=self.fusion,
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


def refused(error: ValidationError) -> Refused:
    """The first fault as a 400 that names its field."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(first["loc"][0]) if first["loc"] else "body"
    return Refused(400, "BAD_REQUEST", f"{field}: {first['msg'].removeprefix('Value error, ')}.", field)
