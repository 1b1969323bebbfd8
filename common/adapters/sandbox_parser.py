"""A Parser in a process of its own: what a hostile file does to it ends there, and the next file gets a fresh one."""

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import IO, Final

from common.adapters.parsers.refusals import limit
from common.adapters.parsers.wire import decode, decode_refusal
from common.adapters.sandbox_worker import FAILED, HEADER, JOB, PARSED, READY, REFUSED
from common.domain.documents import JsonValue, Parsed
from common.domain.errors import DocumentError, Unavailable

_MIB: Final = 1024 * 1024
_START_SECONDS: Final = 60.0
_CHUNK: Final = 1 << 20
_PEAK: Final = struct.Struct(">Q")
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TESSDATA_PREFIX", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one document may take: bytes (and some for each of its own), seconds; and how many documents one process
    may read.
    """

    memory: int = 400 * _MIB
    cpu_seconds: int = 120
    wall_seconds: float = 180.0
    output: int = 256 * _MIB
    documents: int = 200


class _WorkerGone(Exception):
    """The process ended or was ended; `timed_out` says by whom."""

    def __init__(self, *, timed_out: bool = False) -> None:
        super().__init__()
        self.timed_out = timed_out


class SandboxParser:
    """Runs the parser that `factory` (`module:function`, called with `options`) makes, in a worker kept between files.

    A breach of a bound, a crash or a hang is DocumentError PARSER_LIMIT, a bug of a reader INTERNAL; the worker is
    replaced and the caller's process is none the worse. One document at a time; threads wait for each other.
    """

    def __init__(
        self,
        factory: str,
        options: Mapping[str, JsonValue] | None = None,
        bounds: Bounds | None = None,
        paths: Sequence[str] = (),
    ) -> None:
        self._bounds = bounds or Bounds()
        self._factory = factory
        self._options = dict(options or {})
        self._paths = tuple(paths)
        self._lock = Lock()
        self._worker: _Worker | None = None

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        """The wrapped parser's answer. Raises DocumentError; Unavailable when no worker can be started."""
        with self._lock:
            for attempt in (1, 2):
                worker = self._ready()
                try:
                    kind, answer = worker.ask(data, name, content_type)
                except _WorkerGone as gone:
                    code = self._discard()
                    # A worker that died while it waited says nothing about this file.
                    if attempt == 1 and not worker.took and not gone.timed_out:
                        continue
                    raise self._breach(code, timed_out=gone.timed_out) from None
                return self._read(worker, kind, answer)
        raise Unavailable("the document reader does not start")

    def close(self) -> None:
        """End the worker; the next document starts another."""
        with self._lock:
            self._discard()

    def _ready(self) -> "_Worker":
        if self._worker is not None and self._worker.spent:
            self._discard()
        if self._worker is None:
            self._worker = _Worker(self._factory, self._options, self._bounds, self._paths)
        return self._worker

    def _read(self, worker: "_Worker", kind: bytes, answer: bytes) -> Parsed:
        if kind == FAILED:
            raise DocumentError(
                "INTERNAL",
                f"Reading the file failed in a way that was not foreseen ({answer.decode('ascii', 'replace')[:200]}).",
                "Report the file; save it in another format and upload that meanwhile.",
            )
        try:
            if kind == REFUSED:
                raise decode_refusal(answer)
            if kind == PARSED:
                return decode(answer)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            worker.spent = True
            raise limit("file", "its reader answered nonsense") from error
        worker.spent = True
        raise limit("file", "its reader answered nonsense")

    def _discard(self) -> int | None:
        """End the worker and all it started; answers how it ended (a negative signal where one did)."""
        worker, self._worker = self._worker, None
        return worker.end() if worker is not None else None

    def _breach(self, code: int | None, *, timed_out: bool) -> DocumentError:
        if timed_out or code == -signal.SIGXCPU:
            return limit("file", f"reading it takes longer than {self._bounds.wall_seconds:g} seconds")
        if code in {-signal.SIGKILL, -signal.SIGABRT}:
            return limit("file", f"reading it takes more than {self._bounds.memory // _MIB} MiB of memory")
        return limit("file", "it crashed its reader")


class _Worker:
    """One process and its two pipes."""

    def __init__(self, factory: str, options: Mapping[str, JsonValue], bounds: Bounds, paths: Sequence[str]) -> None:
        self._bounds = bounds
        self._documents = 0
        self.spent = False
        self.took = False
        told = {
            "factory": factory,
            "options": options,
            "memory": bounds.memory,
            "cpu": bounds.cpu_seconds,
            "output": bounds.output,
        }
        # The environment holds no secret: keys of stores and models stay with the service.
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
        self._home = tempfile.TemporaryDirectory(prefix="fichario-parser-")
        self._process = subprocess.Popen(  # noqa: S603 - our own module with our own interpreter
            [sys.executable, "-m", "common.adapters.sandbox_worker", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._home.name,
            env={
                **kept,
                "HOME": self._home.name,
                "TMPDIR": self._home.name,
                "PYTHONPATH": os.pathsep.join([*paths, *filter(None, map(os.path.abspath, sys.path))]),
                "OMP_THREAD_LIMIT": "1",
            },
            start_new_session=True,
        )
        _widen(self._process.stdin, self._process.stdout)
        try:
            kind, _ = self._receive(time.monotonic() + _START_SECONDS)
        except _WorkerGone as gone:
            self.end()
            raise Unavailable("the document reader does not start") from gone
        if kind != READY:
            self.end()
            raise Unavailable("the document reader does not start")

    def ask(self, data: bytes, name: str, content_type: str) -> tuple[bytes, bytes]:
        """The worker's answer to one document. Raises _WorkerGone."""
        self.took = False
        job = json.dumps({"size": len(data), "name": name, "content_type": content_type}).encode()
        try:
            self._pipe.write(HEADER.pack(JOB, len(job)) + job)
            self._pipe.write(data)
            self._pipe.flush()
        except (BrokenPipeError, OSError) as error:
            raise _WorkerGone from error
        self.took = True
        kind, body = self._receive(time.monotonic() + self._bounds.wall_seconds)
        peak = _PEAK.unpack_from(body)[0] if len(body) >= _PEAK.size else 0
        self._documents += 1
        # Memory that a large document took is not always given back.
        self.spent = self._documents >= self._bounds.documents or peak > self._bounds.memory // 2
        return kind, body[_PEAK.size :]

    def end(self) -> int | None:
        """Kill the process and its children; answers its exit code as it was before, where it had ended by itself."""
        ended = self._process.poll()
        if ended is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                # Its pipe closes a moment before the process is gone; its own signal tells more than ours.
                ended = self._process.wait(timeout=0.5) if self.took else None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._home.cleanup()
        return ended

    @property
    def _pipe(self) -> IO[bytes]:
        if self._process.stdin is None:
            raise _WorkerGone
        return self._process.stdin

    def _receive(self, deadline: float) -> tuple[bytes, bytes]:
        kind, size = HEADER.unpack(self._bytes(HEADER.size, deadline))
        if size > self._bounds.output + _MIB:
            raise _WorkerGone
        return kind, self._bytes(size, deadline)

    def _bytes(self, size: int, deadline: float) -> bytes:
        if self._process.stdout is None:
            raise _WorkerGone
        descriptor = self._process.stdout.fileno()
        parts: list[bytes] = []
        while size:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([descriptor], [], [], remaining)[0]:
                raise _WorkerGone(timed_out=True)
            part = os.read(descriptor, min(size, _CHUNK))
            if not part:
                raise _WorkerGone
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _widen(*pipes: IO[bytes] | None) -> None:
    """Let a megabyte stand in each pipe, so that a large file is not handed over in hundreds of turns."""
    for pipe in pipes:
        # Only Linux can, and a system may allow less.
        if pipe is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)
