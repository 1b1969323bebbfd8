"""The reading commands: exact text on standard output, one JSON document with --json, in this process and over HTTP."""

import json
import threading
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from werkzeug.serving import WSGIRequestHandler, make_server

from common.cli.api import HttpApi
from common.cli.main import build
from functions.local.app import application
from functions.local.machine import InProcess
from tests.integration.one_machine import BASE, OneMachine, content
from tests.integration.test_reading import put

LONG = content("um", 1, 40)
ODD = "# Título\r\n\r\nLinha\ré e\u0301 👨‍👩‍👧\u2028fim sem quebra".encode()


class Quiet(WSGIRequestHandler):
    def log(self, *_):
        """Nothing."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("commands"))
    files = {"um.md": LONG, "docs/ímpar nome.md": ODD, "x.md": "---\nid: mesmo\n---\n\nUm.", "mesmo.md": "Ver [[um]]."}
    put(opened, **files)
    yield opened
    opened.runtime.close()


@pytest.fixture(scope="module", params=["in process", "over HTTP"])
def connect(machine, request):
    app = application(machine.runtime)

    @contextmanager
    def inside(*_):
        yield InProcess(machine.runtime)

    if request.param == "in process":
        yield inside
        return
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    @contextmanager
    def outside(*_):
        yield HttpApi(f"http://127.0.0.1:{server.server_port}")

    yield outside
    server.shutdown()
    thread.join()
    server.server_close()


def run(connect, *arguments):
    return CliRunner().invoke(build(connect), [*map(str, arguments), "--base", BASE])


def test_get_prints_the_exact_text(connect):
    for name, data in (("um.md", LONG), ("um", LONG), ("docs/ímpar nome.md", ODD)):
        done = run(connect, "get", name)
        assert (done.exit_code, done.stdout_bytes, done.stderr) == (0, data, "")
    whole = json.loads(run(connect, "get", "um", "--json").stdout)
    assert whole["text"].encode() == LONG
    assert (whole["offset"], whole["next_offset"], whole["total"]) == (0, None, len(LONG))


def test_get_prints_one_page_where_a_place_is_named(machine, connect):
    page = machine.runtime.reading.page(BASE, "um", 12_000)
    assert run(connect, "get", "um", "--offset", 12_000).stdout_bytes.decode() == page["text"]
    last = len(LONG.decode().split("\n"))
    cited = run(connect, "get", f"um.md:{last}-{last}").stdout_bytes.decode()
    assert 0 < len(cited) < len(LONG)
    assert LONG.decode().endswith(cited)
    first = machine.runtime.reading.page(BASE, "um")
    assert run(connect, "get", "um.md:1-1").stdout_bytes.decode() == first["text"]


def test_what_is_not_there_is_said(connect):
    for name, told in (("nada.md", "no document nada.md"), ("mesmo", "mesmo.md, x.md"), ("um#page=9", "no such place")):
        done = run(connect, "get", name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert told in done.stderr
    assert run(connect, "get", "um", "--offset", 10**8).exit_code == 1
    assert run(connect, "get", "um", "--offset", -1).exit_code == 2
    assert run(connect, "card", "--max-tokens", 0).exit_code == 2


def test_card_and_toc_print_plain_text(machine, connect):
    card = machine.runtime.reading.card(BASE)
    assert run(connect, "card").stdout == card
    assert json.loads(run(connect, "card", "--json").stdout) == {"base": BASE, "text": card}
    assert len(run(connect, "card", "--max-tokens", 60).stdout) <= 240
    lines = run(connect, "toc").stdout.splitlines()
    assert lines == card.splitlines()[4:]
    assert run(connect, "toc", "--prefix", "docs/").stdout.startswith("- docs/ímpar nome.md (1 passages) — Título")
    assert run(connect, "toc", "--prefix", "none").stdout == "No documents.\n"
    rows = json.loads(run(connect, "toc", "--json").stdout)["documents"]
    assert rows == machine.runtime.reading.toc(BASE)


def test_links_takes_every_name(connect):
    for name in ("um.md", "um", "um.md:1-1"):
        assert "backlinks: mesmo.md" in run(connect, "links", name).stdout


def test_every_reading_command_is_listed(connect):
    shown = CliRunner().invoke(build(connect), ["--help"]).stdout
    assert all(f"\n  {name} " in shown for name in ("card", "toc", "get", "links"))


class Changing:
    """Answers pages of a document that is replaced between them, `times` times."""

    def __init__(self, inner, change, times):
        self.inner = inner
        self.change = change
        self.times = times

    def call(self, method, path, **sent):
        answered = self.inner.call(method, path, **sent)
        if self.times and "offset=" in path:
            self.times -= 1
            self.change(self.times)
        return answered


@pytest.mark.parametrize(("times", "parts", "code"), [(1, 60, 0), (1, 1, 0), (9, 60, 1)])
def test_a_document_that_is_replaced_while_it_is_read_is_read_again(tmp_path, times, parts, code):
    machine = OneMachine(tmp_path)
    put(machine, **{"um.md": content("um", 100, 90)})

    def change(left):
        put(machine, **{"um.md": content("um", left, parts)})

    changing = Changing(InProcess(machine.runtime), change, times)

    @contextmanager
    def connect(*_):
        yield changing

    done = run(connect, "get", "um")
    assert done.exit_code == code
    assert done.stdout_bytes == (content("um", 0, parts) if code == 0 else b"")
    machine.runtime.close()
