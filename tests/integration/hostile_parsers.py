"""Parsers that misbehave on command, for the sandbox to hold: the first word of the file says how."""

import ctypes
import os
import socket
import time
from pathlib import Path

from common.domain.documents import Block, Parsed, ParsedDocument
from common.domain.errors import DocumentError


class CommandedParser:
    """Does what the file says."""

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        word, _, rest = data.decode().partition(" ")
        action = getattr(self, f"_{word}", None)
        if action is not None:
            action(rest)
        text = f"{data.decode()} {content_type}".strip() or "empty"
        block = Block(0, len(text), headings=("a", "b"), page=3)
        document = ParsedDocument(name, name, text, (block,), metadata={"k": [1]})
        return Parsed((document,), (str(os.getpid()),))

    def _hang(self, _: str) -> None:
        time.sleep(3600)

    def _spin(self, _: str) -> None:
        while True:
            pass

    def _swallow(self, size: str) -> None:
        held = bytearray(int(size))
        held[::4096] = b"x" * len(held[::4096])

    def _crash(self, _: str) -> None:
        ctypes.string_at(0)

    def _leave(self, code: str) -> None:
        os._exit(int(code))

    def _dive(self, _: str) -> None:
        self._dive("")

    def _fail(self, secret: str) -> None:
        raise KeyError(secret)

    def _refuse(self, _: str) -> None:
        raise DocumentError("ENCRYPTED", "locked", "unlock it")

    def _print(self, text: str) -> None:
        os.write(1, text.encode() * 1000)

    def _connect(self, port: str) -> None:
        socket.create_connection(("127.0.0.1", int(port)), timeout=5)

    def _environment(self, name: str) -> None:
        if name in os.environ:
            raise DocumentError("INTERNAL", "the secret is visible", "hide it")

    def _flood(self, size: str) -> None:
        raise DocumentError("UNSUPPORTED", "x" * int(size), "less")

    def _write(self, size: str) -> None:
        Path("written").write_bytes(b"x" * int(size))


def commanded() -> CommandedParser:
    return CommandedParser()
