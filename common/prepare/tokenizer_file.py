"""Makes a published tokenizer.json one that cuts nothing, pads nothing, and whose special tokens no text can spell."""

import json
from typing import Any


def open_window(text: str) -> str:
    """The tokenizer without truncation and padding, otherwise the same.

    A unigram vocabulary holds its special tokens as pieces, so that a text may spell them; a leading space, which
    Metaspace leaves in no text, takes them out of reach. Raises ValueError for what is no tokenizer.
    """
    data = json.loads(text)
    model = data["model"]
    data["truncation"] = None
    data["padding"] = None
    if model.get("type") == "Unigram":
        _out_of_reach(data, model)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _out_of_reach(data: dict[str, Any], model: dict[str, Any]) -> None:
    special = {token["content"] for token in data["added_tokens"] if token["special"]}
    for piece in model["vocab"]:
        if piece[0] in special:
            piece[0] = f" {piece[0]}"
    # An added token is found in the vocabulary by its spelling; the template names its ids itself.
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in special]


def limits(text: str, config: str) -> list[int]:
    """The lengths at which the tokenizer's own files cut: of tokenizer.json, then of tokenizer_config.json."""
    truncation = json.loads(text).get("truncation") or {}
    values = [truncation.get("max_length"), json.loads(config).get("model_max_length")]
    return [value for value in values if isinstance(value, int) and 0 < value < 1 << 20]
