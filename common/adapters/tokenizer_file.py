"""TokenCounter by a tokenizer.json file, read once; nothing is fetched."""

from pathlib import Path

from tokenizers import Tokenizer

from common.domain.errors import Misconfigured
from common.domain.surrogates import encodable


class TokenizerFileCounter:
    """Counts with the tokenizer of `path`. Raises Misconfigured for a file that is none."""

    characters_per_token = 0

    def __init__(self, path: Path) -> None:
        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            # The library raises Exception itself, for a missing file and for one that it cannot read.
            raise Misconfigured(f"KB_TOKEN_COUNTER={path} is not a tokenizer.json that can be read: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(encodable(text), add_special_tokens=False).ids)
