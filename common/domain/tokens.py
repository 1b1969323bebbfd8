"""A document's tokens from one tokenisation: how many stand in any range, and where the n-th one ends."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from common.domain.documents import ParsedDocument

TokenEnds = Callable[[str], Sequence[int]]
"""For each token of a text the character offset where it ends, in order."""

_PIECE: Final = 1 << 15
_SHIFT: Final = 10


@dataclass(frozen=True, slots=True)
class TokenMap:
    """The ends of all tokens, in characters of the document; `marks[n]` of them lie before character 1,024 n."""

    ends: "array[int]"
    marks: Sequence[int]

    def before(self, position: int) -> int:
        """How many tokens end at `position` or before it."""
        mark = position >> _SHIFT
        return bisect_right(self.ends, position, self.marks[mark], self.marks[mark + 1])

    def count(self, start: int, end: int) -> int:
        """Tokens that end behind `start` and not behind `end`."""
        # `before` of both, written out: a document is measured this way several times for each of its blocks.
        ends, marks = self.ends, self.marks
        first, last = start >> _SHIFT, end >> _SHIFT
        upto = bisect_right(ends, end, marks[last], marks[last + 1])
        return upto - bisect_right(ends, start, marks[first], marks[first + 1])

    def zone(self, start: int, end: int) -> tuple[int, int]:
        """The characters between which the middle third of the range's tokens lies."""
        first, last = self.before(start), self.before(end)
        third = (last - first) // 3
        if third == 0:
            return start, end
        return self.ends[first + third - 1], self.ends[last - third - 1]


def map_tokens(document: ParsedDocument, token_ends: TokenEnds) -> TokenMap:
    """Tokenise the document's text once, in pieces of about 32,768 characters that end between blocks or words, so that
    no tokenizer is handed a whole book.
    """
    text = document.text
    ends = array("q")
    position = 0
    for cut in _cuts(text, [block.start for block in document.blocks]):
        ends.extend([position + offset for offset in token_ends(text[position:cut])])
        position = cut
    marks = [bisect_left(ends, position) for position in range(0, len(text) + 1, 1 << _SHIFT)]
    return TokenMap(ends, [*marks, len(ends)])


def _cuts(text: str, starts: Sequence[int]) -> Iterator[int]:
    position = 0
    while position + _PIECE < len(text):
        limit = position + _PIECE
        block = starts[bisect_right(starts, limit) - 1] if starts else 0
        blank = max(text.rfind(" ", position, limit), text.rfind("\n", position, limit))
        position = _before_blanks(text, block, position) or _before_blanks(text, blank, position) or limit
        yield position
    yield len(text)


def _before_blanks(text: str, cut: int, position: int) -> int:
    """The cut in front of the white space before it: at the end of a piece, some tokenizers make that a token of its
    own. 0 when nothing is left behind `position`.
    """
    while cut > position and text[cut - 1].isspace():
        cut -= 1
    return cut if cut > position else 0
