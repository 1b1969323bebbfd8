"""Commands that change a base: ingest, delete, reset. Each waits until its jobs are done."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from common.cli.api import Api, header_text, route, rows
from common.cli.output import Context
from common.cli.read import base_option
from common.cli.stopping import until_signalled
from common.domain.codes import TERMINAL
from common.domain.objects import ignored_name
from common.domain.providers import NO_MODEL
from common.settings import Settings

POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Found:
    """One file to upload under its source."""

    path: Path
    source: str


@dataclass(slots=True)
class Summary:
    """What an ingest came to."""

    started: float = field(default_factory=time.perf_counter)
    states: Counter[str] = field(default_factory=Counter)
    passages: int = 0
    embedded_passages: int = 0
    tokens: int = 0
    documents: list[dict[str, Any]] = field(default_factory=list)

    def add(self, source: str, state: str, job: dict[str, Any]) -> None:
        self.states[state] += 1
        if state not in {"unchanged", "deleted"}:
            self.embedded_passages += job.get("new_passages", 0)
            self.tokens += job.get("tokens_embedded", 0)
        self.passages += job.get("passages", 0)
        row = {"source": source, "state": state, "code": job.get("code"), "reason": job.get("reason")}
        self.documents.append({**row, "passages": job.get("passages", 0), "job_id": job.get("job_id")})

    def body(self) -> dict[str, Any]:
        """The summary as --json prints it."""
        states = ("indexed", "unchanged", "empty", "skipped", "failed", "superseded", "deleted")
        return {
            **{state: self.states[state] for state in states},
            "passages": self.passages,
            "embedded_passages": self.embedded_passages,
            "tokens": self.tokens,
            "seconds": round(time.perf_counter() - self.started, 2),
            "documents": self.documents,
        }


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@base_option
@click.option("--mirror", is_flag=True, help="Also delete what is no longer at PATH.")
@click.option("--watch", is_flag=True, help="Go on with every change at PATH until stopped.")
def ingest(context: Context, paths: tuple[Path, ...], base: str, mirror: bool, watch: bool) -> None:  # noqa: FBT001 - click's flags
    """Upload files or folders into a base and wait until they answer."""
    failed = _bring_in(context, paths, base, mirror=mirror)
    if watch:
        import watchfiles  # noqa: PLC0415 - only who watches needs it

        # One pass more once the watch stands: what changed before it would be seen by nobody.
        stands, stopping = False, until_signalled()
        for changes in watchfiles.watch(*paths, stop_event=stopping, rust_timeout=500, yield_on_timeout=True):
            if changes or not stands:
                failed = _bring_in(context, paths, base, mirror=mirror)
            stands = True
    if failed:
        raise click.exceptions.Exit(1)


def _bring_in(context: Context, paths: tuple[Path, ...], base: str, *, mirror: bool) -> bool:
    """One pass over the paths, with its summary; answers whether a file failed."""
    files = list(_files(paths))
    summary = Summary()
    with context.api() as api:
        waiting = []
        for found in files:
            stored = _upload(api, base, found)
            waiting.append((found.source, stored["job_id"], "unchanged" if stored["unchanged"] else ""))
        if mirror:
            waiting += _mirror(api, base, {found.source for found in files})
        hidden = context.options.json or context.options.quiet
        with click.progressbar(waiting, label="Indexing", hidden=hidden, file=sys.stderr) as bar:
            for source, job_id, state in bar:
                job = wait(api, base, job_id)
                summary.add(source, state or job["state"], job)
    body = summary.body()
    counts = ", ".join(f"{body[state]} {state}" for state in body if state in summary.states)
    lines = [f"{row['source']}: {row['state']}: {row['reason']}" for row in body["documents"] if row["reason"]]
    lines.append(
        f"{counts or 'nothing to do'}; {body['passages']} passages, {body['embedded_passages']} embedded, "
        f"{body['seconds']} s."
    )
    context.options.emit(body, lines)
    return bool(body["failed"])


@click.command()
@click.argument("source")
@base_option
def delete(context: Context, source: str, base: str) -> None:
    """Delete a document (its file in the bucket too) and wait until no answer holds it."""
    with context.api() as api:
        accepted = api.call("DELETE", route("bases", base, "documents", source)).checked().body
        job = wait(api, base, accepted["job_id"])
    body = {"source": accepted["source"], "job_id": job["job_id"], "state": job["state"], "reason": job["reason"]}
    context.options.emit(body, [f"{accepted['source']}: {job['state']}"])
    if job["state"] != "deleted":
        raise click.exceptions.Exit(1)


@click.command()
@base_option
@click.option("--yes", is_flag=True, required=True, help="Yes, delete every document of the base.")
def reset(context: Context, base: str, yes: bool) -> None:  # noqa: ARG001, FBT001 - asked for, not read
    """Delete every document of a base; the base itself stays, empty."""
    with context.api() as api:
        body = api.call("DELETE", route("bases", base)).checked().body
        for job_id in body["job_ids"]:
            wait(api, base, job_id)
    context.options.emit({"base": base, "deleted": body["deleted"]}, [f"{body['deleted']} files deleted."])


@click.command()
@base_option
def calibrate(context: Context, base: str) -> None:
    """Fit the gate of a base on its own passages, and print its error rates on questions held out of the fit."""
    with context.api() as api:
        gate = dict(api.call("POST", route("bases", base, "calibrate")).checked().body)
    rates = ", ".join(f"{name} {value:.3f}" for name, value in gate["rates"].items())
    told = f"fitted on {gate['passages']} passages" if gate["fitted"] else _unfitted(context.settings)
    context.options.emit(gate, [f"cut {gate['cut']:.3f}, {told}", *([rates] if rates else [])])


def _unfitted(settings: Settings) -> str:
    if settings.provider.name == NO_MODEL:
        return "the share of a question's words that has to be covered (no vectors, so there is nothing to fit)"
    return "the model's constants (too little to fit)"


def wait(api: Api, base: str, job_id: str) -> dict[str, Any]:
    """The job once it is terminal."""
    while True:
        job = dict(api.call("GET", route("bases", base, "jobs", job_id)).checked().body)
        if job["state"] in TERMINAL:
            return job
        time.sleep(POLL_SECONDS)


def _upload(api: Api, base: str, found: Found) -> dict[str, Any]:
    headers = {"X-Source": header_text(found.source), "Content-Type": "application/octet-stream"}
    path = route("bases", base, "documents")
    return dict(api.call("POST", path, data=found.path.read_bytes(), headers=headers).checked().body)


def _mirror(api: Api, base: str, kept: set[str]) -> list[tuple[str, str, str]]:
    listed = rows(api, lambda cursor: route("bases", base, "documents", cursor=cursor, limit=1000), "documents")
    gone = sorted({row["object"] for row in listed} - kept)
    return [
        (source, api.call("DELETE", route("bases", base, "documents", source)).checked().body["job_id"], "")
        for source in gone
    ]


def _files(paths: tuple[Path, ...]) -> Iterator[Found]:
    """Every regular file at or below the paths, hidden and temporary ones left out; sources are paths below PATH."""
    for path in paths:
        if path.is_file():
            yield Found(path, path.name)
            continue
        for file in sorted(path.rglob("*")):
            below = file.relative_to(path)
            hidden = any(part.startswith(".") for part in below.parts)
            if file.is_file() and not hidden and not ignored_name(below.as_posix()):
                yield Found(file, below.as_posix())


COMMANDS = (ingest, delete, reset, calibrate)
