"""The sandbox: a hostile file ends its worker, never the service, and the next file is read."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.adapters.sandbox_parser import Bounds, SandboxParser
from common.domain.errors import DocumentError, Unavailable

HERE = str(Path(__file__).parent)
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxParser]:
    bounds = Bounds(memory=200 * MIB, cpu_seconds=1, wall_seconds=2.0, output=MIB, documents=1000)
    parser = SandboxParser("hostile_parsers:commanded", bounds=bounds, paths=(HERE,))
    yield parser
    parser.close()


def pid(sandbox: SandboxParser) -> str:
    return sandbox.parse(b"hello", "a.txt").warnings[0]


def refused(sandbox: SandboxParser, command: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        sandbox.parse(command.encode(), "bad.bin")
    return caught.value


def test_a_document_comes_back_as_it_was_parsed_and_the_worker_is_kept(sandbox: SandboxParser) -> None:
    parsed = sandbox.parse("olá mundo".encode(), "pasta/a.txt", "text/plain")
    document = parsed.documents[0]
    assert document.source == "pasta/a.txt"
    assert document.text == "olá mundo text/plain"
    assert document.blocks[0].headings == ("a", "b")
    assert document.blocks[0].page == 3
    assert document.metadata == {"k": [1]}
    assert parsed.warnings[0] == pid(sandbox)
    assert parsed.warnings[0] != str(os.getpid())


@pytest.mark.parametrize("command", ["hang", "spin", "swallow 800000000", "crash", "leave 0", "leave 7", "dive"])
def test_a_breach_is_a_parser_limit_and_the_next_file_is_read(sandbox: SandboxParser, command: str) -> None:
    error = refused(sandbox, command)
    assert error.code == "PARSER_LIMIT"
    assert error.reason
    assert error.next_step
    assert sandbox.parse(b"next", "b.txt").documents[0].text == "next"


def test_memory_is_named_when_memory_was_the_breach(sandbox: SandboxParser) -> None:
    assert "memory" in refused(sandbox, "swallow 800000000").reason


def test_time_is_named_when_time_was_the_breach(sandbox: SandboxParser) -> None:
    assert "seconds" in refused(sandbox, "spin").reason


def test_a_refusal_keeps_the_worker_and_its_words(sandbox: SandboxParser) -> None:
    before = pid(sandbox)
    error = refused(sandbox, "refuse")
    assert (error.code, error.reason, error.next_step) == ("ENCRYPTED", "locked", "unlock it")
    assert pid(sandbox) == before


def test_a_bug_is_internal_and_tells_the_line_but_no_text_of_the_document(sandbox: SandboxParser) -> None:
    error = refused(sandbox, "fail secret-words")
    assert error.code == "INTERNAL"
    assert "KeyError at hostile_parsers.py" in error.reason
    assert "secret-words" not in error.reason


def test_what_a_parser_prints_does_not_reach_the_answer(sandbox: SandboxParser) -> None:
    assert sandbox.parse(b"print noise", "c.txt").documents[0].text == "print noise"


def test_the_network_is_out_of_reach(sandbox: SandboxParser) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        error = refused(sandbox, f"connect {server.getsockname()[1]}")
        assert "PermissionError" in error.reason
        with pytest.raises(BlockingIOError):
            server.accept()


def test_secrets_of_the_service_are_not_in_the_workers_environment(
    sandbox: SandboxParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KB_JWT_SECRET", "hidden")
    sandbox.close()
    assert sandbox.parse(b"environment KB_JWT_SECRET", "d.txt").documents


def test_an_answer_past_the_output_bound_is_refused(sandbox: SandboxParser) -> None:
    assert refused(sandbox, "flood 5000000").code == "PARSER_LIMIT"
    assert refused(sandbox, "x" * (2 * MIB)).code == "PARSER_LIMIT"
    assert pid(sandbox)


def test_a_file_past_the_write_bound_is_not_written(sandbox: SandboxParser) -> None:
    assert refused(sandbox, "write 100000000").code in {"PARSER_LIMIT", "INTERNAL"}
    assert pid(sandbox)


def test_a_worker_is_replaced_after_its_share_of_documents() -> None:
    parser = SandboxParser("hostile_parsers:commanded", bounds=Bounds(documents=2), paths=(HERE,))
    try:
        first, second, third = pid(parser), pid(parser), pid(parser)
    finally:
        parser.close()
    assert first == second
    assert third != first


def test_a_worker_killed_while_idle_is_replaced_without_an_error(sandbox: SandboxParser) -> None:
    before = int(pid(sandbox))
    os.kill(before, 9)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert pid(sandbox) != str(before)


def test_a_parser_that_cannot_be_made_is_unavailable() -> None:
    parser = SandboxParser("no_such_module:parser")
    with pytest.raises(Unavailable):
        parser.parse(b"x", "a.txt")


def test_a_large_corpus_is_read_whole() -> None:
    """A file of the size that is allowed is no attack: each emoji makes its text take four times its bytes."""
    line = json.dumps(
        {"source": "d/%d.md", "content": "Palavras comuns de um texto longo. 🙂 " * 400}, ensure_ascii=False
    )
    data = "\n".join(line % number for number in range(2500)).encode()
    assert 35 * MIB < len(data) < 100 * MIB
    parser = SandboxParser("common.reading:document_parser", {"ocr": "off"})
    try:
        assert len(parser.parse(data, "corpus.jsonl").documents) == 2500
    finally:
        parser.close()
