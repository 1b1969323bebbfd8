"""How fast Markdown and source code become passages before a tokenizer is asked.
`python -m tests.bench chunking [ROUNDS]`.

To ranges: text to blocks, blocks to the ranges of passages, measured in characters. To passages: the same and all else
that makes a passage (contexts, lines, what stands between), with a stand-in that calls every four characters a token;
what the stand-in and the map of its tokens take is taken out.
"""

import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from common.adapters.parsers.code import parse_code
from common.domain.chunking import ChunkSettings, chunk
from common.domain.coverage import dropped_ranges
from common.domain.documents import Block, ParsedDocument
from common.domain.grouping import group_by_paragraph, units
from common.domain.languages import language_of
from common.domain.markdown import scan
from common.domain.splitting import find_cut, trim
from common.domain.tokens import map_tokens
from tests.bench.code_chunking import PARSERS, sources
from tests.bench.reporting import middle, report, table
from tests.bench.setting import DATA

WANTED = {"markdown": 10.0, "code": 3.0}
SETTINGS = ChunkSettings(target=0, overlap=0, window=512, reserved=6)
WIDTH = 4
JOINED, SPLIT = 256, 384

Texts = Sequence[tuple[str, str]]


class Characters:
    """A ruler that calls every four characters a token."""

    def size(self, start: int, end: int) -> int:
        return (end - start) // WIDTH

    def zone(self, start: int, end: int) -> tuple[int, int]:
        third = (end - start) // 3
        return start + third, end - third

    def room(self, _: Block) -> int:
        return JOINED


def ranges(document: ParsedDocument) -> Iterator[tuple[int, int]]:
    """Where the passages would be, were a token four characters."""
    text, ruler = document.text, Characters()
    for members in group_by_paragraph(text, units(document, dropped_ranges(document), ruler), ruler):
        waiting = [(members[0].start, members[-1].end)]
        while waiting:
            start, end = waiting.pop()
            long = ruler.size(start, end) > SPLIT
            cut = find_cut(text, start, end, ruler.zone(start, end), members[0].block.kind) if long else None
            if cut is None:
                yield start, end
            else:
                waiting += [trim(text, cut, end), trim(text, start, cut)]


def quarters(text: str) -> Sequence[int]:
    return range(WIDTH, len(text) + 1, WIDTH)


def markdown_texts() -> Texts:
    found = [(path.name, path.read_bytes()) for path in sorted((DATA / "docs").rglob("*.md"))]
    return [(name, data.decode(errors="replace")) for name, data in found]


def code_texts() -> Texts:
    return list(sources(Path(sysconfig.get_paths()["stdlib"])))


def markdown_document(name: str, text: str) -> ParsedDocument:
    return ParsedDocument(name, name, text, scan(text).blocks)


def code_document(name: str, text: str) -> ParsedDocument:
    return PARSERS.get(language_of(name, text), parse_code)(name, text)


KINDS: dict[str, tuple[Callable[[], Texts], Callable[[str, str], ParsedDocument]]] = {
    "markdown": (markdown_texts, markdown_document),
    "code": (code_texts, code_document),
}


def taken(work: Callable[[], object]) -> float:
    """Seconds of this thread's processor time."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def once(texts: Texts, document_of: Callable[[str, str], ParsedDocument]) -> dict[str, float]:
    """Seconds from text to blocks, to ranges and to passages."""
    documents: list[ParsedDocument] = []
    blocks = taken(lambda: documents.extend(document_of(*given) for given in texts))
    whole = taken(lambda: [chunk(document, SETTINGS, quarters) for document in documents])
    counting = taken(lambda: [map_tokens(document, quarters) for document in documents])
    return {
        "blocks": blocks,
        "ranges": blocks + taken(lambda: [list(ranges(document)) for document in documents]),
        "passages": blocks + whole - counting,
    }


def rates(kind: str, rounds: int) -> dict[str, float]:
    """Megabytes (10^6 bytes of UTF-8) a second from text to blocks, to ranges and to passages, medians."""
    read, document_of = KINDS[kind]
    texts = read()
    size = sum(len(text.encode()) for _, text in texts) / 1e6
    spent = [once(texts, document_of) for _ in range(rounds)]
    speeds = {name: size / middle([turn[name] for turn in spent]) for name in spent[0]}
    return {"megabytes": size, **speeds, "wanted": WANTED[kind]}


def main(rounds: str = "5") -> int:
    found = {kind: rates(kind, int(rounds)) for kind in KINDS}
    table(
        ("kind", "MB", "to blocks MB/s", "to ranges MB/s", "to passages MB/s", "wanted to ranges"),
        [(kind, *figures.values()) for kind, figures in found.items()],
    )
    report("chunking", found)
    return int(any(figures["ranges"] < figures["wanted"] for figures in found.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
