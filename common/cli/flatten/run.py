"""One run of the tool: reads the folder, repository or site, and writes the corpus."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from common.cli.flatten.crawl import Crawler
from common.cli.flatten.fetch import Fetch, HttpFetch
from common.cli.flatten.git import Run, clone, run_program
from common.cli.flatten.plan import Decode, FlattenFailed, FlattenOptions, FlattenReport, Item, ReadPage, Tally
from common.cli.flatten.select import NOT_MARKDOWN
from common.cli.flatten.walk import walk
from common.cli.flatten.write import write_corpus

_ADVICE: Final = {
    "docs": "It holds no Markdown. Run it with --kind code (source, Terraform, YAML, shell) or --kind auto (all text).",
    "code": "It holds neither Markdown nor source. Run it with --kind auto for all text.",
    "auto": "It holds no text.",
}


def run(
    options: FlattenOptions,
    *,
    read_page: ReadPage,
    decode: Decode,
    fetch: Fetch | None = None,
    git: Run = run_program,
) -> FlattenReport:
    """Writes `options.output` and answers what is in it and what is not. Raises FlattenFailed when there is nothing to
    write or it cannot be reached; the output then stays as it was.
    """
    tally = Tally()
    if options.url:
        crawler = Crawler(options, tally, fetch or HttpFetch(options.allow_private), read_page, decode)
        return _write(options, crawler.pages(), tally, {})
    if options.root is not None:
        return _write(options, walk(options.root, options.kind, tally, decode, _own(options)), tally, {})
    with tempfile.TemporaryDirectory(prefix="fichario-clone-") as folder:
        checkout = Path(folder) / "repository"
        public, commit = clone(options.repo, checkout, allow_private=options.allow_private, run=git)
        items = walk(checkout, options.kind, tally, decode)
        report = _write(options, items, tally, {"repoUrl": public, "commit": commit})
        return replace(report, repo_url=public, commit=commit)


def _own(options: FlattenOptions) -> frozenset[Path]:
    return frozenset({options.output.resolve()})


def _write(options: FlattenOptions, items: Iterable[Item], tally: Tally, provenance: dict[str, str]) -> FlattenReport:
    documents, lines, characters = write_corpus(
        options.output, _some(items, options, tally), options.max_chars, provenance
    )
    return FlattenReport(str(options.output), documents, lines, characters, dict(tally.skipped), dict(tally.cut_off))


def _some(items: Iterable[Item], options: FlattenOptions, tally: Tally) -> Iterator[Item]:
    """The items; raises FlattenFailed at the end when there was none."""
    found = False
    for item in items:
        found = True
        yield item
    if not found:
        skipped = ", ".join(f"{count:,} {reason}" for reason, count in tally.skipped.items() if reason != NOT_MARKDOWN)
        what = "The site holds no page with text." if options.url else _ADVICE[options.kind]
        raise FlattenFailed(f"Nothing to write. {what}{f' Skipped: {skipped}.' if skipped else ''}")
