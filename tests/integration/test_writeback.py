"""Write-back over real sockets: a thread stands for the caller's system, well, slow, refusing or hostile."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from common.adapters.frozen_clock import FrozenClock
from common.adapters.http_notifier import MAX_ANSWER, HttpNotifier
from common.adapters.memory_catalog import MemoryCatalog
from common.domain.errors import Unavailable
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.records import BaseRecord, Decision, Held, JobRecord
from common.domain.writeback import Notice, told_of
from common.stages.writeback import SECONDS, Callee, WriteBack

BASE = "affiliate_11522"
CHANGE = ObjectChange("finalize", ObjectRef(BASE, "um.md"), 7)
AGENT = "/affiliates/11522/root_agent"


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    authorization: str | None
    body: dict


Answer = Callable[[BaseHTTPRequestHandler], None]


def says(status, body=b"{}", **headers):
    """An answer as it should be."""

    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@dataclass
class System:
    """The caller's system on a port of its own. Each route answers from its list, the last answer for ever."""

    signs_in: list[Answer] = field(
        default_factory=lambda: [says(200, b'{"token": "t1"}'), says(200, b'{"token": "t2"}')]
    )
    agent: list[Answer] = field(default_factory=lambda: [says(200)])
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        system = self

        class Handler(BaseHTTPRequestHandler):
            def serve(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                system.asked.append(Asked(self.command, self.path, self.headers["Authorization"], body))
                script = system.signs_in if self.path == "/sign-in" else system.agent
                (script.pop(0) if len(script) > 1 else script[0])(self)

            do_POST = do_PATCH = do_GET = serve  # noqa: N815 - the library's names

            def log_message(self, *_):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def hangs(self, handler):
        """Answers nothing until the test is over."""
        self.closing.wait(30)

    def drips(self, handler):
        """A header that comes letter by letter and never ends: no timeout of a single read meets it."""
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not self.closing.wait(0.05):
            handler.wfile.write(b"a")

    def never_ends(self, handler):
        """A status at once and a body that never ends."""
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not self.closing.wait(0.05):
            handler.wfile.write(b" ")

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def tokens(self):
        return [asked.authorization for asked in self.asked if asked.method == "PATCH"]


@pytest.fixture
def start():
    started = []

    def system(**more):
        started.append(System(**more))
        return started[-1]

    yield system
    for each in started:
        each.close()


@pytest.fixture
def case(start):
    return Case(start())


class Case:
    """A base with one indexed job, told to a system over real sockets."""

    def __init__(self, system):
        self.system = system
        url, sign_in = f"{system.address}/affiliates/{{affiliate_id}}/root_agent", f"{system.address}/sign-in"
        self.notifier = HttpNotifier({"KB_WRITEBACK_URL": url, "KB_WRITEBACK_TOKEN_URL": sign_in})
        self.catalog, self.clock = MemoryCatalog(), FrozenClock(1_000_000.0)
        callee = Callee(url, sign_in, "kb@app.test", "s3nh4", "{base}_kb")
        self.stage = WriteBack(self.catalog, self.clock, self.notifier, callee, wait=lambda _: None)
        job = JobRecord(CHANGE.job_id, CHANGE.ref, 7, state="indexed")
        held = Held(BaseRecord(BASE), None, job)
        self.catalog.transact(CHANGE.ref, CHANGE.job_id, lambda _: Decision(None, held))

    def finish(self):
        told = self.stage.after(CHANGE)
        self.catalog.transact(CHANGE.ref, CHANGE.job_id, lambda held: told_of(Decision(None, held), told, 2.0))
        return told

    def recorded(self):
        job = self.catalog.job(BASE, CHANGE.job_id)
        assert job.state == "indexed"
        return job.writeback_status, job.writeback_error, self.catalog.base(BASE).written_back


def test_the_alias_arrives_as_the_contract_has_it(case):
    case.finish()
    signed_in, told = case.system.asked
    assert (signed_in.method, signed_in.path, signed_in.authorization) == ("POST", "/sign-in", None)
    assert signed_in.body == {"email": "kb@app.test", "password": "s3nh4"}
    assert told == Asked("PATCH", AGENT, "Bearer t1", {"knowledgeBaseCollection": f"{BASE}_kb"})
    assert case.recorded() == ("success", None, f"{BASE}_kb")
    case.finish()
    assert len(case.system.asked) == 2


def test_an_expired_token_is_renewed_once(case):
    case.system.agent = [says(401), says(200)]
    assert case.finish().status == "success"
    assert case.system.tokens() == ["Bearer t1", "Bearer t2"]


def test_a_token_refused_twice_is_recorded_and_made_good_later(case):
    case.system.agent = [says(401, b'{"detail": "s3nh4"}'), says(401), says(200)]
    case.finish()
    assert case.recorded() == ("failed", "The write-back address answered 401.", "")
    assert case.stage.repair(BASE).status == "success"
    assert case.recorded() == ("success", None, f"{BASE}_kb")


def test_faults_of_the_server_are_retried_and_then_recorded(case):
    case.system.agent = [says(500), says(503), says(200)]
    assert case.finish().status == "success"
    case.system.agent = [says(500)]
    case.catalog.update_base(BASE, lambda _: (BaseRecord(BASE), None), raise_epoch=False)
    case.finish()
    assert case.recorded() == ("failed", "The write-back address answered 500.", "")
    assert len(case.system.tokens()) == 6


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("where", ["signs_in", "agent"])
def test_a_redirect_is_never_followed(case, start, status, where):
    elsewhere = start()
    setattr(case.system, where, [says(status, Location=f"{elsewhere.address}{AGENT}")])
    case.finish()
    assert "redirect" in case.recorded()[1]
    assert elsewhere.asked == []
    assert len(case.system.asked) == (1 if where == "signs_in" else 2)


def test_a_system_that_does_not_answer_costs_seconds_and_never_raises(case):
    case.system.agent = [case.system.drips]
    since = time.monotonic()
    case.finish()
    assert time.monotonic() - since < SECONDS + 1
    status, error, written = case.recorded()
    assert (status, written) == ("failed", "")
    assert "did not answer within" in error


def test_a_status_counts_even_when_its_body_never_ends(case):
    case.system.agent = [case.system.never_ends]
    reply = case.notifier.send(Notice("PATCH", f"{case.system.address}{AGENT}", {}), 0.3)
    assert (reply.status, reply.body) == (200, {})


@pytest.mark.parametrize("fault", ["hangs", "drips", "never_ends"])
def test_a_request_given_up_leaves_no_thread_behind(case, fault):
    case.system.agent = [getattr(case.system, fault)]
    try:
        case.notifier.send(Notice("PATCH", f"{case.system.address}{AGENT}", {}), 0.2)
    except Unavailable:
        assert fault != "never_ends"
    left = [thread for thread in threading.enumerate() if thread.name == "write-back"]
    for thread in left:
        thread.join(5)
    assert not any(thread.is_alive() for thread in left)


@pytest.mark.parametrize(
    "answer",
    [
        says(200, b"not json"),
        says(200, b"\xff\xfe"),
        says(200, b'["t1"]'),
        says(200, b"[" * 60_000),
        says(200, b'{"token": "' + b"a" * MAX_ANSWER + b'"}'),
        says(200, b""),
    ],
)
def test_a_garbled_sign_in_is_no_token(case, answer):
    case.system.signs_in = [answer]
    case.finish()
    assert case.recorded() == ("failed", "The sign-in address answered without a token.", "")
    assert case.system.tokens() == []


def test_garbage_for_http_is_recorded(case):
    case.system.agent = [lambda handler: handler.wfile.write(b"SSH-2.0-other\r\n\r\n")]
    case.finish()
    assert case.recorded()[:2] == ("failed", "The write-back address could not be reached (BadStatusLine).")


def test_a_garbled_body_of_a_success_is_a_success(case):
    case.system.agent = [says(200, b"<html>" * 100_000)]
    assert case.finish().status == "success"


def test_nobody_listening_is_recorded(case):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/x"
        notifier = HttpNotifier({"KB_WRITEBACK_URL": address})
        with pytest.raises(Unavailable, match="ConnectionRefusedError"):
            notifier.send(Notice("PATCH", address, {}), 2.0)


def certificate(folder):
    """A certificate for 127.0.0.1 that nobody but its file vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = built.add_extension(address, critical=False).sign(key, hashes.SHA256())
    path = folder / "certificate.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    return path


def test_a_certificate_must_be_one_that_this_machine_trusts(start, tmp_path):
    system, path = start(), certificate(tmp_path)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(path)
    system.server.socket = serving.wrap_socket(system.server.socket, server_side=True, do_handshake_on_connect=False)
    address = system.address.replace("http:", "https:")
    notice = Notice("PATCH", f"{address}{AGENT}", {"password": "s3nh4"})
    with pytest.raises(Unavailable, match="SSLCertVerificationError"):
        HttpNotifier({"KB_WRITEBACK_URL": address}).send(notice, 5.0)
    assert system.asked == []
    trusting = ssl.create_default_context(cafile=path)
    assert HttpNotifier({"KB_WRITEBACK_URL": address}, trusting).send(notice, 5.0).status == 200
    system.agent = [system.drips]
    with pytest.raises(Unavailable, match="did not answer within"):
        HttpNotifier({"KB_WRITEBACK_URL": address}, trusting).send(notice, 0.5)
