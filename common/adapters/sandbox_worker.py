"""The process that parses: bounded in memory and CPU, without network, told by its parent over two pipes.

Run as `python -m common.adapters.sandbox_worker '<json>'`; it reads frames from standard input and answers on the
descriptor that was its standard output. Frames are a 4-byte kind and an 8-byte length (big endian), then the bytes.
"""

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final

from common.adapters.parsers.refusals import limit
from common.adapters.parsers.wire import encode, encode_refusal
from common.domain.errors import DocumentError
from common.ports import Parser

HEADER: Final = struct.Struct(">4sQ")
READY: Final = b"REDY"
JOB: Final = b"JOB "
PARSED: Final = b"DOCS"
REFUSED: Final = b"REFU"
FAILED: Final = b"FAIL"
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_MIB: Final = 1024 * 1024
_WRITTEN: Final = 64 * _MIB
_MAPPED: Final = 1024 * _MIB
MEMORY_PER_BYTE: Final = 6
"""How much more memory a document may take for each of its own bytes: its text, what is read out of it, and the answer,
each once or twice, stand beside each other.
"""
_NETWORK_EVENTS: Final = frozenset(
    {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}
)


def main(options: dict[str, Any]) -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    # What libraries print must not end up between two frames.
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    _enclose(options["memory"])
    parser = _parser(options["factory"], options["options"])
    _send(answers, READY, b"")
    # The collector finds nothing to free in the middle of a document, and pauses cost a tenth of the time.
    gc.freeze()
    gc.disable()
    while True:
        header = sys.stdin.buffer.read(HEADER.size)
        if len(header) < HEADER.size:
            return
        _, size = HEADER.unpack(header)
        _serve(answers, parser, json.loads(sys.stdin.buffer.read(size)), options)
        gc.collect()
        # What is left belongs to readers that loaded with this file: no later collection has to walk through them.
        gc.freeze()


def _serve(answers: BinaryIO, parser: Parser, job: dict[str, Any], options: dict[str, Any]) -> None:
    data = sys.stdin.buffer.read(job["size"])
    _allow_cpu(options["cpu"])
    _allow_memory(options["memory"] + MEMORY_PER_BYTE * len(data))
    kind, answer = _answer(parser, data, job, options["output"])
    _send(answers, kind, struct.pack(">Q", _peak_memory()), answer)
    _allow_memory(options["memory"])


def _answer(parser: Parser, data: bytes, job: dict[str, Any], bound: int) -> tuple[bytes, bytes | bytearray]:
    try:
        answer = encode(parser.parse(data, job["name"], job["content_type"]))
    except DocumentError as error:
        return REFUSED, encode_refusal(error)
    except MemoryError:
        return REFUSED, encode_refusal(limit("file", "reading it takes more memory than it may"))
    except RecursionError:
        return REFUSED, encode_refusal(limit("file", "it is nested too deep"))
    except Exception as error:  # noqa: BLE001 - a bug in a reader fails the document, never the service
        return FAILED, _where(error).encode()
    if len(answer) > bound:
        return REFUSED, encode_refusal(limit("file", f"it holds more than {bound // _MIB} MiB of text"))
    return PARSED, answer


def _peak_memory() -> int:
    """The most this process ever held, in bytes; 0 where the system does not tell.

    The kernel's count in `getrusage` begins with what the parent held when it started us.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="ignore")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return 0


def _where(error: BaseException) -> str:
    """The kind of a bug and the line it stands on; never its message, which may hold text of the document."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def _send(answers: BinaryIO, kind: bytes, *parts: bytes | bytearray) -> None:
    """One frame. Its parts are not joined: the last one may take as much as the document."""
    for part in (HEADER.pack(kind, sum(map(len, parts))), *parts):
        view = memoryview(part)
        while view:
            view = view[answers.write(view) :]


def _parser(factory: str, options: dict[str, Any]) -> Parser:
    module, _, name = factory.partition(":")
    parser: Parser = getattr(import_module(module), name)(**options)
    return parser


def _enclose(memory: int) -> None:
    """Give up the network and set the bounds that hold for the life of the process."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A network namespace of its own holds no way out; where the kernel refuses one, the hook below still stands.
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    sys.addaudithook(_refuse_network)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_WRITTEN, _WRITTEN))
    _allow_memory(memory)


def _allow_memory(bytes_: int) -> None:
    """The bound that counts from now on."""
    for kind, wanted in (
        (resource.RLIMIT_DATA, bytes_),
        # Where data alone is not counted (some sandboxes), address space is; shared libraries take most of the margin.
        (resource.RLIMIT_AS, bytes_ + _MAPPED),
    ):
        highest = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (wanted if highest == resource.RLIM_INFINITY else min(wanted, highest), highest))


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _NETWORK_EVENTS:
        raise PermissionError(f"a parser may not use the network ({event})")
    if event == "socket.__new__" and len(arguments) > 1 and arguments[1] not in {socket.AF_UNIX, -1}:
        raise PermissionError("a parser may not open a socket")


def _allow_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
