"""Requests of the query function as checked questions. Every fault is a 400 that names the field."""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from common.domain.errors import Refused
from common.domain.fusion import Method, Mode
from common.domain.gate import Threshold
from common.domain.objects import is_base_id
from common.domain.search import MAX_QUERY, MAX_TOP_K, Rerank, Search, SearchFilter
from common.settings import Settings

if TYPE_CHECKING:
    from common.domain.merging import Weighted
    from functions.query.bodies import SeveralBody

MAX_BASES: Final = 50
NO_FILTER: Final = SearchFilter()
UNSAID: Final = "unsaid"
"""The threshold of a body that names none: then the settings say it."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Cn", "Cs"})
_PLAIN: Final = frozenset({"query", "top_k", "mode", "threshold", "rerank", "fusion"})
_FAR: Final = 1e9
_MODES: Final = get_args(Mode)
_RERANKS: Final = (None, *get_args(Rerank))
_FUSIONS: Final = (None, *get_args(Method))


def decode_several(body: Mapping[str, Any], settings: Settings) -> tuple[list["Weighted"], Search]:
    """The bases and the checked question. Raises Refused 400 naming the first field at fault."""
    from pydantic import ValidationError  # noqa: PLC0415 - see decode_search

    from functions.query.bodies import SeveralBody, refused  # noqa: PLC0415 - see decode_search

    try:
        asked = SeveralBody.model_validate(body)
    except ValidationError as error:
        raise refused(error) from error
    check_bases(asked)
    return asked.weighted(), asked.search(settings)


def check_bases(asked: "SeveralBody") -> None:
    """Raises Refused 400 for a base whose name is none."""
    for each in asked.bases:
        if not is_base_id(each.base):
            raise Refused(400, "BAD_BASE", f"{each.base!r} is not the id of a base.", "bases")


def decode_search(body: Mapping[str, Any], settings: Settings, *, measuring: bool = False) -> Search:
    """The checked question of one base. Raises Refused 400 naming the first field at fault."""
    plain = _plain(body, settings, measuring=measuring)
    if plain is not None:
        return plain
    # A question of a few plain fields needs nothing of it, and importing it takes a tenth of the function's start.
    from pydantic import ValidationError  # noqa: PLC0415 - see above

    from functions.query.bodies import SearchBody, refused  # noqa: PLC0415 - see above

    try:
        return replace(SearchBody.model_validate(body).search(settings), measuring=measuring)
    except ValidationError as error:
        raise refused(error) from error


def search_of(
    settings: Settings,
    *,
    query: str,
    top_k: int | None,
    mode: Mode,
    threshold: Any,  # noqa: ANN401 - a Threshold, or UNSAID
    filter: SearchFilter,  # noqa: A002 - its name in the contract
    rerank: Rerank | None,
    fusion: Method | None,
    measuring: bool = False,
) -> Search:
    """A question of checked fields, with what the settings say where it says nothing."""
    if threshold == UNSAID:
        threshold = None if settings.kb_similarity_threshold == "off" else _threshold(settings)
    return Search(
        query=query,
        top_k=top_k or settings.kb_top_k,
        mode=mode,
        threshold=threshold,
        filter=filter,
        rerank=rerank or settings.kb_rerank,  # type: ignore[arg-type]  # Settings checked the word
        fusion=fusion or settings.kb_fusion,  # type: ignore[arg-type]  # Settings checked the word
        measuring=measuring,
    )


def _plain(body: Mapping[str, Any], settings: Settings, *, measuring: bool) -> Search | None:
    """The question of a body of a few plain fields, as SearchBody would read it; None for any other."""
    query, top_k, threshold = body.get("query"), body.get("top_k"), body.get("threshold", UNSAID)
    mode: Any = body.get("mode", "hybrid")
    rerank: Any = body.get("rerank")
    fusion: Any = body.get("fusion")
    if (
        not body.keys() <= _PLAIN
        or type(query) is not str
        or not _is_question(query)
        or not (top_k is None or (type(top_k) is int and 1 <= top_k <= MAX_TOP_K))
        or not _is_one_of(_MODES, mode)
        or not _is_threshold(threshold, told="threshold" in body)
        or not _is_one_of(_RERANKS, rerank)
        or not _is_one_of(_FUSIONS, fusion)
    ):
        return None
    return search_of(
        settings,
        query=query.strip(),
        top_k=top_k,
        mode=mode,
        threshold=threshold,
        filter=NO_FILTER,
        rerank=rerank,
        fusion=fusion,
        measuring=measuring,
    )


def _is_question(query: str) -> bool:
    trimmed = query.strip()
    return not is_blank(trimmed) and len(trimmed) <= MAX_QUERY


def _is_one_of(words: tuple[str | None, ...], given: Any) -> bool:  # noqa: ANN401 - what JSON holds
    return (given is None or type(given) is str) and given in words


def _is_threshold(threshold: Any, *, told: bool) -> bool:  # noqa: ANN401 - what JSON holds
    if type(threshold) is int or type(threshold) is float:
        return -_FAR < threshold < _FAR
    return threshold is None or not told or (type(threshold) is str and threshold == "auto")


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
